/**
 * Exact numbers only where the contract permits any JSON: a field of a known type has a number of JavaScript, whose range
 * and precision that type is about.
 */
import type { z } from 'zod'
import { isExactNumber } from '#foundation/json/exact-numbers.ts'
import { findEntry } from '#foundation/table-entry.ts'

type Schema = z.core.$ZodType

/** Returns a body with numbers of JavaScript in the fields that have a type. */
export function withTypedNumbers(schema: Schema, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { def } = (schema as z.core.$ZodTypes)._zod
  if (def.type === 'unknown') return value
  if (def.type === 'optional' || def.type === 'nullable') return withTypedNumbers(def.innerType, value)
  if (def.type === 'pipe') return withTypedNumbers(def.out, value)
  if (def.type === 'union') return def.options.reduce((rest: unknown, option) => withTypedNumbers(option, rest), value)
  if (isExactNumber(value)) return Number(value.rawJSON)
  if (Array.isArray(value)) {
    return def.type === 'array' ? value.map((item: unknown) => withTypedNumbers(def.element, item)) : value
  }
  if (def.type !== 'object' && def.type !== 'record') return value
  const entries = Object.entries(value).map(([name, inner]): [string, unknown] => {
    const field = def.type === 'record' ? def.valueType : (findEntry(def.shape, name) ?? def.catchall)
    return [name, field === undefined ? inner : withTypedNumbers(field as Schema, inner)]
  })
  return Object.fromEntries(entries)
}
