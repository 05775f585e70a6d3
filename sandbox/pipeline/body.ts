/** The body of a request: read within its limit, parsed, and validated with errors that say what to do. */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import { ApiError, type FieldError } from '../../src/contract/errors.ts'
import { explainIssues, type LocatedFieldError, unknownField } from '../../src/contract/field-errors.ts'
import { redactSecrets } from '../../src/foundation/redaction.ts'

/** Bodies nest at most this deep; the contract's own shapes need six levels. */
const deepest = 64
const mostFields = 20

const noBody = Buffer.alloc(0)

/**
 * Reads a whole body. One whose Content-Length is over the limit is refused unread; how long it may take to arrive is
 * limited by the server.
 * @throws ApiError 413 payload_too_large; 400 http_malformed when the client stops in the middle
 */
export function readBody(incoming: IncomingMessage, limit_bytes: number): Promise<Buffer> | Buffer {
  const length = incoming.headers['content-length']
  if (incoming.headers['transfer-encoding'] === undefined && (length === undefined || length === '0')) return noBody
  if (Number(length) > limit_bytes) throw new ApiError('payload_too_large')
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const onData = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > limit_bytes) finish(new ApiError('payload_too_large'))
    }
    const onEnd = () => finish(null)
    const onError = () => finish(new ApiError('http_malformed'))
    const finish = (error: ApiError | null) => {
      incoming.off('data', onData).off('end', onEnd).off('error', onError)
      if (error === null) resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size))
      else reject(error)
    }
    incoming.on('data', onData).on('end', onEnd).on('error', onError)
  })
}

/** Returns the JSON value of a body. @throws ApiError 400 body_empty, json_malformed */
export function parseJson(body: Buffer): unknown {
  if (body.length === 0) throw new ApiError('body_empty')
  if (!isUtf8(body)) throw new ApiError('json_malformed', { message: 'The body is not UTF-8.' })
  const text = body.toString('utf8')
  if (text.trim() === '') throw new ApiError('body_empty')
  if (isTooDeep(text)) {
    throw new ApiError('json_malformed', { message: `The body nests deeper than ${deepest} levels.` })
  }
  const value = readJson(text)
  const hasEscapes = text.includes('\\u')
  if (hasEscapes && hasLoneSurrogate(text, value)) {
    throw new ApiError('json_malformed', { message: 'A text of the body holds half a surrogate pair.' })
  }
  if (hasEscapes || text.includes('__proto__')) refuseProto(value, [])
  return value
}

/** Returns a value as the schema parses it. @throws ApiError 400 with every field at fault */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { reason_code, fields } = explainIssues(result.error.issues)
  throw new ApiError(reason_code, { fields: fields.slice(0, mostFields).map(withoutSecrets) })
}

function withoutSecrets({ path, message, expected }: LocatedFieldError): FieldError {
  return { path: redactSecrets(path), message, expected }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ApiError('json_malformed')
  }
}

/** Text that is not Unicode has no canonical JSON, and no evidence could be made of it. */
function hasLoneSurrogate(text: string, value: unknown): boolean {
  return /\\u[dD][89a-fA-F]/.test(text) && /(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(JSON.stringify(value))
}

/** Objects lose a property of this name when they are copied: two different bodies would become the same. */
function refuseProto(value: unknown, path: readonly PropertyKey[]): void {
  if (typeof value !== 'object' || value === null) return
  if (Object.hasOwn(value, '__proto__')) {
    throw new ApiError('field_unknown', { fields: [withoutSecrets(unknownField([...path, '__proto__']))] })
  }
  for (const [name, inner] of Object.entries(value)) refuseProto(inner, [...path, name])
}

/** Depth by brackets outside strings: cheap, and enough to keep recursion out of everything behind. */
function isTooDeep(text: string): boolean {
  let depth = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (inString) {
      if (code === 0x5c) index++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > deepest) return true
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return false
}
