/** What every judge reports: what it found, where, and what to do. Each adds what only it knows. */

/** Line and column in a text, both from 1. */
export interface Place {
  line: number
  column: number
}

/** A place in a file. `line` is 0 for a whole file, and for findings of `observe`, which have none. */
export interface SourceLocation extends Place {
  /** As given on the command line, or `builtin:<name>` for the built-in suites. */
  file: string
}

/**
 * `error`: money, people or the contract are hurt, or something does not work. `warning`: it works, but costs something
 * or surprises.
 */
export type Severity = 'error' | 'warning'

export interface Finding {
  /** One or two sentences, without keys and tokens. */
  message: string
  /** What to do, one sentence. */
  fix: string
  severity: Severity
}
