/**
 * Variables in a suite: `{{path}}`, `{{now_ms - 301s}}`, `{{now_ms | iso}}`. Text that is one variable and nothing else
 * becomes its value, with its type; within other text it becomes text. With them, the schemas that fields of a suite share.
 */
import { z } from 'zod'
import { durationPattern, parseDuration, unitsMs } from '#foundation/duration.ts'
import { isObject, type Json, type JsonObject, valueAt } from '#foundation/json.ts'
import { findEntry } from '#foundation/table-entry.ts'

/** The variables that every case has. */
export const builtIns = {
  session: 'session of this case',
  client_id: 'project of this case',
  origin: 'an origin that the project allows',
  base_url: 'where requests go',
  secret_key: 'secret test key of the project',
  publishable_key: 'publishable test key of the project',
  now_ms: 'time of the service, epoch milliseconds',
  uuid: 'a new UUID each time',
  beacon_id: 'a new beacon_id each time',
  index: 'number of the repetition, from 1',
  case_name: 'name of this case',
} as const

export type BuiltIn = keyof typeof builtIns

const filters: Readonly<Record<string, (value: Json) => Json>> = {
  /** Epoch milliseconds as RFC 3339. */
  iso: (value) => new Date(Number(value)).toISOString(),
  /** Epoch milliseconds as whole seconds. */
  seconds: (value) => Math.floor(Number(value) / 1000),
  text: (value) => (typeof value === 'string' ? value : JSON.stringify(value)),
  upper: (value) => String(value).toUpperCase(),
  /** Percent-encoded, for a path or a query. */
  encoded: (value) => encodeURIComponent(String(value)),
}
export const filterNames = Object.keys(filters)

/** A variable does not exist, or cannot be calculated with. */
export class VariableError extends Error {
  override readonly name = 'VariableError'
}

/** One use of a variable: `now_ms - 301s | iso` has the name `now_ms`. */
interface Expression {
  name: string
  path: string
  steps: { sign: 1 | -1; amount: number }[]
  filter: string | null
}

const expression =
  /^\s*([a-z][a-z0-9_]*)((?:\.[A-Za-z0-9_-]+)*)\s*((?:[+-]\s*[\d.]+(?:ms|s|m|h|d)?\s*)*)(?:\|\s*([a-z]+)\s*)?$/
const uses = /\{\{([^{}]*)\}\}/g

/** Returns every use of a variable in a text, null for one that is not well formed. */
export function expressionsIn(text: string): (Expression | null)[] {
  return [...text.matchAll(uses)].map(([, inner = '']) => parseExpression(inner))
}

/** Resolves with the value of a variable by its name, or undefined when there is none. */
export type Lookup = (name: string) => Promise<Json | undefined>

/** Resolves with a copy in which every variable is filled in. Throws VariableError. */
export async function substitute(value: JsonObject, lookup: Lookup): Promise<JsonObject>
export async function substitute(value: Json, lookup: Lookup): Promise<Json>
export async function substitute(value: Json, lookup: Lookup): Promise<Json> {
  if (typeof value === 'string') return value.includes('{{') ? substituteText(value, lookup) : value
  if (Array.isArray(value)) {
    const items: Json[] = []
    for (const item of value) items.push(await substitute(item, lookup))
    return items
  }
  if (!isObject(value)) return value
  const fields: [string, Json][] = []
  for (const [name, field] of Object.entries(value)) {
    const named = name.includes('{{') ? String(await substituteText(name, lookup)) : name
    fields.push([named, await substitute(field, lookup)])
  }
  return Object.fromEntries(fields)
}

async function substituteText(text: string, lookup: Lookup): Promise<Json> {
  const whole = /^\{\{([^{}]*)\}\}$/.exec(text)
  if (whole !== null) return evaluate(whole[1] ?? '', lookup)
  let result = ''
  let from = 0
  for (const use of text.matchAll(uses)) {
    const value = await evaluate(use[1] ?? '', lookup)
    result += text.slice(from, use.index) + (typeof value === 'string' ? value : JSON.stringify(value))
    from = use.index + use[0].length
  }
  return result + text.slice(from)
}

async function evaluate(text: string, lookup: Lookup): Promise<Json> {
  const parsed = parseExpression(text)
  if (parsed === null) throw new VariableError(`{{${text}}} is not a variable.`)
  const { name, path, steps, filter } = parsed
  const root = await lookup(name)
  const value = valueAt(root, path)
  if (value === undefined) {
    const place = path === '' ? name : `${name}.${path}`
    throw new VariableError(
      root === undefined ? `The variable ${name} has no value here.` : `The variable ${place} does not exist.`,
    )
  }
  if (steps.length > 0 && typeof value !== 'number') {
    throw new VariableError(`{{${text}}} needs a number, and ${name} is ${JSON.stringify(value)}.`)
  }
  const moved = steps.reduce<Json>((sum, { sign, amount }) => Number(sum) + sign * amount, value)
  return filter === null ? moved : findEntry(filters, filter)!(moved)
}

function parseExpression(text: string): Expression | null {
  const [, name, path = '', sums = '', filter = null] = expression.exec(text) ?? []
  if (name === undefined || (filter !== null && !Object.hasOwn(filters, filter))) return null
  const steps = [...sums.matchAll(/([+-])\s*([\d.]+)(ms|s|m|h|d)?/g)].map(([, sign, count, unit]) => ({
    sign: sign === '-' ? (-1 as const) : (1 as const),
    amount: Number(count) * (unit === undefined ? 1 : findEntry(unitsMs, unit)!),
  }))
  return { name, path: path.slice(1), steps, filter }
}

/** `abort`: a union then reports its own error, not that of its last branch. */
const WholeVariable = z.string().regex(/^\{\{[^{}]+\}\}$/, { abort: true })

/** Returns the schema of a field that a variable may fill: `{{name}}` is in its place until the step runs. */
export function orVariable<Schema extends z.ZodType>(schema: Schema, what: string): Schema {
  return z.union([schema, WholeVariable], { error: `must be ${what}` }) as unknown as Schema
}

/** Any JSON value. */
export const AnyJson = z.unknown() as z.ZodType<Json>

/** The name of a step or variable: `{{name}}`. */
export const Name = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be lower-case letters, digits and _, beginning with a letter')

/** A number below this one was most likely meant in seconds or minutes. */
const minUnitlessMs = 1_000

/** A duration: `500ms`, `10s`, `31m`, `2h`, `180d`, or a number of milliseconds from 1,000 on. */
export const Duration = orVariable(
  z.union([
    z
      .number()
      .min(0)
      .refine((given) => given <= 0 || given >= minUnitlessMs, {
        error: ({ input }) => `must have a unit: ${input} is ${input} milliseconds; write ${input}s, or ${input}ms`,
      }),
    z.string().regex(durationPattern, { abort: true }),
  ]),
  'a time such as 500ms, 10s or 31m, or milliseconds',
)
type Duration = z.infer<typeof Duration>

/** Returns a duration in milliseconds. */
export function durationMs(duration: Duration): number {
  return typeof duration === 'number' ? duration : (parseDuration(duration) ?? 0)
}
