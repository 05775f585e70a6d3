/** Rules for polling pending slots. */
import {
  countPhrase,
  formatRoute,
  groupBy,
  type JournaledExchange,
  joinFirst,
  type NonEmpty,
  openSlots,
  polledSlot,
} from '#diagnosis/exchange.ts'
import { valueAt } from '#foundation/json.ts'
import { followedSlots } from '../journal.ts'
import {
  completeUntil,
  findingFor,
  findingPerGroup,
  type Observed,
  type RuleBody,
  type RuleFinding,
  ruleSet,
} from '../rule.ts'

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
          slots.filter((polls) => polls.length === 1 && polls[0].at_ms <= completeUntil(observed)),
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
          `${polledSlot(polls[0])} was polled ${countPhrase(late.length)} more after it was decided.`,
        )
      }),
    ),
  },
})

const noSlotFix = 'Poll GET /v1/decisions/ with slot_id of the placement, or with each of slot_ids of the job.'

/** Whether a poll has something else in place of the slot: a job, undefined, or the template as it is. */
function isPollOfNoSlot(exchange: JournaledExchange): boolean {
  return polledSlot(exchange)?.startsWith('slot_') === false
}

/** Returns the judge of a rule about the polls of each slot. */
function judgePolledSlots(
  find: (slots: readonly NonEmpty<JournaledExchange>[], observed: Observed) => readonly RuleFinding[],
  isConcerned: (polls: readonly JournaledExchange[]) => boolean = () => true,
): RuleBody<'journal'>['judge'] {
  return (observed) => {
    const slots = [...groupBy(observed.exchanges, polledSlot).values()].filter(isConcerned)
    return { sample_size: slots.length, findings: find(slots, observed) }
  }
}

function isPending({ response_body }: JournaledExchange): boolean {
  return valueAt(response_body, 'status') === 'pending'
}

function longestBusyRun(polls: readonly JournaledExchange[]): number {
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
