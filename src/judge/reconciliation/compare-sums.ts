/**
 * Compares a file that counts by session or by day. A sum does not show which turns differ: its causes are possible, and
 * only those of which the sandbox has evidence. The likeliest is one with exactly as many turns, then the one that explains most.
 */
import type { Mode } from '#contract/fields.ts'
import type { Metric } from '#contract/resources/beacons.ts'
import { type Cause, causes, type Explanation } from './causes.ts'
import {
  type Comparison,
  createTotals,
  type Difference,
  isInScope,
  isOfMode,
  type PossibleCause,
  type Scope,
} from './difference.ts'
import type { OwnCounts } from './own-counts.ts'
import { createDayNamer, dayName, findDayShift } from './time-zone.ts'
import { countRepeated, explainDoubled, explainExcess, hasEvidence } from './turn-cause.ts'
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
  const shift = own.key === 'day' && !own.is_zoned ? shiftOfDays({ ...own, rows }, turns, scope) : null
  const day_shift_ms = shift?.shift_ms ?? 0
  const sums = createSums({ ...own, rows }, turns, scope, day_shift_ms)
  const totals = createTotals(own.metrics)
  for (const { metric, own: count, accepted } of sums) totals.add(metric, count, accepted)
  const nameDay = createDayNamer(own)
  const known = new Set(
    own.key === 'day' ? turns.map(({ created_at_ms }) => nameDay(created_at_ms + day_shift_ms)) : [],
  )
  if (own.key === 'session_id') for (const { session_id } of turns) known.add(session_id ?? '')
  const rendered = new Map(sums.filter(({ metric }) => metric === 'rendered_impression').map((sum) => [sum.key, sum]))
  const explained = sums
    .filter((sum) => sum.own !== sum.counted.length || sum.accepted !== sum.counted.length)
    .map((sum): ExplainedSum => {
      const excess = sum.own - sum.counted.length
      const possible = excess > 0 ? findPossible(sum, scope.mode).filter(({ turns }) => turns * 2 >= excess) : []
      // Without evidence of one, only that each is there twice.
      if (excess > 0 && excess === sum.counted.length && possible.every(({ turns }) => turns !== excess)) {
        possible.push({ cause: 'doubled', reason_code: null, turns: excess })
      }
      return { sum, excess, possible, unshown_limit: findUnshownLimit(sum, rendered) }
    })
  const frequency = countExactCauses(explained)
  const isKnown = (key: string | null) => known.has(key ?? '')
  const lacking = own.key === 'day' ? findLackingMode(sums) : null
  const differences = explained.flatMap((sum) => explainSum(own.key, { ...sum, lacking }, isKnown, frequency))
  return {
    totals: totals.list(),
    differences,
    clock_offset_ms: 0,
    day_shift_ms,
    day_shift_range_ms: shift?.range_ms ?? null,
    rows_outside: own.rows.length - rows.length,
  }
}

/** A row without a time is in the span when its day begins there; a session always. */
function dayStart({ key: field, midnights }: OwnCounts, key: string, { since_ms }: Scope): number {
  return field === 'day' ? (midnights?.get(key) ?? Date.parse(`${key}T00:00:00Z`)) : (since_ms ?? 0)
}

function countedInScope(turn: Turn, metric: Metric, scope: Scope) {
  const counted = isOfMode(scope, turn) ? findCounted(turn, metric) : null
  return counted !== null && isInScope(scope, counted.received_at_ms) ? counted : null
}

function shiftOfDays({ rows, metrics }: OwnCounts, turns: readonly Turn[], scope: Scope) {
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
  const busy = new Set(turns.map(({ created_at_ms }) => dayName(created_at_ms, 0)))
  return findDayShift(days, metrics, events, busy)
}

/** Returns each session, or each day from the first to the last of the file, with the turns in it. */
function createSums(own: OwnCounts, turns: readonly Turn[], scope: Scope, shift_ms: number): Sum[] {
  const rowsByKey = Map.groupBy(own.rows, ({ key }): string | null => key)
  const days = own.rows.map(({ key }) => key).toSorted()
  const isCompared = (key: string | null) =>
    own.key !== 'day' || (key !== null && key >= days[0]! && key <= days.at(-1)!)
  const nameDay = createDayNamer(own)
  return own.metrics.flatMap((metric) => {
    const counted = (turn: Turn) => countedInScope(turn, metric, scope)
    const time_ms = (turn: Turn) => counted(turn)?.received_at_ms ?? turn.created_at_ms
    const keyAt = (turn: Turn, shift: number) => (own.key === 'day' ? nameDay(time_ms(turn) + shift) : turn.session_id)
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

/** Returns the causes that the sandbox has evidence of, each with its number of turns. */
function findPossible({ metric, counted, others }: Sum, mode: Mode | 'all'): PossibleCause[] {
  const turns = new Map<string, PossibleCause>()
  const add = (explanation: Explanation, count: number) => {
    const name = causeName(explanation)
    const found = turns.get(name)
    if (found === undefined) turns.set(name, { ...explanation, turns: count })
    else found.turns += count
  }
  for (const turn of others) {
    const explanation = explainOther(turn, metric, mode)
    if (explanation !== null) add(explanation, 1)
  }
  for (const turn of counted) {
    const count = countRepeated(turn, metric)
    if (count > 0) add(explainDoubled(turn, metric), count)
  }
  return [...turns.values()]
}

/** Nobody clicks an ad that was not there: only a beacon shows that a click or a completion may have been counted. */
function explainOther(turn: Turn, metric: Metric, mode: Mode | 'all'): Explanation | null {
  const isShown = metric === 'rendered_impression' || metric === 'viewable_impression'
  if (mode !== 'all' && turn.mode !== mode && findCounted(turn, metric) === null) return null
  return isShown || hasEvidence(turn, metric) ? explainExcess(turn, metric, mode) : null
}

function causeName({ cause, reason_code }: Explanation): string {
  return `${cause} ${reason_code ?? ''}`
}

/**
 * Returns the traffic that a file of days does not count: a day of both kinds lacks exactly that of one, as most sums with such
 * turns do, over all metrics. null for none.
 */
function findLackingMode(sums: readonly Sum[]): Mode | null {
  const isLacking = (mode: Mode) => {
    const some = sums.filter((sum) => countOfMode(sum, mode) > 0)
    const exact = some.filter((sum) => sum.counted.length - sum.own === countOfMode(sum, mode))
    return exact.length * 2 > some.length && exact.some(({ own }) => own > 0)
  }
  return (['test', 'live'] as const).find(isLacking) ?? null
}

function countOfMode({ counted }: Sum, mode: Mode): number {
  return counted.filter((turn) => turn.mode === mode).length
}

/**
 * Counts in how many sums each cause alone would explain the difference. One mistake is usually made everywhere: what does not explain
 * half of the sums in which it is possible explains the others by accident.
 */
function countExactCauses(sums: readonly ExplainedSum[]): ReadonlyMap<string, number> {
  const found = sums.flatMap((sum) =>
    sum.possible.map((each) => ({ name: causeName(each), exact: isExact(each, sum) })),
  )
  const frequency = [...Map.groupBy(found, ({ name }) => name)].map(([name, all]) => {
    const { length } = all.filter(({ exact }) => exact)
    return [name, length * 2 < all.length ? 0 : length] as const
  })
  return new Map(frequency)
}

interface ExplainedSum {
  sum: Sum
  /** More than the sandbox counts, by the clock of the file. */
  excess: number
  possible: PossibleCause[]
  /** How many of it may be of ads that were never shown. */
  unshown_limit: number
}

/** Causes of ads that were never shown: who counts a view of one counts it as rendered too. */
const unshownCauses: ReadonlySet<Cause> = new Set(['no_fill_counted', 'not_decided', 'frame_not_loaded'])

/** Returns by how much a file counts more renders than the sandbox, where it counts a view; no limit where it has no renders. */
function findUnshownLimit({ key, metric }: Sum, rendered: ReadonlyMap<string | null, Sum>): number {
  const sum = metric === 'viewable_impression' ? rendered.get(key) : undefined
  return sum === undefined ? Number.POSITIVE_INFINITY : Math.max(sum.own - sum.counted.length, 0)
}

/** Returns how many of the turns of a sum a cause explains. */
function countExplained({ cause, turns }: PossibleCause, { excess, unshown_limit }: ExplainedSum): number {
  return Math.min(turns, excess, unshownCauses.has(cause) ? unshown_limit : turns)
}

function isExact(cause: PossibleCause, sum: ExplainedSum): boolean {
  return cause.turns === sum.excess && countExplained(cause, sum) === sum.excess
}

const causeOrder = Object.keys(causes)

/** Returns the difference of a sum as a whole, with every cause that is possible, the likeliest first. */
function explainSum(
  field: OwnCounts['key'],
  { lacking, ...explained }: ExplainedSum & { lacking: Mode | null },
  isKnownKey: (key: string | null) => boolean,
  frequency: ReadonlyMap<string, number>,
): Difference[] {
  const { sum, excess, possible } = explained
  const { key, metric, own, accepted, lines, counted } = sum
  const place = { slot_id: null, session_id: field === 'session_id' ? key : null, day: field === 'day' ? key : null }
  const about = (difference: number, cause: Cause, more: Partial<Difference> = {}): Difference[] =>
    difference === 0
      ? []
      : [
          {
            ...{ ...place, metric, own, accepted, difference, lines },
            ...{ cause, reason_code: null, is_possible: true, possible: [], ...more },
          },
        ]
  const shifted = about(counted.length - accepted, 'time_zone')
  if (excess <= 0 && lacking !== null && -excess === countOfMode(sum, lacking)) {
    const possible = [{ cause: 'not_recorded' as const, reason_code: null, turns: -excess }]
    return [...shifted, ...about(excess, lacking === 'test' ? 'test_traffic' : 'live_traffic', { possible })]
  }
  // Of a session that the file does not name, each turn is missing.
  const isCertain = field === 'session_id' && lines.length === 0
  if (excess <= 0) return [...shifted, ...about(excess, 'not_recorded', { is_possible: !isCertain })]
  if (!isKnownKey(key)) return [...shifted, ...about(excess, 'never_requested', { is_possible: field === 'day' })]
  const countExact = (each: PossibleCause) => (isExact(each, explained) ? (frequency.get(causeName(each)) ?? 0) : 0)
  const rank = (each: PossibleCause): readonly number[] => {
    return [
      -countExact(each),
      -countExplained(each, explained),
      Math.abs(each.turns - excess),
      causeOrder.indexOf(each.cause),
    ]
  }
  const sorted = possible.toSorted((one, other) => compareRanks(rank(one), rank(other)))
  const [likeliest] = sorted
  if (likeliest === undefined || countExact(likeliest) === 0) {
    return [...shifted, ...about(excess, 'unexplained', { is_possible: false, possible: sorted })]
  }
  const { cause, reason_code } = likeliest
  return [...shifted, ...about(excess, cause, { reason_code, possible: sorted })]
}

function compareRanks(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((part, index) => part !== other[index])
  return at < 0 ? 0 : one[at]! - other[at]!
}
