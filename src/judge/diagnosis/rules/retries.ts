/** Rules for retries after an error or a no-fill. */
import { errorCodes, type ReasonCode } from '#contract/errors.ts'
import {
  countPhrase,
  formatRoute,
  groupBy,
  isPlacementRequest,
  type JournaledExchange,
  readNoFillReason,
  sessionKey,
  takeLast,
} from '#diagnosis/exchange.ts'
import { retryAfterMs } from '#foundation/http.ts'
import { judgeMatching, type RuleBody, ruleSet } from '../rule.ts'

/** A repetition within this time comes from a program, not from the next turn of a conversation. */
const atOnceMs = 1_000
/** Timers of clients may fire this much early. */
const toleranceMs = 20
/** Less than this between two tries is not a pause. */
const minPauseMs = 100

interface Repetition {
  first: JournaledExchange
  again: JournaledExchange
}

export const retryRules = ruleSet('journal', {
  'no-fill-retried': {
    title: 'a no-fill is final for the turn',
    severity: 'warning',
    costs: 'The same request gets the same response; the loop uses up the rate limit and delays the turn.',
    fix: 'Show nothing, and try again with the next turn; decision.retryable says whether that can help.',
    needs: 'a no-fill',
    judge: judgeRepetitions(
      (exchange) => isPlacementRequest(exchange) && readNoFillReason(exchange) !== null,
      findNoFillLoops,
      (first, count) => `The same request followed a no-fill (${readNoFillReason(first)}) within a second, ${count}.`,
    ),
  },
  'retry-after-ignored': {
    title: 'no request is repeated before Retry-After has passed',
    severity: 'error',
    costs: 'Every early repetition is refused too, and keeps the key at its limit for all other users.',
    fix: 'Wait as long as Retry-After says before any request with the same key, or do without the ad.',
    needs: 'a response with Retry-After, such as 429',
    judge: judgeRepetitions(
      (exchange) => exchange.status >= 400 && readWaitMs(exchange) > 0,
      findTooSoon,
      (first, count) =>
        `${formatRoute(first)} was repeated ${count} before the ${readWaitMs(first) / 1_000} s of Retry-After had passed (${first.status}).`,
    ),
  },
  'retry-without-backoff': {
    title: 'service failures are retried with increasing pauses',
    severity: 'error',
    costs: 'When the service fails, all clients retry at once and keep it down.',
    fix: 'Retry 5xx and broken connections at most three times, after 0.5, 1 and 2 s, then go on without an ad.',
    needs: 'a 5xx or a broken connection',
    judge: judgeRepetitions(
      isFailure,
      findHasty,
      (first, count) =>
        `${formatRoute(first)} was repeated ${count} immediately after ${first.status || 'no response'}.`,
    ),
  },
  'retried-in-vain': {
    title: 'requests that cannot succeed are not repeated',
    severity: 'warning',
    costs: 'Each repetition counts against the rate limit and gets the same response.',
    fix: 'Repeat only when the error body has retryable: true. Of the 4xx, only 429 does.',
    needs: 'a response of 4xx other than 429',
    judge: judgeRepetitions(
      ({ status }) => status >= 400 && status < 500 && status !== 429,
      findInVain,
      (first, count) =>
        `${formatRoute(first)} was repeated unchanged ${count} after ${first.status} ${first.reason_code}.`,
    ),
  },
})

/**
 * Returns the judge of a rule about responses after which requests are repeated: one finding for each route and cause,
 * with both requests of each repetition.
 */
function judgeRepetitions(
  isConcerned: (exchange: JournaledExchange) => boolean,
  find: (exchanges: readonly JournaledExchange[]) => readonly Repetition[],
  message: (first: JournaledExchange, count: string) => string,
): RuleBody<'journal'>['judge'] {
  return judgeMatching(isConcerned, (_, { exchanges }) => {
    const groups = groupBy(
      find(exchanges),
      ({ first }) => `${formatRoute(first)} ${first.status} ${first.reason_code} ${readNoFillReason(first)}`,
    )
    return [...groups.values()].map((group) => {
      const last = takeLast(group).first
      const reason = last.reason_code as ReasonCode | null
      return {
        message: message(last, countPhrase(group.length)),
        requests: group.flatMap(({ first, again }) => [first, again]),
        ...(reason === null ? {} : { reason }),
      }
    })
  })
}

function isFailure({ status }: JournaledExchange): boolean {
  return status === 0 || status >= 500
}

/** Returns repetitions of failed requests without a pause. */
function findHasty(exchanges: readonly JournaledExchange[]): Repetition[] {
  return findRepetitions(exchanges).filter(
    ({ first, again }) =>
      isFailure(first) && readWaitMs(first) === 0 && again.at_ms - first.at_ms - first.duration_ms < minPauseMs,
  )
}

/** Returns no-fills after which the next request of the session immediately repeated the same request. */
function findNoFillLoops(exchanges: readonly JournaledExchange[]): Repetition[] {
  const asked = exchanges.filter((exchange) => exchange.session_id !== null && isPlacementRequest(exchange))
  return [...groupBy(asked, sessionKey).values()]
    .flatMap((group) => group.slice(1).map((again, index) => ({ first: group[index]!, again })))
    .filter(
      ({ first, again }) =>
        readNoFillReason(first) !== null &&
        again.at_ms - first.at_ms < atOnceMs &&
        JSON.stringify(first.request_body) === JSON.stringify(again.request_body),
    )
}

/** Returns repetitions before the wait that the response asked for was over. */
export function findTooSoon(exchanges: readonly JournaledExchange[]): Repetition[] {
  return findRepetitions(exchanges).filter(
    ({ first, again }) => isRetryable(first.status) && again.at_ms - first.at_ms < readWaitMs(first) - toleranceMs,
  )
}

/** Returns immediate unchanged repetitions although the response said that they would fail again. */
export function findInVain(exchanges: readonly JournaledExchange[]): Repetition[] {
  return findRepetitions(exchanges).filter(
    ({ first, again }) =>
      first.status > 0 &&
      !isRetryable(first.status) &&
      !hasNewCredential(first, again) &&
      again.at_ms - first.at_ms < atOnceMs,
  )
}

/** The journal stores no tokens: a request that was refused for its credential, and then was not, had a new one. */
function hasNewCredential(first: JournaledExchange, again: JournaledExchange): boolean {
  return first.status === 401 && again.status !== 401
}

/** Returns failed requests, each with the next identical one. */
export function findRepetitions(exchanges: readonly JournaledExchange[]): Repetition[] {
  return [...groupBy(exchanges, outlineRequest).values()].flatMap((group) =>
    group.flatMap((first, index) => {
      if (first.status > 0 && first.status < 400) return []
      const again = group.slice(index + 1).find((next) => isAlike(first.request_body, next.request_body))
      return again === undefined ? [] : [{ first, again }]
    }),
  )
}

/** Returns how long a response asks to wait, milliseconds; 0 when it does not. */
export function readWaitMs({ response_headers, at_ms }: JournaledExchange): number {
  return retryAfterMs(response_headers['retry-after'], at_ms) ?? 0
}

/** Whether the same request may succeed later, by the table of errors (A10). */
function isRetryable(status: number): boolean {
  return Object.values(errorCodes).some((row) => row.status === status && row.retryable)
}

/** Returns what two equal requests have in common apart from their bodies. */
function outlineRequest({ method, path, request_headers }: JournaledExchange): string {
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
