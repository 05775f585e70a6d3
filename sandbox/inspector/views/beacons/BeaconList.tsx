/** The beacons of one slot, oldest first. */

import { Link } from 'wouter'
import type { BeaconItem } from '../../../../src/contract/control/beacons.ts'
import { Time } from '../../parts/Time.tsx'
import { routeOfBeacon } from './beacon-route.ts'
import { VerdictChips } from './VerdictChips.tsx'

export function BeaconList({ beacons, since_ms }: { beacons: readonly BeaconItem[]; since_ms: number }) {
  return (
    <ol className="event-list">
      {beacons.map((beacon, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: beacons are only added, and a duplicate has the id of another
        <li key={index} className="event-row">
          <Time at_ms={beacon.received_at_ms} since_ms={since_ms} />
          <span className="bar said">
            <b>{beacon.event ?? 'unreadable'}</b>
            <VerdictChips beacon={beacon} />
          </span>
          <Link className="link" href={routeOfBeacon(beacon)}>
            Body
          </Link>
        </li>
      ))}
    </ol>
  )
}
