/** Compares a file that counts by slot, turn by turn. */
import type { Metric } from '#contract/resources/beacons.ts'
import type { Explanation } from './causes.ts'
import { type Comparison, createTotals, type Difference, isInScope, isOfMode, type Scope } from './difference.ts'
import type { OwnCount, OwnCounts } from './own-counts.ts'
import { explainDoubled, explainExcess } from './turn-cause.ts'
import { findCounted, type Turn } from './turns.ts'

/** What the file has of a slot for a metric. */
interface OwnTurn {
  inside: number
  /** Counted outside the compared span. */
  outside: number
  /** The first time of the metric, by the file; null without any. */
  time_ms: number | null
}

/** A pair of counts to explain. */
interface Pair {
  turn: Turn | undefined
  metric: Metric
  own: OwnTurn
  rows: readonly OwnCount[]
  accepted: number
}

export function compareTurns(own: OwnCounts, turns: readonly Turn[], scope: Scope): Comparison {
  const rowsBySlot = Map.groupBy(own.rows, ({ key }) => key)
  const turnsBySlot = new Map(turns.map((turn) => [turn.slot_id, turn]))
  const clock_offset_ms = findClockOffset(own, turnsBySlot)
  const totals = createTotals(own.metrics)
  const differences: Difference[] = []
  const outside = new Set<OwnCount>()
  for (const slot_id of new Set([...turnsBySlot.keys(), ...rowsBySlot.keys()])) {
    const turn = turnsBySlot.get(slot_id)
    const rows = rowsBySlot.get(slot_id) ?? []
    for (const metric of own.metrics) {
      const pair = createPair({ turn, metric, rows }, scope)
      const { accepted } = pair
      const { inside } = pair.own
      totals.add(metric, inside, accepted)
      if (pair.own.outside > 0) for (const row of rows) outside.add(row)
      if (inside === accepted) continue
      differences.push({
        slot_id,
        session_id: turn?.session_id ?? null,
        day: null,
        metric,
        own: inside,
        accepted,
        difference: inside - accepted,
        lines: rows.map(({ line }) => line),
        is_possible: false,
        possible: [],
        ...explainPair(pair, scope, clock_offset_ms),
      })
    }
  }
  return {
    totals: totals.list(),
    differences,
    clock_offset_ms,
    day_shift_ms: 0,
    day_shift_range_ms: null,
    rows_outside: outside.size,
  }
}

function createPair({ turn, metric, rows }: Pick<Pair, 'turn' | 'metric' | 'rows'>, scope: Scope): Pair {
  const counted = turn === undefined || !isOfMode(scope, turn) ? null : findCounted(turn, metric)
  const accepted = counted !== null && isInScope(scope, counted.received_at_ms) ? 1 : 0
  // A row without a time happened when the sandbox says.
  const turn_ms = (turn && findCounted(turn, metric))?.received_at_ms ?? turn?.created_at_ms ?? null
  return { turn, metric, rows, accepted, own: sumRows(rows, metric, scope, turn_ms) }
}

/** @param turn_ms the time of the turn; null for one that is not known */
function sumRows(rows: readonly OwnCount[], metric: Metric, scope: Scope, turn_ms: number | null): OwnTurn {
  const own: OwnTurn = { inside: 0, outside: 0, time_ms: null }
  for (const { counts, time_ms } of rows) {
    const count = counts[metric] ?? 0
    if (count === 0) continue
    const at_ms = time_ms ?? turn_ms
    if (at_ms === null || isInScope(scope, at_ms)) own.inside += count
    else own.outside += count
    if (time_ms !== null) own.time_ms = Math.min(time_ms, own.time_ms ?? time_ms)
  }
  return own
}

function explainPair({ turn, metric, own, accepted }: Pair, scope: Scope, offset_ms: number): Explanation {
  if (turn === undefined) return { cause: 'never_requested', reason_code: null }
  const counted = findCounted(turn, metric)
  if (own.inside > accepted) {
    if (accepted > 0) return explainDoubled(turn, metric)
    const isElsewhere = counted !== null && !isInScope(scope, counted.received_at_ms)
    if (isElsewhere && own.time_ms !== null) return explainGap(own.time_ms - counted.received_at_ms)
    return explainExcess(turn, metric, scope.mode, { event_ms: own.time_ms === null ? null : own.time_ms - offset_ms })
  }
  const received_at_ms = counted?.received_at_ms ?? 0
  if (own.outside > 0 && own.time_ms !== null) return explainGap(own.time_ms - received_at_ms)
  if (offset_ms !== 0 && !isInScope(scope, received_at_ms + offset_ms)) return explainGap(offset_ms)
  return { cause: 'not_recorded', reason_code: null }
}

/** Time zones differ by multiples of this. */
export const zoneStep_ms = 15 * 60_000
/** A beacon travels for less. */
const travel_ms = 30_000

/** Returns the difference of two time zones that a gap between two clocks is, milliseconds; null for any other gap. */
export function nearestZone(gap_ms: number): number | null {
  const zone_ms = Math.round(gap_ms / zoneStep_ms) * zoneStep_ms
  return zone_ms !== 0 && Math.abs(gap_ms - zone_ms) < travel_ms ? zone_ms : null
}

function explainGap(gap_ms: number): Explanation {
  return { cause: nearestZone(gap_ms) === null ? 'clock_skew' : 'time_zone', reason_code: null }
}

/** Clocks that agree differ by less. */
const agreed_ms = 2_000
/** With fewer times, one that is wrong would be taken for the clock. */
const minTimes = 3

/** Returns how far the times of the file are ahead of the sandbox's: the median of the events that both count. */
function findClockOffset({ rows, metrics }: OwnCounts, turns: ReadonlyMap<string, Turn>): number {
  const offsets = rows.flatMap(({ key, time_ms, counts }) => {
    const turn = turns.get(key)
    const metric = metrics.find((each) => (counts[each] ?? 0) > 0)
    const counted = turn === undefined || metric === undefined ? null : findCounted(turn, metric)
    return time_ms === null || counted === null ? [] : [time_ms - (counted.occurred_at_ms ?? counted.received_at_ms)]
  })
  if (offsets.length < minTimes) return 0
  const median = offsets.toSorted((a, b) => a - b)[Math.floor(offsets.length / 2)]!
  return Math.abs(median) < agreed_ms ? 0 : median
}
