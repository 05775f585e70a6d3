/** Rules for retries after an error or a no-fill, and for polling pending slots. */
import { errorCodes, type ReasonCode } from '#contract/errors.ts'
import { retryAfterMs } from '#foundation/http.ts'
import { valueAt } from '#foundation/json.ts'
import {
  countPhrase,
  followedSlots,
  formatRoute,
  groupBy,
  isPlacementRequest,
  joinFirst,
  openSlots,
  polledSlot,
  type RecordedExchange,
  readNoFillReason,
  sessionKey,
} from '../journal.ts'
import {
  completeUntil,
  type Finding,
  findingFor,
  findingPerGroup,
  judgeMatching,
  type Observed,
  type RuleBody,
  ruleSet,
} from '../rule.ts'

/** A repetition within this time comes from a program, not from the next turn of a conversation. */
const atOnceMs = 1_000
/** Timers of clients may fire this much early. */
const toleranceMs = 20
/** Less than this between two tries is not a pause. */
const minPauseMs = 100

interface Repetition {
  first: RecordedExchange
  again: RecordedExchange
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
  isConcerned: (exchange: RecordedExchange) => boolean,
  find: (exchanges: readonly RecordedExchange[]) => readonly Repetition[],
  message: (first: RecordedExchange, count: string) => string,
): RuleBody<'journal'>['judge'] {
  return judgeMatching(isConcerned, (_, { exchanges }) => {
    const groups = Map.groupBy(
      find(exchanges),
      ({ first }) => `${formatRoute(first)} ${first.status} ${first.reason_code} ${readNoFillReason(first)}`,
    )
    return [...groups.values()].map((group) => {
      const last = group.at(-1)!.first
      const reason = last.reason_code as ReasonCode | null
      return {
        message: message(last, countPhrase(group.length)),
        requests: group.flatMap(({ first, again }) => [first, again]),
        ...(reason === null ? {} : { reason }),
        cites_last: true,
      }
    })
  })
}

function isFailure({ status }: RecordedExchange): boolean {
  return status === 0 || status >= 500
}

/** Returns repetitions of failed requests without a pause. */
function findHasty(exchanges: readonly RecordedExchange[]): Repetition[] {
  return findRepetitions(exchanges).filter(
    ({ first, again }) =>
      isFailure(first) && readWaitMs(first) === 0 && again.at_ms - first.at_ms - first.duration_ms < minPauseMs,
  )
}

/** Returns no-fills after which the next request of the session immediately repeated the same request. */
function findNoFillLoops(exchanges: readonly RecordedExchange[]): Repetition[] {
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
export function findTooSoon(exchanges: readonly RecordedExchange[]): Repetition[] {
  return findRepetitions(exchanges).filter(
    ({ first, again }) => isRetryable(first.status) && again.at_ms - first.at_ms < readWaitMs(first) - toleranceMs,
  )
}

/** Returns immediate unchanged repetitions although the response said that they would fail again. */
export function findInVain(exchanges: readonly RecordedExchange[]): Repetition[] {
  return findRepetitions(exchanges).filter(
    ({ first, again }) =>
      first.status > 0 &&
      !isRetryable(first.status) &&
      !hasNewCredential(first, again) &&
      again.at_ms - first.at_ms < atOnceMs,
  )
}

/** The journal stores no tokens: a request that was refused for its credential, and then was not, had a new one. */
function hasNewCredential(first: RecordedExchange, again: RecordedExchange): boolean {
  return first.status === 401 && again.status !== 401
}

/** Returns failed requests, each with the next identical one. */
export function findRepetitions(exchanges: readonly RecordedExchange[]): Repetition[] {
  return [...groupBy(exchanges, outlineRequest).values()].flatMap((group) =>
    group.flatMap((first, index) => {
      if (first.status > 0 && first.status < 400) return []
      const again = group.slice(index + 1).find((next) => isAlike(first.request_body, next.request_body))
      return again === undefined ? [] : [{ first, again }]
    }),
  )
}

/** Returns how long a response asks to wait, milliseconds; 0 when it does not. */
export function readWaitMs({ response_headers, at_ms }: RecordedExchange): number {
  return retryAfterMs(response_headers['retry-after'], at_ms) ?? 0
}

/** Whether the same request may succeed later, by the table of errors (A10). */
function isRetryable(status: number): boolean {
  return Object.values(errorCodes).some((row) => row.status === status && row.retryable)
}

/** Returns what two equal requests have in common apart from their bodies. */
function outlineRequest({ method, path, request_headers }: RecordedExchange): string {
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

/** Polls closer together than this, several in a row, are a busy loop. */
const busyBelowMs = 200
const minBusyPolls = 3

export const pollingRules = ruleSet('journal', {
  'pending-given-up': {
    title: 'a pending slot is polled',
    severity: 'warning',
    costs: 'The decision arrives a moment later: its fill is lost, and the revenue with it.',
    fix: 'Pending is not a no-fill: poll GET /v1/decisions/{slot_id} with wait_ms until its status is ready, as long as the turn goes on.',
    needs: 'a pending response, or a job',
    judge(observed) {
      const { exchanges } = observed
      const followed = followedSlots(observed)
      const due = exchanges.filter(({ at_ms }) => at_ms <= completeUntil(observed))
      const open = due.flatMap((exchange) => openSlots(exchange).map((slot_id) => ({ slot_id, exchange })))
      const givenUp = open.filter(({ slot_id }) => !followed.has(slot_id))
      const slots = givenUp.map(({ slot_id }) => slot_id)
      const message = `A pending slot was never polled, ${countPhrase(slots.length)}: ${joinFirst(slots)}.`
      const requests = [...new Set(givenUp.map(({ exchange }) => exchange))]
      const astray = requests.length === 0 ? undefined : exchanges.find(isPollOfNoSlot)
      const findings =
        astray === undefined
          ? findingFor(requests, message)
          : findingFor([...requests, astray], `${message} ${formatRoute(astray)} names no slot.`, noSlotFix)
      return { sample_size: exchanges.flatMap(openSlots).length, findings }
    },
  },
  'polled-once': {
    title: 'a slot is polled until it is decided',
    severity: 'warning',
    costs: 'The fill arrives after the only poll, and is lost.',
    fix: 'Repeat the poll while the status is pending, each with wait_ms, and give up only after several seconds.',
    needs: 'a poll whose response was pending',
    judge: judgePolledSlots(
      (slots, observed) =>
        findingPerGroup(
          slots.filter((polls) => polls.length === 1 && polls[0]!.at_ms <= completeUntil(observed)),
          (_, poll) => `${polledSlot(poll)} was polled once, was pending, and was not polled again.`,
        ),
      (polls) => polls.some(isPending),
    ),
  },
  'busy-polling': {
    title: 'polls wait on the server, not in a loop',
    severity: 'warning',
    costs: 'Ten requests do the work of one, and use up the rate limit of the key.',
    fix: 'Send wait_ms with the poll, 1500 for example: the response comes as soon as the slot is decided.',
    needs: 'a poll',
    judge: judgePolledSlots((slots) =>
      findingPerGroup(
        slots.filter((polls) => longestBusyRun(polls) >= minBusyPolls),
        ({ length }, poll) =>
          `${polledSlot(poll)} was polled ${countPhrase(length)} without wait_ms, less than ${busyBelowMs} ms apart.`,
      ),
    ),
  },
  'polled-after-ready': {
    title: 'polling ends with the decision',
    severity: 'warning',
    costs: 'A decision does not change; each further poll counts against the rate limit.',
    fix: 'Stop when status is no longer pending.',
    needs: 'a poll',
    judge: judgePolledSlots((slots) =>
      slots.flatMap((polls) => {
        const decided = polls.findIndex((poll) => poll.status === 200 && !isPending(poll))
        const late = decided < 0 ? [] : polls.slice(decided + 1)
        return findingFor(
          late,
          `${polledSlot(polls[0]!)} was polled ${countPhrase(late.length)} more after it was decided.`,
        )
      }),
    ),
  },
})

const noSlotFix = 'Poll GET /v1/decisions/ with slot_id of the placement, or with each of slot_ids of the job.'

/** Whether a poll has something else in place of the slot: a job, undefined, or the template as it is. */
function isPollOfNoSlot(exchange: RecordedExchange): boolean {
  return polledSlot(exchange)?.startsWith('slot_') === false
}

/** Returns the judge of a rule about the polls of each slot. */
function judgePolledSlots(
  find: (slots: readonly RecordedExchange[][], observed: Observed) => readonly Finding[],
  isConcerned: (polls: readonly RecordedExchange[]) => boolean = () => true,
): RuleBody<'journal'>['judge'] {
  return (observed) => {
    const slots = [...groupBy(observed.exchanges, polledSlot).values()].filter(isConcerned)
    return { sample_size: slots.length, findings: find(slots, observed) }
  }
}

function isPending({ response_body }: RecordedExchange): boolean {
  return valueAt(response_body, 'status') === 'pending'
}

function longestBusyRun(polls: readonly RecordedExchange[]): number {
  let run = 0
  let longest = 0
  for (const [index, poll] of polls.entries()) {
    const next = polls[index + 1]
    const isWaiting = /[?&]wait_ms=[1-9]/.test(poll.path)
    const isBusy = next !== undefined && isPending(poll) && !isWaiting && next.at_ms - poll.at_ms < busyBelowMs
    run = isBusy ? run + 1 : 0
    longest = Math.max(longest, run)
  }
  return longest
}
