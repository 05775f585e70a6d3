/** The environment of a command: settings, output, client and interruption. */
import type { Client } from '../../client/client.ts'
import type { Output } from '../output/output.ts'
import type { PermittedKey } from '../settings/key-destination.ts'
import type { Settings } from '../settings/settings.ts'
import type { Flags } from '../settings/table.ts'
import type { Host } from './host.ts'

export interface Session {
  readonly host: Host
  readonly out: Output
  readonly settings: Settings
  /** Settings as the command line gave them, before the environment and the files. */
  readonly flags: Flags
  /** How you would call this program again: `svc`, or by npx under npm: see `commandName`. */
  readonly command_name: string
  /** Aborted by the first Ctrl-C, and by a stdout that nothing reads any more. */
  readonly signal: AbortSignal
  /** Replaces what SIGINT, SIGTERM, SIGHUP and SIGPIPE do, for a command that ends by itself. */
  onInterrupt(handler: (signal: string) => void): void
  /**
   * Returns the client of the service in the settings. It notes responses that break the contract; it does not throw for
   * them. Throws CliError when no sandbox is running and no service is named.
   */
  client(options?: { credential?: PermittedKey | undefined }): Client
}

/** Whether text may use the whole terminal, and keys are read from it. */
export function hasScreen({ host, out }: Session): boolean {
  return out.format === 'text' && host.stdin_is_terminal && host.stdout.is_terminal && host.env.TERM !== 'dumb'
}

/** Notes on a terminal that a command waits for new entries: until then it prints nothing. */
export function noteFollowing({ host, out }: Pick<Session, 'host' | 'out'>, what: string): void {
  if (host.stdout.is_terminal) out.note(`Following ${what}. Ctrl-C ends it.`)
}
