/** The client of commands: the keys that the settings permit, what is compared with the contract, and how HTTP is sent. */
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { type Client, type ClientOptions, clientOf } from '../../client/client.ts'
import { ContractError } from '../../client/errors.ts'
import { type Fetch, type FetchResponse, type FileBody, globalFetch, type RawResponse } from '../../client/exchange.ts'
import { openStream } from '../../client/stream.ts'
import type { EndpointId } from '../../contract/index.ts'
import { parseJson } from '../../foundation/json.ts'
import { endpoints } from '../endpoint/facts.ts'
import { type PermittedKey, permittedControlToken, permittedSecretKey } from '../settings/key-destination.ts'
import type { Settings } from '../settings/settings.ts'
import type { Host } from './host.ts'
import { version } from './program-info.ts'

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

/** Returns a note that several sandboxes are running and which one is used; null when the choice is clear. */
export function severalSandboxesNote({ running, source, base_url }: Settings, command_name: string): string | null {
  if (running < 2 || source.base_url !== 'sandbox') return null
  return `${running} sandboxes run: using ${base_url}, the newest. Another: --base-url URL, as in ${command_name} sandbox ps`
}

/**
 * Returns a fetch over `node:http`: the global one takes 50 ms of processor time to load, twice what Node takes to start.
 * Sends plain HTTP by itself, files as they are read. Leaves TLS and proxies to the global fetch. Redirects are responses: no
 * service of the contract sends one, and following it would carry headers and bodies to a service that nobody named.
 */
export function httpFetch(env: Readonly<Record<string, string | undefined>>): Fetch {
  return (url, init) => {
    const { body, headers } = init
    if (!url.startsWith('http:') || env.NODE_USE_ENV_PROXY) return globalFetch(url, init, 'manual')
    return new Promise((resolve, reject) => {
      const size = typeof body === 'object' ? { 'content-length': String(body.size) } : {}
      const sent = request(url, { ...init, headers: { 'user-agent': 'node', ...size, ...headers } }, (incoming) => {
        resolve(responseOf(incoming, incoming.statusCode ?? 0, init.signal))
      })
      sent.on('error', reject)
      if (typeof body === 'object') void sendFile(body, sent)
      else sent.end(body)
    })
  }
}

/** A service that refuses a file responds before all of it is sent, and closes: the response counts, not the broken pipe. */
async function sendFile(file: FileBody, sent: ClientRequest): Promise<void> {
  try {
    for await (const chunk of file.stream()) {
      if (sent.destroyed) return
      if (!sent.write(chunk)) await drained(sent)
    }
    sent.end()
  } catch (error) {
    sent.destroy(error instanceof Error ? error : new Error(String(error)))
  }
}

/** Resolves when more may be written, or never again. Removes its listeners: a large file waits thousands of times. */
async function drained(sent: ClientRequest): Promise<void> {
  const waiting = new AbortController()
  const { signal } = waiting
  try {
    await Promise.race([once(sent, 'drain', { signal }), once(sent, 'close', { signal })])
  } finally {
    waiting.abort()
  }
}

/** No response of the contract that is read as a whole comes near. */
const longestText_bytes = 64 * 2 ** 20

function responseOf(incoming: IncomingMessage, status: number, signal: AbortSignal): FetchResponse {
  const pieces: AsyncIterator<Buffer, undefined> = incoming[Symbol.asyncIterator]()
  const read = async () => {
    const { done = false, value } = await pieces.next().catch((error) => {
      throw signal.aborted ? signal.reason : error
    })
    return { done, value }
  }
  return {
    status,
    ok: status >= 200 && status < 300,
    headers: { get: (name) => incoming.headers[name]?.toString() ?? null },
    body: { getReader: () => ({ read, cancel: async () => void incoming.destroy() }) },
    async text() {
      const body: Uint8Array[] = []
      let length = 0
      for (let piece = await read(); !piece.done; piece = await read()) {
        length += piece.value!.length
        if (length > longestText_bytes)
          throw new Error(`the response is longer than ${longestText_bytes / 2 ** 20} MiB`)
        body.push(piece.value!)
      }
      return Buffer.concat(body).toString('utf8')
    },
  }
}
