/** Flattens JSON values and JSON Schemas into lines that a person can compare: one path a line, with its type. */

type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [key: string]: Json
}

/** What was seen at one path of one or more values. */
interface Shape {
  types: Set<string>
  objects: number
  fields: Map<string, { shape: Shape; count: number }>
  items: Shape | null
}

/** Returns `path: type` lines for a list of JSON texts: the keys and types that they have together, and no value. */
export function shapeLines(texts: readonly string[]): string[] {
  const shape = emptyShape()
  for (const text of texts) addValue(shape, JSON.parse(text) as Json)
  return printShape(shape, '$', '')
}

function emptyShape(): Shape {
  return { types: new Set(), objects: 0, fields: new Map(), items: null }
}

function addValue(shape: Shape, value: Json): void {
  if (Array.isArray(value)) {
    shape.types.add('array')
    shape.items ??= emptyShape()
    for (const item of value) addValue(shape.items, item)
  } else if (typeof value === 'object' && value !== null) {
    shape.types.add('object')
    shape.objects += 1
    // Which headers a client sends depends on the version of Node.
    for (const [key, field] of Object.entries(value)) addField(shape, key, key === 'request_headers' ? {} : field)
  } else {
    shape.types.add(value === null ? 'null' : typeof value)
  }
}

function addField(shape: Shape, key: string, value: Json): void {
  const name = /^[a-z]+_[0-9a-z]{11}/.test(key) ? '*' : key
  const field = shape.fields.get(name) ?? { shape: emptyShape(), count: 0 }
  field.count += 1
  shape.fields.set(name, field)
  addValue(field.shape, value)
}

/** Sorted by path; `?` marks a field that some objects at this path do not have. */
function printShape({ types, objects, fields, items }: Shape, path: string, mark: string): string[] {
  const own = `${path}${mark}: ${[...types].sort().join(' | ') || 'nothing'}`
  const inFields = [...fields]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, { shape, count }]) => printShape(shape, `${path}.${name}`, count < objects ? '?' : ''))
  return [own, ...inFields, ...(items === null ? [] : printShape(items, `${path}[]`, ''))]
}

const structure = ['type', 'properties', 'required', 'items', 'additionalProperties', 'propertyNames', 'anyOf', 'oneOf']
const prose = ['description', 'title', 'summary', 'example', 'examples', '$schema', '$defs', 'x-provenance', '$ref']

/** Returns `path: type constraints provenance` lines for one schema; `?` marks a field that is not required. */
export function schemaLines(schema: JsonObject, path: string, resolve: Resolve = nameOfReference): string[] {
  return printSchema(schema, path, '', resolve)
}

/** What stands in place of a `$ref` at a path: a name to print, or the schema itself to print there. */
export type Resolve = (reference: string, path: string) => string | JsonObject

const nameOfReference: Resolve = (reference) => reference.split('/').at(-1) ?? reference

/** For schemas whose definitions have numbers instead of names: printed where first used, then referred to by that path. */
export function inlineDefinitions(definitions: JsonObject): Resolve {
  const printedAt = new Map<string, string>()
  return (reference, path) => {
    const definition = definitions[reference.split('/').at(-1) ?? ''] as JsonObject
    if (isLeaf(definition)) return definition
    const first = printedAt.get(reference)
    if (first !== undefined) return `same as ${first}`
    printedAt.set(reference, path)
    return definition
  }
}

function printSchema(given: JsonObject, path: string, mark: string, resolve: Resolve): string[] {
  const resolved = typeof given.$ref === 'string' ? resolve(given.$ref, path) : given
  if (typeof resolved === 'string') return [`${path}${mark}: ${resolved}${provenanceOf(given)}`]
  if (resolved !== given) return printSchema(resolved, path, mark, resolve)
  const variants = variantsOf(given)
  const named = variants.map((variant) =>
    isLeaf(variant) ? leafText(variant) : typeof variant.$ref === 'string' ? resolve(variant.$ref, path) : variant,
  )
  const isInline = named.every((variant) => typeof variant === 'string')
  const type = variants.length === 0 ? leafText(given) : isInline ? named.join(' | ') : `one of ${variants.length}`
  const inVariants = isInline
    ? []
    : named.flatMap((variant, index) =>
        typeof variant === 'string'
          ? [`${path}|${index + 1}: ${variant}`]
          : printSchema(variant, `${path}|${index + 1}`, '', resolve),
      )
  return [`${path}${mark}: ${type}${provenanceOf(given)}`, ...inVariants, ...childLines(given, path, resolve)]
}

function childLines(schema: JsonObject, path: string, resolve: Resolve): string[] {
  const { properties, required, items, additionalProperties } = schema
  const names = (required ?? []) as string[]
  const fields = Object.entries((properties ?? {}) as JsonObject).flatMap(([name, field]) =>
    printSchema(field as JsonObject, `${path}.${name}`, names.includes(name) ? '' : '?', resolve),
  )
  const ofItems = isObject(items) ? printSchema(items, `${path}[]`, '', resolve) : []
  const ofOthers = isObject(additionalProperties) ? printSchema(additionalProperties, `${path}.*`, '', resolve) : []
  return [...fields, ...ofItems, ...ofOthers]
}

function variantsOf(schema: JsonObject): JsonObject[] {
  return (schema.anyOf ?? schema.oneOf ?? []) as JsonObject[]
}

function isLeaf(schema: JsonObject): boolean {
  return ['$ref', 'properties', 'items', 'additionalProperties', 'anyOf', 'oneOf'].every((key) => !(key in schema))
}

function leafText(schema: JsonObject): string {
  const { type, propertyNames, additionalProperties } = schema
  const constraints = Object.entries(schema)
    .filter(([key]) => !structure.includes(key) && !prose.includes(key))
    .map(([key, value]) => (key === 'enum' ? (value as string[]).join(',') : `${key}=${JSON.stringify(value)}`))
  const keys = isObject(propertyNames) ? [`keys=(${leafText(propertyNames)})`] : []
  const closed = additionalProperties === false ? ['closed'] : []
  return [Array.isArray(type) ? type.join('|') : (type ?? 'any'), ...closed, ...keys, ...constraints].join(' ')
}

export function provenanceOf(schema: JsonObject): string {
  const mark = schema['x-provenance']
  if (!isObject(mark)) return ''
  return ` [${[mark.provenance, mark.decision].filter((part) => part !== null).join(' ')}]`
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
