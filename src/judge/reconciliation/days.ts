/** A comparison by day, for a chart. */
import type { Metric } from '#contract/resources/beacons.ts'
import type { OwnCounts } from './own-counts.ts'
import type { Reconciliation } from './reconciliation.ts'
import { createDayNamer, dayName } from './time-zone.ts'
import { findCounted, type Turn } from './turns.ts'

interface DayCount {
  /** Its midnight, UTC, epoch milliseconds. */
  start_ms: number
  both: number
  own_only: number
  accepted_only: number
}

const day_ms = 86_400_000

/**
 * Returns the counts of a metric by day, without gaps. A difference has the day of its turn; one without a turn has none,
 * and is left out.
 */
export function countByDay(
  { differences, mode }: Pick<Reconciliation, 'differences' | 'mode'>,
  turns: readonly Turn[],
  own: OwnCounts,
  metric: Metric,
): DayCount[] {
  const days = new Map<number, DayCount>()
  const nameDay = createDayNamer(own)
  const dayAt = (name: string): DayCount => {
    const start_ms = Date.parse(name)
    const day = days.get(start_ms) ?? { start_ms, both: 0, own_only: 0, accepted_only: 0 }
    days.set(start_ms, day)
    return day
  }
  const findTime = (turn: Turn) => findCounted(turn, metric)?.received_at_ms ?? turn.created_at_ms
  const times = new Map(turns.map((turn) => [turn.slot_id, findTime(turn)]))
  for (const turn of turns) {
    if ((mode === 'all' || turn.mode === mode) && findCounted(turn, metric) !== null)
      dayAt(nameDay(findTime(turn))).both++
  }
  for (const { slot_id, day: name, metric: of, difference } of differences) {
    const time_ms = times.get(slot_id ?? '')
    const found = name ?? (time_ms === undefined ? undefined : nameDay(time_ms))
    if (of !== metric || found === undefined) continue
    const day = dayAt(found)
    if (difference > 0) day.own_only += difference
    else {
      day.accepted_only -= difference
      day.both += difference
    }
  }
  const compared = own.key === 'day' ? own.rows.map(({ key }) => Date.parse(`${key}T00:00:00Z`)) : [...days.keys()]
  if (compared.length === 0) return []
  const first = compared.reduce((least, each) => Math.min(least, each))
  const last = compared.reduce((most, each) => Math.max(most, each))
  const from = Math.max(Math.min(first, last - (minDays - 1) * day_ms), last - (maxDays - 1) * day_ms)
  return Array.from({ length: (last - from) / day_ms + 1 }, (_, index) => {
    const start_ms = from + index * day_ms
    return start_ms < first ? { start_ms, both: 0, own_only: 0, accepted_only: 0 } : dayAt(dayName(start_ms, 0))
  })
}

/** Fewer would be a few wide bars; more are the newest ones. */
const minDays = 7
const maxDays = 62
