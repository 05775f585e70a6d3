/** From a schema's complaints to members at fault, in the words of the error body (A10). */
import type { z } from 'zod'
import type { FieldError, ReasonCode } from './errors.ts'

type Issue = z.core.$ZodIssue

/** A member at fault, and where it is in the value. */
export interface LocatedFieldError extends FieldError {
  at: readonly PropertyKey[]
  isUnknown: boolean
}

const longestPath = 160
const memberName = /^[\w.:$@-]{1,64}$/

/** The precise cause, and every member at fault, in the order of the schema. */
export function explainIssues(issues: readonly Issue[]): { reason_code: ReasonCode; fields: LocatedFieldError[] } {
  const flat = issues.flatMap(flatten)
  return { reason_code: reasonOf(flat), fields: flat.flatMap(toFields) }
}

/** A member that no schema names. */
export function unknownField(at: readonly PropertyKey[]): LocatedFieldError {
  const expected = 'no member of this name; see docs_url for those there are'
  return { path: pathOf(at), message: 'is unknown', expected, at, isUnknown: true }
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

/** Names that cannot be a misspelt member may be a secret or prose: they are not repeated (A12). */
function pathOf(path: readonly PropertyKey[]): string {
  const text = path.map((name) => (memberName.test(String(name)) ? String(name) : '[name]')).join('.')
  return text.length > longestPath ? `${text.slice(0, longestPath)}…` : text
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
