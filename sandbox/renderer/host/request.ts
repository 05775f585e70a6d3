/** One JSON request and its answer, success or not. Rejects only when there was no answer: network, abort, 15 s. */
import { isObject } from './decision.ts'

const timeout_ms = 15_000

export interface RequestOptions {
  body?: object | undefined
  token?: string | undefined
  headers?: Record<string, string> | undefined
  signal?: AbortSignal | undefined
  /** Cookies go to the host's own routes only. */
  credentials?: RequestCredentials
  keepalive?: boolean
}

export interface JsonAnswer {
  ok: boolean
  status: number
  /** The service's reason_code, or `http_<status>` when it gave none. */
  reason_code: string
  /** The service's Retry-After: milliseconds from now. */
  retry_after_ms: number | undefined
  /** When the server answered, by its own clock: Unix epoch milliseconds. NaN where it may not be read. */
  date_ms: number
  body: unknown
}

/** POSTs `body`, or GETs without one. */
export async function requestJson(url: string, options: RequestOptions): Promise<JsonAnswer> {
  const { body, token, signal, credentials = 'omit', keepalive = false } = options
  const patience = AbortSignal.timeout(timeout_ms)
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
    signal: signal ? AbortSignal.any([signal, patience]) : patience,
  })
  const { ok, status, headers } = response
  const answer: unknown = await response.json().catch(() => null)
  const reason_code = isObject(answer) && typeof answer.reason_code === 'string' ? answer.reason_code : `http_${status}`
  const date_ms = Date.parse(`${headers.get('date')}`)
  const retry_after_ms = retryAfter(headers.get('retry-after'), date_ms || Date.now())
  return { ok, status, reason_code, retry_after_ms, date_ms, body: answer }
}

/** Retry-After as milliseconds from now: whole seconds, or an HTTP date. */
function retryAfter(header: string | null, now_ms: number): number | undefined {
  if (header === null) return undefined
  const wait_ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now_ms
  return Number.isNaN(wait_ms) ? undefined : Math.max(0, wait_ms)
}

/** Waits, or less long when the signal says so. */
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

/** An answer that is not a success. */
export class RequestProblem extends Error {
  readonly status: number
  readonly reason_code: string

  constructor({ status, reason_code }: JsonAnswer) {
    super(reason_code)
    this.status = status
    this.reason_code = reason_code
  }
}

/** What an error event says about it. */
export function describeProblem(problem: unknown): { status?: number; reason_code?: string; message: string } {
  return { message: String(problem), ...(problem as object) }
}
