/** The totals of a tail, and its rates. */
import type { Arrival, TailSource } from './source.ts'

type GroupCounts = Readonly<Record<string, number>>

export interface Counts {
  total: number
  by_group: GroupCounts
  tallies: Readonly<Record<string, number>>
  /** The last minute, oldest first; seconds without an item are left out. */
  seconds: readonly Second[]
}

interface Second {
  /** Epoch seconds. */
  at_s: number
  total: number
  by_group: GroupCounts
}

export const noCounts: Counts = { total: 0, by_group: {}, tallies: {}, seconds: [] }
export const minuteSeconds = 60
/** Rates are means over this many whole seconds. */
const rateSpanSeconds = 5

/** Returns the counts with more items; those from before the connection do not count for the last minute. */
export function count(counts: Counts, arrivals: readonly Arrival[], now_ms: number, source: TailSource): Counts {
  const at_s = Math.floor(now_ms / 1000)
  const live = arrivals.filter(({ is_live }) => is_live)
  const seconds = live.length === 0 ? counts.seconds : withArrivals(counts.seconds, live, at_s, source)
  const tallied = arrivals.flatMap(({ item }) => source.listTallies(item))
  const tallies = source.tallies.map((name) => {
    const fresh = tallied.filter((each) => each === name).length
    return [name, (counts.tallies[name] ?? 0) + fresh]
  })
  return {
    total: counts.total + arrivals.length,
    by_group: addGroups(counts.by_group, arrivals, source),
    tallies: Object.fromEntries(tallies),
    seconds: seconds.filter((second) => second.at_s >= at_s - minuteSeconds),
  }
}

/** Returns the items per second of the last seconds: of one group, or of all. */
export function rate({ seconds }: Counts, now_ms: number, group: string | null = null): number {
  const now_s = Math.floor(now_ms / 1000)
  const recent = seconds.filter(({ at_s }) => at_s < now_s && at_s >= now_s - rateSpanSeconds)
  const sum = recent.reduce((sum, second) => sum + (group === null ? second.total : (second.by_group[group] ?? 0)), 0)
  return sum / rateSpanSeconds
}

/** Returns one number for each of the last `minute_s` whole seconds, oldest first. */
export function lastMinute({ seconds }: Counts, now_ms: number): number[] {
  const now_s = Math.floor(now_ms / 1000)
  const totals = new Map(seconds.map(({ at_s, total }) => [at_s, total]))
  return Array.from({ length: minuteSeconds }, (_, index) => totals.get(now_s - minuteSeconds + index) ?? 0)
}

function addGroups(before: GroupCounts, arrivals: readonly Arrival[], source: TailSource): GroupCounts {
  const counts: Record<string, number> = { ...before }
  for (const { item } of arrivals) {
    const group = source.findGroup(item)
    if (group !== null) counts[group] = (counts[group] ?? 0) + 1
  }
  return counts
}

function withArrivals(
  seconds: readonly Second[],
  arrivals: readonly Arrival[],
  at_s: number,
  source: TailSource,
): readonly Second[] {
  const last = seconds.at(-1)
  const before = last?.at_s === at_s ? last : { total: 0, by_group: {} }
  const second = {
    at_s,
    total: before.total + arrivals.length,
    by_group: addGroups(before.by_group, arrivals, source),
  }
  return [...(last?.at_s === at_s ? seconds.slice(0, -1) : seconds), second]
}
