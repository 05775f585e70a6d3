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

/** The fields of `{"error": ...}` with `-o json`. */
export interface Failure {
  category: Category
  code: string
  reason_code: string | null
  message: string
  hint: string | null
  request_id: string | null
}
