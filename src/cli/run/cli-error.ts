import type { Category } from './exit-codes.ts'

/** A failure that the command line itself finds. The category gives the exit code. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly category: Category
  /** Stable name of the cause: `option_unknown`, `port_in_use`. */
  readonly code: string
  /** What to do. */
  readonly hint: string | null

  constructor(category: Category, code: string, message: string, hint: string | null = null) {
    super(message)
    this.category = category
    this.code = code
    this.hint = hint
  }
}
