/** Turns the issues of a schema into field errors, in the words of the error body (A10). */
import type { z } from 'zod'
import type { FieldError, ReasonCode } from './errors.ts'

type Issue = z.core.$ZodIssue

/** A field error, and where the field is in the value. */
export interface LocatedFieldError extends FieldError {
  at: readonly PropertyKey[]
  isUnknown: boolean
}

const longestPath = 160
const fieldName = /^[\w.:$@-]{1,64}$/

/** Returns the precise cause and every invalid field, in the order of the schema. */
export function explainIssues(issues: readonly Issue[]): { reason_code: ReasonCode; fields: LocatedFieldError[] } {
  const flat = issues.flatMap(flatten)
  return { reason_code: reasonOf(flat), fields: flat.flatMap(toFields) }
}

const typeWords: Readonly<Record<string, string>> = {
  string: 'text',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
}

/** Returns the type of a JSON value in the words of field errors: `text`, `a list`. */
export function typeWord(value: unknown): string {
  if (value === null) return 'null'
  return typeWords[Array.isArray(value) ? 'array' : typeof value] ?? typeof value
}

/** Whether field errors expect a type with these words. */
export function isTypeWord(expected: string): boolean {
  return Object.values(typeWords).includes(expected)
}

/** Returns what a value must be, in words that follow its name: `must be a whole number`, `must be one of a, b`. */
export function requirementOf(issue: Issue | undefined): string {
  if (issue === undefined) return 'is not valid'
  if (issue.code === 'unrecognized_keys') return `has no field ${issue.keys.join(', ')}`
  // A message of the contract itself says more than the kind of the issue.
  if (/^(must|cannot) /.test(issue.message)) return issue.message
  return `must be ${expectedOf(issue)}`
}

/** What to do instead, for known fields in a place where they do not exist. */
const expectedOfUnknown = new Map([
  ['wait_ms', 'wait_ms on POST /v1/placements or GET /v1/decisions/{slot_id} only: nothing else waits'],
])

/** Returns the error of a field that the schema does not define. */
export function unknownField(at: readonly PropertyKey[]): LocatedFieldError {
  const expected =
    expectedOfUnknown.get(String(at.at(-1))) ?? 'no field of this name; svc contract show lists the known ones'
  return { path: pathOf(at), message: 'is unknown', expected, at, isUnknown: true }
}

/** A union has issues for each of its variants. Keeps those of the variant that came closest. */
function flatten(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue]
  const closest = issue.errors.find((branch) => !branch.some((inner) => isOtherType(inner))) ?? null
  if (closest === null) return [issue]
  return closest.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })).flatMap(flatten)
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

function toFields(issue: Issue): LocatedFieldError[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownField([...issue.path, key]))
  return [
    {
      path: pathOf(issue.path),
      message: messageOf(issue),
      expected: expectedOf(issue),
      at: issue.path,
      isUnknown: false,
    },
  ]
}

/** A name that cannot be a misspelt field may be a secret or prose: it is not repeated (A12). */
function pathOf(path: readonly PropertyKey[]): string {
  const text = path.map((name) => (fieldName.test(String(name)) ? String(name) : '[name]')).join('.')
  return text.length > longestPath ? `${text.slice(0, longestPath)}…` : text
}

function messageOf(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.message.endsWith('received undefined')) return 'is missing'
      return issue.message.endsWith('received null') ? 'is null; leave it out when there is none' : 'has the wrong type'
    case 'invalid_value':
      return 'is not one of the allowed values'
    case 'too_small':
      return isLength(issue.origin) ? 'is too short' : 'is too small'
    case 'too_big':
      return isLength(issue.origin) ? 'is too long' : 'is too large'
    case 'invalid_union':
      return 'has none of the allowed forms'
    default:
      return 'is malformed'
  }
}

function expectedOf(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return typeWords[issue.expected] ?? issue.expected
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

/** Whether a limit is one of characters or items. */
function isLength(origin: string): boolean {
  return origin === 'string' || origin === 'array'
}

function unitOf(origin: string): string {
  if (origin === 'string') return ' characters'
  return origin === 'array' ? ' items' : ''
}
