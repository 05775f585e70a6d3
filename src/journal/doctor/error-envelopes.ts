/** Error envelopes: the fifth of the five points to check when migrating, seen by what a client does after one. */

import { type Exchange, groupBy, routeOf, type Traffic, times } from '../exchange.ts'
import { inVain, type Repetition, retryAfterMs, tooSoon } from '../repetitions.ts'
import { type Check, type Outcome, orOk, problem } from './finding.ts'

export const errorEnvelopes: Check<Traffic> = {
  name: 'error envelopes',
  find: ({ exchanges }) => {
    return orOk(
      [
        ...outcomes(tooSoon(exchanges), (first, count) =>
          problem(
            `${routeOf(first)} was repeated ${times(count)} before the ${retryAfterMs(first) / 1000} s of Retry-After were over (${first.status}). Last after ${first.request_id}.`,
            'Wait for Retry-After seconds before the same request is sent again.',
          ),
        ),
        ...outcomes(inVain(exchanges), (first, count) =>
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

function outcomes(repeated: readonly Repetition[], outcome: (first: Exchange, count: number) => Outcome): Outcome[] {
  const groups = groupBy(
    repeated.map(({ first }) => first),
    (first) => `${routeOf(first)} ${first.status} ${first.reason_code}`,
  )
  return [...groups.values()].map((group) => outcome(group.at(-1) as Exchange, group.length))
}
