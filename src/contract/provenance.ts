import { z } from 'zod'

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

/** Marks a described field as chosen here, unless it has a source of its own. */
export function markAssumed(schema: z.ZodType, decision: string): void {
  const meta = z.globalRegistry.get(schema)
  if (meta?.description !== undefined && meta.provenance === undefined) {
    z.globalRegistry.add(schema, { provenance: 'assumed', decision, description: meta.description })
  }
}

/**
 * Adds what the parser leaves to others: to a rule that has a reason code of its own, or to the look-up of an identifier,
 * which responds with a 404 to any other text.
 */
export function withKeywords<S extends z.ZodType>(schema: S, keywords: Keywords): S {
  return schema.meta({ keywords }) as S
}

function mark<S extends z.ZodType>(schema: S, source: Source): S {
  return schema.meta({ ...source }) as S
}

/** Returns the source of a schema, or null when it has none. */
export function sourceOf(schema: z.ZodType): Source | null {
  const meta = schema.meta()
  return meta?.provenance === undefined ? null : (meta as Source)
}
