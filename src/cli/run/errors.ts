/**
 * Exit codes by category, and the error that carries a category. `-o json` errors name the category;
 * `svc help exit-codes` prints the table.
 */
import { nearestName } from '../../foundation/nearest-name.ts'

export const exitCodes = {
  ok: { exit_code: 0, meaning: 'Success. Also a clean stop of `svc start` by a signal.' },
  unexpected: { exit_code: 1, meaning: 'A failure of no other category; most likely a bug of svc.' },
  usage: { exit_code: 2, meaning: 'The command line, a setting or a config file is invalid. Nothing was sent.' },
  service: { exit_code: 3, meaning: 'The API returned an error, or a response that breaks its contract.' },
  credentials: { exit_code: 4, meaning: 'A credential or consent is missing, unknown, expired or not allowed.' },
  expectation: { exit_code: 5, meaning: 'An expectation or check failed: --expect, evidence verify.' },
  no_fill: { exit_code: 6, meaning: 'No fill where --expect fill asked for one.' },
  unreachable: { exit_code: 7, meaning: 'The service does not respond, or not in time; or no sandbox is running.' },
  busy: { exit_code: 8, meaning: 'The port or the database is in use.' },
  interrupted: { exit_code: 130, meaning: 'Interrupted by Ctrl-C.' },
} as const satisfies Record<string, { exit_code: number; meaning: string }>

export type Category = keyof typeof exitCodes

/** Returns the category of an exit code of the contract's error table. */
export function categoryOf(exit_code: number): Category {
  const categories = Object.keys(exitCodes) as Category[]
  return categories.find((category) => exitCodes[category].exit_code === exit_code) ?? 'unexpected'
}

/** A failure that the command line itself detects. Its category gives the exit code. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly category: Category
  /** Stable name of the cause: `option_unknown`, `port_in_use`. */
  readonly code: string
  /** What to do, or null. */
  readonly hint: string | null

  constructor(category: Category, code: string, message: string, hint: string | null = null) {
    super(message)
    this.category = category
    this.code = code
    this.hint = hint
  }
}

/** A signal, such as that of Ctrl-C. */
export class InterruptError extends CliError {
  readonly signal: string

  constructor(signal: string) {
    super('interrupted', 'interrupted', `Interrupted by ${signal}.`)
    this.signal = signal
  }
}

/** Awaits what only Ctrl-C ends, so that Ctrl-C needs no message. Resolves to the exit code. */
export async function untilCtrlC(work: Promise<number>): Promise<number> {
  try {
    return await work
  } catch (error) {
    if (error instanceof InterruptError && error.signal === 'SIGINT') return exitCodes.interrupted.exit_code
    throw error
  }
}

/** The failure of a command that cannot read a file: the reason in words where Node has only a code and a system call. */
export function unreadable(file: string, error: Error & { code?: unknown }): CliError {
  const reason = readFailures[String(error.code)] ?? error.message
  return new CliError('usage', 'file_unreadable', `${file} cannot be read: ${reason}.`)
}

const readFailures: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
}

/** The failure of every command that needs a sandbox where none is running and no service is named. */
export function noSandbox(hint = 'Start one: svc start. Or name a service: --base-url URL.'): CliError {
  return new CliError('unreachable', 'sandbox_missing', 'No sandbox is running.', hint)
}

/** Returns a hint with the name that was probably meant; null when none is close. */
export function didYouMean(given: string, names: readonly string[]): string | null {
  const isBeginning = (name: string) => given.length > 2 && name.startsWith(given.toLowerCase())
  const name = nearestName(given, names) ?? names.find(isBeginning)
  return name === undefined ? null : `Did you mean ${name}?`
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
