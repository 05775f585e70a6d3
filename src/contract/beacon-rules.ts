/** Rules that one beacon is judged by before what it is worth (A71, A73): the sandbox and `svc beacons lint` share them. */
import type { ReasonCode } from './errors.ts'
import { type BeaconEvent, type BeaconRequest, beaconEventSpellings } from './v1/beacons.ts'

/** Events that exist for a clip only (A73). */
export const clipEvents: ReadonlySet<BeaconEvent> = new Set(['play_started', 'play_completed', 'completion'])

/** The canonical kind of a spelling of public clients (A71). */
export function canonicalEvent(event: BeaconRequest['event']): BeaconEvent {
  return event in beaconEventSpellings
    ? beaconEventSpellings[event as keyof typeof beaconEventSpellings]
    : (event as BeaconEvent)
}

/** When a beacon says that it happened, Unix epoch milliseconds; null when it does not say. */
export function occurrenceOf({
  occurred_at,
  occurred_at_ms,
}: Pick<BeaconRequest, 'occurred_at' | 'occurred_at_ms'>): number | null {
  if (occurred_at_ms !== undefined) return occurred_at_ms
  return occurred_at === undefined ? null : Math.max(0, Date.parse(occurred_at))
}

/** Milliseconds. */
export interface BeaconAges {
  beacon_max_age_ms: number
  beacon_max_future_skew_ms: number
}

/** Why a beacon that is sent at `now_ms` is out of time (A73); null when it is not. All in milliseconds. */
export function timeProblem(
  { occurred_at_ms }: Pick<BeaconRequest, 'occurred_at_ms'>,
  happened_at_ms: number,
  now_ms: number,
  { beacon_max_age_ms, beacon_max_future_skew_ms }: BeaconAges,
): ReasonCode | null {
  const isNumber = occurred_at_ms !== undefined
  if (isNumber && happened_at_ms < secondsBelow && now_ms >= secondsBelow) return 'occurred_at_in_seconds'
  if (happened_at_ms < now_ms - beacon_max_age_ms) return 'beacon_stale'
  return happened_at_ms > now_ms + beacon_max_future_skew_ms ? 'beacon_in_future' : null
}

/** Epoch seconds of our century look like this when they are taken for milliseconds: before the year 2001. */
const secondsBelow = 1e12
