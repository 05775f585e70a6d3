/** Callbacks: the decision of a slot is posted until a receiver has taken it, and not again after that. */
import type { Dice } from '#tests/reliability/dice.ts'

export interface Receiver {
  /** Takes the text of a decision, or does not. Returns what is wrong with its being sent. */
  take(text: string): { status: number | null; problem: string | null }
  /** The process is another one, or the state: what was taken before may be sent again. */
  forget(): void
}

export function createReceiver(dice: Dice): Receiver {
  let slots = new Set<string>()
  return {
    forget() {
      slots = new Set()
    },
    take(text) {
      const { slot_id } = JSON.parse(text) as { slot_id: string }
      const status = dice.pick([200, 200, 500, null])
      const problem = slots.has(slot_id) ? `the decision of ${slot_id} is posted again after it was taken` : null
      if (status === 200) slots.add(slot_id)
      return { status, problem }
    },
  }
}
