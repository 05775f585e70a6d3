/** Which beacons are shown. A member that is null lets everything through. */
import type { Verdict } from '../contract/control/beacons.ts'
import type { Format } from '../contract/fields.ts'
import type { BeaconEvent } from '../contract/v1/beacons.ts'
import type { TailBeacon } from './feed.ts'

export interface TailFilter {
  event: BeaconEvent | null
  format: Format | null
  verdict: Verdict | null
  session: string | null
  /** Part of an identifier, an event, a reason or a session, in any case. */
  search: string
}

export const noFilter: TailFilter = { event: null, format: null, verdict: null, session: null, search: '' }

export function passes(beacon: TailBeacon, filter: TailFilter): boolean {
  return (
    (filter.event === null || beacon.event === filter.event) &&
    (filter.format === null || beacon.format === filter.format) &&
    (filter.verdict === null || beacon.verdict === filter.verdict) &&
    (filter.session === null || beacon.session_id === filter.session) &&
    (filter.search === '' || holds(beacon, filter.search.toLowerCase()))
  )
}

function holds(beacon: TailBeacon, search: string): boolean {
  const { beacon_id, slot_id, session_id, client_id, event, format, verdict, reason_code, metric } = beacon
  return [beacon_id, slot_id, session_id, client_id, event, format, verdict, reason_code, metric].some(
    (value) => value?.toLowerCase().includes(search) === true,
  )
}
