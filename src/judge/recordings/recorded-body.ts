/** The bodies of an exchange: decompressed and decoded up to a limit, or the reason why not. */
import { isJsonLike } from '#contract/recordings/json-strings.ts'
import { isMediaFile, isMediaType } from '#contract/recordings/recorded-parts.ts'
import { isServiceCode, type RecordedId } from '#contract/recordings/recording.ts'
import { type Json, parseJson } from '#foundation/json.ts'
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
  /** `json` is undefined for code, and for what is JSON only in parts. */
  | { kind: 'text'; text: string; isJson: boolean; json: Json | undefined }
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

/**
 * Resolves to the body of a response. Of what is not of the API nothing is known, so that nothing is kept. What is kept is JSON, the code of
 * a frame or a file, or a picture or a video.
 */
export async function readReceivedBody(
  { response, problem, method }: PassedExchange,
  headers: Headers,
  endpoint: RecordedId | 'file' | null,
): Promise<ReceivedBody> {
  const size = response?.body.length ?? 0
  if (response === null || size === 0 || method === 'HEAD') return { kind: 'none' }
  const leftOut = (reason: LeftOut): ReceivedBody => ({ kind: 'left_out', reason, size })
  if (endpoint === null) return leftOut('body_not_of_api')
  const bytes = response.body.read()
  if (bytes === null) return leftOut('body_too_large')
  // The end of a token can be missing, without which it is not found.
  if (problem !== null) return leftOut('body_incomplete')
  const encodings = readEncodings(headers['content-encoding'])
  const decoded = await decodeBody(bytes, encodings, maxResponseBytes)
  if (decoded === null) return leftOut(encodings.length === 0 ? 'body_too_large' : 'body_undecodable')
  const type = headers['content-type'] ?? ''
  const isCode = isServiceCode(endpoint === 'file' ? null : endpoint, response.status, type)
  const body = readDecoded(decoded, type, isCode)
  return typeof body === 'string' ? leftOut(body) : body
}

/** Returns a body of the API, or why it is none. */
function readDecoded(bytes: Buffer, type: string, isCode: boolean): ReceivedBody | LeftOut {
  if (isMediaType(type)) {
    return isMediaFile(type, bytes.toString('latin1', 0, 64)) ? { kind: 'bytes', bytes } : 'body_not_of_api'
  }
  const text = decodeText(bytes, type)
  if (text === null) return 'body_undecodable'
  const json = parseJson(text)
  const isJson = json !== undefined || isJsonLike(text)
  return isJson || isCode ? { kind: 'text', text, isJson, json } : 'body_not_of_api'
}

function decodeText(bytes: Buffer, type: string): string | null {
  const [, charset = 'utf-8'] = /charset="?([\w.:-]+)/i.exec(type) ?? []
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}
