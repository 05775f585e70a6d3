/**
 * Texts for agents: of a limited size, because all of it becomes the context of a model, and without secrets. A value that
 * is too large is shortened as JSON, not cut in the middle: long strings first, then lists from their end.
 */

import { CliError } from '../cli/run/errors.ts'
import { describeFailure } from '../cli/run/failure.ts'
import { isObject } from '../foundation/json.ts'
import { redactSecrets } from '../foundation/redaction.ts'
import { tools } from './tools.ts'

/** Most characters of a result: about 6,000 tokens. */
export const mostCharacters = 24_000
/** Most characters of one string in it. */
const mostOfString = 4_000

/** Returns a value as JSON of a limited size, without keys and tokens; `hint` says how to get less or the rest. */
export function resultText(value: unknown, hint: string): string {
  const plain: unknown = JSON.parse(JSON.stringify(value ?? null, adviceForAgents))
  const whole = redactSecrets(JSON.stringify(shortenStrings(plain, mostOfString), null, 1))
  if (whole.length <= mostCharacters) return whole
  for (let most = 64; most >= 1; most = Math.floor(most / 2)) {
    const shortened = { truncated: hint, result: shortenLists(shortenStrings(plain, most * 30), most) }
    const text = redactSecrets(JSON.stringify(shortened, null, 1))
    if (text.length <= mostCharacters) return text
  }
  return limitedText(whole, hint)
}

/** Returns a text of a limited size. It may hold no secret: pages and suites of this package have well-known keys only. */
export function limitedText(text: string, hint: string): string {
  if (text.length <= mostCharacters) return text
  return `${text.slice(0, mostCharacters)}\n\n[${text.length - mostCharacters} characters more. ${hint}]`
}

/** Returns what failed and what to do about it, as commands report it. */
export function failureText(error: unknown): string {
  const { message, hint, reason_code, code } =
    error instanceof CliError ? { ...error, message: error.message, reason_code: null } : describeFailure(error)
  const cause = reason_code ?? code
  const text = `${cause}: ${message}${hint === null ? '' : `\nFix: ${hint}`}`
  return limitedText(redactSecrets(namingTools(text)), '')
}

/** Fields of results that hold advice of this package. */
const adviceFields: readonly string[] = ['expected', 'fix', 'hint']

function adviceForAgents(field: string, value: unknown): unknown {
  return typeof value === 'string' && adviceFields.includes(field) ? namingTools(value) : value
}

/** Tools without required input by the command that does the same. */
const toolOf = new Map(
  tools.filter(({ input }) => input.safeParse({}).success).map(({ command, name }) => [command, name]),
)
/** A command as advice names it, and its page if it is `docs`. One with options of its own is left to the command line. */
const named = new RegExp(
  `\\b(?:npx svc-sandbox|svc) (?:docs ([a-z-]+)|(${[...toolOf.keys()].join('|')})(?: -o json)?)(?! --?[a-z])\\b`,
  'g',
)

/** Returns advice with the tool in place of each command that one can replace: "See svc contract show" is for a shell. */
export function namingTools(advice: string): string {
  return advice.replace(named, (_command, topic: string | undefined, command: string) =>
    topic === undefined ? `${toolOf.get(command)}` : `read_docs with topic ${topic}`,
  )
}

function shortenStrings(value: unknown, most: number): unknown {
  if (typeof value === 'string') {
    return value.length <= most ? value : `${value.slice(0, most)}... [${value.length - most} characters more]`
  }
  if (Array.isArray(value)) return value.map((item) => shortenStrings(item, most))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, shortenStrings(field, most)]))
}

function shortenLists(value: unknown, most: number): unknown {
  if (Array.isArray(value)) {
    const kept = value.slice(0, most).map((item) => shortenLists(item, most))
    return value.length <= most ? kept : [...kept, `... ${value.length - most} more`]
  }
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, shortenLists(field, most)]))
}
