/** Why a project cannot be made. */
export class ScaffoldError extends Error {
  override readonly name = 'ScaffoldError'
  /** Stable name of the cause: `directory_not_empty`. */
  readonly code: string
  /** What to do. */
  readonly hint: string

  constructor(code: string, message: string, hint: string) {
    super(message)
    this.code = code
    this.hint = hint
  }
}
