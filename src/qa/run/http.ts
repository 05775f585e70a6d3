/** HTTP as it is: any method, any header, any bytes; nothing is added, followed or retried. */
import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { ByteReader } from '../../client/transport.ts'

export interface RawRequest {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  body: string | null
}

export interface RawAnswer {
  status: number
  headers: Record<string, string>
  text: string
  duration_ms: number
}

/** No whole answer came. The message tells why. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
  /** What had come of it: its status, or 0. */
  readonly status: number
  readonly duration_ms: number

  constructor(message: string, status: number, duration_ms: number) {
    super(message)
    this.status = status
    this.duration_ms = duration_ms
  }
}

export interface Wire {
  /** Sends a request and reads the answer to its end. Throws NoAnswer. */
  send(request: RawRequest, signal: AbortSignal): Promise<RawAnswer>
  /** Opens an answer without end. Resolves when its head is there. Throws NoAnswer. */
  open(request: RawRequest, signal: AbortSignal): Promise<ByteReader>
  close(): void
}

const longestAnswer_bytes = 8_000_000

/** `defaults` are headers that are sent with every request that does not have its own of that name. */
export function createWire(defaults: Readonly<Record<string, string>> = {}): Wire {
  const agents = {
    'http:': new HttpAgent({ keepAlive: true, maxSockets: 64 }),
    'https:': new HttpsAgent({ keepAlive: true, maxSockets: 64 }),
  }

  function begin({ method, url, headers, body }: RawRequest, signal: AbortSignal): ClientRequest {
    const { protocol } = new URL(url)
    const isHttps = protocol === 'https:'
    const length = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const options = {
      method,
      headers: { ...length, ...defaults, ...headers },
      signal,
      agent: agents[isHttps ? 'https:' : 'http:'],
    }
    const request = isHttps ? httpsRequest(url, options) : httpRequest(url, options)
    request.end(body ?? undefined)
    return request
  }

  return {
    async send(request, signal) {
      const started = performance.now()
      let status = 0
      try {
        const response = await head(begin(request, signal))
        status = response.statusCode ?? 0
        const text = await readToEnd(response)
        return { status, headers: headersOf(response), text, duration_ms: elapsed(started) }
      } catch (error) {
        throw noAnswer(error, signal, status, elapsed(started))
      }
    },
    async open(request, signal) {
      const started = performance.now()
      try {
        const response = await head(begin(request, signal))
        response.on('error', () => {})
        if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`)
        const pieces = response[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
        return {
          read: async () => {
            const { done, value } = await pieces.next()
            return { done: done === true, value: value as Uint8Array | undefined }
          },
          cancel: async () => void response.destroy(),
        }
      } catch (error) {
        throw noAnswer(error, signal, 0, elapsed(started))
      }
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}

function head(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('response', resolve)
    request.on('error', reject)
  })
}

async function readToEnd(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > longestAnswer_bytes) throw new Error(`the answer is longer than ${longestAnswer_bytes} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  )
}

function noAnswer(error: unknown, signal: AbortSignal, status: number, duration_ms: number): NoAnswer {
  if (signal.aborted) {
    return new NoAnswer(wordsOf(signal.reason), status, duration_ms)
  }
  const { code, message } = error as NodeJS.ErrnoException
  const why = status > 0 ? `the answer (${status}) ended early` : 'no answer came'
  return new NoAnswer(`${why}: ${code ?? message}`, status, duration_ms)
}

/** Why a request was given up: its own limit, or that of its step. */
function wordsOf(reason: unknown): string {
  if (!(reason instanceof Error)) return `the run was ended by ${String(reason)}`
  return reason.name === 'TimeoutError' ? 'no answer came in time' : reason.message
}

function elapsed(started: number): number {
  return Math.round((performance.now() - started) * 10) / 10
}
