/**
 * Billing: of each placement at most one beacon counts per metric, only an accepted one, only after a render, only if what
 * was measured suffices, and it is the earliest of those that do. The report counts the same.
 */

import type { Acknowledged } from '../acknowledged.ts'
import type { BeaconFact, Facts } from '../facts.ts'

const metrics: Readonly<Record<string, string>> = {
  render: 'rendered_impression',
  visible: 'viewable_impression',
  click: 'click',
  play_completed: 'completed_view',
}

export function checkBilling({ beacons, lines }: Facts, acknowledged: Acknowledged): string[] {
  const problems: string[] = []
  const counted = new Map<string, number>()
  const seen = new Set<string>()
  for (const [slot_id, all] of Map.groupBy(beacons, (beacon) => beacon.slot_id)) {
    const accepted = all.filter(({ verdict }) => verdict === 'accepted').toReversed()
    for (const beacon of accepted) {
      const name = `${slot_id} ${beacon.beacon_id}`
      if (seen.has(name)) problems.push(`${name} is accepted twice`)
      seen.add(name)
    }
    for (const beacon of all) {
      if (beacon.metric === null && !beacon.would_bill) continue
      const key = `${beacon.client_id} ${beacon.metric}`
      counted.set(key, (counted.get(key) ?? 0) + 1)
      const reason = whyNot(beacon, accepted, acknowledged)
      if (reason !== null)
        problems.push(`${beacon.beacon_id}, ${beacon.event} of ${slot_id}, counts although ${reason}`)
    }
    const renders = accepted.filter(({ event }) => event === 'render')
    if (renders.length > 0 && renders.every(({ metric }) => metric === null))
      problems.push(`no render of ${slot_id} counts`)
  }
  const reported = new Map<string, number>()
  for (const { client_id, metric, count } of lines) {
    const key = `${client_id} ${metric}`
    reported.set(key, (reported.get(key) ?? 0) + count)
  }
  for (const key of new Set([...counted.keys(), ...reported.keys()])) {
    if (counted.get(key) === reported.get(key)) continue
    problems.push(`the report has ${reported.get(key) ?? 0} of ${key}, and ${counted.get(key) ?? 0} beacons count`)
  }
  return problems
}

/** Why a beacon must not count; null when it may. */
function whyNot(beacon: BeaconFact, accepted: readonly BeaconFact[], { beacons }: Acknowledged): string | null {
  if (beacon.verdict !== 'accepted') return `it is ${beacon.verdict}`
  if (metrics[beacon.event] !== beacon.metric) return `a ${beacon.event} is no ${beacon.metric}`
  const isBefore = (other: BeaconFact) =>
    other.occurred_at_ms < beacon.occurred_at_ms ||
    (other.occurred_at_ms === beacon.occurred_at_ms && accepted.indexOf(other) < accepted.indexOf(beacon))
  if (accepted.some((other) => other !== beacon && other.metric === beacon.metric)) return 'another one does'
  if (beacon.event === 'render') {
    return accepted.some((other) => other.event === 'render' && isBefore(other)) ? 'another one was before it' : null
  }
  if (!accepted.some(({ event }) => event === 'render')) return 'nothing was rendered'
  const sent = beacons.find(({ beacon_id }) => beacon_id === beacon.beacon_id)
  return beacon.event === 'visible' && sent?.isViewable === false ? 'it was not in view' : null
}
