/** JSON requests with fetch. */
import { retryAfterMs } from '#foundation/http.ts'
import { isObject, parseAnyJson } from '#foundation/json.ts'
import type { RendererError } from './events.ts'

const timeoutMs = 15_000

interface RequestOptions {
  body?: object | undefined
  token?: string | undefined
  headers?: HeadersInit | undefined
  signal?: AbortSignal | undefined
  /** Default `omit`: cookies are sent to the host's own routes only. */
  credentials?: RequestCredentials | undefined
  keepalive?: boolean
}

/** Where a response came from and what it was, for an error. */
interface Source {
  /** Method and address, without a query: `POST /api/placement`; after a redirect `POST /api/placement > https://example.com/login`. */
  request: string
  status: number
  content_type: string
}

export interface JsonResponse extends Source {
  ok: boolean
  /** The service's reason_code, or `http_<status>` when it gave none. */
  reason_code: string
  /** Retry-After, milliseconds from now; null without one. */
  retry_after_ms: number | null
  /** The Date header, Unix epoch milliseconds. NaN when a cross-origin page may not read it. */
  date_ms: number
  /** Text where it is not JSON. */
  body: unknown
}

/** POSTs `body`, or GETs without one. Resolves with any response; rejects on network errors, abort or after 15 s. */
export async function requestJson(url: string, options: RequestOptions): Promise<JsonResponse> {
  const { body, token, signal, credentials = 'omit', keepalive = false } = options
  // AbortSignal.timeout and AbortSignal.any would exclude browsers of 2023.
  const abort = new AbortController()
  const end = (): void => abort.abort()
  const timer = setTimeout(end, timeoutMs)
  signal?.addEventListener('abort', end)
  if (signal?.aborted) end()
  const headers = new Headers(options.headers)
  const method = body ? 'POST' : 'GET'
  let request = `${method} ${url.split('?')[0]}`
  if (body) headers.set('content-type', 'application/json')
  if (token) headers.set('authorization', `Bearer ${token}`)
  try {
    const response = await fetch(url, {
      method,
      headers,
      body: body ? JSON.stringify(body) : null,
      credentials,
      keepalive,
      // A poll that a cache answers would stay pending.
      cache: 'no-store',
      signal: abort.signal,
    })
    const { ok, status } = response
    if (response.redirected) request += ` > ${response.url.split('?')[0]}`
    const text = await response.text().catch(() => '')
    const json: unknown = parseAnyJson(text) ?? text
    const reason_code = isObject(json) && typeof json.reason_code === 'string' ? json.reason_code : `http_${status}`
    const date_ms = Date.parse(`${response.headers.get('date')}`)
    const retry_after_ms = retryAfterMs(response.headers.get('retry-after'), date_ms || Date.now())
    const content_type = response.headers.get('content-type') ?? ''
    return { ok, request, status, content_type, reason_code, retry_after_ms, date_ms, body: json }
  } catch (problem) {
    throw Object.assign(problem as Error, { request })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
  }
}

/** Resolves after `ms`, or as soon as the signal aborts. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, signal?.aborted ? 0 : ms)
    signal?.addEventListener('abort', end)
  })
}

export function requestProblem(response: JsonResponse): Error {
  const { reason_code, body, retry_after_ms } = response
  const fields = isObject(body) && { got: Object.keys(body) }
  const { message } = Object(body)
  return Object.assign(new Error(typeof message === 'string' ? message : reason_code), {
    reason_code,
    retry_after_ms,
    ...describeSource(response),
    ...fields,
  })
}

/** Returns where a response came from, with the error body of the service if it has one. */
export function describeSource({ request, status, content_type, body }: JsonResponse): Partial<RendererError> {
  return { request, status, content_type, ...findErrorBody(body) }
}

/** Returns a body that is an error of the service, or nothing. */
export function findErrorBody(body: unknown): { response: object } | false {
  return isObject(body) && typeof body.reason_code === 'string' && { response: body }
}

/** Returns the details of an error event. */
export function describeProblem(problem: unknown): Partial<RendererError> & { message: string } {
  return { message: String(problem), ...(problem as object) }
}
