/** The client of commands: it sends the keys that the settings permit, and notes differences from the contract. */

import { buildClient, type Client, type ClientOptions } from '#client/client.ts'
import { ContractError } from '#client/errors.ts'
import { exchange, type HttpRequest, type RawResponse, readToEnd, streaming } from '#client/exchange.ts'
import type { PermittedKey } from '#client/permitted-key.ts'
import type { EndpointId } from '#contract/index.ts'
import { isObject, parseJson } from '#foundation/json.ts'
import { oneLine } from '#text/terminal.ts'
import { version } from '#text/version.ts'
import { endpoints } from '../endpoint/facts.ts'
import { permittedControlToken, permittedSecretKey, type Settings } from '../settings/settings.ts'
import { httpFetch } from './http-fetch.ts'
import type { System } from './system.ts'

/**
 * Returns the client of a service with its settings. It compares responses with the contract, except from a sandbox of
 * this very version if no fault rule has changed them: the tests cover that, and loading the schemas takes longer than
 * the call.
 */
export function serviceClient(system: System, settings: Settings, credential?: PermittedKey): Client {
  const { sandbox } = settings
  noteOtherFolder(system, settings)
  return commandClient(system, {
    base_url: settings.base_url,
    // Resolved by the first request that needs a credential: others work without one.
    credential: () => credential ?? permittedSecretKey(settings) ?? undefined,
    origin: settings.origin ?? undefined,
    admin_token: permittedControlToken(settings),
    validate: (response, endpoint) => {
      keepReceived(system, { endpoint, response })
      return sandbox?.version === version && response.headers.get('x-sandbox-fault') === null ? false : 'report'
    },
  })
}

/** Systems whose user knows which sandbox is used, by its URL. */
const noted = new WeakMap<System, string>()

/**
 * Says on stderr, once and however quiet, that the sandbox of another folder is used, since this one has none: what a
 * command changes there, somebody else may see. Contract A105.
 */
export function noteOtherFolder(system: System, { is_other_folder, base_url, sandbox }: Settings): void {
  if (!is_other_folder || noted.get(system) === base_url) return
  noted.set(system, base_url)
  const folder = oneLine(sandbox?.folder ?? 'another folder')
  system.stderr.write(`Using the sandbox of ${folder} (${base_url}): this folder has none.\n`)
}

/** Secrets that the settings permit for this service. */
interface CommandClientOptions extends Omit<ClientOptions, 'credential' | 'headers' | 'fetch'> {
  credential?: PermittedKey | (() => PermittedKey | undefined) | undefined
  admin_token?: PermittedKey | undefined
}

/** Returns a client for commands: it loads the schemas of the contract when it compares something with them. */
export function commandClient({ env }: Pick<System, 'env'>, { admin_token, ...options }: CommandClientOptions): Client {
  const headers = admin_token === undefined ? {} : { 'x-sandbox-token': admin_token }
  return buildClient(known, { fetch: httpFetch(env), headers, ...options })
}

/** A sandbox on this computer responds immediately, unless the computer is very busy. */
const probeTimeoutMs = 1_500
const probeMaxBytes = 4_096

/**
 * Whether a sandbox responds at a URL, even one of another user, whose locator cannot be read. Sends no key. A sandbox
 * refuses a query parameter by its name, which is random here: a server that responds with what the OpenAPI document has, as
 * mock servers do, cannot.
 */
export async function isSandboxAt(
  system: Pick<System, 'env' | 'randomText'>,
  base_url: string,
  timeout_ms = probeTimeoutMs,
): Promise<boolean> {
  const name = `probe_${system.randomText(16)}`
  const url = `${base_url.replace(/\/+$/, '')}/_sandbox/livez?${name}=1`
  const request: HttpRequest = { method: 'GET', url, headers: { accept: 'application/json' } }
  const transport = { fetch: httpFetch(system.env), base_url, timeout_ms, max_bytes: probeMaxBytes }
  const response = await exchange(transport, request, undefined, readToEnd).catch(() => null)
  const body = parseJson(response?.text ?? '')
  return isObject(body) && Array.isArray(body.fields) && isObject(body.fields[0]) && body.fields[0].path === name
}

const known = { endpoints, schemas: () => import('#client/response.ts'), ...streaming }

/** A response as received, in case a command cannot work with it. */
interface Received {
  endpoint: EndpointId
  response: RawResponse
}

const maxReceived = 20
/** The last responses to a run of a command, by its system. */
const lastReceived = new WeakMap<System, Received[]>()

function keepReceived(system: System, received: Received): void {
  const kept = lastReceived.get(system) ?? []
  lastReceived.set(system, [...kept.slice(1 - maxReceived), received])
}

/** Returns the error of the first response to a run that breaks the contract, or null if none does. */
export async function brokenResponse(system: System): Promise<ContractError | null> {
  const received = lastReceived.get(system) ?? []
  if (received.length === 0) return null
  const { compareResponse } = await known.schemas()
  for (const { endpoint, response } of received) {
    const { differences } = compareResponse(endpoint, parseJson(response.text) ?? null, response.status)
    if (differences.length > 0) return new ContractError(endpoint, response.status, differences, response.request_id)
  }
  return null
}
