/** Pending slots: whether they are waited for, and how. */
import { type Exchange, groupBy, member, some, times } from '../exchange.ts'
import { type Rule, settledAt } from '../rule.ts'
import { forgottenSlots, openSlots, polledSlot } from '../slots.ts'

export const pendingGivenUp: Rule = {
  title: 'a pending slot is asked for again',
  severity: 'warning',
  costs: 'The decision comes a moment later; the fill in it, and what it pays, is lost.',
  fix: 'Pending is no no-fill: poll GET /v1/decisions/{slot_id} with wait_ms until its status is ready, as long as the turn goes on.',
  needs: 'a pending answer, or a job',
  judge(observed) {
    const forgotten = forgottenSlots(observed.exchanges, settledAt(observed))
    return {
      looked_at: observed.exchanges.flatMap(openSlots).length,
      findings:
        forgotten.length === 0
          ? []
          : [
              {
                seen: `Nobody asked again for ${some(forgotten.map(({ slot_id }) => slot_id))}, pending when answered.`,
                requests: [...new Set(forgotten.map(({ exchange }) => exchange))],
              },
            ],
    }
  },
}

export const polledOnce: Rule = {
  title: 'a slot is polled until it is decided',
  severity: 'warning',
  costs: 'One poll is not the polling loop: the fill comes after it, and is lost.',
  fix: 'Repeat the poll while the status is pending, each with wait_ms, and give up only after several seconds.',
  needs: 'a poll that was answered pending',
  judge(observed) {
    const slots = [...pollsBySlot(observed.exchanges).values()]
    const settled = settledAt(observed)
    const lonely = slots.filter((polls) => polls.length === 1 && isPending(polls[0]!) && polls[0]!.at_ms <= settled)
    return {
      looked_at: slots.filter((polls) => polls.some(isPending)).length,
      findings: lonely.map(([poll]) => ({
        seen: `${polledSlot(poll!)} was polled once, was pending, and was not polled again.`,
        requests: [poll!],
      })),
    }
  },
}

/** Polls closer together than this, several in a row, are a busy loop. */
const busy_ms = 200
const busyInARow = 3

export const busyPolling: Rule = {
  title: 'polls wait on the server, not in a loop',
  severity: 'warning',
  costs: 'Ten requests do the work of one, and use up the rate limit of the key.',
  fix: 'Send wait_ms with the poll, 1500 for example: the answer comes as soon as the decision is there.',
  needs: 'a poll',
  judge({ exchanges }) {
    const slots = [...pollsBySlot(exchanges).values()]
    const busy = slots.filter((polls) => longestBusyRun(polls) >= busyInARow)
    return {
      looked_at: slots.length,
      findings: busy.map((polls) => ({
        seen: `${polledSlot(polls[0]!)} was polled ${times(polls.length)} without wait_ms, less than ${busy_ms} ms apart.`,
        requests: polls,
      })),
    }
  },
}

export const polledAfterReady: Rule = {
  title: 'polling ends with the decision',
  severity: 'warning',
  costs: 'A decision does not change; each further poll costs a request of the rate limit.',
  fix: 'Stop when status is no longer pending.',
  needs: 'a poll',
  judge({ exchanges }) {
    const slots = [...pollsBySlot(exchanges).values()]
    const late = slots.flatMap((polls) => {
      const decided = polls.findIndex((poll) => poll.status === 200 && !isPending(poll))
      const after = decided < 0 ? [] : polls.slice(decided + 1)
      return after.length === 0 ? [] : [{ polls, after }]
    })
    return {
      looked_at: slots.length,
      findings: late.map(({ polls, after }) => ({
        seen: `${polledSlot(polls[0]!)} was polled ${times(after.length)} more after it was decided.`,
        requests: after,
      })),
    }
  },
}

function pollsBySlot(exchanges: readonly Exchange[]): Map<string, Exchange[]> {
  return groupBy(exchanges, (exchange) => polledSlot(exchange) ?? null)
}

function isPending({ detail }: Exchange): boolean {
  return member(detail?.response_body, 'status') === 'pending'
}

function longestBusyRun(polls: readonly Exchange[]): number {
  let run = 0
  let longest = 0
  for (const [index, poll] of polls.entries()) {
    const next = polls[index + 1]
    const isBusy = next !== undefined && isPending(poll) && !waits(poll) && next.at_ms - poll.at_ms < busy_ms
    run = isBusy ? run + 1 : 0
    longest = Math.max(longest, run)
  }
  return longest
}

function waits({ path }: Exchange): boolean {
  return /[?&]wait_ms=[1-9]/.test(path)
}
