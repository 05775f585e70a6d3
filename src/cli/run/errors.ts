/** The failures of the command line that several commands share, and their hints. */

import { nearestName } from '#foundation/nearest-name.ts'
import { CliError, didYouMean, exitCodes, InterruptError } from '#text/cli-error.ts'

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
