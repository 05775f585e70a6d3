/**
 * The schemas of the OpenAPI 3.1 document: the JSON Schema of every schema of the contract. There is one component for each schema that a file exports, and for each body and response of an operation, under the
 * names of `schemaName`.
 */
import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '#foundation/json.ts'
import type { Endpoint } from '../endpoint.ts'
import { ErrorBody } from '../errors.ts'
import { schemaName } from '../index.ts'

/** The schemas of one document. */
export interface Schemas {
  /** The schemas of an endpoint's parts, by endpoint id and part: `placements.create body`. */
  parts: ReadonlyMap<string, JsonObject>
  /** By name, in alphabetical order. */
  components: Readonly<Record<string, JsonObject>>
}

/** Returns the JSON Schema of every params, query, body and response, and the components that they refer to. */
export function openapiSchemas(endpoints: readonly Endpoint[]): Schemas {
  const parts: Record<string, z.ZodType> = { ErrorBody }
  const names = new Map<unknown, string>()
  for (const { id, params, query, body, response } of endpoints) {
    for (const [part, schema] of Object.entries({ params, query, body, response })) {
      if (!(schema instanceof z.ZodType)) continue
      parts[`${id} ${part}`] = schema
      // An alias has the schemas of the endpoint that replaces it.
      if (names.has(schema) || hasNamedOrigin(schema)) continue
      if (part === 'body') names.set(schema, `${pascalCase(id)}Request`)
      if (part === 'response') names.set(schema, `${pascalCase(id)}Response`)
    }
  }
  const { $defs = {}, properties = {} } = z.toJSONSchema(z.object(parts), { metadata: new NamedSchemas(names) })
  const components = Object.entries({ ...($defs as Schemas['components']), Json: { description: 'Any JSON value.' } })
    .filter(([name]) => !isAnyJson(name))
    .map(([name, schema]): [string, JsonObject] => [name, openapiSchema(schema)])
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    parts: new Map(
      Object.entries(properties as Schemas['components']).map(([name, schema]) => [name, openapiSchema(schema)]),
    ),
    components: Object.fromEntries(components),
  }
}

/** `placements.create` becomes `placementsCreate`. */
export function operationId(endpoint_id: string): string {
  return `${endpoint_id[0]}${pascalCase(endpoint_id).slice(1)}`
}

/** `placements.create` becomes `PlacementsCreate`. */
function pascalCase(id: string): string {
  return id.replace(/(?:^|[._-])([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** The metadata of schemas, with the name that makes them components as their `id`. */
class NamedSchemas extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  readonly #names: ReadonlyMap<unknown, string>

  constructor(names: ReadonlyMap<unknown, string>) {
    super()
    this.#names = names
  }

  override get<S extends z.core.$ZodType>(schema: S): z.core.$replace<z.core.GlobalMeta, S> | undefined {
    const meta = z.globalRegistry.get(schema)
    const id = schemaName(schema) ?? this.#names.get(schema)
    return id === undefined ? meta : ({ ...meta, id } as z.core.$replace<z.core.GlobalMeta, S>)
  }
}

/** A described copy of a named schema refers to it, and needs no separate name. */
function hasNamedOrigin(schema: z.core.$ZodType): boolean {
  const parent = schema._zod.parent
  return parent !== undefined && (schemaName(parent) !== null || hasNamedOrigin(parent))
}

/** zod numbers unnamed recursive schemas; in the contract the only one is any JSON value. */
function isAnyJson(name: string): boolean {
  return name.startsWith('__schema')
}

/** Returns a zod schema in the form that OpenAPI uses, at every level. */
function openapiSchema(schema: JsonObject): JsonObject {
  const { provenance, decision, keywords, ...own } = schema
  const isMarked = typeof provenance === 'string'
  const written = Object.fromEntries(
    Object.entries(isMarked ? own : schema).flatMap(([key, value]) => writeKeyword(own, key, value)),
  )
  return {
    ...withInt64(withNull({ ...written, ...(own.$ref === undefined ? (keywords as JsonObject) : {}) })),
    ...(isMarked ? { 'x-provenance': { provenance, decision: decision ?? null } } : {}),
  }
}

function openapiValue(value: Json): Json {
  if (Array.isArray(value)) return value.map(openapiValue)
  return typeof value === 'object' && value !== null ? openapiSchema(value) : value
}

function writeKeyword(schema: JsonObject, key: string, value: Json): [string, Json][] {
  if (key === 'keywords') return []
  if (key === 'properties') {
    const fields = Object.entries(value as Schemas['components'])
    return [[key, Object.fromEntries(fields.map(([name, field]) => [name, openapiSchema(field)]))]]
  }
  if (key === '$ref' && typeof value === 'string') {
    const name = value.replace('#/$defs/', '')
    return [[key, `#/components/schemas/${isAnyJson(name) ? 'Json' : name}`]]
  }
  if (key === 'pattern' && schema.format === 'date-time') return []
  // A format that only zod knows comes with a pattern that says the same.
  if (key === 'format' && value !== 'date-time') return []
  return [[key, openapiValue(value)]]
}

/** Writes a nullable plain type as one schema, as generators prefer, with null only once. */
function withNull(schema: JsonObject): JsonObject {
  const { anyOf, ...others } = schema
  if (!Array.isArray(anyOf)) return schema
  const options = anyOf.filter((option) => isObject(option))
  const [first, last] = options
  if (options.length !== 2 || first === undefined || last?.type !== 'null') return schema
  if (Array.isArray(first.anyOf)) return { ...first, ...others }
  if (Array.isArray(first.type)) return { ...first, ...others }
  if (typeof first.type !== 'string' || first.type === 'object' || 'enum' in first || 'const' in first) return schema
  return { ...first, ...others, type: [first.type, 'null'] }
}

/** Marks an integer that can exceed 32 bits. Bounds that only JavaScript has are left out. */
function withInt64(schema: JsonObject): JsonObject {
  const isInteger = schema.type === 'integer' || (Array.isArray(schema.type) && schema.type.includes('integer'))
  if (!isInteger) return schema
  const { minimum, maximum, ...others } = schema
  const isLong = typeof maximum === 'number' && maximum > 0x7fffffff
  return {
    ...others,
    ...(isLong ? { format: 'int64' } : {}),
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
  }
}

/* Examples of bodies and responses, by endpoint and name. A test parses each with its schema. */
