/**
 * The way of one request through the pass-through: to the service, and its response to the client, each as it arrives and no
 * faster than it is read. Headers and bytes stay as they are, except for addresses of the service.
 */
import { type Agent, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import { locate, type RecordedId } from '#contract/recordings/recording.ts'
import { isLoopback } from '#foundation/http.ts'
import type { Capture } from './capture.ts'
import { decodeBody, readEncodings } from './compression.ts'
import type { PassedExchange } from './exchange.ts'
import { findKeyReason, guardBody, KeyError } from './key-guard.ts'
import { maxRequestBytes, maxResponseBytes } from './recorded-body.ts'
import { type Refusal, refuse } from './refusals.ts'
import type { Rewriting } from './rewriting.ts'
import { createReadFirst, rewriteStream } from './streams.ts'
import {
  describeFailure,
  findResponseError,
  isUnreadable,
  requestHeaders,
  sendRequest,
  unaskedSwitch,
  withoutHops,
} from './upstream.ts'

export interface Passage {
  /** The origin of the service. */
  service: URL
  agent: Agent
  rewriting: Rewriting
  allow_live: boolean
  now(): number
  openCapture(max_bytes: number): Capture
  /** The exchanges on their way. */
  open: Set<OpenExchange>
  /** Called once for each request that was sent to the service, after its end. */
  onExchange(exchange: PassedExchange): void
  /** Called for each request that was not sent. @param what `POST request`, for example */
  onRefusal(refusal: Refusal, what: string): void
}

/** JSON and compressed documents are rewritten as a whole, up to this length; longer ones pass unchanged. */
const maxRewrittenBytes = 1_048_576

export function passRequest(passage: Passage, incoming: IncomingMessage, response: ServerResponse): void {
  const refusal = findRefusal(passage, incoming)
  if (refusal !== null) {
    refuseRequest(passage, incoming, response, refusal)
    return
  }
  const headers = requestHeaders(passage, incoming)
  const exchange = openExchange(passage, incoming, headers)
  const sent = sendRequest(passage, incoming, headers)
  const fail = (error: Error) => {
    // A response that is complete counts, whatever came after it.
    if (!exchange.isOpen() || exchange.hasResponse()) return
    sent.destroy()
    if (error instanceof KeyError) {
      exchange.drop()
      refuseRequest(passage, incoming, response, error.reason)
      return
    }
    exchange.end(response.destroyed ? clientLeft : describeFailure(error))
    refuse(response, isUnreadable(error) ? 'unreadable' : 'unreachable', incoming.headers.origin)
  }
  response.on('close', () => {
    if (!response.writableFinished) sent.destroy()
  })
  if (/^100-continue$/i.test(incoming.headers.expect ?? '')) sent.once('continue', () => response.writeContinue())
  sent.on('error', fail)
  sent.on('upgrade', (_, socket) => {
    socket.destroy()
    fail(unaskedSwitch)
  })
  sent.on('response', (received) => {
    const problem = findResponseError(received)
    if (problem !== null) return fail(problem)
    exchange.respond(received)
    received.on('error', () => undefined)
    received.on('close', () => {
      exchange.end(received.complete ? null : response.destroyed ? clientLeft : cutShort)
      if (!received.complete) response.destroy()
    })
    answer(passage, received, response, exchange).catch(() => response.destroy())
  })
  const keep = (chunk: Buffer) => void exchange.request.add(chunk)
  incoming.on('data', keep)
  // The client may read the response after it has sent everything.
  sent.on('close', () => incoming.off('data', keep).unpipe().resume())
  incoming.on('error', () => sent.destroy())
  const body = passage.allow_live
    ? incoming
    : incoming.pipe(guardBody(readEncodings(incoming.headers['content-encoding'])).on('error', fail))
  body.pipe(createReadFirst()).pipe(sent)
}

const clientLeft = 'The client left.'
const cutShort = 'The service closed the connection before the end of its response.'

/** Returns why a request is not passed on, by its line and headers; null when it is. */
export function findRefusal({ allow_live }: Pick<Passage, 'allow_live'>, incoming: IncomingMessage): Refusal | null {
  const { url = '', rawHeaders, headers } = incoming
  const host = URL.parse(`http://${headers.host}`)?.hostname
  // A page of a name that was made to resolve to this computer would fill the recording.
  if (host === undefined || !isLoopback(host)) return 'host'
  if (!url.startsWith('/')) return 'target'
  if (isOfOtherSite(incoming)) return 'other_site'
  if (allow_live) return null
  const reason = [url, ...rawHeaders].map(findKeyReason).find((found) => found !== null)
  if (reason !== undefined) return reason
  // The body would be compressed, and the service the only one to look into it.
  const transfer = headers['transfer-encoding']
  return transfer === undefined || transfer.trim().toLowerCase() === 'chunked' ? null : 'opaque'
}

/**
 * Whether a page of another site sent a request without a credential: any site that you visit can send one to this computer.
 * The page of an app is on loopback. A frame and its files name no page, and a frame has its token in its path.
 */
function isOfOtherSite({ method = '', url, headers }: IncomingMessage): boolean {
  const { authorization, origin, referer } = headers
  if (headers['sec-fetch-site'] !== 'cross-site' && origin === undefined) return false
  if (authorization !== undefined) return false
  const page = origin ?? referer
  const isOfApp = page !== undefined && isLoopback(URL.parse(page)?.hostname ?? '')
  const isNameless = page === undefined && method === 'GET'
  if (isOfApp || method === 'OPTIONS') return false
  return !(isNameless && isFileOrFrame(locate(method, `http://service${url}`)?.endpoint))
}

/** Whether a path is that of a frame or a file, which a page loads without a credential. @param endpoint undefined: of none */
function isFileOrFrame(endpoint: RecordedId | null | undefined): boolean {
  return endpoint === undefined || endpoint === null || endpoint === 'render.frame' || endpoint === 'render.script'
}

function refuseRequest(passage: Passage, incoming: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  passage.onRefusal(refusal, `${incoming.method} request`)
  incoming.resume()
  refuse(response, refusal, incoming.headers.origin)
}

/** An exchange on its way. */
export interface OpenExchange {
  readonly request: Capture
  isOpen(): boolean
  hasResponse(): boolean
  respond(received: IncomingMessage): void
  /** Adds what the service sent. */
  add(chunk: Buffer): void
  /** Reports the exchange, once. `problem` is what ended it early. */
  end(problem: string | null): void
  /** Ends it without a report: the service has not seen it. */
  drop(): void
}

export function openExchange(
  { now, openCapture, onExchange, open }: Pick<Passage, 'now' | 'openCapture' | 'onExchange' | 'open'>,
  incoming: IncomingMessage,
  request_headers: readonly string[],
): OpenExchange {
  const started = performance.now()
  const passed: PassedExchange = {
    at_ms: now(),
    method: incoming.method ?? 'GET',
    path: incoming.url ?? '/',
    http_version: incoming.httpVersion,
    request_headers,
    request: openCapture(maxRequestBytes),
    response: null,
    duration_ms: 0,
    problem: null,
  }
  const exchange: OpenExchange = {
    request: passed.request,
    isOpen: () => open.has(exchange),
    hasResponse: () => passed.response !== null,
    respond({ statusCode: status = 0, rawHeaders: headers }) {
      passed.response = {
        ...{ status, status_text: STATUS_CODES[status] ?? '', headers },
        body: openCapture(maxResponseBytes),
        wait_ms: performance.now() - started,
      }
    },
    add: (chunk) => passed.response?.body.add(chunk),
    end(problem) {
      if (!open.delete(exchange)) return
      onExchange(Object.assign(passed, { duration_ms: performance.now() - started, problem }))
    },
    drop() {
      if (open.delete(exchange)) passed.request.release()
    },
  }
  open.add(exchange)
  return exchange
}

/** Sends the response to the client. */
export async function answer(
  { rewriting }: Pick<Passage, 'rewriting'>,
  received: IncomingMessage,
  response: ServerResponse,
  exchange: OpenExchange,
): Promise<void> {
  const { rawHeaders, headers, statusCode: status = 502 } = received
  const passed = rewriting.toClient(withoutHops(rawHeaders, headers.connection))
  const kind = hasWholeBody(status, response.req.method) ? rewriting.chooseBody(headers['content-type']) : null
  const isCompressed = readEncodings(headers['content-encoding']).length > 0
  if (kind === null) {
    sendHead(response, status, passed)
    received.on('data', exchange.add).pipe(response)
    return
  }
  if (kind === 'text' && !isCompressed) {
    sendHead(response, status, without(passed, /^content-length$/i))
    received.on('data', exchange.add).pipe(rewriteStream(rewriting)).pipe(response)
    return
  }
  const { bytes, isWhole } = await readStart(received, exchange)
  const rewritten = isWhole ? await rewriteWhole(rewriting, kind, bytes, headers['content-encoding']) : null
  if (rewritten !== null) {
    const others = without(passed, /^content-(?:length|encoding)$/i)
    response.writeHead(status, [...others, 'Content-Length', String(rewritten.length)]).end(rewritten)
    return
  }
  response.writeHead(status, passed)
  response.write(bytes)
  if (isWhole) return void response.end()
  received.on('data', exchange.add).pipe(response)
}

/** Sends status and headers now, though the body may take long. */
function sendHead(response: ServerResponse, status: number, headers: string[]): void {
  response.writeHead(status, headers)
  // Node flushes headers as UTF-8. With the first bytes of the body it sends them as they are.
  if (headers.every((text) => /^[\t\x20-\x7e]*$/.test(text))) response.flushHeaders()
}

function hasWholeBody(status: number, method: string | undefined): boolean {
  return method !== 'HEAD' && status !== 204 && status !== 206 && status !== 304
}

function without(headers: readonly string[], name: RegExp): string[] {
  return headers.filter((_, index) => !name.test(headers[index - (index % 2)]!))
}

/** Resolves to the body, or to its beginning when it is longer than what is rewritten. Rejects when it is cut short. */
function readStart(
  received: IncomingMessage,
  { add }: Pick<OpenExchange, 'add'>,
): Promise<{ bytes: Buffer; isWhole: boolean }> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const stop = (isWhole: boolean) => {
      received.off('data', onData).off('end', onEnd).off('close', onClose)
      if (!isWhole) received.pause()
      resolve({ bytes: Buffer.concat(chunks), isWhole })
    }
    const onData = (chunk: Buffer) => {
      add(chunk)
      chunks.push(chunk)
      length += chunk.length
      if (length > maxRewrittenBytes) stop(false)
    }
    const onEnd = () => stop(true)
    const onClose = () => reject(new Error(cutShort))
    received.on('data', onData).on('end', onEnd).on('close', onClose)
  })
}

/** Resolves to the body with its addresses rewritten; null when it has none, or cannot be unpacked. */
async function rewriteWhole(
  rewriting: Rewriting,
  kind: 'json' | 'text',
  bytes: Buffer,
  encoding: string | undefined,
): Promise<Buffer | null> {
  const decoded = await decodeBody(bytes, readEncodings(encoding), maxResponseBytes)
  if (decoded === null) return null
  // Addresses are ASCII: so are the bytes around them in any encoding of the web.
  const text = decoded.toString('latin1')
  const rewritten = kind === 'json' ? rewriting.rewriteJson(text) : rewriting.rewriteText(text)
  return rewritten === text ? null : Buffer.from(rewritten, 'latin1')
}
