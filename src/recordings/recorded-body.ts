/** The bodies of an exchange: decompressed and decoded up to a limit, or the reason why not. */
import { isMediaType } from '#contract/recordings/recorded-parts.ts'
import type { Capture } from './capture.ts'
import { decodeBody, readEncodings } from './compression.ts'
import type { PassedExchange } from './exchange.ts'

/** The maximum length of the body of a response in the file, without its compression, bytes. */
export const maxResponseBytes = 5_000_000
/** That of a request, bytes. */
export const maxRequestBytes = 1_048_576

/** Why the body of a response is not in the file. */
export type LeftOut = 'body_too_large' | 'body_undecodable' | 'body_incomplete' | 'body_not_of_api' | 'body_has_secret'

export type ReceivedBody =
  | { kind: 'none' }
  | { kind: 'text'; text: string }
  | { kind: 'bytes'; bytes: Buffer }
  | { kind: 'left_out'; reason: LeftOut; size: number }

type Headers = Readonly<Record<string, string | undefined>>

/** Resolves to the text of a request's body: empty without one, `[unreadable]` where it has none. */
export async function readSentBody(body: Capture, headers: Headers): Promise<string> {
  if (body.length === 0) return ''
  const bytes = body.read()
  const decoded = bytes && (await decodeBody(bytes, readEncodings(headers['content-encoding']), maxRequestBytes))
  return decoded?.toString('utf8') ?? '[unreadable]'
}

/** Resolves to the body of a response. Of what is not of the API nothing is known, so that nothing is kept. */
export async function readReceivedBody(
  { response, problem, method }: PassedExchange,
  headers: Headers,
  isOfApi: boolean,
): Promise<ReceivedBody> {
  const size = response?.body.length ?? 0
  if (response === null || size === 0 || method === 'HEAD') return { kind: 'none' }
  const leftOut = (reason: LeftOut): ReceivedBody => ({ kind: 'left_out', reason, size })
  if (!isOfApi) return leftOut('body_not_of_api')
  const bytes = response.body.read()
  if (bytes === null) return leftOut('body_too_large')
  // The end of a token can be missing, without which it is not found.
  if (problem !== null) return leftOut('body_incomplete')
  const encodings = readEncodings(headers['content-encoding'])
  const decoded = await decodeBody(bytes, encodings, maxResponseBytes)
  if (decoded === null) return leftOut(encodings.length === 0 ? 'body_too_large' : 'body_undecodable')
  const type = headers['content-type'] ?? ''
  if (isMediaType(type)) return { kind: 'bytes', bytes: decoded }
  const text = decodeText(decoded, type)
  return text === null ? leftOut('body_undecodable') : { kind: 'text', text }
}

function decodeText(bytes: Buffer, type: string): string | null {
  const [, charset = 'utf-8'] = /charset="?([\w.:-]+)/i.exec(type) ?? []
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}
