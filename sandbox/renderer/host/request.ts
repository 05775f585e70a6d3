/** One JSON request and its answer, success or not. Rejects only when there was no answer: network, abort, 15 s. */
import { isObject } from './decision.ts'

const timeout_ms = 15_000

export interface RequestOptions {
  body?: object | undefined
  token?: string | undefined
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
  retry_after: string | null
  body: unknown
}

/** POSTs `body`, or GETs without one. */
export async function requestJson(url: string, options: RequestOptions): Promise<JsonAnswer> {
  const { body, token, signal, credentials = 'omit', keepalive = false } = options
  const patience = AbortSignal.timeout(timeout_ms)
  const response = await fetch(url, {
    method: body ? 'POST' : 'GET',
    headers: {
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
  return { ok, status, reason_code, retry_after: headers.get('retry-after'), body: answer }
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

/** The body of a success. */
export async function fetchJson(url: string, options: RequestOptions): Promise<unknown> {
  const answer = await requestJson(url, options)
  if (!answer.ok) throw new RequestProblem(answer)
  return answer.body
}

/** What an error event says about it. */
export function describeProblem(problem: unknown): { status?: number; reason_code?: string; message?: string } {
  return problem instanceof RequestProblem
    ? { status: problem.status, reason_code: problem.reason_code }
    : { message: String(problem) }
}
