/**
 * Compares the OpenAPI document of a service with that of the contract, for v1. Both are read as fields by path, with
 * references followed and alternatives merged.
 */

import { errorCodes } from '#contract/errors.ts'
import { v1 } from '#contract/index.ts'
import type { Provenance } from '#contract/objects.ts'
import { openapiDocument } from '#contract/openapi/document.ts'
import { isObject } from '#foundation/json.ts'
import { tableNames } from '#foundation/table-entry.ts'
import { provenances } from '../expect/contract.ts'
import type { Difference } from '../result.ts'
import type { ServiceDifference, V1Id } from './report.ts'

/** Returns what differs. `document` is any JSON object that declares to be OpenAPI. */
export function compareOpenapi(document: Document): ServiceDifference[] {
  const ours = openapiDocument({ server_url: '/' })
  return tableNames(v1).flatMap((id) => {
    const { method, path } = v1[id]
    const theirs = readOperation(document, method, path)
    const own = readOperation(ours, method, path) as Operation
    const differences =
      theirs === null
        ? [difference('documented', `${method} ${path}`, 'described', 'missing')]
        : [...compareFields(id, own, theirs), ...compareStatuses(own, theirs)]
    return differences.map((each) => ({ ...each, endpoint: id, check: 'openapi' }))
  })
}

function compareFields(id: V1Id, own: Operation, theirs: Operation): Difference[] {
  const known = new Map<string, Provenance>(
    (['query', 'body', 'response'] as const).flatMap((where) =>
      [...provenances(v1[id], where)].map(([path, provenance]) => [`${where} ${path}`, provenance] as const),
    ),
  )
  const missing = [...own.fields].flatMap(([path, field]) => {
    const weight = known.get(path) ?? 'assumed'
    const other = theirs.fields.get(path)
    if (other !== undefined) return compareField(weight, path, field, other)
    // The fields of an object that is missing are not reported with it.
    const around = path.replace(/(\[\])?\.[^.]+$/, '')
    const isReported = around !== path && own.fields.has(around) && !theirs.fields.has(around)
    return isReported ? [] : [difference(weight, path, 'described', 'missing')]
  })
  const added = [...theirs.fields]
    .filter(([path]) => !own.fields.has(path))
    .map(([path, { required }]) =>
      required && !path.startsWith('response')
        ? difference('documented', path, 'no such field', 'required')
        : difference('addition', path, 'no such field', 'described'),
    )
  return [...missing, ...added]
}

function compareField(weight: Provenance, path: string, own: Field, other: Field): Difference[] {
  const found: Difference[] = []
  const isTyped = own.types.size > 0 && other.types.size > 0
  if (isTyped && (without(own.types, other.types).size > 0 || without(other.types, own.types).size > 0)) {
    found.push(difference(weight, path, list(own.types), list(other.types)))
  }
  if (own.values !== null && other.values !== null) {
    const gone = without(own.values, other.values)
    const added = without(other.values, own.values)
    if (gone.size > 0) found.push(difference(weight, path, `the value ${list(gone)}`, 'not among its values'))
    if (added.size > 0) found.push(difference('addition', path, 'no such value', list(added)))
  }
  // Clients only break when a request needs more than before, or a response promises less.
  const isBreaking = path.startsWith('response') ? own.required && !other.required : !own.required && other.required
  const text = ({ required }: Field) => (required ? 'required' : 'not required')
  if (isBreaking) found.push(difference(weight, path, text(own), text(other)))
  return found
}

function compareStatuses(own: Operation, theirs: Operation): Difference[] {
  const hasSuccess = [...theirs.statuses].some((status) => status.startsWith('2'))
  return [...without(own.statuses, theirs.statuses)]
    .filter((status) => status.startsWith('4') || (status.startsWith('2') && !hasSuccess))
    .map((status) => difference(statusProvenance(status), `status ${status}`, 'described', 'missing'))
}

/** That a document describes the status of a documented error is observed, and assumed of other errors. */
function statusProvenance(status: string): Provenance {
  if (status.startsWith('2')) return 'documented'
  const codes = tableNames(errorCodes).filter((code) => String(errorCodes[code].status) === status)
  return codes.some((code) => errorCodes[code].provenance === 'documented') ? 'observed' : 'assumed'
}

function difference(weight: Difference['weight'], what: string, expected: string, observed: string): Difference {
  return { weight, what, expected, observed }
}

function list(names: ReadonlySet<string>): string {
  return [...names].toSorted().join(', ')
}

function without(names: ReadonlySet<string>, others: ReadonlySet<string>): Set<string> {
  return new Set([...names].filter((name) => !others.has(name)))
}

type Document = Readonly<Record<string, unknown>>

interface Field {
  /** `string`, `integer`, ...; empty when the document declares none. */
  types: ReadonlySet<string>
  /** The allowed values; null when all are. */
  values: ReadonlySet<string> | null
  required: boolean
}

interface Operation {
  /** By place and path: `body overrides.bidfloor`, `query wait_ms`, `response placement.width`. */
  fields: Map<string, Field>
  statuses: ReadonlySet<string>
}

/** Deeper than the contract nests; ends circular references. */
const deepest = 12

/** Returns the operation of a method and path, or null when the document has none. */
function readOperation(document: Document, method: string, path: string): Operation | null {
  // Parameters may have other names.
  const withoutNames = (template: string) => template.replaceAll(/\{\w+\}/g, '{}')
  const paths = objectAt(document, 'paths')
  const item = objectAt(
    paths,
    Object.keys(paths).find((template) => withoutNames(template) === withoutNames(path)) ?? '',
  )
  const operation = item[method.toLowerCase()]
  if (!isObject(operation)) return null
  const fields = new Map<string, Field>()
  for (const parameter of [item.parameters, operation.parameters].flatMap(toList)) {
    const { name, in: where, required, schema } = resolve(document, parameter)
    if (where === 'query') fields.set(`query ${String(name)}`, readField(document, schema, required === true))
  }
  const schemaIn = (holder: unknown) =>
    objectAt(objectAt(resolve(document, holder), 'content'), 'application/json').schema
  collectFields({ document, fields }, schemaIn(operation.requestBody), 'body')
  const responses = objectAt(operation, 'responses')
  const success = Object.keys(responses).find((status) => status.startsWith('2'))
  if (success !== undefined) collectFields({ document, fields }, schemaIn(responses[success]), 'response')
  return { fields, statuses: new Set(Object.keys(responses)) }
}

interface Collected {
  document: Document
  fields: Map<string, Field>
}

function collectFields(to: Collected, schema: unknown, place: string, depth = 0): void {
  if (depth > deepest) return
  const { document, fields } = to
  for (const shape of listShapes(document, schema)) {
    const required = toList(shape.required)
    for (const [name, property] of Object.entries(objectAt(shape, 'properties'))) {
      const path = `${place}${/^(body|response)$/.test(place) ? ' ' : '.'}${name}`
      const field = readField(document, property, required.includes(name))
      fields.set(path, merge(fields.get(path), field))
      collectFields(to, property, path, depth + 1)
    }
    if (shape.items !== undefined) collectFields(to, shape.items, `${place}[]`, depth + 1)
  }
}

function readField(document: Document, schema: unknown, required: boolean): Field {
  const shapes = listShapes(document, schema)
  const listValues = (shape: Document) => ('const' in shape ? [shape.const] : toList(shape.enum))
  const types = shapes.flatMap((shape) => (shape.type === undefined ? listValues(shape).map(typeName) : shape.type))
  const values = shapes.flatMap(listValues)
  return {
    types: new Set(types.map(String)),
    values: values.length === 0 ? null : new Set(values.map(String)),
    required,
  }
}

/** A field of several shapes is required when it is so in each; its types and values add up. */
function merge(before: Field | undefined, field: Field): Field {
  if (before === undefined) return field
  return {
    types: new Set([...before.types, ...field.types]),
    values: before.values === null || field.values === null ? null : new Set([...before.values, ...field.values]),
    required: before.required && field.required,
  }
}

/** Returns the alternatives of a schema, each without references, and the keywords beside them. */
function listShapes(document: Document, schema: unknown, depth = 0): Document[] {
  if (depth > deepest) return []
  const { anyOf, oneOf, allOf, ...own } = resolve(document, schema)
  const inner = [anyOf, oneOf, allOf].flatMap(toList)
  const hasOwn = inner.length === 0 || own.properties !== undefined
  return [...(hasOwn ? [own] : []), ...inner.flatMap((each) => listShapes(document, each, depth + 1))]
}

function resolve(document: Document, value: unknown): Document {
  let at = value
  for (let step = 0; step < deepest && isObject(at) && typeof at.$ref === 'string'; step++) {
    const names = at.$ref.replace(/^#\//, '').split('/')
    at = names.reduce<unknown>(
      (inner, name) => (isObject(inner) ? inner[name.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined),
      document,
    )
  }
  return isObject(at) ? at : {}
}

function typeName(value: unknown): string {
  return value === null ? 'null' : typeof value
}

function objectAt(value: Document, name: string): Document {
  const inner = value[name]
  return isObject(inner) ? inner : {}
}

function toList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
