/** Error envelopes: the fifth of the five points to check when migrating, seen by what a client does after one. */
import { errorCodes } from '../../contract/errors.ts'
import { type Check, type Outcome, orOk, problem } from './finding.ts'
import { type Exchange, groupBy, routeOf, type Traffic, times } from './traffic.ts'

/** A repetition within this time is one of a program, not of a person. */
const atOnceMs = 1_000

export const errorEnvelopes: Check<Traffic> = {
  name: 'error envelopes',
  find: ({ exchanges }) => {
    const repeated = [...sameRequests(exchanges).values()].flatMap(repetitions)
    const tooSoon = repeated.filter(({ first }) => isRetryable(first.status))
    const useless = repeated.filter(({ first }) => !isRetryable(first.status))
    return orOk(
      [
        ...outcomes(tooSoon, (first, count) =>
          problem(
            `${routeOf(first)} was repeated ${times(count)} before the ${retryAfterMs(first) / 1000} s of Retry-After were over (${first.status}). Last after ${first.request_id}.`,
            'Wait for Retry-After seconds before the same request is sent again.',
          ),
        ),
        ...outcomes(useless, (first, count) =>
          problem(
            `${routeOf(first)} was repeated unchanged ${times(count)} after ${first.status} ${first.reason_code}. Last after ${first.request_id}.`,
            'Repeat a request only where the error body says retryable: true. 4xx but 429 will fail again.',
          ),
        ),
      ],
      exchanges.some(({ status }) => status >= 400)
        ? 'No failed request was repeated too soon or in vain.'
        : 'No request failed.',
    )
  },
}

interface Repetition {
  first: Exchange
  again: Exchange
}

/** The same request: route, credential's project and body. Without a detail nothing can be said of the body. */
function sameRequests(exchanges: readonly Exchange[]): Map<string, Exchange[]> {
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

function repetitions(group: readonly Exchange[]): Repetition[] {
  return group.flatMap((again, index) => {
    const first = group[index - 1]
    if (first === undefined || first.status < 400) return []
    const within = isRetryable(first.status) ? retryAfterMs(first) : atOnceMs
    return again.at_ms - first.at_ms < within ? [{ first, again }] : []
  })
}

function outcomes(repeated: readonly Repetition[], outcome: (first: Exchange, count: number) => Outcome): Outcome[] {
  const groups = groupBy(
    repeated.map(({ first }) => first),
    (first) => `${routeOf(first)} ${first.status} ${first.reason_code}`,
  )
  return [...groups.values()].map((group) => outcome(group.at(-1) as Exchange, group.length))
}

/** 0 where the answer names no time to wait. */
function retryAfterMs({ detail }: Exchange): number {
  return Number(detail?.response_headers['retry-after'] ?? 0) * 1000
}

function isRetryable(status: number): boolean {
  return Object.values(errorCodes).some((row) => row.status === status && row.retryable)
}
