/** How the tools of agents reach a sandbox. */
import type { Client } from '#client/client.ts'
import type { Diagnosis } from '#diagnosis/doctor.ts'
import type { TargetOptions } from '#qa/run/target.ts'

export interface SandboxAccess {
  /** How commands begin in texts: `svc`, `npx svc-sandbox`. */
  command_name: string
  /** Whether tools that change something may be called, depending on the role of the token. */
  mayWrite: boolean
  /** Returns the client of the sandbox, with the secret key of the project. Throws when no sandbox is running. */
  client(): Promise<Client>
  /** Returns the project that placements are made for. */
  clientId(): Promise<string>
  /** Returns the target of a run of QA suites. */
  qaTarget(): Promise<Omit<TargetOptions, 'browser'>>
  /** Returns the findings of `svc doctor`. */
  diagnose(): Promise<Diagnosis[]>
  /** Milliseconds since the Unix epoch, of the host. */
  now(): number
  /** Returns `length` random characters from a-z and 0-9. */
  randomText(length: number): string
}
