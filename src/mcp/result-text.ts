import { CliError } from '#cli/run/errors.ts'
import { describeFailure } from '#cli/run/failure.ts'
import { isObject } from '#foundation/json.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { tools } from './tools.ts'

/** Returns recorded text between fences that it cannot close: they are longer than any row of backticks in it. */
export function fencedText(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((row) => row.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}json\n${text}\n${fence}`
}

/** The maximum number of characters in a result: about 6,000 tokens. */
export const maxCharacters = 24_000
/** The maximum number of characters in one of its strings. */
const maxStringCharacters = 4_000

/** Returns a value as JSON of a limited size, without keys and tokens; `hint` says how to get less, or the rest. */
export function resultText(value: unknown, hint: string): string {
  const plain: unknown = JSON.parse(JSON.stringify(value ?? null, adviceForAgents))
  const whole = redactButFrames(JSON.stringify(shortenStrings(plain, maxStringCharacters), null, 1))
  if (whole.length <= maxCharacters) return whole
  for (let most = 64; most >= 1; most = Math.floor(most / 2)) {
    const shortened = { truncated: hint, result: shortenLists(shortenStrings(plain, most * 30), most) }
    const text = redactButFrames(JSON.stringify(shortened, null, 1))
    if (text.length <= maxCharacters) return text
  }
  return limitedText(whole, hint)
}

/** The address of a frame, which holds the asset token that any page with the ad has: an agent may open it. */
const frameUrl = /("frame_url": "https?:\/\/[^"\s]*\/v1\/render\/)(ast_[\w-]+)/g

/** Removes secrets from JSON, except the token in `frame_url`. */
function redactButFrames(json: string): string {
  const tokens = [...json.matchAll(frameUrl)].map(([, , token]) => token!)
  let next = 0
  return redactSecrets(json).replace(frameUrl, (found, before: string) => {
    const token = tokens[next++]
    return token === undefined ? found : before + token
  })
}

/**
 * Returns a text of a limited size. It must not contain secrets: pages and suites of this package have only well-known
 * keys.
 */
export function limitedText(text: string, hint: string): string {
  if (text.length <= maxCharacters) return text
  const note = `\n\n[Cut: this text has ${text.length} characters. ${hint}]`
  return `${text.slice(0, maxCharacters - note.length)}${note}`
}

/** Returns what failed and what to do about it, as commands report it. */
export function failureText(error: unknown): string {
  const { message, hint, reason_code, code } =
    error instanceof CliError ? { ...error, message: error.message, reason_code: null } : describeFailure(error)
  const cause = reason_code ?? code
  const text = `${cause}: ${message}${hint === null ? '' : `\nFix: ${hint}`}`
  return limitedText(redactSecrets(namingTools(text)), '')
}

/** Fields of results that contain advice from this package. */
const adviceFields: readonly string[] = ['expected', 'fix', 'hint']

function adviceForAgents(field: string, value: unknown): unknown {
  return typeof value === 'string' && adviceFields.includes(field) ? namingTools(value) : value
}

/** Tools without required input, by the command that does the same. */
const toolsByCommand = new Map(
  tools.filter(({ input }) => input.safeParse({}).success).map(({ command, name }) => [command, name]),
)
/**
 * A command as advice names it, and its page if it is `docs`. A command with its own options is left to the command
 * line.
 */
const named = new RegExp(
  `\\b(?:(?:npx|yarn|bunx) svc-sandbox|svc) (?:docs ([a-z-]+)|(${[...toolsByCommand.keys()].join('|')})(?: -o json)?)(?! --?[a-z])\\b`,
  'g',
)

/** Returns advice with each command replaced by its tool, if there is one: "See svc contract show" is for a shell. */
export function namingTools(advice: string): string {
  return advice.replace(named, (_command, topic: string | undefined, command: string) =>
    topic === undefined ? `${toolsByCommand.get(command)}` : `read_docs with topic ${topic}`,
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
