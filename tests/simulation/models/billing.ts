/**
 * Billing: each accepted beacon has the verdict that the rules give it (A75, A76), so of each placement at most one counts
 * per metric, and it is the earliest of those that do. The reports count the same.
 */
import type { Acknowledged, KnownSlot } from '../acknowledged.ts'
import type { BeaconFact, BillingFact, Facts } from '../history/facts.ts'

const metrics: Readonly<Record<string, string>> = {
  render: 'rendered_impression',
  visible: 'viewable_impression',
  click: 'click',
  play_completed: 'completed_view',
}

export function checkBilling({ beacons, billing, ofProject }: Facts, acknowledged: Acknowledged): string[] {
  const problems: string[] = []
  for (const [slot_id, all] of Map.groupBy(beacons, (beacon) => beacon.slot_id)) {
    const accepted = all.filter(({ verdict }) => verdict === 'accepted').toReversed()
    const twice = accepted.find(
      ({ beacon_id }, index) => accepted.findIndex((other) => other.beacon_id === beacon_id) !== index,
    )
    if (twice !== undefined) problems.push(`${slot_id} ${twice.beacon_id} is accepted twice`)
    for (const { beacon_id, verdict, metric, would_bill } of all) {
      if (verdict !== 'accepted' && (metric !== null || would_bill))
        problems.push(`${beacon_id} counts although it is ${verdict}`)
    }
    problems.push(...checkVerdicts(slot_id, accepted, acknowledged))
  }
  problems.push(...checkReport('the report', beacons, billing))
  const { client_id } = ofProject
  const own = beacons.filter((beacon) => beacon.client_id === client_id)
  problems.push(...checkReport(`the report of ${client_id}`, own, ofProject.billing))
  return problems
}

function checkVerdicts(slot_id: string, accepted: readonly BeaconFact[], acknowledged: Acknowledged): string[] {
  const slot = acknowledged.known.slots.get(slot_id) ?? null
  const counted = new Set<string>()
  return inOrder(accepted).flatMap((beacon) => {
    const { beacon_id, event, reason_code } = beacon
    const name = `${beacon_id}, ${event} of ${slot_id},`
    const metric = metrics[event] ?? null
    const reason = whyNot(beacon, accepted, slot, acknowledged)
    if (reason === 'unknown') {
      if (beacon.metric !== null) counted.add(beacon.metric)
      return []
    }
    const counts = reason === 'OK' && metric !== null && !counted.has(metric)
    const expected = reason === 'OK' && metric !== null && !counts ? 'ALREADY_COUNTED' : reason
    if (counts) counted.add(metric)
    const problems = reason_code === expected ? [] : [`${name} is ${reason_code}, and should be ${expected}`]
    if (beacon.metric === (counts ? metric : null)) return problems
    return [
      ...problems,
      `${name} counts as ${beacon.metric ?? 'nothing'}, and should as ${counts ? metric : 'nothing'}`,
    ]
  })
}

function inOrder(accepted: readonly BeaconFact[]): BeaconFact[] {
  const places = new Map(accepted.map((beacon, index) => [beacon, index]))
  return accepted.toSorted((a, b) => a.occurred_at_ms - b.occurred_at_ms || places.get(a)! - places.get(b)!)
}

/** The code that a beacon has by itself, without a look at those that count; `unknown` where clients know too little. */
function whyNot(
  beacon: BeaconFact,
  accepted: readonly BeaconFact[],
  slot: KnownSlot | null,
  acknowledged: Acknowledged,
): string {
  const { event, occurred_at_ms } = beacon
  if (event === 'render' || event === 'heartbeat') return 'OK'
  const first = (wanted: string) => {
    const times = accepted.flatMap((each) => (each.event === wanted ? [each.occurred_at_ms] : []))
    return times.length === 0 ? null : Math.min(...times)
  }
  const rendered_ms = first('render')
  if (rendered_ms === null) return 'AWAITING_RENDER'
  if (event === 'play_completed') {
    const length_ms = slot?.creative?.duration_ms
    if (length_ms == null) return 'unknown'
    // Nine tenths of a clip must have been played.
    return occurred_at_ms - (first('play_started') ?? rendered_ms) >= 0.9 * length_ms ? 'OK' : 'COMPLETED_TOO_FAST'
  }
  return event === 'visible' ? judgeView(beacon, rendered_ms, slot, acknowledged) : 'OK'
}

interface Measurements {
  visible_ratio: number
  visible_ms: number
  width_px?: number
  height_px?: number
  page_visible?: boolean
  visibility_check?: string
}

function judgeView(
  { beacon_id, client_id, occurred_at_ms }: BeaconFact,
  rendered_ms: number,
  slot: KnownSlot | null,
  { known, beacons }: Acknowledged,
): string {
  const sent = beacons.find((each) => each.beacon_id === beacon_id)
  const settings = known.settings.get(client_id)
  if (sent === undefined || slot?.creative == null || settings === undefined) return 'unknown'
  const { measurements: seen } = JSON.parse(sent.body) as { measurements?: Measurements }
  if (seen === undefined) return 'VISIBILITY_UNMEASURED'
  if (seen.page_visible === false) return 'PAGE_HIDDEN'
  const { width, height } = slot.creative
  const [shownWidth, shownHeight] = [seen.width_px ?? width, seen.height_px ?? height]
  // 50 px, or half of what is less.
  if (shownWidth < Math.min(50, width / 2) || shownHeight < Math.min(50, height / 2)) return 'TOO_SMALL'
  const isClip = slot.format === 'clip'
  const share = !isClip && shownWidth * shownHeight >= 242_500 ? 0.3 : 0.5
  const dwell_ms = isClip ? 2_000 : settings.view_ms
  if (seen.visible_ratio < share || seen.visible_ms < dwell_ms) return 'BELOW_THRESHOLD'
  if (seen.visibility_check === 'none') return 'VISIBILITY_UNMEASURED'
  // A time in whole seconds may mean any part of that second; two clocks may differ by 50 ms.
  const slack_ms = occurred_at_ms % 1_000 === 0 ? 999 : 50
  return seen.visible_ms <= occurred_at_ms - rendered_ms + slack_ms ? 'OK' : 'MEASUREMENT_IMPLAUSIBLE'
}

function checkReport(name: string, beacons: readonly BeaconFact[], { lines, not_counted }: BillingFact): string[] {
  const counted = countBy(
    beacons.filter(({ metric }) => metric !== null).map(({ client_id, metric }) => `${client_id} ${metric}`),
  )
  const refused = countBy(beacons.filter(({ verdict }) => verdict !== 'accepted').map(({ reason_code }) => reason_code))
  const reported = new Map<string, number>()
  for (const { client_id, metric, count } of lines) {
    const key = `${client_id} ${metric}`
    reported.set(key, (reported.get(key) ?? 0) + count)
  }
  const reasons = new Map(not_counted.reasons.map(({ reason_code, count }) => [reason_code, count]))
  const compare = (one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>, keys: Iterable<string>) =>
    [...keys].flatMap((key) =>
      one.get(key) === other.get(key)
        ? []
        : [`${name} has ${one.get(key) ?? 0} of ${key}, and ${other.get(key) ?? 0} beacons are`],
    )
  return [
    ...compare(reported, counted, new Set([...counted.keys(), ...reported.keys()])),
    ...compare(reasons, refused, refused.keys()),
  ]
}

function countBy(names: readonly string[]): Map<string, number> {
  return new Map([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]))
}
