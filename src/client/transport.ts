/** Sending a request and reading its response: whole, as events, or as bytes. */
import { SandboxEvent } from '../contract/control/events.ts'
import { parseJson } from '../foundation/json.ts'
import { UnreachableError } from './errors.ts'
import type { FileBody, HttpRequest } from './request.ts'

/** The part of a fetch that the client uses: `globalThis.fetch` and undici's both fit. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

export interface FetchInit {
  method: string
  headers: Record<string, string>
  body?: string | FileBody
  signal: AbortSignal
}

export interface FetchResponse {
  readonly status: number
  readonly ok: boolean
  readonly headers: { get(name: string): string | null }
  readonly body: { getReader(): ByteReader } | null
  text(): Promise<string>
}

export interface ByteReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>
  cancel(): Promise<void>
}

export interface Transport {
  fetch: Fetch
  base_url: string
  /** Time limit of a response, milliseconds; of a stream, until its head has arrived. */
  timeout_ms: number
}

/** A response read to its end. */
export interface RawResponse {
  status: number
  ok: boolean
  request_id: string | null
  headers: FetchResponse['headers']
  text: string
}

/** The fetch of Node or the browser, looked up at each call. */
export const globalFetch: Fetch = (url, init) => fetch(url, init as RequestInit)

/** Sends a request and passes its response to `read` under the same time limit. Throws UnreachableError. */
export async function exchange<T>(
  transport: Transport,
  request: HttpRequest,
  signal: AbortSignal | undefined,
  read: (response: FetchResponse) => Promise<T>,
): Promise<T> {
  const timeout = new AbortController()
  const timer = setTimeout(
    () => timeout.abort(new DOMException('The time ran out.', 'TimeoutError')),
    transport.timeout_ms,
  )
  const { url, ...init } = request
  try {
    const response = await transport.fetch(url, {
      ...init,
      signal: signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]),
    })
    return await read(response)
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason
    throw new UnreachableError(
      transport.base_url,
      transport.timeout_ms,
      timeout.signal.aborted ? timeout.signal.reason : error,
    )
  } finally {
    clearTimeout(timer)
  }
}

/** Longest wait for a raw response, milliseconds: longer than any wait_ms. */
const rawTimeout_ms = 30_000

/** Sends a request and returns its response without comparing it with the contract. Throws UnreachableError. */
export function fetchRaw(request: HttpRequest, base_url: string, signal: AbortSignal): Promise<RawResponse> {
  return exchange({ fetch: globalFetch, base_url, timeout_ms: rawTimeout_ms }, request, signal, readToEnd)
}

export async function readToEnd(response: FetchResponse): Promise<RawResponse> {
  const { status, ok, headers } = response
  return { status, ok, request_id: headers.get('x-request-id'), headers, text: await response.text() }
}

/** Reads server-sent events to the end of the stream. Skips comments and events that do not match the contract. */
export async function* readEvents(reader: ByteReader): AsyncGenerator<SandboxEvent, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of readBytes(reader)) {
    const blocks = (rest + decoder.decode(bytes, { stream: true })).replaceAll('\r\n', '\n').split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = parseEvent(block)
      if (event !== null) yield event
    }
  }
}

function parseEvent(block: string): SandboxEvent | null {
  const data = block
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).replace(/^ /, ''))
    .join('\n')
  return SandboxEvent.safeParse(parseJson(data)).data ?? null
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
