/** The body of a request: read within its limit, parsed, and validated with errors that say what to do. */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { type Endpoint, isControlPlane } from '#contract/endpoint.ts'
import { ApiError, explainIssues, type LocatedFieldError, unknownField, withInput } from '#contract/errors.ts'
import { mayLoseDigits, parseExactly } from '#foundation/exact-numbers.ts'
import { parseJson as readJson } from '#foundation/json.ts'
import type { Context } from '#operations/context.ts'
import type { Request } from '../exchange.ts'
import { fastParse, needsFullParse } from './fast-parse.ts'
import { maxListedFields, withoutSecrets } from './secret-fields.ts'
import { withTypedNumbers } from './typed-numbers.ts'

/** Bodies nest at most this deep; the contract's own shapes need six levels. */
const maxNestingLevels = 64
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

/** Returns the error of a body over the limit of its endpoint. */
export function tooLarge(limit_bytes: number): ApiError {
  return new ApiError('payload_too_large', { hint: `Send at most ${limit_bytes} bytes here.` })
}

interface SentJson {
  json: unknown
  text: string
  /** Whether exact numbers may be in it. */
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
  if (isTooDeep(text)) {
    throw new ApiError('json_malformed', { message: `The body nests deeper than ${maxNestingLevels} levels.` })
  }
  const isExact = keepsDigits && mayLoseDigits(text)
  const value = isExact ? parseExactly(text) : readJson(text)
  if (value === undefined) throw new ApiError('json_malformed')
  const hasEscapes = text.includes('\\u')
  if (hasEscapes) refuseUnstorable(value, [])
  if (hasEscapes || text.includes('__proto__')) refuseProto(value, [])
  return { json: value, text, isExact }
}

/** Returns a value as the schema parses it. @throws ApiError 400 with every field at fault */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = parse(schema, value)
  if (result.success) return result.data
  const { reason_code, fields } = explainIssues(result.error.issues, schema)
  throw new ApiError(reason_code, { fields: fields.slice(0, maxListedFields).map(withoutSecrets) })
}

/** Most values are valid: only the others take the time to find out what is wrong with them. */
function parse<S extends z.ZodType>(schema: S, value: unknown): z.ZodSafeParseResult<z.output<S>> {
  const data = fastParse(schema, value)
  return data === needsFullParse ? schema.safeParse(value, withInput) : { success: true, data }
}

/**
 * Returns a body, which may have exact numbers if `isExact`, as its schema parses it. A field in the wrong place is
 * refused, with the right place in the error, unless an old client sent it. Other unknown fields are ignored with a
 * warning where the endpoint says so (A14, C02).
 * Null in an optional field of the API is the field left out, with a warning (A101).
 * @throws ApiError 400
 */
export function validateBody(
  endpoint: Endpoint,
  sent: unknown,
  isExact: boolean,
  { is_old_client, warnings }: Pick<Context, 'is_old_client' | 'warnings'>,
): unknown {
  const schema = (is_old_client ? endpoint.old_client_body : undefined) ?? endpoint.branch?.(sent) ?? endpoint.body!
  const typed = isExact ? withTypedNumbers(schema, sent) : sent
  const first = parse(schema, typed)
  if (first.success) return first.data
  const json = isControlPlane(endpoint) ? typed : withoutNulls(schema, typed)
  if (json !== typed) warnings.push('null_as_absent')
  const result = json === typed ? first : parse(schema, json)
  if (result.success) return result.data
  if (endpoint.misplaced === undefined) return validate(schema, json)
  const unknown = explainIssues(result.error.issues).fields.filter(({ isUnknown }) => isUnknown)
  const { places, ignoresOthers } = endpoint.misplaced(json)
  const misplaced = unknown.filter(({ at }) => at.length === 1 && Object.hasOwn(places, String(at[0])))
  if (misplaced.length > 0 && !(is_old_client && ignoresOthers)) {
    const fields = misplaced.map(({ path }) => ({ path, message: 'is in the wrong place', expected: places[path]! }))
    throw new ApiError('field_unknown', { hint: 'Move the listed fields to where they belong.', fields })
  }
  if (ignoresOthers && unknown.length > 0) {
    for (const { at } of unknown) remove(json, at)
    warnings.push('fields_ignored')
  }
  return validate(schema, json)
}

/** Returns a value without the optional fields that are null and may not be; the same value when there are none. */
function withoutNulls(schema: z.core.$ZodType, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return withoutNulls(schema.unwrap(), value)
  if (schema instanceof z.ZodUnion) {
    return schema.options.reduce((rest: unknown, option) => withoutNulls(option, rest), value)
  }
  if (Array.isArray(value)) {
    if (!(schema instanceof z.ZodArray)) return value
    const items = value.map((item: unknown) => withoutNulls(schema.element, item))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  if (!(schema instanceof z.ZodObject)) return value
  const { catchall } = schema.def
  const others = catchall === undefined || catchall instanceof z.ZodNever ? null : catchall
  const entries = Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
    const field = Object.hasOwn(schema.shape, name) ? (schema.shape[name] as z.ZodType) : null
    if (inner !== null) return [[name, field === null ? inner : withoutNulls(field, inner)]]
    const type = field ?? others
    const mayBeAbsent = type !== null && (field === null || field._zod.optin === 'optional')
    return mayBeAbsent && !(type as z.ZodType).safeParse(null).success ? [] : [[name, inner]]
  })
  const isSame =
    entries.length === Object.keys(value).length &&
    entries.every(([name, inner]) => inner === (value as Record<string, unknown>)[name])
  return isSame ? value : Object.fromEntries(entries)
}

function remove(value: unknown, at: readonly PropertyKey[]): void {
  const parent = at.slice(0, -1).reduce((inner, name) => (inner as Record<PropertyKey, unknown>)[name], value)
  delete (parent as Record<PropertyKey, unknown>)[at.at(-1)!]
}

/** Refuses a known parameter that the query has more than once, which no endpoint allows. @throws ApiError 400 */
export function refuseRepeated(query: Readonly<Record<string, unknown>>, { shape }: z.ZodObject): void {
  const fields = Object.entries(query).flatMap(([path, values]) =>
    Array.isArray(values) && Object.hasOwn(shape, path)
      ? [{ path, message: `is given ${values.length} times`, expected: 'one value' }]
      : [],
  )
  if (fields.length > 0) throw new ApiError('schema_invalid', { fields })
}

/** Refuses every query parameter: for endpoints that have none (A14). @throws ApiError 400 that lists them */
export function refuseQuery(query: object): void {
  const names = Object.keys(query)
  if (names.length === 0) return
  const fields = names.slice(0, maxListedFields).map((name) => withoutSecrets(unknownField([name])))
  throw new ApiError('field_unknown', { fields })
}

/**
 * Refuses text that a store could not keep as it was sent: U+0000, which PostgreSQL has no place for, and half a surrogate
 * pair, which has no canonical JSON. Both can be sent only as an escape (A103).
 */
function refuseUnstorable(value: unknown, path: readonly PropertyKey[]): void {
  if (typeof value === 'string') {
    if (!isUnstorable(value)) return
    throw new ApiError('schema_invalid', { fields: [withoutSecrets(unstorable(path))] })
  }
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) {
    refuseUnstorable(name, [...path, name])
    refuseUnstorable(inner, [...path, name])
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
function refuseProto(value: unknown, path: readonly PropertyKey[]): void {
  if (typeof value !== 'object' || value === null) return
  if (Object.hasOwn(value, '__proto__')) {
    throw new ApiError('field_unknown', { fields: [withoutSecrets(unknownField([...path, '__proto__']))] })
  }
  for (const [name, inner] of Object.entries(value)) refuseProto(inner, [...path, name])
}

/** Depth by brackets outside strings: cheap, and enough to keep every later step from recursing too deep. */
function isTooDeep(text: string): boolean {
  if (!hasManyBrackets(text)) return false
  let depth = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (inString) {
      if (code === 0x5c) index++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxNestingLevels) return true
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return false
}

/** Whether there are enough brackets to nest too deep, in strings or not: few bodies have that many. */
function hasManyBrackets(text: string): boolean {
  let left = maxNestingLevels
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) if (--left < 0) return true
  }
  return false
}
