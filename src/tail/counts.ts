/** Totals per event, and the beacons of the last minute by second of arrival. Pure. */
import type { BeaconEvent } from '../contract/v1/beacons.ts'
import type { TailBeacon } from './feed.ts'

type EventCounts = Partial<Record<BeaconEvent, number>>

export interface Counts {
  total: number
  by_event: EventCounts
  duplicates: number
  rejected: number
  would_bill: number
  /** The last minute, oldest first; seconds without a beacon are left out. */
  seconds: readonly Second[]
}

interface Second {
  /** Epoch seconds. */
  at_s: number
  total: number
  by_event: EventCounts
}

export const noCounts: Counts = { total: 0, by_event: {}, duplicates: 0, rejected: 0, would_bill: 0, seconds: [] }
export const minute_s = 60
/** Rates are means over this many whole seconds. */
const rateSpan_s = 5

export interface Arrival {
  beacon: TailBeacon
  is_live: boolean
}

/** Returns the counts with more beacons; those from before the connection do not count for the last minute. */
export function count(counts: Counts, arrivals: readonly Arrival[], now_ms: number): Counts {
  const at_s = Math.floor(now_ms / 1000)
  const live = arrivals.filter(({ is_live }) => is_live)
  const seconds = live.length === 0 ? counts.seconds : withArrivals(counts.seconds, live, at_s)
  const countOf = (is: (beacon: TailBeacon) => boolean) => arrivals.filter(({ beacon }) => is(beacon)).length
  return {
    total: counts.total + arrivals.length,
    by_event: addEvents(counts.by_event, arrivals),
    duplicates: counts.duplicates + countOf(({ verdict }) => verdict === 'duplicate'),
    rejected: counts.rejected + countOf(({ verdict }) => verdict === 'rejected'),
    would_bill: counts.would_bill + countOf((beacon) => beacon.would_bill),
    seconds: seconds.filter((second) => second.at_s >= at_s - minute_s),
  }
}

/** Returns the beacons per second of the last seconds: of one event, or of all. */
export function rate({ seconds }: Counts, now_ms: number, event: BeaconEvent | null = null): number {
  const now_s = Math.floor(now_ms / 1000)
  const recent = seconds.filter(({ at_s }) => at_s < now_s && at_s >= now_s - rateSpan_s)
  const sum = recent.reduce((sum, second) => sum + (event === null ? second.total : (second.by_event[event] ?? 0)), 0)
  return sum / rateSpan_s
}

/** Returns one number for each of the last `minute_s` whole seconds, oldest first. */
export function lastMinute({ seconds }: Counts, now_ms: number): number[] {
  const now_s = Math.floor(now_ms / 1000)
  const totals = new Map(seconds.map(({ at_s, total }) => [at_s, total]))
  return Array.from({ length: minute_s }, (_, index) => totals.get(now_s - minute_s + index) ?? 0)
}

function addEvents(before: EventCounts, arrivals: readonly Arrival[]): EventCounts {
  const counts = { ...before }
  for (const { beacon } of arrivals) {
    if (beacon.event !== null) counts[beacon.event] = (counts[beacon.event] ?? 0) + 1
  }
  return counts
}

function withArrivals(seconds: readonly Second[], arrivals: readonly Arrival[], at_s: number): readonly Second[] {
  const last = seconds.at(-1)
  const before = last?.at_s === at_s ? last : { total: 0, by_event: {} }
  const second = { at_s, total: before.total + arrivals.length, by_event: addEvents(before.by_event, arrivals) }
  return [...(last?.at_s === at_s ? seconds.slice(0, -1) : seconds), second]
}
