/** What `svc doctor` and `svc qa observe` ask the service at the base URL. Only its control API is called. */
import { version } from '../../cli/run/program-info.ts'
import type { Client } from '../../client/client.ts'
import type { Integrity, SandboxInfo } from '../../contract/control/sandbox.ts'

export interface SandboxFacts {
  info: SandboxInfo
  /** What it found in its database, or why it could not look. */
  integrity: Integrity | { failure: string }
  /** The version of this command line. */
  version: string
  /** How commands begin in hints: `svc`, `npx svc`. */
  command_name: string
}

/** A service that runs answers at once or not at all. */
const answerWithin_ms = 5_000
/** Errors of the client when no service answered. */
const noAnswer: ReadonlySet<string> = new Set(['UnreachableError', 'TimeoutError'])

/** Returns who answers at the base URL; `info` is null when it is not a sandbox. */
export async function findService(
  client: Client,
): Promise<{ service: 'sandbox' | 'other' | 'none'; info: SandboxInfo | null }> {
  try {
    return { service: 'sandbox', info: await client.sandbox.info({}, { signal: AbortSignal.timeout(answerWithin_ms) }) }
  } catch (error) {
    const isSilent = error instanceof Error && noAnswer.has(error.name)
    return { service: isSilent ? 'none' : 'other', info: null }
  }
}

export async function gatherSandbox(client: Client, info: SandboxInfo, command_name: string): Promise<SandboxFacts> {
  const integrity = await client.sandbox.integrity().catch((error: Error) => ({ failure: error.message }))
  return { info, integrity, version, command_name }
}
