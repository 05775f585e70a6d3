import { redactSecrets } from '#foundation/redaction.ts'
import { CliError } from '#text/cli-error.ts'
import { describeFailure } from '#text/failure.ts'
import { tools } from '../tools.ts'

/** Returns recorded text between fences that it cannot close: they are longer than any row of backticks in it. */
export function fencedText(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((row) => row.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}json\n${text}\n${fence}`
}

/** The maximum number of characters in a result: about 6,000 tokens. */
export const maxCharacters = 24_000

/** Returns a value as JSON has it, with the commands in its advice replaced by tools. */
export function plainResult(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null, adviceForAgents))
}

/** The address of a frame, which holds the asset token that any page with the ad has: an agent may open it. */
const frameUrl = /("frame_url": ?"https?:\/\/[^"\s]*\/v1\/render\/)(ast_[\w-]+)/g

/** Removes secrets from JSON, except the token in `frame_url`. */
export function redactButFrames(json: string): string {
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

/** A failure as a result has it. */
interface Failed {
  /** The reason code, or a code of this program. */
  code: string
  message: string
  fix: string | null
}

/** Returns what failed and what to do about it, as commands report it. */
export function describeFailed(error: unknown): Failed {
  const { message, hint, reason_code, code } =
    error instanceof CliError ? { ...error, message: error.message, reason_code: null } : describeFailure(error)
  const shown = (text: string) => limitedText(redactSecrets(namingTools(text)), '')
  return { code: reason_code ?? code, message: shown(message), fix: hint === null ? null : shown(hint) }
}

/** Returns a failure as text. */
export function failureText({ code, message, fix }: Failed): string {
  return limitedText(`${code}: ${message}${fix === null ? '' : `\nFix: ${fix}`}`, '')
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
  `\\b(?:(?:npx(?: --no)?|yarn|bunx(?: --no-install)?) svc-sandbox|svc) (?:docs ([a-z-]+)|(${[...toolsByCommand.keys()].join('|')})(?: -o json)?)(?! --?[a-z])\\b`,
  'g',
)

/** Returns advice with each command replaced by its tool, if there is one: "See svc contract show" is for a shell. */
export function namingTools(advice: string): string {
  return advice.replace(named, (_command, topic: string | undefined, command: string) =>
    topic === undefined ? `${toolsByCommand.get(command)}` : `read_docs with topic ${topic}`,
  )
}
