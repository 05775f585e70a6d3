/** A fetch over `node:http`. The global one takes 50 ms of processor time to load, twice what Node takes to start. */
import { type IncomingMessage, request } from 'node:http'
import { type Fetch, type FetchResponse, globalFetch } from '../../client/exchange.ts'

/**
 * Sends plain HTTP by itself. Leaves TLS, files and proxies to the global fetch. Redirects are responses: no service of the
 * contract sends one, and following it would carry headers and bodies to a service that nobody named.
 */
export function httpFetch(env: Readonly<Record<string, string | undefined>>): Fetch {
  return (url, init) => {
    const { body, headers } = init
    if (!url.startsWith('http:') || typeof body === 'object' || env.NODE_USE_ENV_PROXY)
      return globalFetch(url, init, 'manual')
    return new Promise((resolve, reject) => {
      const sent = request(url, { ...init, headers: { 'user-agent': 'node', ...headers } }, (incoming) => {
        resolve(responseOf(incoming, incoming.statusCode ?? 0, init.signal))
      })
      sent.once('error', reject).end(body)
    })
  }
}

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
      for (let piece = await read(); !piece.done; piece = await read()) body.push(piece.value!)
      return Buffer.concat(body).toString('utf8')
    },
  }
}
