/**
 * The objects of the contract. A function returns their fields and is called when the object is first used: parsed with,
 * listed or written as JSON Schema. So a start builds no fields, and a request those of its own endpoint. Built, they are two
 * thousand schemas, a fifth of the time of a start.
 */
import { z } from 'zod'
import { once } from '../foundation/once.ts'
import { markAssumed } from './provenance.ts'

/** An object without other fields. */
export function strictObject<Shape extends z.ZodRawShape>(fields: () => Shape): z.ZodObject<Shape, z.core.$strict> {
  return object(fields, never) as z.ZodObject<Shape, z.core.$strict>
}

/** An object that may have other fields. */
export function looseObject<Shape extends z.ZodRawShape>(fields: () => Shape): z.ZodObject<Shape, z.core.$loose> {
  return object(fields, unknown) as z.ZodObject<Shape, z.core.$loose>
}

/** A strict object whose described fields are assumed by `decision`, but for those with a source of their own. */
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
 * Builds the objects inside a schema. The parser looks for cycles in its first parses, takes fields that are not built for
 * one, and is slower from then on.
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
