/** A fetch over `node:http`. The global one takes 50 ms of processor time to load, twice what Node takes to start. */
import { type IncomingMessage, request } from 'node:http'
import { type Fetch, type FetchResponse, globalFetch } from '../../client/exchange.ts'

/** Sends plain HTTP by itself. Leaves TLS, files, redirects and proxies to the global fetch. */
export function httpFetch(env: Readonly<Record<string, string | undefined>>): Fetch {
  return (url, init) => {
    const { body, headers } = init
    if (!url.startsWith('http:') || typeof body === 'object' || env.NODE_USE_ENV_PROXY) return globalFetch(url, init)
    return new Promise((resolve, reject) => {
      const sent = request(url, { ...init, headers: { 'user-agent': 'node', ...headers } }, (incoming) => {
        const { statusCode: status = 0, headers } = incoming
        const isRedirect = status >= 300 && status < 400 && headers.location !== undefined
        resolve(isRedirect ? globalFetch(url, init) : responseOf(incoming, status, init.signal))
        if (isRedirect) incoming.destroy()
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
