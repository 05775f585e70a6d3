/**
 * Exit codes by category, and the error that carries a category. `-o json` errors name the category;
 * `svc help exit-codes` prints the table.
 */

import { nearestName } from '#foundation/nearest-name.ts'
import { tableNames } from '#foundation/table-entry.ts'

export const exitCodes = {
  ok: { exit_code: 0, meaning: 'Success, or `svc start` was stopped cleanly by a signal.' },
  unexpected: { exit_code: 1, meaning: 'A failure in no other category; most likely a bug in svc.' },
  usage: {
    exit_code: 2,
    meaning:
      'The command line, a setting or a file is invalid, or the system refuses something: a full disk, a missing permission.',
  },
  service: { exit_code: 3, meaning: 'The API returned an error, or a response that breaks its contract.' },
  credentials: { exit_code: 4, meaning: 'A credential or consent is missing, unknown, expired or not allowed.' },
  expectation: { exit_code: 5, meaning: 'An expectation or check failed, or a check had nothing to look at.' },
  no_fill: { exit_code: 6, meaning: 'No fill where --expect fill asked for one.' },
  discrepancy: { exit_code: 6, meaning: 'Your own counts deviate from those accepted by more than --tolerance.' },
  unreachable: { exit_code: 7, meaning: 'The service does not respond in time, or no sandbox is running.' },
  busy: { exit_code: 8, meaning: 'The port or the database is in use.' },
  interrupted: { exit_code: 130, meaning: 'Interrupted by Ctrl-C.' },
} as const satisfies Record<string, { exit_code: number; meaning: string }>

export type Category = keyof typeof exitCodes

/** Returns the category of an exit code of the contract's error table. */
export function findCategory(exit_code: number): Category {
  const categories = tableNames(exitCodes)
  return categories.find((category) => exitCodes[category].exit_code === exit_code) ?? 'unexpected'
}

/** A failure that the command line itself detects. Its category determines the exit code. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly category: Category
  /** Stable name of the cause: `option_unknown`, `port_in_use`. */
  readonly code: string
  /** The fix, one sentence, or null. */
  readonly hint: string | null

  constructor(category: Category, code: string, message: string, hint: string | null = null) {
    super(message)
    this.category = category
    this.code = code
    this.hint = hint
  }
}

/** A signal, such as the one from Ctrl-C. */
export class InterruptError extends CliError {
  readonly signal: string

  constructor(signal: string) {
    super('interrupted', 'interrupted', `Interrupted by ${signal}.`)
    this.signal = signal
  }
}

/** Awaits work that only Ctrl-C ends, so that Ctrl-C needs no message. Resolves to the exit code. */
export async function untilCtrlC(work: Promise<number>): Promise<number> {
  try {
    return await work
  } catch (error) {
    if (error instanceof InterruptError && error.signal === 'SIGINT') return exitCodes.interrupted.exit_code
    throw error
  }
}

/** The failure of every command that needs a sandbox when none is running and no service is named. */
export function noSandbox(hint = 'Start one: svc start. Or name a service: --base-url URL.'): NoSandboxError {
  return new NoSandboxError('unreachable', 'sandbox_missing', 'No sandbox is running.', hint)
}

/** The same failure by the settings: between several, nothing decides. Contract A105. */
export function noSandboxFor({ several }: { several: readonly Running[] }, hint?: string): CliError {
  if (several.length === 0) return noSandbox(hint)
  const list = several.map(({ url, folder }) => (folder === undefined ? url : `${url} in ${folder}`)).join(', ')
  return new CliError(
    'usage',
    'sandbox_ambiguous',
    `${several.length} sandboxes are running, and nothing says which one is meant: ${list}.`,
    `Name one: --base-url ${several[0]?.url}. Or start one for this folder: svc start`,
  )
}

/** A running sandbox, and the folder in which it was started. */
interface Running {
  url: string
  folder?: string | undefined
}

export class NoSandboxError extends CliError {}

/**
 * The same failure when a sandbox of another user responds at the default URL: its locator is in that user's state
 * directory.
 */
export function noOwnSandbox(base_url: string): CliError {
  const hint = `One that belongs to another user or another SVC_HOME is running at ${base_url}. To use it: --base-url ${base_url}. To start your own: svc start`
  return new CliError('unreachable', 'sandbox_missing', 'None of your sandboxes is running.', hint)
}

/** The failure of a check that had nothing to judge: passing on nothing would be worse than failing. */
export function nothingChecked(message: string, hint: string): CliError {
  return new CliError('expectation', 'nothing_checked', message, hint)
}

/** Returns a hint with the name that was probably meant; null when none is close. */
export function didYouMean(given: string, names: readonly string[]): string | null {
  const isBeginning = (name: string) => given.length > 2 && name.startsWith(given.toLowerCase())
  const name = nearestName(given, names) ?? names.find(isBeginning)
  return name === undefined ? null : `Did you mean ${name}?`
}

/** The help lists all values of a flag; an error only this many. */
const maxListedChoices = 14

/** A value that would fill the screen, and its beginning. */
const longWord = /([^\s']{100})[^\s']{100,}/g

/** Returns commander's `error: unknown option '--formt'\n(Did you mean --format?)` as an error of this program. */
export async function usageError(
  { code, message }: { code: string; message: string },
  hint: string | null,
): Promise<CliError> {
  const [what = '', suggestion] = message
    .replace(/^error: /, '')
    .replace(/^command-argument value ('.*') is invalid for argument '(.+?)'/, '$1 is invalid for <$2>')
    .split('\n')
  const [, invalid, given = '', listed = ''] =
    /^(.*?'([^']*)' is invalid.*?) Allowed choices are (.*)\.$/.exec(what) ?? []
  const choices = listed === '' ? [] : listed.split(', ')
  const text = (invalid ?? what).replace(longWord, '$1...')
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}`
  return new CliError(
    'usage',
    code.replace(/^commander\./, '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    /[.?]$/.test(sentence) ? sentence : `${sentence}.`,
    hint ?? nearFlags(what, suggestion) ?? (await choicesHint(given, choices)) ?? 'Add --help to see what it takes.',
  )
}

/** Returns the choices of a flag, after the one that was probably meant; null without any. */
async function choicesHint(given: string, choices: readonly string[]): Promise<string | null> {
  if (choices.length === 0) return null
  // `impression` resembles no choice: the contract, loaded only here, knows the words of other ad APIs.
  const { beaconEventMeant } = await import('#contract/resources/beacons.ts')
  const event = beaconEventMeant(given)
  const listed = choices.slice(0, maxListedChoices).join(', ')
  const all = `Allowed choices are ${choices.length > maxListedChoices ? `${listed}, ...` : `${listed}.`}`
  const meant = didYouMean(event !== null && choices.includes(event) ? event : given, choices)
  return meant === null ? all : `${meant} ${all}`
}

/** Returns commander's suggestion, unless its flags are not similar: `--time` for `--file`. */
function nearFlags(what: string, suggestion: string | undefined): string | null {
  const [, typed] = /^unknown option '--([^']+)'/.exec(what) ?? []
  if (suggestion === undefined) return null
  const flags = [...suggestion.matchAll(/--([a-z-]+)/g)].map(([, name]) => name ?? '')
  if (typed !== undefined && flags.length > 0 && nearestName(typed, flags) === null) return null
  return suggestion.replace(/^\(|\)$/g, '')
}

/** The fields of `{"error": ...}` with `-o json`. */
export interface Failure {
  category: Category
  code: string
  reason_code: string | null
  message: string
  hint: string | null
  request_id: string | null
}
