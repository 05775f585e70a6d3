/**
 * Compares a file that counts by session or by day. A sum does not show which turns differ: a difference is explained by
 * the turns that do not count for the same reason, where there are as many of them.
 */
import type { Mode } from '#contract/fields.ts'
import type { Metric } from '#contract/resources/beacons.ts'
import { type Cause, causes, type Explanation } from './causes.ts'
import { type Comparison, createTotals, type Difference, isInScope, type Scope } from './difference.ts'
import type { OwnCounts } from './own-counts.ts'
import { dayName, findDayShift } from './time-zone.ts'
import { countRepeated, explainDoubled, explainExcess } from './turn-cause.ts'
import { findCounted, type Turn } from './turns.ts'

interface Sum {
  /** A session or a day; null: turns without a session. */
  key: string | null
  metric: Metric
  own: number
  lines: readonly number[]
  /** By its own clock: in a comparison of days, that of the file. */
  counted: readonly Turn[]
  others: readonly Turn[]
  /** By UTC. */
  accepted: number
}

export function compareSums(own: OwnCounts, turns: readonly Turn[], scope: Scope): Comparison {
  const rows = own.rows.filter(({ key, time_ms }) => isInScope(scope, time_ms ?? dayStart(own, key, scope)))
  const day_shift_ms = own.key === 'day' ? shiftOfDays({ ...own, rows }, turns, scope) : 0
  const sums = createSums({ ...own, rows }, turns, scope, day_shift_ms)
  const totals = createTotals(own.metrics)
  for (const { metric, own: count, accepted } of sums) totals.add(metric, count, accepted)
  const frequency = countExactCauses(sums, scope.mode)
  const differences = sums.flatMap((sum) => explainSum(own.key, sum, scope.mode, frequency))
  return {
    totals: totals.list(),
    differences,
    clock_offset_ms: 0,
    day_shift_ms,
    rows_outside: own.rows.length - rows.length,
  }
}

/** A row without a time is in the span when its day begins there; a session always. */
function dayStart({ key: field }: OwnCounts, key: string, { since_ms }: Scope): number {
  return field === 'day' ? Date.parse(`${key}T00:00:00Z`) : (since_ms ?? 0)
}

function countedInScope(turn: Turn, metric: Metric, scope: Scope) {
  const counted = scope.mode === 'all' || scope.mode === turn.mode ? findCounted(turn, metric) : null
  return counted !== null && isInScope(scope, counted.received_at_ms) ? counted : null
}

function shiftOfDays({ rows, metrics }: OwnCounts, turns: readonly Turn[], scope: Scope): number {
  const days = new Map<string, Partial<Record<Metric, number>>>()
  for (const { key, counts } of rows) {
    const day = days.get(key) ?? {}
    days.set(key, day)
    for (const metric of metrics) day[metric] = (day[metric] ?? 0) + (counts[metric] ?? 0)
  }
  const events = metrics.flatMap((metric) =>
    turns.flatMap((turn) => {
      const counted = countedInScope(turn, metric, scope)
      return counted === null ? [] : [{ metric, received_at_ms: counted.received_at_ms }]
    }),
  )
  return findDayShift(days, metrics, events)
}

/** Returns each session, or each day from the first to the last of the file, with the turns in it. */
function createSums(own: OwnCounts, turns: readonly Turn[], scope: Scope, shift_ms: number): Sum[] {
  const rowsByKey = Map.groupBy(own.rows, ({ key }): string | null => key)
  const days = own.rows.map(({ key }) => key).toSorted()
  const isCompared = (key: string | null) =>
    own.key !== 'day' || (key !== null && key >= days[0]! && key <= days.at(-1)!)
  return own.metrics.flatMap((metric) => {
    const counted = (turn: Turn) => countedInScope(turn, metric, scope)
    const time_ms = (turn: Turn) => counted(turn)?.received_at_ms ?? turn.created_at_ms
    const keyAt = (turn: Turn, shift: number) => (own.key === 'day' ? dayName(time_ms(turn), shift) : turn.session_id)
    const inside = turns.filter((turn) => counted(turn) !== null || isInScope(scope, turn.created_at_ms))
    const turnsByKey = Map.groupBy(inside, (turn) => keyAt(turn, shift_ms))
    const acceptedByKey = Map.groupBy(
      inside.filter((turn) => counted(turn) !== null),
      (turn) => keyAt(turn, 0),
    )
    const keys = new Set([...rowsByKey.keys(), ...turnsByKey.keys(), ...acceptedByKey.keys()].filter(isCompared))
    return [...keys].map((key): Sum => {
      const rows = rowsByKey.get(key) ?? []
      const { counted: found = [], others = [] } = Object.groupBy(turnsByKey.get(key) ?? [], (turn) =>
        counted(turn) === null ? 'others' : 'counted',
      )
      return {
        key,
        metric,
        own: rows.reduce((sum, { counts }) => sum + (counts[metric] ?? 0), 0),
        lines: rows.map(({ line }) => line),
        counted: found,
        others,
        accepted: acceptedByKey.get(key)?.length ?? 0,
      }
    })
  })
}

/** Turns that differ for the same reason. */
interface Candidates extends Explanation {
  turns: readonly { turn: Turn; count: number }[]
  count: number
}

/** Returns the turns that an integrator may have counted and the sandbox does not, by reason. */
function findCandidates({ metric, counted, others }: Sum, mode: Mode | 'all'): Candidates[] {
  const found = [
    ...others.map((turn) => ({ turn, count: 1, explanation: explainExcess(turn, metric, mode) })),
    ...counted
      .map((turn) => ({ turn, count: countRepeated(turn, metric), explanation: explainDoubled(turn, metric) }))
      .filter(({ count }) => count > 0),
  ]
  return [...Map.groupBy(found, ({ explanation }) => causeName(explanation)).values()].map((turns) => ({
    ...turns[0]!.explanation,
    turns,
    count: turns.reduce((sum, { count }) => sum + count, 0),
  }))
}

function causeName({ cause, reason_code }: Explanation): string {
  return `${cause} ${reason_code ?? ''}`
}

/** Counts in how many sums each cause alone explains the difference: one mistake is usually made everywhere. */
function countExactCauses(sums: readonly Sum[], mode: Mode | 'all'): ReadonlyMap<string, number> {
  const frequency = new Map<string, number>()
  for (const sum of sums) {
    const excess = sum.own - sum.counted.length
    if (excess <= 0) continue
    for (const candidates of findCandidates(sum, mode)) {
      const name = causeName(candidates)
      if (candidates.count === excess) frequency.set(name, (frequency.get(name) ?? 0) + 1)
    }
  }
  return frequency
}

const causeOrder = Object.keys(causes)

function explainSum(
  field: OwnCounts['key'],
  sum: Sum,
  mode: Mode | 'all',
  frequency: ReadonlyMap<string, number>,
): Difference[] {
  const { key, metric, own, accepted, lines, counted, others } = sum
  const place = { slot_id: null, session_id: field === 'session_id' ? key : null, day: field === 'day' ? key : null }
  const about = (difference: number, cause: Cause, reason_code: string | null = null): Difference[] =>
    difference === 0 ? [] : [{ ...place, metric, own, accepted, difference, lines, cause, reason_code }]
  const shifted = about(counted.length - accepted, 'time_zone')
  const excess = own - counted.length
  if (excess <= 0) return [...shifted, ...about(excess, 'not_recorded')]
  if (counted.length + others.length === 0) return [...shifted, ...about(excess, 'never_requested')]
  const rank = (each: Candidates) =>
    -(frequency.get(causeName(each)) ?? 0) * causeOrder.length + causeOrder.indexOf(each.cause)
  const candidates = findCandidates(sum, mode).toSorted((a, b) => rank(a) - rank(b))
  const chosen = chooseCandidates(candidates, excess)
  const explained = chosen.flatMap(({ cause, reason_code, turns }) =>
    turns.flatMap(({ turn, count }) =>
      about(count, cause, reason_code).map((each) => ({ ...each, slot_id: turn.slot_id, session_id: turn.session_id })),
    ),
  )
  const rest = excess - chosen.reduce((total, { count }) => total + count, 0)
  return [...shifted, ...explained, ...about(rest, rest === counted.length ? 'doubled' : 'unexplained')]
}

/** Beyond so many reasons, combinations of them explain anything. */
const maxCombined = 10

/** Returns the fewest reasons that explain a number exactly; else those, in order, that do not explain too much. */
function chooseCandidates(candidates: readonly Candidates[], excess: number): readonly Candidates[] {
  const combined = candidates.slice(0, maxCombined)
  const choices = Array.from({ length: 2 ** combined.length }, (_, bits) =>
    combined.filter((_, index) => (bits >> index) % 2 === 1),
  )
  const count = (choice: readonly Candidates[]) => choice.reduce((sum, each) => sum + each.count, 0)
  const exact = choices.filter((choice) => choice.length > 0 && count(choice) === excess)
  if (exact.length > 0) return exact.reduce((least, each) => (each.length < least.length ? each : least))
  let left = excess
  return candidates.filter((each) => {
    const fits = each.count <= left
    if (fits) left -= each.count
    return fits
  })
}
