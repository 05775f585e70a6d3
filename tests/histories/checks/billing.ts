/**
 * Billing: each accepted beacon has the verdict that the rules give it (A75, A76), so of each placement at most one counts
 * per metric, and it is the earliest of those that do. The reports count the same.
 */
import {
  type ActionOf,
  type History,
  isBefore,
  listDone,
  type Measurements,
  type Operation,
  pickKind,
} from '../history.ts'
import { readViews, type View } from '../known.ts'
import type { BillingReport, State, StateBeacon } from '../state.ts'

const metrics: Readonly<Record<string, string>> = {
  render: 'rendered_impression',
  visible: 'viewable_impression',
  click: 'click',
  play_completed: 'completed_view',
}

/** What clients know that the verdict on a beacon depends on. */
interface Knowledge {
  views: ReadonlyMap<string, readonly View[]>
  /** By beacon_id. */
  measured: ReadonlyMap<string, Measurements | undefined>
  /** By project: how long an ad must be in view. */
  view_ms: ReadonlyMap<string, number>
}

export function checkBilling(history: History, { beacons, reports }: State): string[] {
  const known: Knowledge = {
    views: readViews(history),
    // Another beacon may have been sent with its id, and refused.
    measured: new Map(
      pickKind(history, 'beacon').flatMap(({ action: { beacon_id, event, measurements } }) =>
        event === 'visible' ? [[beacon_id, measurements]] : [],
      ),
    ),
    view_ms: readViewTimes(history),
  }
  const bySlot = [...Map.groupBy(beacons, ({ slot_id }) => slot_id)].flatMap(([slot_id, all]) => {
    const counting = all.find(
      ({ verdict, metric, would_bill }) => verdict !== 'accepted' && (metric !== null || would_bill),
    )
    return [
      ...(counting === undefined ? [] : [`${counting.beacon_id} counts although it is ${counting.verdict}`]),
      ...checkVerdicts(
        slot_id,
        all.filter(({ verdict }) => verdict === 'accepted'),
        known,
      ),
    ]
  })
  const byReport = reports.flatMap(({ client_id, report }) => {
    const own = client_id === null ? beacons : beacons.filter((beacon) => beacon.client_id === client_id)
    return checkReport(client_id === null ? 'the report' : `the report of ${client_id}`, own, report)
  })
  return [...bySlot, ...byReport]
}

/** Those of the newest change, unless one may have happened since: then it is not known. */
function readViewTimes(history: History): Map<string, number> {
  interface Settings {
    config_revision: number
    settings?: { viewability: { duration_ms: number } }
  }
  const all = [...pickKind(history, 'settings'), ...pickKind(history, 'read_settings')]
  return new Map(
    [...Map.groupBy(all, ({ action }) => action.project)].flatMap(([project, operations]) => {
      const done = listDone<Settings, ActionOf<'settings' | 'read_settings'>>(operations)
      const newest = done.toSorted((one, other) => one.body.config_revision - other.body.config_revision).at(-1)
      const mayHaveChanged = ({ action, outcome, ...operation }: Operation) =>
        action.kind === 'settings' && outcome.kind === 'unknown' && !isBefore(operation, newest!)
      if (newest?.body.settings === undefined || operations.some(mayHaveChanged)) return []
      return [[project, newest.body.settings.viewability.duration_ms] as const]
    }),
  )
}

function checkVerdicts(slot_id: string, accepted: readonly StateBeacon[], known: Knowledge): string[] {
  const counted = new Set<string>()
  return inOrder(accepted).flatMap((beacon) => {
    const { beacon_id, event, reason_code } = beacon
    const name = `${beacon_id}, ${event} of ${slot_id},`
    const metric = metrics[event] ?? null
    const reason = whyNot(beacon, accepted, known)
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

function inOrder(accepted: readonly StateBeacon[]): StateBeacon[] {
  const places = new Map(accepted.map((beacon, index) => [beacon, index]))
  return accepted.toSorted((a, b) => a.occurred_at_ms - b.occurred_at_ms || places.get(a)! - places.get(b)!)
}

/** The code that a beacon has by itself, without a look at those that count; `unknown` where clients know too little. */
function whyNot(beacon: StateBeacon, accepted: readonly StateBeacon[], known: Knowledge): string {
  const { event, occurred_at_ms, slot_id } = beacon
  if (event === 'render' || event === 'heartbeat') return 'OK'
  const first = (wanted: string) => {
    const times = accepted.flatMap((each) => (each.event === wanted ? [each.occurred_at_ms] : []))
    return times.length === 0 ? null : Math.min(...times)
  }
  const rendered_ms = first('render')
  if (rendered_ms === null) return 'AWAITING_RENDER'
  if (event === 'play_completed') {
    const length_ms = known.views.get(slot_id)?.[0]?.creative?.duration_ms
    if (length_ms == null) return 'unknown'
    // Nine tenths of a clip must have been played.
    return occurred_at_ms - (first('play_started') ?? rendered_ms) >= 0.9 * length_ms ? 'OK' : 'COMPLETED_TOO_FAST'
  }
  if (event !== 'visible') return 'OK'
  const started_ms = first('play_started') ?? Infinity
  const isEarly = started_ms > occurred_at_ms + (occurred_at_ms % 1_000 === 0 ? 999 : 50)
  const isClip = known.views.get(slot_id)?.[0]?.format === 'clip'
  return isClip && isEarly ? 'AWAITING_PLAY' : judgeView(beacon, rendered_ms, known)
}

function judgeView(
  { beacon_id, slot_id, client_id, occurred_at_ms }: StateBeacon,
  rendered_ms: number,
  { views, measured, view_ms }: Knowledge,
): string {
  const view = views.get(slot_id)?.[0]
  const usual_ms = view_ms.get(client_id)
  if (!measured.has(beacon_id) || view?.creative == null || usual_ms === undefined) return 'unknown'
  const seen = measured.get(beacon_id)
  if (seen === undefined) return 'VISIBILITY_UNMEASURED'
  if (seen.page_visible === false) return 'PAGE_HIDDEN'
  const { width, height } = view.creative
  const [shownWidth, shownHeight] = [seen.width_px ?? width, seen.height_px ?? height]
  // 50 px, or half of what is less.
  if (shownWidth < Math.min(50, width / 2) || shownHeight < Math.min(50, height / 2)) return 'TOO_SMALL'
  const isClip = view.format === 'clip'
  const share = !isClip && shownWidth * shownHeight >= 242_500 ? 0.3 : 0.5
  const dwell_ms = isClip ? 2_000 : usual_ms
  if (seen.visible_ratio < share || seen.visible_ms < dwell_ms) return 'BELOW_THRESHOLD'
  if (seen.visibility_check === 'none') return 'VISIBILITY_UNMEASURED'
  // A time in whole seconds may mean any part of that second; two clocks may differ by 50 ms.
  const slack_ms = occurred_at_ms % 1_000 === 0 ? 999 : 50
  return seen.visible_ms <= occurred_at_ms - rendered_ms + slack_ms ? 'OK' : 'MEASUREMENT_IMPLAUSIBLE'
}

function checkReport(name: string, beacons: readonly StateBeacon[], { lines, not_counted }: BillingReport): string[] {
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
