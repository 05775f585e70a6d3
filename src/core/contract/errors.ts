/**
 * The error body, the error that operations throw, and the field errors that the issues of a schema become. Codes and
 * causes are in error-codes.ts.
 */

import { z } from 'zod'
import { nearestName } from '#foundation/nearest-name.ts'
import { findEntry, tableNames } from '#foundation/table-entry.ts'
import { errorCodes, reasonCodes } from './error-codes.ts'
import { assumed, assumedObject, documented, observed } from './objects.ts'

export { errorCodes, reasonCodes } from './error-codes.ts'

/** The precise, stable cause of a failure (A12). */
export const ReasonCode = z.enum(tableNames(reasonCodes))
export type ReasonCode = z.infer<typeof ReasonCode>

/** Five codes are documented; the others are additions (A11). */
export const ErrorCode = z.enum(tableNames(errorCodes))
export type ErrorCode = z.infer<typeof ErrorCode>

export const FieldError = assumedObject('A10', () => ({
  path: z.string().describe('The dotted path of the field: overrides.allowed_formats.0.'),
  message: z.string().describe('What is wrong there.'),
  expected: z.string().describe('What is expected there.'),
}))
export type FieldError = z.infer<typeof FieldError>

/** The error body (A10). */
export const ErrorBody = assumedObject('A10', () => ({
  error: documented(ErrorCode, 'The error code. Five are documented; the others are additions (A11).', 'A10'),
  message: observed(z.string(), 'A10', 'One sentence for readers. May change; do not match on it.'),
  request_id: observed(z.string(), 'A10', 'Support identifier, equal to the x-request-id header.'),
  reason_code: assumed(ReasonCode, 'A12', 'The precise, stable cause.'),
  hint: z.string().describe('What to do next.'),
  fields: z.array(FieldError).describe('The invalid fields; empty when the cause is not a field.'),
  retryable: z.boolean().describe('Whether the same request may succeed later.'),
  docs_url: z.string().describe('The page that explains the cause.'),
}))
export type ErrorBody = z.infer<typeof ErrorBody>

/** A caller's mistake, thrown by operations and by the request pipeline, which responds with its error body. */
export class ApiError extends Error {
  readonly reason_code: ReasonCode
  readonly hint: string
  readonly fields: FieldError[]
  readonly retry_after_s: number | undefined
  readonly headers: Record<string, string>

  constructor(
    reason_code: ReasonCode,
    details: {
      message?: string
      hint?: string
      fields?: FieldError[]
      retry_after_s?: number
      headers?: Record<string, string>
    } = {},
  ) {
    super(details.message ?? reasonCodes[reason_code].message)
    this.name = 'ApiError'
    this.reason_code = reason_code
    this.hint = details.hint ?? reasonCodes[reason_code].hint
    this.fields = details.fields ?? []
    this.retry_after_s = details.retry_after_s
    this.headers = details.headers ?? {}
  }

  get status(): number {
    return errorCodes[reasonCodes[this.reason_code].error].status
  }

  /** Returns the error body of the response (A10). */
  toBody(request_id: string, base_url: string): ErrorBody {
    const error = reasonCodes[this.reason_code].error
    return {
      error,
      message: this.message,
      request_id,
      reason_code: this.reason_code,
      hint: this.hint,
      fields: this.fields,
      retryable: errorCodes[error].retryable,
      docs_url: `${base_url}/_sandbox/docs/errors/${this.reason_code}`,
    }
  }
}

type Issue = z.core.$ZodIssue

/** A field error, and where the field is in the value. */
export interface LocatedFieldError extends FieldError {
  at: readonly PropertyKey[]
  isUnknown: boolean
}

const maxPathChars = 160
/** The maximum number of unknown names compared with the known ones: a body can have thousands. */
const maxComparedNames = 20
const fieldName = /^[\w.:$@-]{1,64}$/

/** How to parse a value for `explainIssues`: only its input tells a missing value from a wrong one. */
export const withInput = { reportInput: true } as const

/**
 * Returns the precise cause and every invalid field, in the order of the schema. With the schema, unknown fields come with
 * the field that was probably meant.
 */
export function explainIssues(
  issues: readonly Issue[],
  schema?: z.core.$ZodType,
): { reason_code: ReasonCode; fields: LocatedFieldError[] } {
  const flat = issues.flatMap(flatten)
  return { reason_code: findReason(flat), fields: flat.flatMap((issue) => toFields(issue, schema)) }
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
  return findEntry(typeWords, Array.isArray(value) ? 'array' : typeof value) ?? typeof value
}

/** Whether field errors expect a type with these words. */
export function isTypeWord(expected: string): boolean {
  return Object.values(typeWords).includes(expected)
}

/** Returns what a value must be, in words that follow its name: `must be a whole number`, `must be one of a, b`. */
export function describeRequirement(issue: Issue | undefined): string {
  if (issue === undefined) return 'is not valid'
  if (issue.code === 'unrecognized_keys') return `has no field ${issue.keys.join(', ')}`
  // A message of the contract itself says more than the kind of the issue.
  if (/^(must|cannot) /.test(issue.message)) return issue.message
  return `must be ${describeExpected(issue)}`
}

/** Hints for known fields in a place where they do not exist. */
const expectedOfUnknown = new Map([
  ['wait_ms', 'wait_ms on POST /v1/placements or GET /v1/decisions/{slot_id} only: nothing else waits'],
])

/** Returns the error of a field that the schema does not define. `meant` is the path of the field to send instead. */
export function unknownField(at: readonly PropertyKey[], meant: string | null = null): LocatedFieldError {
  const expected =
    expectedOfUnknown.get(String(at.at(-1))) ??
    (meant === null ? 'no field of this name; svc contract show lists the known ones' : `the field ${meant}`)
  return { path: formatPath(at), message: 'is unknown', expected, at, isUnknown: true }
}

/** The fields that names of other APIs are meant for. */
const fieldsByOtherNames = new Map([
  ['format', 'allowed_formats'],
  ['formats', 'allowed_formats'],
  ['width', 'max_width'],
  ['height', 'max_height'],
  ['beacon_type', 'event'],
  ['event_type', 'event'],
  ['state', 'decision'],
  ['timestamp', 'occurred_at_ms'],
  ['user_id', 'session_id'],
])

/**
 * Returns the path of the field that an unknown name was probably meant for, or null: one in another case or with a
 * typing mistake (`clientId`), one that other APIs call so (`format`), or one of this name inside an object next to it
 * (`allowed_formats`, which belongs in `overrides`).
 */
function fieldMeant(schema: z.core.$ZodType, place: readonly PropertyKey[], wrong: string): string | null {
  const beside = fieldsAt(schema, place)
  const snake = wrong.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter}`).toLowerCase()
  const other = fieldsByOtherNames.get(snake) ?? snake
  const outer = [...beside].find(([, field]) => fieldsAt(field, []).has(other))?.[0]
  const isInside = !beside.has(other) && outer !== undefined
  const name = isInside ? `${outer}.${other}` : nearestName(other, [...beside.keys()])
  return name === null ? null : [...place, name].join('.')
}

/** The parts of a schema definition that are read here: of an object, a list, a union, or a wrapper of another schema. */
interface Definition {
  shape?: Record<PropertyKey, z.core.$ZodType>
  element?: z.core.$ZodType
  options?: readonly z.core.$ZodType[]
  innerType?: z.core.$ZodType
  in?: z.core.$ZodType
  out?: z.core.$ZodType
}

/** Returns the fields that a schema has in a place; for a union, the fields of every variant. */
function fieldsAt(schema: z.core.$ZodType, [name, ...rest]: readonly PropertyKey[]): Map<string, z.core.$ZodType> {
  const { shape, element, options, innerType, in: input, out } = schema._zod.def as Definition
  const within = [...(options ?? []), innerType, input, out].filter((inner) => inner !== undefined)
  if (within.length > 0) {
    const path = name === undefined ? [] : [name, ...rest]
    return new Map(within.flatMap((inner) => [...fieldsAt(inner, path)]))
  }
  if (name === undefined) return new Map(Object.entries(shape ?? {}))
  const next = element ?? shape?.[name]
  return next === undefined ? new Map() : fieldsAt(next, rest)
}

/** Whether a field that is null could be left out: not the body itself, nor a required field, nor an item of a list. */
function mayBeAbsent(path: readonly PropertyKey[], schema?: z.core.$ZodType): boolean {
  const name = path.at(-1)
  if (schema === undefined || typeof name !== 'string') return false
  return fieldsAt(schema, path.slice(0, -1)).get(name)?._zod.optin === 'optional'
}

/** A union has issues for each variant. Keeps only the issues of the variant that came closest. */
function flatten(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue]
  const closest = issue.errors.find((branch) => !branch.some((inner) => isOtherType(inner))) ?? null
  if (closest === null) return [issue]
  return closest.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })).flatMap(flatten)
}

function isOtherType(issue: Issue): boolean {
  return issue.code === 'invalid_type' && issue.path.length === 0
}

function findReason(issues: readonly Issue[]): ReasonCode {
  if (issues.some((issue) => issue.path.at(-2) === 'allowed_formats')) return 'format_unsupported'
  if (issues.some((issue) => issue.path[0] === 'publishable_key')) return 'publishable_key_malformed'
  if (issues.some((issue) => issue.code === 'unrecognized_keys')) return 'field_unknown'
  return 'schema_invalid'
}

function toFields(issue: Issue, schema?: z.core.$ZodType): LocatedFieldError[] {
  if (issue.code === 'unrecognized_keys') {
    const { path, keys } = issue
    const isCompared = (key: string, index: number) => index < maxComparedNames && fieldName.test(key)
    return keys.map((key, index) =>
      unknownField([...path, key], schema && isCompared(key, index) ? fieldMeant(schema, path, key) : null),
    )
  }
  return [
    {
      path: formatPath(issue.path),
      message: describeIssue(issue, schema),
      expected: describeExpected(issue),
      at: issue.path,
      isUnknown: false,
    },
  ]
}

/** A name that cannot be a misspelt field may be a secret or prose: it is not repeated (A12). */
function formatPath(path: readonly PropertyKey[]): string {
  const text = path.map((name) => (fieldName.test(String(name)) ? String(name) : '[name]')).join('.')
  return text.length > maxPathChars ? `${text.slice(0, maxPathChars)}…` : text
}

function describeIssue(issue: Issue, schema?: z.core.$ZodType): string {
  if ('input' in issue && issue.input === null) {
    return mayBeAbsent(issue.path, schema) ? 'is null; leave it out instead' : 'is null'
  }
  switch (issue.code) {
    case 'invalid_type':
      if (issue.message.endsWith('received undefined')) return 'is missing'
      return 'input' in issue ? `is ${typeWord(issue.input)}` : 'has the wrong type'
    case 'invalid_value':
      return 'input' in issue && issue.input === undefined ? 'is missing' : 'is not one of the allowed values'
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

function describeExpected(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return findEntry(typeWords, issue.expected) ?? issue.expected
    case 'invalid_value':
      // A message of the contract itself adds the value that was probably meant.
      if (issue.message.startsWith('must be one of ')) return issue.message.slice('must be '.length)
      return `one of ${issue.values.map(String).join(', ')}`
    case 'too_small':
      return `${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${countUnit(issue.origin, issue.minimum)}`
    case 'too_big':
      return `${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${countUnit(issue.origin, issue.maximum)}`
    default:
      return issue.message.replace(/^(Invalid input: |must be )/, '')
  }
}

/** Whether a limit counts characters or items. */
function isLength(origin: string): boolean {
  return origin === 'string' || origin === 'array'
}

function countUnit(origin: string, limit: number | bigint): string {
  if (!isLength(origin)) return ''
  const unit = origin === 'string' ? ' character' : ' item'
  return Number(limit) === 1 ? unit : `${unit}s`
}
