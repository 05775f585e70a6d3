/** How the tools of agents reach a sandbox. */
import type { Client } from '#client/client.ts'
import type { ObserveFile } from '#diagnosis/observe-file/observe-file.ts'
import type { CountedDifference } from '#qa/contract-compare/findings.ts'
import type { TargetOptions } from '#qa/run/target.ts'

export interface SandboxAccess {
  /** How commands begin in texts: `svc`, `npx --no svc-sandbox`. */
  command_name: string
  /** Which tools are listed: the usual ones with short schemas, or all. */
  tools: 'usual' | 'all'
  /** Whether tools that change something may be called, depending on the role of the token. */
  mayWrite: boolean
  /** Returns the client of the sandbox, with the secret key of the project. Throws when no sandbox is running. */
  client(): Promise<Client>
  /** Returns the project that placements are made for. */
  clientId(): Promise<string>
  /** Returns the target of a run of QA suites. */
  qaTarget(): Promise<Omit<TargetOptions, 'browser'>>
  /** The user's computer, for a server that runs on it; null for one that a sandbox serves over HTTP. */
  local: LocalAccess | null
  /** Milliseconds since the Unix epoch, of the host. */
  now(): number
  /** Returns `length` random characters from a-z and 0-9. */
  randomText(length: number): string
}

/** What tools may use of the user's computer. Paths are relative to one folder, and lead to its files only. */
export interface LocalAccess {
  /** Resolves to the bytes of a file. Throws CliError, also for a path that leads out of the folder. */
  readBytes(file: string): Promise<Uint8Array>
  /** Resolves to the `svc.observe.yaml` of the folder, or null without one. Throws CliError. */
  observeFile(): Promise<ObserveFile | null>
  /** Writes a file, and resolves to its whole path. Throws CliError. */
  writeText(file: string, text: string, options: { overwrite: boolean }): Promise<string>
  /** Resolves to the campaigns of a file of demand, as they were read. Throws CliError with everything that is wrong. */
  checkDemand(file: string): Promise<object[]>
  /** Resolves to what differs between a recording and a sandbox started for it, or another recording. Throws CliError. */
  compare(given: ComparedFiles, signal: AbortSignal): Promise<{ findings: readonly CountedDifference[] }>
  /** Resolves to whether the ad of a page shows and counts under each condition, in a browser. Throws CliError. */
  tryHosts(given: TriedPage, signal: AbortSignal): Promise<object>
}

/** The files of a comparison. */
export interface ComparedFiles {
  file: string
  with?: string
  overrides?: string
  strict?: boolean
}

/** A page, and the conditions that it is tried under. */
export interface TriedPage {
  url?: string
  only?: string[]
  except?: string[]
  steps?: string
  filter_list?: string
  for?: string
}

/** Returns the user's computer, for a tool that exists only where there is one. */
export function requireLocal({ local }: SandboxAccess): LocalAccess {
  if (local !== null) return local
  throw new Error("a tool of the user's computer is called in a sandbox")
}
