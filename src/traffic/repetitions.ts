/** The same request sent again: too soon, or although it cannot succeed. */
import { errorCodes } from '../contract/errors.ts'
import { type Exchange, groupBy } from './exchanges.ts'

/** A repetition within this time is one of a program, not of a person. */
const atOnceMs = 1_000
/** Timers of clients may fire this much early. */
const toleranceMs = 20

export interface Repetition {
  first: Exchange
  again: Exchange
}

/** Repeated before the time that the answer asked to wait. */
export function tooSoon(exchanges: readonly Exchange[]): Repetition[] {
  return repetitions(exchanges).filter(
    ({ first, again }) => isRetryable(first.status) && again.at_ms - first.at_ms < retryAfterMs(first) - toleranceMs,
  )
}

/** Repeated unchanged at once, although the answer said that it would fail again. */
export function inVain(exchanges: readonly Exchange[]): Repetition[] {
  return repetitions(exchanges).filter(
    ({ first, again }) => !isRetryable(first.status) && again.at_ms - first.at_ms < atOnceMs,
  )
}

/** Requests that failed, each with the same one sent after its answer. */
export function repetitions(exchanges: readonly Exchange[]): Repetition[] {
  return [...sameRequests(exchanges).values()].flatMap((group) =>
    group.flatMap((again, index) => {
      const first = group[index - 1]
      return first === undefined || (first.status > 0 && first.status < 400) ? [] : [{ first, again }]
    }),
  )
}

/**
 * Milliseconds that an answer asks to wait, given in seconds or as a date; 0 where it names no time.
 */
export function retryAfterMs({ detail, at_ms }: Exchange): number {
  const text = detail?.response_headers['retry-after']
  if (text === undefined) return 0
  const wait = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - at_ms
  return Number.isFinite(wait) ? Math.max(0, wait) : 0
}

/** Whether the same request may succeed later, as the table of errors says. */
export function isRetryable(status: number): boolean {
  return Object.values(errorCodes).some((row) => row.status === status && row.retryable)
}

/** The same request: route, credential's kind and body. Without a detail nothing can be said of the body. */
export function sameRequests(exchanges: readonly Exchange[]): Map<string, Exchange[]> {
  return groupBy(exchanges, (exchange) => {
    if (exchange.detail === null) return null
    const { request_headers, request_body } = exchange.detail
    return JSON.stringify([
      exchange.method,
      exchange.path,
      request_headers.authorization,
      request_headers.origin,
      request_headers['content-type'],
      request_headers['content-length'],
      request_body,
    ])
  })
}
