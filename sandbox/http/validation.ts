/** From bytes to a parsed value, and from a schema's complaints to an error that says what to do. */
import { isUtf8 } from 'node:buffer'
import type { z } from 'zod'
import { ApiError, type FieldError, type ReasonCode } from '../../src/contract/errors.ts'
import { redactSecrets } from '../domain/tokens.ts'

/** Bodies nest at most this deep; the contract's own shapes need six levels. */
const deepest = 64
const longestPath = 160
const mostFields = 20
const memberName = /^[\w.:$@-]{1,64}$/

type Issue = z.core.$ZodIssue

/** The JSON value of a body. @throws ApiError 400 body_empty, json_malformed */
export function parseJson(body: Buffer): unknown {
  if (body.length === 0) throw new ApiError('body_empty')
  if (!isUtf8(body)) throw new ApiError('json_malformed', { message: 'The body is not UTF-8.' })
  const text = body.toString('utf8')
  if (text.trim() === '') throw new ApiError('body_empty')
  if (isTooDeep(text)) {
    throw new ApiError('json_malformed', { message: `The body nests deeper than ${deepest} levels.` })
  }
  const value = readJson(text)
  if (hasLoneSurrogate(text, value)) {
    throw new ApiError('json_malformed', { message: 'A text of the body holds half a surrogate pair.' })
  }
  if (/__proto__|\\u005f/i.test(text)) refuseProto(value, [])
  return value
}

/** A value that fits the schema. @throws ApiError 400 with every member at fault */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issues = result.error.issues.flatMap(flatten)
  const reason = reasonOf(issues)
  const fields = issues.flatMap(toFields).slice(0, mostFields)
  throw new ApiError(reason, { fields })
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

/** Objects lose a member of this name when they are copied: two different bodies would become the same. */
function refuseProto(value: unknown, path: readonly PropertyKey[]): void {
  if (typeof value !== 'object' || value === null) return
  if (Object.hasOwn(value, '__proto__')) {
    throw new ApiError('field_unknown', { fields: [unknownField([...path, '__proto__'])] })
  }
  for (const [name, member] of Object.entries(value)) refuseProto(member, [...path, name])
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

/** A union complains once for each of its shapes: the one that came closest speaks for it. */
function flatten(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue]
  const meant = issue.errors.find((branch) => !branch.some((inner) => isOtherType(inner))) ?? null
  if (meant === null) return [issue]
  return meant.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })).flatMap(flatten)
}

function isOtherType(issue: Issue): boolean {
  return issue.code === 'invalid_type' && issue.path.length === 0
}

function reasonOf(issues: readonly Issue[]): ReasonCode {
  if (issues.some((issue) => issue.path.at(-2) === 'allowed_formats')) return 'format_unsupported'
  if (issues.some((issue) => issue.path[0] === 'publishable_key')) return 'publishable_key_malformed'
  if (issues.some((issue) => issue.code === 'unrecognized_keys')) return 'field_unknown'
  return 'schema_invalid'
}

function toFields(issue: Issue): FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => unknownField([...issue.path, key]))
  }
  return [{ path: pathOf(issue.path), message: messageOf(issue), expected: expectedOf(issue) }]
}

function unknownField(path: readonly PropertyKey[]): FieldError {
  const expected = 'no member of this name; see docs_url for those there are'
  return { path: pathOf(path), message: 'is unknown', expected }
}

/** Names that cannot be a misspelt member may be a secret or prose: they are not repeated (A12). */
function pathOf(path: readonly PropertyKey[]): string {
  const text = path.map((name) => (memberName.test(String(name)) ? String(name) : '[name]')).join('.')
  return redactSecrets(text.length > longestPath ? `${text.slice(0, longestPath)}…` : text)
}

function messageOf(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.endsWith('received undefined') ? 'is missing' : 'has the wrong type'
    case 'invalid_value':
      return 'is not one of the allowed values'
    case 'too_small':
      return 'is too small or too short'
    case 'too_big':
      return 'is too large or too long'
    case 'invalid_union':
      return 'fits none of the allowed shapes'
    default:
      return 'is malformed'
  }
}

function expectedOf(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `of type ${issue.expected}`
    case 'invalid_value':
      return `one of ${issue.values.map(String).join(', ')}`
    case 'too_small':
      return `${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${unitOf(issue.origin)}`
    case 'too_big':
      return `${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${unitOf(issue.origin)}`
    default:
      return issue.message.replace(/^Invalid input: /, '')
  }
}

function unitOf(origin: string): string {
  if (origin === 'string') return ' characters'
  return origin === 'array' ? ' items' : ''
}
