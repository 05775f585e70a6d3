/** HTTP for requests that may be malformed: any method, header and bytes; nothing is added, followed or retried. */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { describeConnection } from '#client/connection.ts'
import type { ByteReader } from '#client/exchange.ts'

export interface HttpRequest {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  body: string | null
}

export interface HttpResponse {
  status: number
  headers: Record<string, string>
  text: string
  duration_ms: number
}

/** No complete response came. The message names the cause. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError'
  /** The status when the head of the response came, or 0. */
  readonly status: number
  readonly duration_ms: number

  constructor(message: string, status: number, duration_ms: number) {
    super(message)
    this.status = status
    this.duration_ms = duration_ms
  }
}

const maxResponseBytes = 8_000_000

export class HttpClient {
  readonly #agents = {
    'http:': new HttpAgent({ keepAlive: true, maxSockets: 64 }),
    'https:': new HttpsAgent({ keepAlive: true, maxSockets: 64 }),
  }
  readonly #defaults: Readonly<Record<string, string>>

  /** `defaults` are headers of every request that does not have its own of that name. */
  constructor(defaults: Readonly<Record<string, string>> = {}) {
    this.#defaults = defaults
  }

  /** Sends a request and reads the response to its end. Throws NoResponseError. */
  async send(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const started = performance.now()
    let status = 0
    try {
      const response = await this.#head(request, signal)
      status = response.statusCode ?? 0
      const text = await readToEnd(response)
      return { status, headers: joinHeaders(response), text, duration_ms: elapsed(started) }
    } catch (error) {
      throw noResponse(error, request, signal, { status, started })
    }
  }

  /** Opens a response without end. Resolves when its head has come. Throws NoResponseError. */
  async open(request: HttpRequest, signal: AbortSignal): Promise<ByteReader> {
    const started = performance.now()
    try {
      const response = await this.#head(request, signal)
      response.on('error', () => {})
      if (response.statusCode !== 200) throw new Error(`responded ${response.statusCode}`)
      const chunks: AsyncIterator<Uint8Array, undefined> = response[Symbol.asyncIterator]()
      return {
        read: async () => {
          const { done, value } = await chunks.next()
          return { done: done === true, value }
        },
        cancel: async () => void response.destroy(),
      }
    } catch (error) {
      throw noResponse(error, request, signal, { status: 0, started })
    }
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy()
  }

  /** Sends a request. Resolves with the response when its head has come. */
  #head({ method, url, headers, body }: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const isHttps = new URL(url).protocol === 'https:'
    const length = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const agent = this.#agents[isHttps ? 'https:' : 'http:']
    const options = { method, headers: { ...length, ...this.#defaults, ...headers }, signal, agent }
    const request = isHttps ? httpsRequest(url, options) : httpRequest(url, options)
    request.end(body ?? undefined)
    return new Promise((resolve, reject) => request.on('response', resolve).on('error', reject))
  }
}

async function readToEnd(response: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response) {
    length += chunk.length
    if (length > maxResponseBytes) throw new Error(`the response is longer than ${maxResponseBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function joinHeaders({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  )
}

function noResponse(
  error: unknown,
  { url }: HttpRequest,
  signal: AbortSignal,
  { status, started }: { status: number; started: number },
): NoResponseError {
  const duration_ms = elapsed(started)
  if (signal.aborted) return new NoResponseError(abortMessage(signal.reason), status, duration_ms)
  const what = status > 0 ? `the response (${status}) ended early` : 'no response came'
  return new NoResponseError(`${what}: ${describeConnection(error, url).reason}`, status, duration_ms)
}

/** Why a request was aborted: its own limit, that of its step, or the end of the run. */
function abortMessage(reason: unknown): string {
  if (!(reason instanceof Error)) return `the run was interrupted by ${String(reason)}`
  return reason.name === 'TimeoutError' ? 'no response came in time' : reason.message
}

function elapsed(started: number): number {
  return Math.round((performance.now() - started) * 10) / 10
}
