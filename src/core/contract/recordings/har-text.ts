/** The bodies of a HAR file: as text, or as the base64 of their bytes, as proxies write them and browsers those of some types. */
import { decodeText, TextError } from '#foundation/encoding.ts'

/** A body as a file of others has it: any field may be missing, or of another type. */
type HarBody = Readonly<Record<string, unknown>>

/** Whether a body is the base64 of its bytes. */
export function isHarBase64({ encoding }: HarBody): boolean {
  return typeof encoding === 'string' && encoding.toLowerCase() === 'base64'
}

/** Returns the text of a body; null without one, and for bytes that are none. */
export function readHarText(body: HarBody | null | undefined): string | null {
  if (!body || typeof body.text !== 'string') return null
  if (!isHarBase64(body)) return body.text
  try {
    return decodeText(Buffer.from(body.text, 'base64'))
  } catch (error) {
    if (error instanceof TextError) return null
    throw error
  }
}
