/**
 * Variables in a suite: `{{path}}`, `{{now_ms - 301s}}`, `{{now_ms | iso}}`. Text that is one variable and nothing else
 * becomes its value, with its type; within other text it becomes text.
 */
import { isObject, valueAt } from '../expect/paths.ts'
import type { JsonValue } from '../json.ts'
import { units_ms } from './fields.ts'

/** Variables that every case has. */
export const builtIns = {
  session: 'session of this case, its own',
  client_id: 'project of this case',
  origin: 'an origin that the project allows',
  base_url: 'where requests go',
  secret_key: 'secret test key of the project',
  publishable_key: 'publishable test key of the project',
  now_ms: 'time of the service, epoch milliseconds',
  uuid: 'a new UUID each time',
  beacon_id: 'a new beacon_id each time',
  index: 'in a repeated step: which time it is, from 1',
  case_name: 'name of this case',
} as const

export type BuiltIn = keyof typeof builtIns

const filters: Readonly<Record<string, (value: JsonValue) => JsonValue>> = {
  /** Epoch milliseconds as RFC 3339. */
  iso: (value) => new Date(Number(value)).toISOString(),
  /** Epoch milliseconds as whole seconds. */
  seconds: (value) => Math.floor(Number(value) / 1000),
  text: (value) => (typeof value === 'string' ? value : JSON.stringify(value)),
  upper: (value) => String(value).toUpperCase(),
  /** For a path or a query. */
  encoded: (value) => encodeURIComponent(String(value)),
}
export const filterNames = Object.keys(filters)

/** A variable that does not exist, or cannot be computed with. */
export class VariableError extends Error {
  override readonly name = 'VariableError'
}

/** One use of a variable: `now_ms - 301s | iso` has the name `now_ms`. */
export interface Expression {
  name: string
  path: string
  steps: { sign: 1 | -1; amount: number }[]
  filter: string | null
}

const expression =
  /^\s*([a-z][a-z0-9_]*)((?:\.[A-Za-z0-9_-]+)*)\s*((?:[+-]\s*[\d.]+(?:ms|s|m|h|d)?\s*)*)(?:\|\s*([a-z]+)\s*)?$/
const uses = /\{\{([^{}]*)\}\}/g

/** Every use of a variable in a text; null for one that is not well formed. */
export function expressionsIn(text: string): (Expression | null)[] {
  return [...text.matchAll(uses)].map(([, inner = '']) => parseExpression(inner))
}

/** The name of what a suite calls a value, when it is known. undefined: there is no such variable. */
export type Lookup = (name: string) => Promise<JsonValue | undefined>

/** A copy with every variable replaced. Throws VariableError. */
export async function substitute(value: JsonValue, lookup: Lookup): Promise<JsonValue> {
  if (typeof value === 'string') return value.includes('{{') ? substituteText(value, lookup) : value
  if (Array.isArray(value)) {
    const items: JsonValue[] = []
    for (const item of value) items.push(await substitute(item, lookup))
    return items
  }
  if (!isObject(value)) return value
  const members: [string, JsonValue][] = []
  for (const [name, member] of Object.entries(value)) {
    const named = name.includes('{{') ? String(await substituteText(name, lookup)) : name
    members.push([named, await substitute(member, lookup)])
  }
  return Object.fromEntries(members)
}

async function substituteText(text: string, lookup: Lookup): Promise<JsonValue> {
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

async function evaluate(text: string, lookup: Lookup): Promise<JsonValue> {
  const parsed = parseExpression(text)
  if (parsed === null) throw new VariableError(`{{${text}}} is not a variable.`)
  const { name, path, steps, filter } = parsed
  const root = await lookup(name)
  const value = valueAt(root, path)
  if (value === undefined) {
    const place = path === '' ? name : `${name}.${path}`
    throw new VariableError(
      root === undefined ? `The variable ${name} has no value here.` : `The variable ${place} is not there.`,
    )
  }
  if (steps.length > 0 && typeof value !== 'number') {
    throw new VariableError(`{{${text}}} needs a number, and ${name} is ${JSON.stringify(value)}.`)
  }
  const moved = steps.reduce<JsonValue>((sum, { sign, amount }) => Number(sum) + sign * amount, value)
  return filter === null ? moved : filters[filter]!(moved)
}

function parseExpression(text: string): Expression | null {
  const [, name, path = '', sums = '', filter = null] = expression.exec(text) ?? []
  if (name === undefined || (filter !== null && !(filter in filters))) return null
  const steps = [...sums.matchAll(/([+-])\s*([\d.]+)(ms|s|m|h|d)?/g)].map(([, sign, count, unit]) => ({
    sign: sign === '-' ? (-1 as const) : (1 as const),
    amount: Number(count) * (unit === undefined ? 1 : units_ms[unit as keyof typeof units_ms]),
  }))
  return { name, path: path.slice(1), steps, filter }
}
