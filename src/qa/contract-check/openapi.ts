/** The OpenAPI document of a service beside that of the contract, for v1. */
/** An OpenAPI document as fields by path: references followed, alternatives laid over each other. */
import { type ErrorCode, errorCodes } from '../../contract/errors.ts'
import { v1 } from '../../contract/index.ts'
import { openapiDocument } from '../../contract/openapi.ts'
import type { Provenance } from '../../contract/provenance.ts'
import { isObject } from '../../foundation/json.ts'
import { provenances } from '../expect/contract.ts'
import type { Difference } from '../result.ts'
import type { ServiceDifference, V1Id } from './report.ts'

/** What differs. `document` is any JSON object that says it is OpenAPI. */
export function compareOpenapi(document: Readonly<Record<string, unknown>>): ServiceDifference[] {
  const ours = openapiDocument({ server_url: '/' })
  return (Object.keys(v1) as V1Id[]).flatMap((id) => {
    const { method, path } = v1[id]
    const theirs = readOperation(document, method, path)
    const own = readOperation(ours, method, path) as OpenapiOperation
    if (theirs === null) return [difference(id, 'documented', `${method} ${path}`, 'described', 'missing')]
    return [...compareFields(id, own, theirs), ...compareStatuses(id, own, theirs)]
  })
}

function compareFields(id: V1Id, own: OpenapiOperation, theirs: OpenapiOperation): ServiceDifference[] {
  const known = new Map<string, Provenance>(
    (['query', 'body', 'response'] as const).flatMap((where) =>
      [...provenances(v1[id], where)].map(([path, provenance]) => [`${where} ${path}`, provenance] as const),
    ),
  )
  const weightOf = (path: string): Provenance => known.get(path) ?? 'assumed'
  const missing = [...own.fields].flatMap(([path, field]) => {
    const other = theirs.fields.get(path)
    if (other !== undefined) return compareField(id, weightOf(path), path, field, other)
    // What is in a member that is missing is missing with it.
    const around = path.replace(/(\[\])?\.[^.]+$/, '')
    const isTold = around !== path && own.fields.has(around) && !theirs.fields.has(around)
    return isTold ? [] : [difference(id, weightOf(path), path, 'described', 'missing')]
  })
  const added = [...theirs.fields.keys()]
    .filter((path) => !own.fields.has(path))
    .map((path) => {
      const isDemanded = !path.startsWith('response') && theirs.fields.get(path)?.required === true
      return isDemanded
        ? difference(id, 'documented', path, 'no such field', 'required')
        : difference(id, 'addition', path, 'no such field', 'described')
    })
  return [...missing, ...added]
}

function compareField(
  id: V1Id,
  weight: Provenance,
  path: string,
  own: OpenapiField,
  other: OpenapiField,
): ServiceDifference[] {
  const found: ServiceDifference[] = []
  if (
    own.types.size > 0 &&
    other.types.size > 0 &&
    (without(own.types, other.types).size > 0 || without(other.types, own.types).size > 0)
  ) {
    found.push(difference(id, weight, path, list(own.types), list(other.types)))
  }
  if (own.values !== null && other.values !== null) {
    const gone = without(own.values, other.values)
    const added = without(other.values, own.values)
    if (gone.size > 0) found.push(difference(id, weight, path, `the value ${list(gone)}`, 'not among its values'))
    if (added.size > 0) found.push(difference(id, 'addition', path, 'no such value', list(added)))
  }
  // A caller that sends all it must, and reads only what it must get, is well in the other cases.
  const isStricter = path.startsWith('response') ? own.required && !other.required : !own.required && other.required
  if (isStricter) found.push(difference(id, weight, path, text(own.required), text(other.required)))
  return found
}

function compareStatuses(id: V1Id, own: OpenapiOperation, theirs: OpenapiOperation): ServiceDifference[] {
  return [...without(own.statuses, theirs.statuses)]
    .filter((status) => /^[24]/.test(status) && !(status.startsWith('2') && hasSuccess(theirs)))
    .map((status) => difference(id, statusProvenance(status), `status ${status}`, 'described', 'missing'))
}

function hasSuccess({ statuses }: OpenapiOperation): boolean {
  return [...statuses].some((status) => status.startsWith('2'))
}

/** An error status is as documented as its code is. */
function statusProvenance(status: string): Provenance {
  if (status.startsWith('2')) return 'documented'
  const codes = (Object.keys(errorCodes) as ErrorCode[]).filter((code) => String(errorCodes[code].status) === status)
  return codes.some((code) => errorCodes[code].provenance === 'documented') ? 'observed' : 'assumed'
}

function difference(
  endpoint: V1Id,
  weight: Difference['weight'],
  what: string,
  expected: string,
  observed: string,
): ServiceDifference {
  return { endpoint, weight, check: 'openapi', what, expected, observed }
}

function list(names: ReadonlySet<string>): string {
  return [...names].toSorted().join(', ')
}

function text(required: boolean): string {
  return required ? 'required' : 'not required'
}

function without(names: ReadonlySet<string>, others: ReadonlySet<string>): Set<string> {
  return new Set([...names].filter((name) => !others.has(name)))
}

type JsonObject = { readonly [name: string]: unknown }

export interface OpenapiField {
  /** `string`, `integer`, ...; empty where the document does not say. */
  types: ReadonlySet<string>
  /** The allowed values; null where any is. */
  values: ReadonlySet<string> | null
  required: boolean
}

export interface OpenapiOperation {
  /** By place and path: `body overrides.bidfloor`, `query wait_ms`, `response placement.width`. */
  fields: Map<string, OpenapiField>
  statuses: ReadonlySet<string>
}

/** Deeper than the contract nests; ends references that go in circles. */
const deepest = 12

/** The operation of a method and path; null when the document has none. */
export function readOperation(document: JsonObject, method: string, path: string): OpenapiOperation | null {
  const paths = objectAt(document, 'paths')
  const named = Object.keys(paths).find((name) => shapeOf(name) === shapeOf(path))
  const item = named === undefined ? {} : objectAt(paths, named)
  const operation = item[method.toLowerCase()]
  if (!isObject(operation)) return null
  const fields = new Map<string, OpenapiField>()
  const parameters = [item.parameters, operation.parameters].flatMap((list) => (Array.isArray(list) ? list : []))
  for (const parameter of parameters.map((one: unknown) => resolve(document, one))) {
    const { name, in: where, required, schema } = parameter
    if (where === 'query') fields.set(`query ${String(name)}`, fieldOf(document, schema, required === true))
  }
  const body = resolve(document, operation.requestBody)
  walk(document, jsonSchema(body), 'body', fields)
  const responses = objectAt(operation, 'responses')
  const success = Object.keys(responses).find((status) => /^2/.test(status))
  if (success !== undefined) walk(document, jsonSchema(resolve(document, responses[success])), 'response', fields)
  return { fields, statuses: new Set(Object.keys(responses)) }
}

/** `/v1/decisions/{}`: parameters may have other names. */
function shapeOf(path: string): string {
  return path.replaceAll(/\{\w+\}/g, '{}')
}

function jsonSchema(holder: JsonObject): unknown {
  return objectAt(objectAt(holder, 'content'), 'application/json').schema
}

function walk(
  document: JsonObject,
  schema: unknown,
  place: string,
  fields: Map<string, OpenapiField>,
  depth = 0,
): void {
  if (depth > deepest) return
  for (const shape of shapesOf(document, schema)) {
    const required = new Set(Array.isArray(shape.required) ? shape.required : [])
    for (const [name, member] of Object.entries(objectAt(shape, 'properties'))) {
      const path = `${place}${/^(body|response)$/.test(place) ? ' ' : '.'}${name}`
      const field = fieldOf(document, member, required.has(name))
      fields.set(path, merge(fields.get(path), field))
      walk(document, member, path, fields, depth + 1)
    }
    if (shape.items !== undefined) walk(document, shape.items, `${place}[]`, fields, depth + 1)
  }
}

function fieldOf(document: JsonObject, schema: unknown, required: boolean): OpenapiField {
  const shapes = shapesOf(document, schema)
  const types = new Set(
    shapes.flatMap(({ type, enum: values, const: value }) => [
      ...(Array.isArray(type) ? type : type === undefined ? [] : [type]).map(String),
      ...(type === undefined && Array.isArray(values) ? values.map(typeName) : []),
      ...(type === undefined && value !== undefined ? [typeName(value)] : []),
    ]),
  )
  const closed = shapes.flatMap((shape) => (shape.enum ?? ('const' in shape ? [shape.const] : [])) as unknown[])
  return { types, values: closed.length === 0 ? null : new Set(closed.map(String)), required }
}

/** A field that comes in several shapes is required when each has it so; its types and values add up. */
function merge(before: OpenapiField | undefined, field: OpenapiField): OpenapiField {
  if (before === undefined) return field
  return {
    types: new Set([...before.types, ...field.types]),
    values: before.values === null || field.values === null ? null : new Set([...before.values, ...field.values]),
    required: before.required && field.required,
  }
}

/** A schema as its alternatives, each without references. */
function shapesOf(document: JsonObject, schema: unknown, depth = 0): JsonObject[] {
  if (depth > deepest) return []
  const shape = resolve(document, schema)
  const inner = [shape.anyOf, shape.oneOf, shape.allOf].flatMap((list) => (Array.isArray(list) ? list : []))
  return inner.length === 0 ? [shape] : inner.flatMap((one: unknown) => shapesOf(document, one, depth + 1))
}

function resolve(document: JsonObject, value: unknown): JsonObject {
  let at = value
  for (let step = 0; step < deepest && isObject(at) && typeof at.$ref === 'string'; step++) {
    at = at.$ref
      .replace(/^#\//, '')
      .split('/')
      .reduce<unknown>((inner, name) => (isObject(inner) ? inner[decode(name)] : undefined), document)
  }
  return isObject(at) ? at : {}
}

function decode(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~')
}

function typeName(value: unknown): string {
  return value === null ? 'null' : typeof value
}

function objectAt(value: JsonObject, name: string): JsonObject {
  const inner = value[name]
  return isObject(inner) ? inner : {}
}
