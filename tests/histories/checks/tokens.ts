/** Tokens: a beacon is accepted for as long as its token is good, and no longer. */
import type { History } from '../history.ts'
import type { State } from '../state.ts'

/** The project's settings as they are unless someone changes them, which no history does (A05, A73). */
const frame_load_within_ms = 300_000
const beacons_after_load_ms = 1_800_000
const click_after_load_ms = 86_400_000
const oldest_ms = 300_000
const ahead_ms = 60_000

const ofClips = new Set(['play_started', 'play_completed', 'completion'])

export function checkTokens({ frames }: History, { slots: stored, beacons }: State): string[] {
  const slots = new Map(stored.map((slot) => [slot.slot_id, slot]))
  return beacons.flatMap(({ verdict, slot_id, beacon_id, event, received_at_ms, occurred_at_ms }) => {
    if (verdict !== 'accepted') return []
    const slot = slots.get(slot_id)
    if (slot?.fill !== true) return [`${beacon_id} is accepted for ${slot_id}, which has no fill`]
    if (ofClips.has(event) && slot.format !== 'clip') return [`${beacon_id} is a ${event} of a ${slot.format}`]
    const span_ms = event === 'click' ? click_after_load_ms : beacons_after_load_ms
    const decided_ms = slot.decided_at_ms ?? 0
    // The clock may be moved back between the decision, or a beacon, and the first load of the frame.
    const start_ms = Math.max(decided_ms, frames.get(slot_id) ?? decided_ms + frame_load_within_ms)
    if (received_at_ms > start_ms + span_ms) return [`${beacon_id} is accepted after its token had expired`]
    if (occurred_at_ms < received_at_ms - oldest_ms) return [`${beacon_id} is accepted although it is stale`]
    if (occurred_at_ms > received_at_ms + ahead_ms) return [`${beacon_id} is accepted although it lies in the future`]
    return []
  })
}
