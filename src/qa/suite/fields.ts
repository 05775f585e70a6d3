/** Schemas that many members of a suite share. */
import { z } from 'zod'
import type { JsonValue } from '../json.ts'

/** `abort`: a union then tells its own error, not that of its last branch. */
const wholeVariable = z.string().regex(/^\{\{[^{}]+\}\}$/, { abort: true })

/** A member that a variable may fill: `{{name}}` stands for the value itself until it is known. */
export function orVariable<Schema extends z.ZodType>(schema: Schema, what: string): Schema {
  return z.union([schema, wholeVariable], { error: `must be ${what}` }) as unknown as Schema
}

/** Anything that JSON holds. */
export const Json = z.unknown() as z.ZodType<JsonValue>

/** A name that steps and variables go by: `{{name}}`. */
export const Name = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be lower-case letters, digits and _, beginning with a letter')

/** How long: `500ms`, `10s`, `31m`, `2h`, `180d`, or a number of milliseconds. */
export const Duration = orVariable(
  z.union([z.number().min(0), z.string().regex(/^\d+(\.\d+)?(ms|s|m|h|d)$/, { abort: true })]),
  'a time such as 500ms, 10s or 31m, or milliseconds',
)
export type Duration = z.infer<typeof Duration>

export const units_ms = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Milliseconds. */
export function durationMs(duration: Duration): number {
  if (typeof duration === 'number') return duration
  const [, count = '', unit = ''] = /^([\d.]+)(ms|s|m|h|d)$/.exec(duration) ?? []
  return Number(count) * units_ms[unit as keyof typeof units_ms]
}
