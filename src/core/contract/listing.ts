import { z } from 'zod'
import { findEntry, tableNames } from '#foundation/table-entry.ts'
import type { Endpoint } from './endpoint.ts'
import { errorCodes, reasonCodes } from './errors.ts'
import { contract, schemaName } from './index.ts'
import { isRetryable, noFillReasons } from './no-fill.ts'
import { isRequired, listShape, type Provenance, readSource } from './objects.ts'

type Scalar = string | number | boolean | null

/** One field of one endpoint, at any depth. */
export interface ListedField {
  where: 'params' | 'query' | 'body' | 'response'
  /** Dotted; `[]` steps into an array: `items[].slot_id`. */
  path: string
  /** The variant that has this field, where a value has several: `FillDecision`. Null where there is one. */
  variant: string | null
  /** `string`, `integer`, `number`, `boolean`, `object`, `null`, `any`; `[]` for arrays, ` | ` between alternatives. */
  type: string
  /** The allowed values of an enumeration or constant. */
  values: Scalar[] | null
  /** The range of a number, the length of a text, the items of an array: `1 to 256 characters`. */
  limits: string | null
  required: boolean
  provenance: Provenance
  decision: string | null
  description: string
}

/** Returns every endpoint, field, cause and no-fill reason with its provenance, as `GET /_sandbox/contract` does. */
export function contractListing() {
  return {
    endpoints: Object.values<Endpoint>(contract).map((endpoint) => {
      const { id, method, path, stability, provenance } = endpoint
      return { id, method, path, stability, provenance, fields: endpointFields(endpoint) }
    }),
    reason_codes: reasonCodeNames.map((reason_code) => {
      const { error, message, hint } = reasonCodes[reason_code]
      const { status, retryable } = errorCodes[error]
      return { reason_code, error, status, retryable, message, hint, provenance: 'assumed', decision: 'A12' }
    }),
    no_fill_reasons: noFillReasonNames.map((no_fill_reason) => ({
      no_fill_reason,
      ...noFillReasons[no_fill_reason],
      retryable: isRetryable(no_fill_reason),
      provenance: 'assumed',
      decision: 'A31',
    })),
  }
}

const reasonCodeNames = tableNames(reasonCodes)
const noFillReasonNames = tableNames(noFillReasons)

/** Returns the fields of one endpoint in the order of its schemas. Throws when one has no provenance. */
export function endpointFields(endpoint: Endpoint): ListedField[] {
  const { params, query, body, response } = endpoint
  const parts = { params, query, body, response: response instanceof z.ZodType ? response : undefined }
  return tableNames(parts).flatMap((where) => {
    const schema = parts[where]
    return schema === undefined ? [] : listFields(schema, { endpoint: endpoint.id, where, prefix: '', variant: null })
  })
}

interface Place {
  endpoint: string
  where: ListedField['where']
  prefix: string
  variant: string | null
}

function listFields(schema: z.core.$ZodType, place: Place): ListedField[] {
  const value = unwrap(schema)
  if (value instanceof z.ZodArray) {
    return listFields(value.element, { ...place, prefix: `${place.prefix.slice(0, -1)}[].` })
  }
  if (value instanceof z.ZodUnion) {
    const variants = value.options.filter((option) => unwrap(option) instanceof z.ZodObject)
    return variants.flatMap((shape) =>
      listFields(shape, { ...place, variant: variants.length > 1 ? variantName(shape) : place.variant }),
    )
  }
  if (!(value instanceof z.ZodObject)) return []
  return listShape(value).flatMap(([name, field]) => {
    const path = `${place.prefix}${name}`
    return [listField(field, path, place), ...listFields(field, { ...place, prefix: `${path}.` })]
  })
}

/** Returns the name of a variant, or the constant that distinguishes it: `distribution: uniform`. */
function variantName(shape: z.core.$ZodType): string | null {
  const fields = shape instanceof z.ZodObject ? listShape(shape) : []
  const constant = fields.find(([, field]) => field instanceof z.ZodLiteral)
  return schemaName(shape) ?? (constant === undefined ? null : `${constant[0]}: ${listValues(constant[1])}`)
}

function listField(field: z.ZodType, path: string, { endpoint, where, variant }: Place): ListedField {
  const source = readSource(field)
  if (source === null) throw new Error(`${endpoint}: ${where} ${path} has no provenance`)
  return {
    where,
    path,
    variant,
    type: describeType(field),
    values: listValues(field),
    limits: describeLimits(field),
    required: isRequired(field),
    provenance: source.provenance,
    decision: source.decision ?? null,
    description: source.description,
  }
}

/** Returns the schema inside optional and nullable ones, and the output of a pipe. */
function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return unwrap(schema.unwrap())
  if (schema instanceof z.ZodPipe) return unwrap(schema.out)
  return schema
}

function describeType(schema: z.core.$ZodType): string {
  if (schema instanceof z.ZodOptional) return describeType(schema.unwrap())
  if (schema instanceof z.ZodPipe) return describeType(schema.out)
  if (schema instanceof z.ZodNullable) return alternatives([describeType(schema.unwrap()), 'null'])
  if (schema instanceof z.ZodUnion) return alternatives(schema.options.map(describeType))
  if (schema instanceof z.ZodArray) {
    const element = describeType(schema.element)
    return element.includes('|') ? `(${element})[]` : `${element}[]`
  }
  if (schema instanceof z.ZodLiteral) return alternatives([...schema.values].map((value) => typeof value))
  if (schema instanceof z.ZodNumber) return schema.isInt ? 'integer' : 'number'
  return findEntry(plainTypes, schema._zod.def.type) ?? 'any'
}

const plainTypes: Readonly<Record<string, string>> = {
  string: 'string',
  enum: 'string',
  boolean: 'boolean',
  null: 'null',
  object: 'object',
  record: 'object',
}

function alternatives(types: string[]): string {
  return [...new Set(types)].join(' | ')
}

function listValues(schema: z.core.$ZodType): Scalar[] | null {
  const value = unwrap(schema)
  if (value instanceof z.ZodEnum) return [...value.options]
  if (value instanceof z.ZodLiteral) return [...value.values] as Scalar[]
  if (value instanceof z.ZodArray) return listValues(value.element)
  if (value instanceof z.ZodUnion) {
    const values = value.options.flatMap((option) => listValues(option) ?? [])
    return values.length === 0 ? null : values
  }
  return null
}

function describeLimits(schema: z.core.$ZodType): string | null {
  const value = unwrap(schema)
  if (value instanceof z.ZodUnion) return alternativeLimits(value.options)
  if (value instanceof z.ZodArray) {
    const each = describeLimits(value.element)
    const texts = [range(itemBounds(value), 'item'), each === null ? null : `each ${each}`].filter(
      (text) => text !== null,
    )
    return texts.length === 0 ? null : texts.join(', ')
  }
  if (value instanceof z.ZodString) return range({ min: value.minLength, max: value.maxLength }, 'character')
  if (!(value instanceof z.ZodNumber)) return null
  const { minimum, maximum } = value.meta()?.keywords ?? {}
  return range({ min: minimum ?? value.minValue, max: maximum ?? value.maxValue }, null)
}

function alternativeLimits(options: readonly z.core.$ZodType[]): string | null {
  const texts = new Set(options.map(describeLimits).filter((text) => text !== null))
  return texts.size === 0 ? null : [...texts].join(' or ')
}

interface Bounds {
  min: number | null
  max: number | null
}

/** Returns the bounds of an array: from the parser, or from a check with its own reason code. */
function itemBounds(array: z.ZodArray): Bounds {
  const checks = (array._zod.def.checks ?? []).map(({ _zod }) => _zod.def as { minimum?: number; maximum?: number })
  const min = array.meta()?.keywords?.minItems ?? checks.find(({ minimum }) => minimum !== undefined)?.minimum
  return { min: min ?? null, max: checks.find(({ maximum }) => maximum !== undefined)?.maximum ?? null }
}

/** Returns bounds in words. The limits of safe integers do not count as bounds. */
function range({ min, max }: Bounds, unit: 'item' | 'character' | null): string | null {
  const least = min === null || min <= Number.MIN_SAFE_INTEGER || (unit !== null && min === 0) ? null : min
  const most = max === null || max >= Number.MAX_SAFE_INTEGER ? null : max
  if (least === null && most === null) return null
  const count = most ?? least
  const counted = unit === null ? '' : ` ${unit}${count === 1 ? '' : 's'}`
  const amount = (value: number) => value.toLocaleString('en')
  if (least === null) return `at most ${amount(most!)}${counted}`
  if (most === null) return `at least ${amount(least)}${counted}`
  return `${least === most ? '' : `${amount(least)} to `}${amount(most)}${counted}`
}
