/**
 * The values that pass through the pipeline: the request as it was sent, its exchange (one identifier, one timestamp),
 * and the response. Every handler returns a response; only `writeResponse` writes to a socket.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { type Endpoint, oldClientHeader, type ResponseHeader, type Role } from '#contract/endpoint.ts'
import type { ApiError } from '#contract/errors.ts'
import { encodeId } from '#contract/ids.ts'
import type { MaybePromise } from '#foundation/maybe-promise.ts'
import type { Context, Services } from '#operations/context.ts'
import type { TokenHolder } from '#runtime/access.ts'
import type { Injection } from '#runtime/faults.ts'
import type { Identity } from '#runtime/replay.ts'
import { openTrace } from '#runtime/traces/request-trace.ts'

/** The header that names the fault rule applied to a response. */
export const faultHeader = 'x-sandbox-fault'

/** The header that says whether a response was recorded, or is the emulator's own. */
export const sourceHeader = 'x-sandbox-source' satisfies ResponseHeader

/**
 * The policy of bytes of someone else: they are shown, and never act on this origin. An image may be a document with scripts
 * too.
 */
export const inertPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

/** The header that names the trace that a request is in. */
export const traceHeader = 'x-sandbox-trace' satisfies ResponseHeader

export interface Request {
  readonly method: string
  /** The request target as it was sent: path and query, or an absolute URL. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /**
   * Returns a signal that is aborted when the client disconnects. It is created on the first call: few requests wait.
   */
  readonly signal: () => AbortSignal
  /** Whether the client has disconnected, so that no response can reach it. */
  readonly hasLeft: () => boolean
  /** Where an unread body comes from; null for a request that the sandbox makes itself. */
  readonly incoming: IncomingMessage | null
  /** Empty until the pipeline has read it, and for routes that read it themselves. */
  body: Buffer
  /** The path of the matched route, as the contract writes it; before one is matched, the request target. */
  path: string
  params: Readonly<Record<string, string | undefined>>
  query: Readonly<Record<string, string | string[] | undefined>>
  /** The fault rule that matched it. */
  fault: Injection | null
  /** The caller that a replayed request acts for, in place of its credential. */
  identity: Identity | null
  /** Of the control plane: the holder of its token, or the page that the sandbox itself makes it for; null without one. */
  holder: TokenHolder | null
}

/** The handler of one method and path. */
export interface Route {
  method: Endpoint['method'] | 'OPTIONS'
  /** With parameters in braces: `/v1/decisions/{slot_id}`. */
  path: string
  /** The longest body that is read before `respond` is called; left out where none is read. */
  body_limit_bytes?: number
  /** Of the control plane: whether it reveals nothing of this sandbox, so no admin token is needed beyond loopback. */
  isOpen?: boolean
  /** Of the control plane: the role that a token must have; default: read for GET, else write. */
  role?: Role
  /** Of the control plane: the endpoint under which the audit list has its calls. */
  audited_as?: string
  /** Of the control plane: whether its token may come as Authorization: Bearer, as scrapers send it. */
  takesBearer?: boolean
  /** A page that can be opened without any effect: other sites may link to it. */
  isPage?: boolean
  /** Of the control plane: for pages of other origins. It reveals nothing, or checks origin and credential itself (A114). */
  isForHostPages?: boolean
  /** @throws ApiError */
  respond(exchange: OpenExchange): MaybePromise<PipelineResponse>
}

/** One request on its way through the pipeline. */
export interface OpenExchange {
  id: number
  request: Request
  context: Context
  /** `performance.now()` when it was opened. */
  started: number
  /** The validated body as the journal may keep it; null when there is none. */
  journal_body: string | null
}

export interface PipelineResponse {
  status: number
  headers: Record<string, string>
  /** Text, bytes, or a function that writes the body and ends the response. */
  body: string | Buffer | ((sink: ServerResponse) => void | Promise<void>)
  /** The cause that the journal names, of a refused frame too. Successes and other pages have none. */
  error?: ApiError
  /** How a fault breaks it: the connection is dropped or reset instead, or ends in the middle of the body. */
  broken?: 'drop' | 'reset' | 'truncate'
}

export type ResponseContext = Pick<Context, 'now_ms' | 'request_id' | 'warnings' | 'headers'>

const noBody = Buffer.alloc(0)

/** A request that came over a socket. */
export function receivedRequest(incoming: IncomingMessage, outgoing: ServerResponse): Request {
  const url = incoming.url ?? '/'
  let signal: AbortSignal | undefined
  return {
    method: incoming.method ?? 'GET',
    url,
    headers: incoming.headers,
    signal: () => (signal ??= createSignal(outgoing)),
    hasLeft: () => outgoing.destroyed,
    incoming,
    body: noBody,
    path: url,
    params: {},
    query: {},
    fault: null,
    identity: null,
    holder: null,
  }
}

function createSignal(outgoing: ServerResponse): AbortSignal {
  const controller = new AbortController()
  if (outgoing.destroyed) controller.abort()
  else outgoing.once('close', () => controller.abort())
  return controller.signal
}

/** A request that the sandbox makes itself: it passes the same pipeline as any other. */
export function internalRequest(
  request: Pick<Request, 'method' | 'url' | 'headers' | 'signal'> & {
    body?: string | Buffer
    identity?: Identity | null
    holder?: TokenHolder | null
  },
): Request {
  return {
    ...request,
    hasLeft: () => request.signal().aborted,
    incoming: null,
    body: typeof request.body === 'string' ? Buffer.from(request.body) : (request.body ?? noBody),
    path: request.url,
    params: {},
    query: {},
    fault: null,
    identity: request.identity ?? null,
    holder: request.holder ?? null,
  }
}

/** One value of a header; the first where it was sent several times. */
export function readHeader({ headers }: Request, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** Opens the exchange of a request: one identifier, one timestamp of the sandbox clock for every rule. */
export function openExchange({ platform, tracing, strict }: Services, request: Request): OpenExchange {
  const id = platform.newId()
  const started = performance.now()
  return {
    id,
    request,
    context: {
      now_ms: platform.clock.now(),
      request_id: encodeId('req', id),
      caller: null,
      origin: request.headers.origin ?? null,
      authorization: request.headers.authorization,
      is_old_client: request.headers[oldClientHeader] !== undefined && !strict,
      signal: request.signal,
      warnings: [],
      headers: request.fault === null ? {} : { [faultHeader]: request.fault.fault_id },
      played: null,
      trace: openTrace(tracing, request, started),
      subject: { project_id: null, session_id: null, slot_id: null },
    },
    started,
    journal_body: null,
  }
}

/** The success of an endpoint; 304 when the client has it already. */
export function successResponse(status: number, { context, request }: OpenExchange, output: unknown): PipelineResponse {
  const headers = responseHeaders(context)
  if (headers.etag !== undefined && matchesTag(request.headers['if-none-match'], headers.etag)) {
    // There is no content to have a type (RFC 9110, 15.4.5): strict clients would parse it.
    delete headers['content-type']
    return { status: 304, headers, body: '' }
  }
  return { status, headers, body: JSON.stringify(output) }
}

export function responseHeaders(context: ResponseContext): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json; charset=utf-8',
    date: formatHttpDate(context.now_ms),
    'x-request-id': context.request_id,
    vary: 'Origin',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...context.headers,
  }
  if (context.warnings.length > 0) headers['x-sandbox-warning'] = context.warnings.join(', ')
  return headers
}

/** Whether `If-None-Match` names a tag: a star or a list, compared weakly (RFC 9110, 13.1.2). */
export function matchesTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  const bare = (tag: string) => tag.trim().replace(/^W\//, '')
  return header.split(',').some((tag) => bare(tag) === bare(etag))
}

let lastSecond = Number.NaN
let lastDate = ''

/**
 * Returns a time in the form of the Date header, in whole seconds. The last one is cached: a second has many responses.
 */
export function formatHttpDate(now_ms: number): string {
  const now_s = Math.floor(now_ms / 1_000)
  if (now_s !== lastSecond) {
    lastSecond = now_s
    lastDate = new Date(now_s * 1_000).toUTCString()
  }
  return lastDate
}

/** Writes a response to its socket, or breaks the connection as a fault demands. */
export function writeResponse(
  outgoing: ServerResponse,
  { method }: Request,
  { status, headers, body, broken }: PipelineResponse,
): MaybePromise<void> {
  if (broken === 'drop') return void outgoing.socket?.destroy()
  if (broken === 'reset') return void outgoing.socket?.resetAndDestroy()
  if (status === 204 || status === 304) return void outgoing.writeHead(status, headers).end()
  if (typeof body === 'function') {
    outgoing.writeHead(status, headers)
    return method === 'HEAD' ? void outgoing.end() : body(outgoing)
  }
  const length = Buffer.byteLength(body)
  headers['content-length'] = String(length)
  outgoing.writeHead(status, headers)
  if (method === 'HEAD') outgoing.end()
  else if (broken === 'truncate') {
    const bytes = Buffer.from(body)
    outgoing.write(bytes.subarray(0, bytes.length >> 1), () => outgoing.socket?.destroy())
  } else if (typeof body === 'string' && length === body.length) outgoing.end(body, 'latin1')
  else outgoing.end(body)
}

/** The v1 API, its aliases and its files: fault rules meet them, and recordings have them. */
export function isApi({ path }: Pick<Request, 'path'>): boolean {
  return path.startsWith('/v1/') || path.startsWith('/public/') || path.startsWith('/assets/')
}
