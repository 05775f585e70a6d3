/** A file that cannot be compared. The message is a sentence about "it". */
export class OwnFileError extends Error {
  override readonly name: string = 'OwnFileError'
  /** What to do, without a flag or a command: the inspector shows it too. */
  readonly hint: string
  /** The same for the command line, with the flag that decides. */
  readonly command_hint: string
  /** The rows that it is about, a line for each: `line 4: views is many`. They may contain text of the file. */
  readonly rows: readonly string[]

  constructor(message: string, hint: string, { command_hint = hint, rows = [] }: Partial<OwnFileErrorDetails> = {}) {
    super(message)
    this.hint = hint
    this.command_hint = command_hint
    this.rows = rows
  }
}

interface OwnFileErrorDetails {
  command_hint: string
  rows: readonly string[]
}

/** A row that cannot be read, or has a bad value. */
export interface RowProblem {
  line: number
  /** Without a full stop. Never repeats a token. */
  message: string
}

const maxListed = 10

/** Returns the failure of a file with rows that cannot be read. @param unit what a row is numbered by */
export function rowFailure(
  problems: readonly RowProblem[],
  hint: string | { hint: string; command_hint: string },
  unit = 'line',
): OwnFileError {
  const listed = problems.slice(0, maxListed).map(({ line, message }) => `${unit} ${line}: ${message}`)
  const more = problems.length - listed.length
  const count = problems.length === 1 ? 'One row' : `${problems.length} rows`
  const rest = more > 0 ? [`and ${more} more`] : []
  const hints = typeof hint === 'string' ? { hint } : hint
  return new OwnFileError(`${count} cannot be read:`, hints.hint, { ...hints, rows: [...listed, ...rest] })
}

const maxShownLength = 40

/** Returns a value as messages show it; a token or key not at all. */
export function shortText(value: unknown): string {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  if (/\b(ast|at|bt|sk|pk)_/.test(text)) return 'a token'
  return text.length > maxShownLength ? `${text.slice(0, maxShownLength)}...` : text
}
