/** Totals per event, and the beacons of the last minute by second of arrival. */
import type { BeaconEvent } from '../contract/v1/beacons.ts'
import type { TailBeacon } from './feed.ts'

export type EventCounts = Partial<Record<BeaconEvent, number>>

export interface Counts {
  total: number
  by_event: EventCounts
  duplicates: number
  rejected: number
  would_bill: number
  /** The last minute, oldest first; seconds in which nothing arrived are left out. */
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

/** Counts beacons; those from before the connection have no part in the last minute. */
export function count(counts: Counts, arrivals: readonly Arrival[], now_ms: number): Counts {
  const at_s = Math.floor(now_ms / 1000)
  const by_event = { ...counts.by_event }
  const second: Second = { at_s, total: 0, by_event: {} }
  let { duplicates, rejected, would_bill } = counts
  for (const { beacon, is_live } of arrivals) {
    add(by_event, beacon.event)
    if (beacon.verdict === 'duplicate') duplicates++
    if (beacon.verdict === 'rejected') rejected++
    if (beacon.would_bill) would_bill++
    if (!is_live) continue
    second.total++
    add(second.by_event, beacon.event)
  }
  const seconds = second.total === 0 ? counts.seconds : merge(counts.seconds, second)
  const oldest = seconds.findIndex((entry) => entry.at_s >= at_s - minute_s)
  return {
    total: counts.total + arrivals.length,
    by_event,
    duplicates,
    rejected,
    would_bill,
    seconds: oldest === 0 ? seconds : oldest < 0 ? [] : seconds.slice(oldest),
  }
}

/** Beacons a second, lately: of one event, or of all. */
export function rate({ seconds }: Counts, now_ms: number, event: BeaconEvent | null = null): number {
  const now_s = Math.floor(now_ms / 1000)
  const recent = seconds.filter(({ at_s }) => at_s < now_s && at_s >= now_s - rateSpan_s)
  const sum = recent.reduce((sum, second) => sum + (event === null ? second.total : (second.by_event[event] ?? 0)), 0)
  return sum / rateSpan_s
}

/** One number for each of the last `minute_s` whole seconds, oldest first. */
export function lastMinute({ seconds }: Counts, now_ms: number): number[] {
  const now_s = Math.floor(now_ms / 1000)
  const totals = new Map(seconds.map(({ at_s, total }) => [at_s, total]))
  return Array.from({ length: minute_s }, (_, index) => totals.get(now_s - minute_s + index) ?? 0)
}

function add(counts: EventCounts, event: BeaconEvent | null): void {
  if (event !== null) counts[event] = (counts[event] ?? 0) + 1
}

function merge(seconds: readonly Second[], next: Second): readonly Second[] {
  const last = seconds.at(-1)
  if (last?.at_s !== next.at_s) return [...seconds, next]
  const by_event = { ...last.by_event }
  for (const [event, amount] of Object.entries(next.by_event) as [BeaconEvent, number][]) {
    by_event[event] = (by_event[event] ?? 0) + amount
  }
  return [...seconds.slice(0, -1), { at_s: next.at_s, total: last.total + next.total, by_event }]
}
