/** One exchange over HTTP: building its request, sending it, and reading the response whole or piece by piece. */

import type { Endpoint } from '#contract/endpoint.ts'
import type { SandboxEvent } from '#contract/resources/events.ts'
import { fillPath } from '#foundation/http.ts'
import { isObject } from '#foundation/json.ts'
import { ContractError, RefusedError, type ServiceError, UnreachableError } from './errors.ts'

/** The parts of a call. */
export interface CallInput {
  params?: object | undefined
  query?: object | undefined
  body?: unknown
}

/** The parts of a request other than its input. */
export interface Sender {
  base_url: string
  /** Secret key or token for `Authorization: Bearer`; a function is called for each request that needs one. */
  credential?: string | (() => string | undefined) | undefined
  /** Origin of the page this client speaks for. Never sent with a secret key. */
  origin?: string | undefined
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>> | undefined
}

/** An HTTP request, ready to be sent or shown. */
export interface HttpRequest {
  method: Endpoint['method']
  url: string
  headers: Record<string, string>
  body?: string | Blob
  /** Whether a browser finishes it when its page is closed. */
  keepalive?: boolean
}

/** The parts of an endpoint that a request needs. */
export interface SentEndpoint extends Pick<Endpoint, 'id' | 'method' | 'path' | 'credentials' | 'status'> {
  readonly body_media_type?: string
  readonly response: object
}

/** Turns a call into its HTTP request. Throws RefusedError for test_outcome with a production key. */
export function buildRequest(endpoint: SentEndpoint, input: CallInput, sender: Sender): HttpRequest {
  const isTaken = endpoint.credentials.length > 0
  const given = sender.credential
  const credential = typeof given === 'function' ? (isTaken ? given() : undefined) : given
  refuseForcedOutcome(input.body, credential)
  const isSecretSent = isTaken && credential?.startsWith('sk_') === true
  const origin = endpoint.path.startsWith('/v1/') && !isSecretSent ? sender.origin : undefined
  return {
    method: endpoint.method,
    url: sender.base_url.replace(/\/+$/, '') + fillPath(endpoint.path, input.params) + queryString(input.query),
    headers: {
      accept: readMediaType(endpoint) ?? 'application/json',
      ...(input.body === undefined ? {} : { 'content-type': endpoint.body_media_type ?? 'application/json' }),
      ...(isTaken && credential !== undefined ? { authorization: `Bearer ${credential}` } : {}),
      ...(origin === undefined ? {} : { origin }),
      ...sender.headers,
    },
    ...(input.body === undefined ? {} : { body: serializeBody(input.body) }),
  }
}

function refuseForcedOutcome(body: unknown, credential: string | undefined): void {
  if (credential === undefined || !isProductionKey(credential)) return
  if (isObject(body) && body.test_outcome !== undefined) throw new RefusedError('test_outcome_requires_test_key')
}

/** Returns the media type of a response that is not JSON; undefined for JSON. */
export function readMediaType({ response }: SentEndpoint): string | undefined {
  return 'media_type' in response ? (response.media_type as string) : undefined
}

function serializeBody(body: unknown): string | Blob {
  return body instanceof Blob ? body : JSON.stringify(body)
}

/** Whether a key is a Production secret key (A02). */
export function isProductionKey(key: string): boolean {
  return key.startsWith('sk_live_')
}

function queryString(query: object = {}): string {
  const fields = Object.entries(query).filter(([, value]) => value !== undefined)
  return fields.length === 0 ? '' : `?${new URLSearchParams(fields.map(([name, value]) => [name, String(value)]))}`
}

/**
 * The part of a fetch that the client uses: `globalThis.fetch` fits, and undici's where `Blob` is that of Node, without lib
 * DOM.
 */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

export interface FetchInit {
  method: string
  headers: Record<string, string>
  body?: string | Blob
  keepalive?: boolean
  /** `manual` returns a redirect as the response. */
  redirect: Redirect
  signal: AbortSignal
}

/** A redirect would take headers and body, with the key in them, to a service that nobody named. */
export type Redirect = 'manual' | 'follow'

export interface FetchResponse {
  readonly status: number
  readonly ok: boolean
  readonly headers: { get(name: string): string | null }
  readonly body: { getReader(): ByteReader } | null
}

export interface ByteReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>
  cancel(): Promise<void>
}

export interface Transport {
  fetch: Fetch
  base_url: string
  /** Time limit of a response, milliseconds; of a stream, until its head has arrived. Infinity for none. */
  timeout_ms: number
  /** Most bytes of a response that is read as a whole, unpacked. Default 64 MiB. */
  max_bytes?: number | undefined
  /** Default manual. */
  redirect?: Redirect | undefined
}

/** No response of the contract that is read as a whole comes close to this. */
const defaultMaxResponseBytes = 64 * 2 ** 20

/** The state of a sandbox can be gigabytes: sending or copying it takes as long as it takes. */
export function unlimited(transport: Transport): Transport {
  return { ...transport, timeout_ms: Number.POSITIVE_INFINITY }
}

/** A response read to its end. */
export interface RawResponse {
  status: number
  ok: boolean
  request_id: string | null
  headers: FetchResponse['headers']
  text: string
}

/** The facts of a response other than its body. */
export interface ResponseMeta {
  /** HTTP status. */
  status: number
  /** Support identifier, from the x-request-id header. */
  request_id: string | null
  /** Warnings of the sandbox, such as `wait_ms_clamped`. */
  warnings: string[]
  /** The metric that production would have billed for this beacon, from the sandbox's header. */
  would_bill: string | null
  /** Every slot of the job, if a placement request asked for several. */
  slot_ids: string[]
  /** Differences from the contract, with `validate: 'report'` only. */
  differences: string[]
}

/** The fetch of Node or the browser, looked up on each call. */
export const globalFetch = (url: string, init: FetchInit): Promise<FetchResponse> => fetch(url, init as RequestInit)

/**
 * Sends a request and passes its response to `read` under the same time limit. Throws UnreachableError, and ContractError
 * for a response that is too large.
 */
export async function exchange<T>(
  transport: Transport,
  request: HttpRequest,
  signal: AbortSignal | undefined,
  read: (response: FetchResponse, transport: Transport) => Promise<T>,
): Promise<T> {
  const timeout = new AbortController()
  const expire = () => timeout.abort(new DOMException('', 'TimeoutError'))
  const timer = Number.isFinite(transport.timeout_ms) ? setTimeout(expire, transport.timeout_ms) : undefined
  const { url, ...init } = request
  try {
    const response = await transport.fetch(url, {
      ...init,
      redirect: transport.redirect ?? 'manual',
      signal: signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]),
    })
    return await read(response, transport)
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason
    if (error instanceof ContractError) throw error
    throw new UnreachableError(
      transport.base_url,
      transport.timeout_ms,
      timeout.signal.aborted ? timeout.signal.reason : error,
    )
  } finally {
    clearTimeout(timer)
  }
}

/** Reads a response as text. Throws ContractError as soon as it is larger than the limit. */
export async function readToEnd(
  { status, ok, headers, body }: FetchResponse,
  { max_bytes = defaultMaxResponseBytes }: Pick<Transport, 'max_bytes'> = {},
): Promise<RawResponse> {
  const request_id = headers.get('x-request-id')
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (;;) {
    const value = (await reader?.read())?.value
    if (value === undefined) return { status, ok, request_id, headers, text }
    text += decoder.decode(value, { stream: true })
    bytes += value.length
    if (bytes > max_bytes) {
      reader?.cancel().catch(() => {})
      throw new ContractError('this', status, [`more than ${max_bytes} bytes`], request_id)
    }
  }
}

/** Reads a body piece by piece. Cancels it when the caller stops early. */
export async function* readBytes(reader: ByteReader): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      if (value !== undefined) yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

interface EventReader {
  readEvents(reader: ByteReader): AsyncGenerator<SandboxEvent, void, undefined>
}

interface OpenStream {
  transport: Transport
  endpoint: SentEndpoint
  request: HttpRequest
  signal: AbortSignal | undefined
  onOpen: (() => void) | undefined
  schemas: () => EventReader | Promise<EventReader>
  /** Returns the error of a response that is not a success. */
  failure: (endpoint: SentEndpoint, response: RawResponse) => Promise<ServiceError>
}

/** Yields the events or bytes of a response to its end. Throws ServiceError, UnreachableError and ContractError. */
export async function* openStream({ transport, endpoint, request, signal, onOpen, schemas, failure }: OpenStream) {
  const expected = readMediaType(endpoint)
  const isFile = expected === 'application/gzip'
  const opened = await exchange(isFile ? unlimited(transport) : transport, request, signal, async (response) => {
    const type = response.headers.get('content-type')
    if (!response.ok || (!isFile && !type?.startsWith(`${expected}`)))
      return { other: await readToEnd(response, transport), type }
    return { reader: response.body?.getReader() }
  })
  if (opened.other?.ok === true) {
    const difference = `content-type: expected ${expected}, received ${opened.type ?? 'none'}`
    throw new ContractError(endpoint.id, opened.other.status, [difference], opened.other.request_id)
  }
  if (opened.other !== undefined) throw await failure(endpoint, opened.other)
  onOpen?.()
  if (opened.reader === undefined) return
  yield* isFile ? readBytes(opened.reader) : (await schemas()).readEvents(opened.reader)
}

/** The parts of a client that read responses piece by piece: events, and files that are not text. */
export const streaming = {
  stream: openStream,
  isStream: (endpoint: SentEndpoint) =>
    ['text/event-stream', 'application/gzip'].includes(readMediaType(endpoint) ?? ''),
}
