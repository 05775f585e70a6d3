/** Input validated by the schemas of the contract, with errors that say what to do. */
import { z } from 'zod'
import { type Endpoint, isControlPlane } from '#contract/endpoint.ts'
import { ApiError, explainIssues, type LocatedFieldError, unknownField, withInput } from '#contract/errors.ts'
import type { Context } from '#operations/context.ts'
import { fastParse, needsFullParse } from './fast-parse.ts'
import { maxListedFields, withoutSecrets } from './secret-fields.ts'
import { withTypedNumbers } from './typed-numbers.ts'

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

type Client = Pick<Context, 'is_old_client' | 'warnings' | 'played'>

/**
 * Returns a body, which may have exact numbers if `isExact`, as its schema parses it. A field in the wrong place is
 * refused, with the right place in the error, unless an old client sent it. Other unknown fields are ignored with a
 * warning where the endpoint says so (A14, C02), and where the service accepted them in a recording that is played (A115).
 * Null in an optional field of the API is the field left out, with a warning (A101).
 * @throws ApiError 400
 */
export function validateBody(
  endpoint: Endpoint,
  sent: unknown,
  isExact: boolean,
  { is_old_client, warnings, played }: Client,
): unknown {
  const schema = (is_old_client ? endpoint.old_client_body : undefined) ?? endpoint.branch?.(sent) ?? endpoint.body!
  const typed = isExact ? withTypedNumbers(schema, sent) : sent
  const first = parse(schema, typed)
  if (first.success) return first.data
  const json = isControlPlane(endpoint) ? typed : withoutNulls(schema, typed)
  if (json !== typed) warnings.push('null_as_absent')
  const result = json === typed ? first : parse(schema, json)
  if (result.success) return result.data
  const unknown = explainIssues(result.error.issues).fields.filter(({ isUnknown }) => isUnknown)
  if (played !== null) removeUnknown(json, unknown, warnings)
  else if (endpoint.misplaced !== undefined)
    removeIgnored(json, unknown, { ...endpoint.misplaced(json), is_old_client, warnings })
  return validate(schema, json)
}

/** Removes unknown fields where they are ignored. @throws ApiError 400 for fields in the wrong place */
function removeIgnored(
  json: unknown,
  unknown: readonly LocatedFieldError[],
  {
    places,
    ignoresOthers,
    is_old_client,
    warnings,
  }: ReturnType<NonNullable<Endpoint['misplaced']>> & Pick<Client, 'is_old_client' | 'warnings'>,
): void {
  const misplaced = unknown.filter(({ at }) => at.length === 1 && Object.hasOwn(places, String(at[0])))
  if (misplaced.length > 0 && !(is_old_client && ignoresOthers)) {
    const fields = misplaced.map(({ path }) => ({ path, message: 'is in the wrong place', expected: places[path]! }))
    throw new ApiError('field_unknown', { hint: 'Move the listed fields to where they belong.', fields })
  }
  if (ignoresOthers) removeUnknown(json, unknown, warnings)
}

function removeUnknown(json: unknown, unknown: readonly LocatedFieldError[], warnings: Client['warnings']): void {
  if (unknown.length === 0) return
  for (const { at } of unknown) remove(json, at)
  warnings.push('fields_ignored')
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
