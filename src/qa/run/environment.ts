/** What a run needs of the machine and of the command line; `src/commands` fills it in. */
import type { RawRequest } from './wire.ts'

export interface Environment {
  /** Milliseconds since the epoch. */
  now(): number
  /** The command that sends the same request; `variables` are put in by the shell. */
  curl(request: RawRequest, variables: readonly string[]): string
}
