/** Caps: where a fill stands in the chain, its session has had fewer fills than its cap, and none too few prompts before. */
import type { Caps, History } from '../history.ts'
import { readSlots } from '../known.ts'
import type { State, StateSlot } from '../state.ts'
import { parseEntries } from './chains.ts'

export function checkCaps(history: History, { chains, slots: stored }: State): string[] {
  const slots = new Map(stored.map((slot) => [slot.slot_id, slot]))
  const jobs = orderJobs(stored)
  const caps = new Map<string, Caps>()
  for (const { action, body } of readSlots(history)) {
    for (const slot_id of body.slot_ids ?? [body.slot_id]) if (action.caps !== undefined) caps.set(slot_id, action.caps)
  }
  return [...chains.values()].flatMap((chain) => {
    const fills = new Map<string, StateSlot[]>()
    return parseEntries(chain).flatMap(({ kind, fill, slot_id }) => {
      const slot = slots.get(slot_id)
      if (kind !== 'decision' || !fill || slot === undefined || slot.session_id === null) return []
      const before = fills.get(slot.session_id) ?? []
      fills.set(slot.session_id, [...before, slot])
      const { session = null, interval = null } = caps.get(slot_id) ?? {}
      const problems: string[] = []
      if (session !== null && before.length >= session) {
        problems.push(`${slot_id} is filled, the fill ${before.length + 1} of its session, whose cap is ${session}`)
      }
      const last = before.at(-1)
      if (interval !== null && last !== undefined && jobs.get(slot.job_id)! - jobs.get(last.job_id)! === 1) {
        problems.push(`${slot_id} is filled directly after ${last.slot_id}; ${interval} prompts must lie between them`)
      }
      return problems
    })
  })
}

/** Returns the place of each job among those of its session. */
function orderJobs(slots: readonly StateSlot[]): Map<string, number> {
  const places = new Map<string, number>()
  const counts = new Map<string, number>()
  for (const { job_id, client_id, session_id } of slots) {
    if (places.has(job_id)) continue
    const session = `${client_id}/${session_id}`
    const place = (counts.get(session) ?? 0) + 1
    counts.set(session, place)
    places.set(job_id, place)
  }
  return places
}
