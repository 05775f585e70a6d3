/** JSON requests with fetch, and the waits between them. */

import { retryAfterMs } from '../../../src/foundation/http.ts'
import { isObject } from '../../../src/foundation/json.ts'

const timeout_ms = 15_000

interface RequestOptions {
  body?: object | undefined
  token?: string | undefined
  headers?: Record<string, string> | undefined
  signal?: AbortSignal | undefined
  /** Cookies are sent to the host's own routes only. */
  credentials?: RequestCredentials
  keepalive?: boolean
}

export interface JsonResponse {
  ok: boolean
  status: number
  /** The service's reason_code, or `http_<status>` when it gave none. */
  reason_code: string
  /** Retry-After, milliseconds from now; null without one. */
  retry_after_ms: number | null
  /** The Date header, Unix epoch milliseconds. NaN when a cross-origin page may not read it. */
  date_ms: number
  body: unknown
}

/** POSTs `body`, or GETs without one. Resolves with any response; rejects on network errors, abort or after 15 s. */
export async function requestJson(url: string, options: RequestOptions): Promise<JsonResponse> {
  const { body, token, signal, credentials = 'omit', keepalive = false } = options
  const timeout = AbortSignal.timeout(timeout_ms)
  const response = await fetch(url, {
    method: body ? 'POST' : 'GET',
    headers: {
      ...options.headers,
      ...(body && { 'content-type': 'application/json' }),
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body: body ? JSON.stringify(body) : null,
    credentials,
    keepalive,
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
  })
  const { ok, status, headers } = response
  const json: unknown = await response.json().catch(() => null)
  const reason_code = isObject(json) && typeof json.reason_code === 'string' ? json.reason_code : `http_${status}`
  const date_ms = Date.parse(`${headers.get('date')}`)
  const retry_after_ms = retryAfterMs(headers.get('retry-after'), date_ms || Date.now())
  return { ok, status, reason_code, retry_after_ms, date_ms, body: json }
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

/** An error response. */
export class RequestProblem extends Error {
  readonly status: number
  readonly reason_code: string

  constructor({ status, reason_code }: JsonResponse) {
    super(reason_code)
    this.status = status
    this.reason_code = reason_code
  }
}

/** Returns the details of an error event. */
export function describeProblem(problem: unknown): { status?: number; reason_code?: string; message: string } {
  return { message: String(problem), ...(problem as object) }
}
