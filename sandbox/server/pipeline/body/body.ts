/** The body of a request: read within its limit, and parsed. */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { ApiError, type LocatedFieldError, unknownField } from '#contract/errors.ts'
import { mayLoseDigits, parseExactly } from '#foundation/json/exact-numbers.ts'
import { walkJson } from '#foundation/json/walk.ts'
import { maxNestingLevels, nestsDeeper, parseJson as readJson } from '#foundation/json.ts'
import type { Request } from '../exchange.ts'
import { maxListedFields, withoutSecrets } from './secret-fields.ts'

const noBody = Buffer.alloc(0)

/**
 * Reads a whole body. One whose Content-Length is over the limit is refused unread; how long it may take to arrive is
 * limited by the server.
 * @throws ApiError 413 payload_too_large; 400 http_malformed when the client stops in the middle
 */
export function readBody(incoming: IncomingMessage, limit_bytes: number): Promise<Buffer> | Buffer {
  const length = incoming.headers['content-length']
  if (incoming.headers['transfer-encoding'] === undefined && (length === undefined || length === '0')) return noBody
  if (Number(length) > limit_bytes) throw tooLarge(limit_bytes)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit_bytes) chunks.push(chunk)
      else reject(tooLarge(limit_bytes))
    })
    incoming.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)))
    incoming.on('error', () => reject(new ApiError('http_malformed')))
  })
}

export function tooLarge(limit_bytes: number): ApiError {
  return new ApiError('payload_too_large', { hint: `Send at most ${limit_bytes} bytes here.` })
}

interface SentJson {
  json: unknown
  text: string
  isExact: boolean
}

/**
 * Returns the JSON value of a body, and its text. `keepsDigits`: numbers that lose digits in JavaScript are exact numbers.
 * @throws ApiError 400 body_empty, json_malformed
 */
export function parseJson(body: Buffer, keepsDigits = false): SentJson {
  if (body.length === 0) throw new ApiError('body_empty')
  if (!isUtf8(body)) throw new ApiError('json_malformed', { message: 'The body is not UTF-8.' })
  const text = body.toString('utf8')
  if (text.startsWith('\uFEFF')) {
    throw new ApiError('json_malformed', {
      message: 'The body begins with a byte order mark.',
      hint: 'Send UTF-8 without a byte order mark.',
    })
  }
  if (text.trim() === '') throw new ApiError('body_empty')
  if (nestsDeeper(text)) {
    throw new ApiError('json_malformed', { message: `The body nests deeper than ${maxNestingLevels} levels.` })
  }
  const isExact = keepsDigits && mayLoseDigits(text)
  const value = isExact ? parseExactly(text) : readJson(text)
  if (value === undefined) throw new ApiError('json_malformed')
  const hasEscapes = text.includes('\\u')
  if (hasEscapes) refuseUnstorable(value)
  if (hasEscapes || text.includes('__proto__')) refuseProto(value)
  return { json: value, text, isExact }
}

/**
 * Refuses text that a store could not keep as it was sent: U+0000, which PostgreSQL has no place for, and half a surrogate
 * pair, which has no canonical JSON. Both can be sent only as an escape (A103).
 */
function refuseUnstorable(body: unknown): void {
  for (const visited of walkJson(body)) {
    const { value, name } = visited
    if (!isUnstorable(name) && !(typeof value === 'string' && isUnstorable(value))) continue
    throw new ApiError('schema_invalid', { fields: [withoutSecrets(unstorable(visited.path))] })
  }
}

function isUnstorable(text: string): boolean {
  return text.includes('\0') || !text.isWellFormed()
}

function unstorable(path: readonly PropertyKey[]): LocatedFieldError {
  const message = 'contains a control character (U+0000) or half a surrogate pair'
  return { ...unknownField(path), message, expected: 'text that every store can keep (A103)' }
}

/** The same in the path and query of a request. @throws ApiError 400 */
export function refuseUnstorableUrl({ url, params, query }: Pick<Request, 'url' | 'params' | 'query'>): void {
  if (!url.includes('%00')) return
  const fields = Object.entries({ ...query, ...params })
    .filter(([name, value]) => [name, value].flat().some((text) => text !== undefined && isUnstorable(text)))
    .map(([name]) => withoutSecrets(unstorable([name])))
  if (fields.length > 0) throw new ApiError('schema_invalid', { fields: fields.slice(0, maxListedFields) })
}

/** Objects lose a property of this name when they are copied: two different bodies would become the same. */
function refuseProto(body: unknown): void {
  for (const visited of walkJson(body)) {
    if (visited.key !== '__proto__') continue
    throw new ApiError('field_unknown', { fields: [withoutSecrets(unknownField(visited.path))] })
  }
}
