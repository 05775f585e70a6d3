/**
 * The fetch of Node, except that loopback never takes a proxy: under NODE_USE_ENV_PROXY Node sends even a request to
 * this computer, with the key in it, to the proxy.
 *
 * Node's modules are looked up when they are needed, not imported: bundles for pages contain this file too.
 */
import type { ClientRequest, IncomingMessage } from 'node:http'
import { isLoopback } from '#foundation/http.ts'
import {
  exchange,
  type Fetch,
  type FetchInit,
  type FetchResponse,
  globalFetch,
  type HttpRequest,
  type RawResponse,
  readToEnd,
} from './exchange.ts'

/** Sends a request with the global fetch; directly where that is a page's, or would take a proxy to loopback. */
export const nodeFetch: Fetch = (url, init) =>
  isPageFetch() || (isLoopbackUrl(url) && hasProxy()) ? sendDirectly(url, init) : globalFetch(url, init)

/** Undefined in jsdom under Jest. */
const firstFetch: unknown = globalThis.fetch

/**
 * Whether Node has the fetch of a DOM environment, which sends the origin of a page and keeps to CORS. One that has
 * replaced it since is a test's own.
 */
function isPageFetch(): boolean {
  return isNode && 'document' in globalThis && globalThis.fetch === firstFetch
}
const isNode = typeof process === 'object' && process.versions?.node !== undefined

/** Whether a URL is on this computer, by its host name. */
export function isLoopbackUrl(url: string): boolean {
  return isLoopback(new URL(url).hostname)
}

/** Whether the global fetch takes its proxies from the environment. Node has no other sign that covers each way to ask for it. */
export function hasProxy(): boolean {
  return Object.getOwnPropertySymbols(globalThis).some((symbol) => {
    if (!symbol.description?.startsWith('undici.globalDispatcher.')) return false
    const dispatcher = (globalThis as Record<symbol, { constructor?: { name?: string } } | undefined>)[symbol]
    return dispatcher?.constructor?.name === 'EnvHttpProxyAgent'
  })
}

/** Longest wait for a raw response, milliseconds: longer than any wait_ms. */
const rawTimeoutMs = 30_000

/** Sends a request and returns its response without comparing it with the contract. Throws UnreachableError. */
export function fetchRaw(request: HttpRequest, base_url: string, signal: AbortSignal): Promise<RawResponse> {
  return exchange({ fetch: nodeFetch, base_url, timeout_ms: rawTimeoutMs }, request, signal, readToEnd)
}

/** Sends a request, by default a GET that follows redirects, and reads its response to the end. */
export async function fetchText(url: string, init: Partial<FetchInit> = {}): Promise<RawResponse> {
  const { signal = new AbortController().signal } = init
  return readToEnd(await nodeFetch(url, { method: 'GET', headers: {}, redirect: 'follow', ...init, signal }))
}

const maxRedirects = 20

/** Sends a request without a proxy, with the global agent of Node or one that has no proxy, and files as they are read. */
export async function sendDirectly(url: string, init: FetchInit, redirects = 0): Promise<FetchResponse> {
  const response = await send(url, init)
  const location = response.headers.get('location')
  const isFollowed = init.redirect === 'follow' && init.method === 'GET' && response.status >= 300 && location !== null
  if (!isFollowed) return response
  if (redirects === maxRedirects) throw new TypeError(`${url} redirects more than ${maxRedirects} times.`)
  await response.body?.getReader().cancel()
  const next = new URL(location, url).href
  return isLoopbackUrl(next) ? sendDirectly(next, init, redirects + 1) : globalFetch(next, init)
}

type Agents = Record<'http:' | 'https:', import('node:http').Agent>
let agents: Agents | undefined

/** Agents without a proxy: the global ones of Node have those of the environment. */
function directAgents(): Agents {
  const { Agent: HttpAgent } = process.getBuiltinModule('node:http')
  const { Agent: HttpsAgent } = process.getBuiltinModule('node:https')
  agents ??= { 'http:': new HttpAgent({ keepAlive: true }), 'https:': new HttpsAgent({ keepAlive: true }) }
  return agents
}

function send(url: string, init: FetchInit): Promise<FetchResponse> {
  const { protocol } = new URL(url)
  const isHttps = protocol === 'https:'
  const { request } = isHttps ? process.getBuiltinModule('node:https') : process.getBuiltinModule('node:http')
  const { body, method, signal, headers } = init
  return new Promise((resolve, reject) => {
    const size = typeof body === 'object' ? { 'content-length': String(body.size) } : {}
    const agent = agentFor(url)
    const sent = request(url, { method, signal, agent, headers: { ...size, ...headers } }, (incoming) => {
      resolve(toFetchResponse(incoming, incoming.statusCode ?? 0, signal))
    })
    sent.on('error', reject)
    if (typeof body === 'object') void sendFile(body, sent)
    else sent.end(body)
  })
}

/** A service that refuses a file responds before all of it is sent, and closes: the response counts, not the broken pipe. */
async function sendFile(file: Blob, sent: ClientRequest): Promise<void> {
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

/**
 * Resolves when more can be written, or nothing ever again. Removes its listeners: a large file waits thousands of
 * times.
 */
async function drained(sent: ClientRequest): Promise<void> {
  const waiting = new AbortController()
  const { signal } = waiting
  const { once } = process.getBuiltinModule('node:events')
  try {
    await Promise.race([once(sent, 'drain', { signal }), once(sent, 'close', { signal })])
  } finally {
    waiting.abort()
  }
}

function toFetchResponse(incoming: IncomingMessage, status: number, signal: AbortSignal): FetchResponse {
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
  }
}

/** Returns an agent without a proxy for a URL on loopback; undefined, for the global agent, otherwise. */
export function agentFor(url: string) {
  const { protocol, hostname } = new URL(url)
  return isLoopback(hostname) ? directAgents()[protocol === 'https:' ? 'https:' : 'http:'] : undefined
}
