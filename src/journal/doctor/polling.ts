import { some, type Traffic, times } from '../exchange.ts'
import { forgottenSlots } from '../slots.ts'
import { type Check, orOk, warning } from './finding.ts'

/** A client that polls does so within this time. */
const patienceMs = 5_000

/** Slots that were answered as pending, or made by a job, and that nobody asked for again. */
export const polling: Check<Traffic> = {
  name: 'polling',
  find: ({ exchanges, now_ms }) => {
    const left = forgottenSlots(exchanges, now_ms - patienceMs).map(({ slot_id }) => slot_id)
    return orOk(
      left.length === 0
        ? []
        : [
            warning(
              `A pending slot was never asked for again, ${times(left.length)}: ${some(left)}.`,
              'Poll GET /v1/decisions/{slot_id} until its status is ready, or send a longer wait_ms.',
            ),
          ],
      'Every pending slot was asked for again.',
    )
  },
}
