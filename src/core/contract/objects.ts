/**
 * The objects of the contract, and the source of every field: documented, observed or assumed.
 *
 * A function returns their fields and is called when the object is first used: to parse, list or write it as JSON
 * Schema. So startup builds no fields, and a request only the fields of its endpoint. All of them are two thousand
 * schemas, a fifth of the startup time.
 */
import { z } from 'zod'

/** An object without other fields. */
export function strictObject<Shape extends z.ZodRawShape>(fields: () => Shape): z.ZodObject<Shape, z.core.$strict> {
  return object(fields, never) as z.ZodObject<Shape, z.core.$strict>
}

/** An object that may have other fields. */
export function looseObject<Shape extends z.ZodRawShape>(fields: () => Shape): z.ZodObject<Shape, z.core.$loose> {
  return object(fields, unknown) as z.ZodObject<Shape, z.core.$loose>
}

/** A strict object whose described fields are assumed by `decision`, except those with their own source. */
export function assumedObject<Shape extends z.ZodRawShape>(decision: string, fields: () => Shape) {
  return strictObject(assumedFields(decision, fields))
}

/** The fields of such an object, for several objects that share them. */
export function assumedFields<Shape extends z.ZodRawShape>(decision: string, fields: () => Shape): () => Shape {
  return once(() => {
    const shape = fields()
    for (const field of Object.values(shape)) markAssumed(field as z.ZodType, decision)
    return shape
  })
}

const never = z.never()
const unknown = z.unknown()

function object<Shape extends z.ZodRawShape>(fields: () => Shape, catchall: z.ZodType): z.ZodObject<Shape> {
  const build = once(() => {
    const shape = fields()
    for (const field of Object.values(shape)) buildNested(field)
    return shape
  })
  return new z.ZodObject({
    type: 'object',
    get shape() {
      const value = build()
      Object.defineProperty(this, 'shape', { value })
      return value
    },
    catchall,
  }) as z.ZodObject<Shape>
}

/**
 * Builds the objects inside a schema. On its first parses the parser looks for cycles, mistakes unbuilt fields for one,
 * and is slower from then on.
 */
function buildNested(schema: z.core.$ZodType): void {
  const { def } = (schema as z.core.$ZodTypes)._zod
  if (def.type === 'object') void def.shape
  else if (def.type === 'union') def.options.forEach(buildNested)
  else if (def.type === 'array') buildNested(def.element)
  else if (def.type === 'record') buildNested(def.valueType)
  else if (def.type === 'pipe') buildNested(def.out)
  else if ('innerType' in def) buildNested(def.innerType)
}

/**
 * Where a field, value or rule comes from.
 * - `documented`: stated in the API document.
 * - `observed`: seen in public clients and public documentation of this API surface; real clients depend on it.
 * - `assumed`: chosen here, in line with the field's conventions. May differ in production.
 */
export type Provenance = 'documented' | 'observed' | 'assumed'

/** The metadata of every field of the contract. `decision` is an id such as `A31`. */
export interface Source {
  provenance: Provenance
  decision?: string
  description: string
}

/** JSON Schema that the OpenAPI document adds to what the parser checks. */
interface Keywords {
  pattern?: string
  format?: string
  minimum?: number
  maximum?: number
  minItems?: number
  uniqueItems?: boolean
  examples?: readonly string[]
  allOf?: { anyOf: { required: string[]; properties: Record<string, object> }[] }[]
}

declare module 'zod' {
  interface GlobalMeta {
    provenance?: Provenance
    decision?: string
    keywords?: Keywords
  }
}

/** Marks a field as stated in the API document. */
export function documented<S extends z.ZodType>(schema: S, description: string, decision?: string): S {
  return mark(schema, { provenance: 'documented', description, ...(decision === undefined ? {} : { decision }) })
}

/** Marks a field as seen in public clients, with the id of the decision that adopts it. */
export function observed<S extends z.ZodType>(schema: S, decision: string, description: string): S {
  return mark(schema, { provenance: 'observed', decision, description })
}

/** Marks a field as chosen here, with the id of the decision. */
export function assumed<S extends z.ZodType>(schema: S, decision: string, description: string): S {
  return mark(schema, { provenance: 'assumed', decision, description })
}

/** Marks a described field as chosen here, unless it has its own source. */
function markAssumed(schema: z.ZodType, decision: string): void {
  const meta = z.globalRegistry.get(schema)
  if (meta?.description !== undefined && meta.provenance === undefined) {
    z.globalRegistry.add(schema, { provenance: 'assumed', decision, description: meta.description })
  }
}

/**
 * Adds constraints that the parser leaves to others: to a rule with its own reason code, or to the lookup of an
 * identifier, which responds with a 404 to any other text.
 */
export function withKeywords<S extends z.ZodType>(schema: S, keywords: Keywords): S {
  return schema.meta({ keywords }) as S
}

/** Marks an optional field that the document requires, where a rule beside the schema refuses most bodies without it. */
export function requiredByRule<S extends z.ZodType>(schema: S): S {
  requiredFields.add(schema)
  return schema
}

/** Whether an object must have a field, by its schema or by a rule beside it. */
export function isRequired(field: z.ZodType): boolean {
  return !(field instanceof z.ZodOptional) || requiredFields.has(field)
}

const requiredFields = new WeakSet<z.ZodType>()

function mark<S extends z.ZodType>(schema: S, source: Source): S {
  return schema.meta({ ...source }) as S
}

/** Returns the fields of an object with their names. */
export function listShape(schema: z.ZodObject): [string, z.ZodType][] {
  return Object.entries(schema.shape)
}

/** Returns the source of a schema, or null when it has none. */
export function readSource(schema: z.ZodType): Source | null {
  const meta = schema.meta()
  return meta?.provenance === undefined ? null : (meta as Source)
}

/** Returns a function that calls `make` when it is first called, and returns the same value from then on. */
export function once<Value extends {}>(make: () => Value): () => Value {
  let value: Value | undefined
  return () => (value ??= make())
}
