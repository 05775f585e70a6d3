/** What a command gets to run with: settings, output, client, and what interrupts it. */
import { type Client, type ClientOptions, clientOf } from '../../client/client.ts'
import { ContractError } from '../../client/errors.ts'
import type { RawResponse } from '../../client/exchange.ts'
import { openStream } from '../../client/stream.ts'
import type { EndpointId } from '../../contract/index.ts'
import { parseJson } from '../../foundation/json.ts'
import { endpoints } from '../endpoint/facts.ts'
import type { Output } from '../output/output.ts'
import { type PermittedKey, permittedControlToken, permittedSecretKey } from '../settings/key-destination.ts'
import type { Settings } from '../settings/settings.ts'
import type { Flags } from '../settings/table.ts'
import type { Host } from './host.ts'
import { httpFetch } from './http-fetch.ts'
import { version } from './program-info.ts'

export interface Session {
  readonly host: Host
  readonly out: Output
  readonly settings: Settings
  /** Settings as the command line gave them, before the environment and the files. */
  readonly flags: Flags
  /** How you would call this program again: `svc`, or by npx under npm: see `commandName`. */
  readonly command_name: string
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal
  /** Replaces what SIGINT, SIGTERM and SIGHUP do, for a command that ends by itself. */
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

/** Returns a note that several sandboxes are running and which one is used; null when the choice is clear. */
export function severalSandboxesNote({ running, source, base_url }: Settings, command_name: string): string | null {
  if (running < 2 || source.base_url !== 'sandbox') return null
  return `${running} sandboxes run: using ${base_url}, the newest. Another: --base-url URL, as in ${command_name} sandbox ps`
}

const known = { endpoints, schemas: () => import('../../client/response.ts'), stream: openStream }

/** A response as it came, for the case that a command cannot work with it. */
interface Received {
  endpoint: EndpointId
  response: RawResponse
}

const mostReceived = 20

/** The last responses to a run of a command, by its host. */
const lastReceived = new WeakMap<Host, Received[]>()

function keepReceived(host: Host, received: Received): void {
  const kept = lastReceived.get(host) ?? []
  lastReceived.set(host, [...kept.slice(1 - mostReceived), received])
}

/** Returns the error of the first response to a run that breaks the contract, or null when none does. */
export async function brokenResponse(host: Host): Promise<ContractError | null> {
  const received = lastReceived.get(host) ?? []
  if (received.length === 0) return null
  const { compareResponse } = await known.schemas()
  for (const { endpoint, response } of received) {
    const { differences } = compareResponse(endpoint, parseJson(response.text) ?? null, response.status)
    if (differences.length > 0) return new ContractError(endpoint, response.status, differences, response.request_id)
  }
  return null
}

/** Secrets as the settings permit them for this service. */
interface CommandClientOptions extends Omit<ClientOptions, 'credential' | 'headers' | 'fetch'> {
  credential?: PermittedKey | (() => PermittedKey | undefined) | undefined
  admin_token?: PermittedKey | undefined
}

/** Returns a client for commands: it loads the schemas of the contract when it compares something with them. */
export function commandClient({ env }: Pick<Host, 'env'>, { admin_token, ...options }: CommandClientOptions): Client {
  const headers = admin_token === undefined ? {} : { 'x-sandbox-token': admin_token }
  return clientOf(known, { fetch: httpFetch(env), headers, ...options })
}

/**
 * Returns the client of a service with its settings. It compares responses with the contract, except those of a sandbox of
 * this very version that no fault rule has changed: its tests do that, and loading the schemas takes longer than the call.
 */
export function sessionClient(host: Host, settings: Settings, credential?: PermittedKey): Client {
  const { sandbox } = settings
  return commandClient(host, {
    base_url: settings.base_url,
    // Asked for by the first request that takes a credential: others work without one.
    credential: () => credential ?? permittedSecretKey(settings) ?? undefined,
    origin: settings.origin ?? undefined,
    admin_token: permittedControlToken(settings),
    validate: (response, endpoint) => {
      keepReceived(host, { endpoint, response })
      return sandbox?.version === version && response.headers.get('x-sandbox-fault') === null ? false : 'report'
    },
  })
}
