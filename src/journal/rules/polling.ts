/** Pending slots: whether they are waited for, and how. */
import { valueAt } from '../../foundation/json.ts'
import { type Exchange, groupBy, openSlots, polledSlot, some, times } from '../exchange.ts'
import { about, aboutEach, completeUntil, type Finding, type Observed, type RuleBody, ruleSet } from '../rule.ts'

/** Polls closer together than this, several in a row, are a busy loop. */
const busy_ms = 200
const busyInARow = 3

export const pollingRules = ruleSet('journal', {
  'pending-given-up': {
    title: 'a pending slot is polled',
    severity: 'warning',
    costs: 'The decision comes a moment later: its fill is lost, and with it the revenue.',
    fix: 'Pending is not a no-fill: poll GET /v1/decisions/{slot_id} with wait_ms until its status is ready, as long as the turn goes on.',
    needs: 'a pending response, or a job',
    judge(observed) {
      const { exchanges } = observed
      const polled = new Set(exchanges.map(polledSlot))
      const due = exchanges.filter(({ at_ms }) => at_ms <= completeUntil(observed))
      const open = due.flatMap((exchange) => openSlots(exchange).map((slot_id) => ({ slot_id, exchange })))
      const givenUp = open.filter(({ slot_id }) => !polled.has(slot_id))
      const slots = givenUp.map(({ slot_id }) => slot_id)
      const message = `A pending slot was never polled, ${times(slots.length)}: ${some(slots)}.`
      const requests = [...new Set(givenUp.map(({ exchange }) => exchange))]
      return { looked_at: exchanges.flatMap(openSlots).length, findings: about(requests, message) }
    },
  },
  'polled-once': {
    title: 'a slot is polled until it is decided',
    severity: 'warning',
    costs: 'The fill comes after the only poll, and is lost.',
    fix: 'Repeat the poll while the status is pending, each with wait_ms, and give up only after several seconds.',
    needs: 'a poll whose response was pending',
    judge: overSlots(
      (slots, observed) =>
        aboutEach(
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
    judge: overSlots((slots) =>
      aboutEach(
        slots.filter((polls) => longestBusyRun(polls) >= busyInARow),
        ({ length }, poll) =>
          `${polledSlot(poll)} was polled ${times(length)} without wait_ms, less than ${busy_ms} ms apart.`,
      ),
    ),
  },
  'polled-after-ready': {
    title: 'polling ends with the decision',
    severity: 'warning',
    costs: 'A decision does not change; each further poll counts against the rate limit.',
    fix: 'Stop when status is no longer pending.',
    needs: 'a poll',
    judge: overSlots((slots) =>
      slots.flatMap((polls) => {
        const decided = polls.findIndex((poll) => poll.status === 200 && !isPending(poll))
        const late = decided < 0 ? [] : polls.slice(decided + 1)
        return about(late, `${polledSlot(polls[0]!)} was polled ${times(late.length)} more after it was decided.`)
      }),
    ),
  },
})

/** Returns the judge of a rule about the polls of each slot. */
function overSlots(
  find: (slots: readonly Exchange[][], observed: Observed) => readonly Finding[],
  isConcerned: (polls: readonly Exchange[]) => boolean = () => true,
): RuleBody<'journal'>['judge'] {
  return (observed) => {
    const slots = [...groupBy(observed.exchanges, polledSlot).values()].filter(isConcerned)
    return { looked_at: slots.length, findings: find(slots, observed) }
  }
}

function isPending({ response_body }: Exchange): boolean {
  return valueAt(response_body, 'status') === 'pending'
}

function longestBusyRun(polls: readonly Exchange[]): number {
  let run = 0
  let longest = 0
  for (const [index, poll] of polls.entries()) {
    const next = polls[index + 1]
    const isWaiting = /[?&]wait_ms=[1-9]/.test(poll.path)
    const isBusy = next !== undefined && isPending(poll) && !isWaiting && next.at_ms - poll.at_ms < busy_ms
    run = isBusy ? run + 1 : 0
    longest = Math.max(longest, run)
  }
  return longest
}
