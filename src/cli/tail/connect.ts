/** Where a tail is connected: once, and again when the connection was lost. */
import type { Client } from '../../client/client.ts'
import type { SandboxInfo } from '../../contract/control/health.ts'
import { runningSandboxes } from '../locator.ts'
import { type Session, sessionClient } from '../session.ts'
import { stateDirectory } from '../state.ts'

export type Connected = { kind: 'connected'; info: SandboxInfo; isAgain: boolean; isNewHistory: boolean }

export const firstPause_ms = 250
export const longestPause_ms = 2_000

/** The client of the service; where that is the running sandbox, of the one that runs now: a restart may move it. */
export async function connect({ host, settings, client }: Session): Promise<Client> {
  if (settings.source.base_url !== 'sandbox') return client()
  const running = await runningSandboxes(stateDirectory(host), host)
  const sandbox = running.find(({ url }) => url === settings.base_url) ?? running[0]
  if (sandbox === undefined || sandbox.url === settings.base_url) return client()
  return sessionClient({ ...settings, base_url: sandbox.url, sandbox }, undefined)
}

/** Whether what is followed has begun anew: another database, or memory that went with its process. */
export function isAnother(before: SandboxInfo, now: SandboxInfo): boolean {
  return before.database !== now.database || (now.database === ':memory:' && before.pid !== now.pid)
}

export const gapNote = 'Beacons are missing here: the sandbox keeps its newest events only, and these were gone.'

/** null for the first connection. */
export function connectionNote({ info, isAgain, isNewHistory }: Connected): string | null {
  if (!isAgain) return null
  return isNewHistory ? `Reconnected to ${info.url}, which started afresh.` : `Reconnected to ${info.url}.`
}
