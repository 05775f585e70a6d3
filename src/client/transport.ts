import { UnreachableError } from './errors.ts'
import type { HttpRequest } from './request.ts'

/** The part of a fetch that the client uses: `globalThis.fetch` and undici's both fit. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

/** A file that is read as it is sent. The browser's types of a Blob lack what Node's fetch asks for; it is the same. */
export type FileBody = import('node:buffer').Blob

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
  /** How long an answer may take in all; of a stream, until its head is there. */
  timeout_ms: number
}

/** Sends a request and hands its answer to `read` under the same time limit. Throws UnreachableError. */
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
