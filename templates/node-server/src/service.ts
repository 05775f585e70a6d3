/** Calls the placement service: one request, one response, never an exception. */
import type { Settings } from './settings.ts'

/** A response of the service; our own `no_answer` if there was none. */
export interface Answer {
  status: number
  body: object
  headers: Headers
}

export type Call = (method: 'GET' | 'POST', path: string, body?: object) => Promise<Answer>

/** Longer than the longest wait_ms, which is 5 s. */
const timeout_ms = 8_000

export function createService({ base_url, secret_key }: Settings): Call {
  return async (method, path, body) => {
    try {
      const response = await fetch(new URL(path, base_url), {
        method,
        headers: {
          authorization: `Bearer ${secret_key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(timeout_ms),
      })
      const answer: unknown = await response.json()
      if (typeof answer !== 'object' || answer === null) throw new Error('the response is not a JSON object')
      return { status: response.status, body: answer, headers: response.headers }
    } catch (error) {
      // The error of fetch only says that it failed; `cause` says why: connect ECONNREFUSED 127.0.0.1:4010.
      const { message: failure, cause = '' } = error as Error
      console.error(`${method} ${path} of ${base_url}: ${failure}`, cause instanceof Error ? cause.message : cause)
      const message = 'The placement service sent no readable response.'
      return { status: 502, body: { error: 'no_answer', message, retryable: true }, headers: new Headers() }
    }
  }
}
