/** What a client does after an error or a no-fill. */
import { type Exchange, groupBy, routeOf, times } from '../exchange.ts'
import { isPlacementRequest, noFillLoops, noFillReasonOf } from '../no-fills.ts'
import { inVain, type Repetition, repetitions, retryAfterMs, tooSoon } from '../repetitions.ts'
import type { Finding, Rule } from '../rule.ts'

export const retryAfterIgnored: Rule = {
  title: 'nothing is repeated before Retry-After is over',
  severity: 'error',
  costs: 'Every early repetition is refused too, and keeps the key at its limit for all other users.',
  fix: 'Wait for the seconds of Retry-After before any request of the same key; drop the ad rather than hurry.',
  needs: 'an answer with Retry-After, such as 429',
  judge: ({ exchanges }) => ({
    looked_at: exchanges.filter((exchange) => exchange.status >= 400 && retryAfterMs(exchange) > 0).length,
    findings: grouped(
      tooSoon(exchanges),
      (first, count) =>
        `${routeOf(first)} was repeated ${count} before the ${retryAfterMs(first) / 1_000} s of Retry-After were over (${first.status}).`,
    ),
  }),
}

/** Sooner than this is no waiting. */
const leastPause_ms = 100

export const retryWithoutBackoff: Rule = {
  title: 'failures of the service are retried with growing pauses',
  severity: 'error',
  costs: 'When the service stumbles, all clients at once keep it down, and its users without ads.',
  fix: 'Retry 5xx and broken connections at most three times, after 0.5, 1 and 2 s, then go on without an ad.',
  needs: 'a 5xx or a broken connection',
  judge: ({ exchanges }) => {
    const failed = exchanges.filter(({ status }) => status === 0 || status >= 500)
    const retried = repetitions(exchanges).filter(({ first }) => first.status === 0 || first.status >= 500)
    const hasty = retried.filter(
      (repetition) => retryAfterMs(repetition.first) === 0 && pauseOf(repetition) < leastPause_ms,
    )
    return {
      looked_at: failed.length,
      findings: grouped(
        hasty,
        (first, count) => `${routeOf(first)} was repeated ${count} at once after ${first.status || 'no answer'}.`,
      ),
    }
  },
}

function pauseOf({ first, again }: Repetition): number {
  return again.at_ms - first.at_ms - first.duration_ms
}

export const retriedInVain: Rule = {
  title: 'what cannot succeed is not repeated',
  severity: 'warning',
  costs: 'Each repetition costs a request of the rate limit and gets the same answer.',
  fix: 'Repeat only where the error body says retryable: true. Of 4xx only 429 is.',
  needs: 'an answer of 4xx other than 429',
  judge: ({ exchanges }) => ({
    looked_at: exchanges.filter(({ status }) => status >= 400 && status < 500 && status !== 429).length,
    findings: grouped(
      inVain(exchanges).filter(({ first }) => first.status > 0),
      (first, count) => `${routeOf(first)} was repeated unchanged ${count} after ${first.status} ${first.reason_code}.`,
    ),
  }),
}

export const noFillRetried: Rule = {
  title: 'a no-fill is taken as an answer',
  severity: 'warning',
  costs: 'The same request gets the same answer; the loop costs requests of the rate limit and delays the turn.',
  fix: 'Show nothing, and ask again with the next turn; decision.retryable says whether even that may help.',
  needs: 'a no-fill',
  judge: ({ exchanges }) => ({
    looked_at: exchanges.filter((each) => isPlacementRequest(each) && noFillReasonOf(each) !== undefined).length,
    findings: grouped(
      noFillLoops(exchanges),
      (first, count) => `After the no-fill ${noFillReasonOf(first)} the same was asked for again at once, ${count}.`,
    ),
  }),
}

/** One finding for each route and cause, with both requests of each repetition. */
function grouped(repeated: readonly Repetition[], seen: (first: Exchange, count: string) => string): Finding[] {
  const groups = groupBy(
    repeated.map(({ first }) => first),
    (first) => `${routeOf(first)} ${first.status} ${first.reason_code} ${noFillReasonOf(first)}`,
  )
  return [...groups.values()].map((group) => ({
    seen: seen(group.at(-1) as Exchange, times(group.length)),
    requests: repeated.filter(({ first }) => group.includes(first)).flatMap(({ first, again }) => [first, again]),
  }))
}
