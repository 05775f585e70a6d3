import type { Integrity, SandboxInfo } from '../../contract/control/sandbox.ts'

/** What the checks of the running sandbox are told. */
export interface SandboxFacts {
  info: SandboxInfo
  /** What it found of its database, or why it could not look. */
  integrity: Integrity | { failure: string }
  version: string
  /** Where its command line begins: `svc`. */
  command_name: string
}
