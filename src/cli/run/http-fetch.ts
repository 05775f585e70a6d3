/** A fetch over `node:http`. The global one takes 50 ms of processor time to load, twice what Node takes to start. */
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { type Fetch, type FetchResponse, type FileBody, globalFetch } from '../../client/exchange.ts'

/**
 * Sends plain HTTP by itself, files as they are read. Leaves TLS and proxies to the global fetch. Redirects are responses: no service of the
 * contract sends one, and following it would carry headers and bodies to a service that nobody named.
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
