/** Callbacks: what is reported as delivered has arrived, and everything that arrives for a slot is its one decision. */
import type { History } from '../history.ts'
import { readViews } from '../known.ts'
import type { State } from '../state.ts'

export function checkCallbacks(history: History, { callbacks, slots }: State): string[] {
  const arrived = Map.groupBy(history.callbacks, ({ slot_id }) => slot_id)
  const views = readViews(history)
  const fills = new Map(slots.map(({ slot_id, fill }) => [slot_id, fill]))
  const problems = callbacks.flatMap(({ slot_id, status }) => {
    if (status === 'waiting' || status === 'retrying') return [`the callback of ${slot_id} is still ${status}`]
    return status === 'delivered' && !arrived.has(slot_id)
      ? [`the callback of ${slot_id} is delivered, and never came`]
      : []
  })
  for (const [slot_id, bodies] of arrived) {
    const fill = fills.get(slot_id)
    const token = views.get(slot_id)?.[0]?.asset_token
    for (const { body } of bodies) {
      const sent = body as { fill: boolean; asset_token: string | null }
      const isSame = sent.fill === fill && (token === undefined || sent.asset_token === token)
      if (!isSame)
        problems.push(`the callback of ${slot_id} has another decision: ${JSON.stringify(body).slice(0, 300)}`)
    }
  }
  return problems
}
