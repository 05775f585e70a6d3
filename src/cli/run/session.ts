/** What a command gets to run with: settings, output, client, and what interrupts it. */
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/index.ts'
import type { Output } from '../output/output.ts'
import type { Settings } from '../settings/settings.ts'
import type { SettingValues } from '../settings/table.ts'
import type { Host } from './host.ts'
import { httpFetch } from './http-fetch.ts'

export interface Session {
  readonly host: Host
  readonly out: Output
  readonly settings: Settings
  /** Settings as the command line gave them, before the environment and the files. */
  readonly flags: SettingValues
  /** How you would call this program again: `svc`, or `npx svc` under npm. */
  readonly command_name: string
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal
  /** Replaces what SIGINT, SIGTERM and SIGHUP do, for a command that ends by itself. */
  onInterrupt(handler: (signal: string) => void): void
  /**
   * Returns the client of the service in the settings. It notes responses that break the contract; it does not throw for
   * them. Throws CliError when no sandbox is running and no service is named.
   */
  client(options?: { credential?: string | undefined }): Client
}

/** Returns a note that several sandboxes are running and which one is used; null when the choice is clear. */
export function severalSandboxesNote({ running, source, base_url }: Settings, command_name: string): string | null {
  if (running < 2 || source.base_url !== 'sandbox') return null
  return `${running} sandboxes run: using ${base_url}, the newest. Another: --base-url URL, as in ${command_name} sandbox ps`
}

/** Returns the client of a service with its settings. */
export function sessionClient(host: Host, settings: Settings, credential?: string): Client {
  return createClient({
    fetch: httpFetch(host.env),
    base_url: settings.base_url,
    credential: credential ?? settings.secret_key ?? undefined,
    origin: settings.origin ?? undefined,
    headers: settings.sandbox?.admin_token === undefined ? {} : { 'x-sandbox-token': settings.sandbox.admin_token },
    validate: 'report',
  })
}
