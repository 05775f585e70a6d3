/** Where a tail is connected: once, and again when the connection was lost. */

import { runningSandboxes } from '../cli/process/locator.ts'
import { type Session, sessionClient } from '../cli/run/session.ts'
import { stateDirectory } from '../cli/settings/files.ts'
import type { Client } from '../client/client.ts'
import type { SandboxInfo } from '../contract/control/sandbox.ts'

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

/** What may come between the items that are followed. */
export type Interruption =
  | Connected
  | { kind: 'lost'; reason: string }
  /** What was followed is gone. */
  | { kind: 'reset' }
  /** Beacons are missing here: the sandbox keeps so many events, and those were gone. */
  | { kind: 'gap' }

/** What it means to the person who watches; null for the first connection. */
export function noteOf(message: Exclude<Interruption, Connected>): string
export function noteOf(message: Interruption): string | null
export function noteOf(message: Interruption): string | null {
  switch (message.kind) {
    case 'connected':
      if (!message.isAgain) return null
      return `Reconnected to ${message.info.url}${message.isNewHistory ? ', which started afresh' : ''}.`
    case 'lost':
      return `Connection lost: ${message.reason}`
    case 'reset':
      return 'The sandbox was reset.'
    case 'gap':
      return 'Beacons are missing here: the sandbox keeps its newest events only, and these were gone.'
  }
}
