/** What a client does after an error or a no-fill. */
import { errorCodes, type ReasonCode } from '../../contract/errors.ts'
import { retryAfterMs } from '../../foundation/http.ts'
import { type Exchange, groupBy, isPlacementRequest, noFillReasonOf, routeOf, sessionOf, times } from '../exchange.ts'
import { over, type RuleBody, ruleSet } from '../rule.ts'

/** A repetition within this time is made by a program, not by the next turn of a conversation. */
const atOnce_ms = 1_000
/** Timers of clients may fire this much early. */
const tolerance_ms = 20
/** Less than this between two tries is no pause. */
const minPause_ms = 100

export interface Repetition {
  first: Exchange
  again: Exchange
}

export const retryRules = ruleSet('journal', {
  'no-fill-retried': {
    title: 'a no-fill is final for the turn',
    severity: 'warning',
    costs: 'The same request gets the same response; the loop uses up the rate limit and delays the turn.',
    fix: 'Show nothing, and try again with the next turn; decision.retryable says whether that can help.',
    needs: 'a no-fill',
    judge: overRepetitions(
      (exchange) => isPlacementRequest(exchange) && noFillReasonOf(exchange) !== null,
      noFillLoops,
      (first, count) => `The same request followed a no-fill (${noFillReasonOf(first)}) within a second, ${count}.`,
    ),
  },
  'retry-after-ignored': {
    title: 'no request is repeated before Retry-After is over',
    severity: 'error',
    costs: 'Every early repetition is refused too, and keeps the key at its limit for all other users.',
    fix: 'Wait as long as Retry-After says before any request with the same key, or do without the ad.',
    needs: 'a response with Retry-After, such as 429',
    judge: overRepetitions(
      (exchange) => exchange.status >= 400 && waitOf(exchange) > 0,
      tooSoon,
      (first, count) =>
        `${routeOf(first)} was repeated ${count} before the ${waitOf(first) / 1_000} s of Retry-After were over (${first.status}).`,
    ),
  },
  'retry-without-backoff': {
    title: 'failures of the service are retried with growing pauses',
    severity: 'error',
    costs: 'When the service fails, all clients retry at once and keep it down.',
    fix: 'Retry 5xx and broken connections at most three times, after 0.5, 1 and 2 s, then go on without an ad.',
    needs: 'a 5xx or a broken connection',
    judge: overRepetitions(
      isFailure,
      hasty,
      (first, count) => `${routeOf(first)} was repeated ${count} at once after ${first.status || 'no response'}.`,
    ),
  },
  'retried-in-vain': {
    title: 'what cannot succeed is not repeated',
    severity: 'warning',
    costs: 'Each repetition counts against the rate limit and gets the same response.',
    fix: 'Repeat only when the error body has retryable: true. Of 4xx, only 429 has.',
    needs: 'a response of 4xx other than 429',
    judge: overRepetitions(
      ({ status }) => status >= 400 && status < 500 && status !== 429,
      inVain,
      (first, count) => `${routeOf(first)} was repeated unchanged ${count} after ${first.status} ${first.reason_code}.`,
    ),
  },
})

/**
 * Returns the judge of a rule about responses after which requests are repeated: one finding for each route and cause,
 * with both requests of each repetition.
 */
function overRepetitions(
  isConcerned: (exchange: Exchange) => boolean,
  find: (exchanges: readonly Exchange[]) => readonly Repetition[],
  message: (first: Exchange, count: string) => string,
): RuleBody<'journal'>['judge'] {
  return over(isConcerned, (_, { exchanges }) => {
    const groups = Map.groupBy(
      find(exchanges),
      ({ first }) => `${routeOf(first)} ${first.status} ${first.reason_code} ${noFillReasonOf(first)}`,
    )
    return [...groups.values()].map((group) => {
      const last = group.at(-1)!.first
      const reason = last.reason_code as ReasonCode | null
      return {
        message: message(last, times(group.length)),
        requests: group.flatMap(({ first, again }) => [first, again]),
        ...(reason === null ? {} : { reason }),
        cites_last: true,
      }
    })
  })
}

function isFailure({ status }: Exchange): boolean {
  return status === 0 || status >= 500
}

/** Returns repetitions of failed requests without a pause. */
function hasty(exchanges: readonly Exchange[]): Repetition[] {
  return repetitions(exchanges).filter(
    ({ first, again }) =>
      isFailure(first) && waitOf(first) === 0 && again.at_ms - first.at_ms - first.duration_ms < minPause_ms,
  )
}

/** Returns no-fills after which the next request of the session asked for the same at once. */
function noFillLoops(exchanges: readonly Exchange[]): Repetition[] {
  const asked = exchanges.filter((exchange) => exchange.session_id !== null && isPlacementRequest(exchange))
  return [...groupBy(asked, sessionOf).values()]
    .flatMap((group) => group.slice(1).map((again, index) => ({ first: group[index]!, again })))
    .filter(
      ({ first, again }) =>
        noFillReasonOf(first) !== null &&
        again.at_ms - first.at_ms < atOnce_ms &&
        JSON.stringify(first.request_body) === JSON.stringify(again.request_body),
    )
}

/** Returns repetitions before the time that the response asked to wait. */
export function tooSoon(exchanges: readonly Exchange[]): Repetition[] {
  return repetitions(exchanges).filter(
    ({ first, again }) => isRetryable(first.status) && again.at_ms - first.at_ms < waitOf(first) - tolerance_ms,
  )
}

/** Returns unchanged repetitions at once, although the response said that they would fail again. */
export function inVain(exchanges: readonly Exchange[]): Repetition[] {
  return repetitions(exchanges).filter(
    ({ first, again }) => first.status > 0 && !isRetryable(first.status) && again.at_ms - first.at_ms < atOnce_ms,
  )
}

/** Returns requests that failed, each with the next one that is the same. */
export function repetitions(exchanges: readonly Exchange[]): Repetition[] {
  return [...groupBy(exchanges, outlineOf).values()].flatMap((group) =>
    group.flatMap((first, index) => {
      if (first.status > 0 && first.status < 400) return []
      const again = group.slice(index + 1).find((next) => isAlike(first.request_body, next.request_body))
      return again === undefined ? [] : [{ first, again }]
    }),
  )
}

/** Returns how long a response asks to wait, milliseconds; 0 when it does not. */
export function waitOf({ response_headers, at_ms }: Exchange): number {
  return retryAfterMs(response_headers['retry-after'], at_ms) ?? 0
}

/** Whether the same request may succeed later, by the table of errors (A10). */
function isRetryable(status: number): boolean {
  return Object.values(errorCodes).some((row) => row.status === status && row.retryable)
}

/** Returns what two equal requests have in common beside their bodies. */
function outlineOf({ method, path, request_headers }: Exchange): string {
  const names = ['authorization', 'origin', 'content-type', 'content-length']
  return JSON.stringify([method, path, ...names.map((name) => request_headers[name])])
}

/**
 * Whether two bodies were the same, as far as the journal shows it: when one was refused before it was read, only the
 * lengths of its texts were kept.
 */
function isAlike(one: unknown, other: unknown): boolean {
  if (typeof one === 'string' && typeof other === 'string') {
    return one === other || removedLength(one) === other.length || removedLength(other) === one.length
  }
  if (!isContainer(one) || !isContainer(other) || Array.isArray(one) !== Array.isArray(other)) return one === other
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isAlike(one[name], other[name]))
  )
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** Returns the length of a text that the journal removed, or null for any other text. */
function removedLength(text: string): number | null {
  const length = /^\[removed: (\d+) characters\]$/.exec(text)?.[1]
  return length === undefined ? null : Number(length)
}
