/** Caps: where a fill stands in the chain, its session has had fewer fills than its cap, and none too few prompts before. */
import type { Acknowledged } from '../acknowledged.ts'
import type { Facts, PlacementFact } from '../history/facts.ts'
import { projects } from '../steps/steps.ts'

export function checkCaps({ chains, placements }: Facts, { caps }: Acknowledged): string[] {
  const problems: string[] = []
  const slots = new Map(placements.map((placement) => [placement.slot_id, placement]))
  const jobs = orderJobs(placements)
  for (const project of projects) {
    const fills = new Map<string, PlacementFact[]>()
    for (const { entry } of chains.get(project) ?? []) {
      const { kind, fill, slot_id } = JSON.parse(entry) as { kind: string; fill: boolean; slot_id: string }
      const slot = slots.get(slot_id)
      if (kind !== 'decision' || !fill || slot === undefined) continue
      const before = fills.get(slot.session_id) ?? []
      const { session = null, interval = null } = caps.get(slot_id) ?? {}
      if (session !== null && before.length >= session) {
        problems.push(`${slot_id} is filled, the fill ${before.length + 1} of its session, whose cap is ${session}`)
      }
      const last = before.at(-1)
      if (interval !== null && last !== undefined && jobs.get(slot.job_id)! - jobs.get(last.job_id)! === 1) {
        problems.push(`${slot_id} is filled directly after ${last.slot_id}; ${interval} prompts must lie between them`)
      }
      fills.set(slot.session_id, [...before, slot])
    }
  }
  return problems
}

/** Returns the place of each job among those of its session. */
function orderJobs(placements: readonly PlacementFact[]): Map<string, number> {
  const places = new Map<string, number>()
  const counts = new Map<string, number>()
  // The list has the newest first.
  for (const { job_id, client_id, session_id } of placements.toReversed()) {
    if (places.has(job_id)) continue
    const session = `${client_id}/${session_id}`
    const place = (counts.get(session) ?? 0) + 1
    counts.set(session, place)
    places.set(job_id, place)
  }
  return places
}
