/** The page of a beacon. One whose body could not be read has no identifier: it is found by when it came. */
import type { BeaconItem } from '../../../../src/contract/control/beacons.ts'
import { routeTo } from '../../app/identifiers.ts'

export function routeOfBeacon({ beacon_id, received_at_ms }: BeaconItem): string {
  return routeTo('beacon', beacon_id ?? `@${received_at_ms}`)
}

/** Returns when an unreadable beacon came, of the last part of its route; null when it is an identifier. */
export function timeOfRoute(id: string): number | null {
  return /^@\d{1,15}$/.test(id) ? Number(id.slice(1)) : null
}
