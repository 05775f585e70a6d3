import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/index.ts'
import type { Output } from '../output/output.ts'
import type { Settings, Values } from '../settings/settings.ts'
import type { Host } from './host.ts'

/** One run of one command: what it may use. */
export interface Session {
  readonly host: Host
  readonly out: Output
  readonly settings: Settings
  /** Settings as the command line gave them, before the environment and the files. */
  readonly flags: Values
  /** The command as a person would type it again: `svc`, or `npx svc` under npm. */
  readonly command_name: string
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal
  /** What SIGINT, SIGTERM and SIGHUP do; a command that stops by itself sets its own. */
  onInterrupt(handler: (signal: string) => void): void
  /** The client of the settled service. Answers off the contract are noted, not thrown. */
  client(options?: { credential?: string | undefined }): Client
}

/** What to tell when several sandboxes run and nothing says which is meant; null where that is clear. */
export function severalSandboxesNote({ running, source, base_url }: Settings, command_name: string): string | null {
  if (running < 2 || source.base_url !== 'sandbox') return null
  return `${running} sandboxes run: using ${base_url}, the newest. Another: --base-url URL, as in ${command_name} sandbox ps`
}

/** Makes the client of a session. */
export function sessionClient(settings: Settings, credential: string | undefined): Client {
  return createClient({
    base_url: settings.base_url,
    credential: credential ?? settings.secret_key ?? undefined,
    origin: settings.origin ?? undefined,
    headers: settings.sandbox?.admin_token === undefined ? {} : { 'x-sandbox-token': settings.sandbox.admin_token },
    validate: 'report',
  })
}
