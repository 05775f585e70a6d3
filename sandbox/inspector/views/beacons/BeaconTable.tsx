/** A list of beacons by a query of beacons.list. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { BeaconItem } from '../../../../src/contract/control/beacons.ts'
import { useList } from '../../data/list.ts'
import type { SandboxEvent } from '../../data/live.ts'
import { type Column, DataTable } from '../../parts/DataTable.tsx'
import { Id } from '../../parts/Id.tsx'
import { Time } from '../../parts/Time.tsx'
import { routeOfBeacon } from './beacon-route.ts'
import { VerdictChips } from './VerdictChips.tsx'

const columns: readonly Column<BeaconItem>[] = [
  {
    id: 'event',
    header: 'Event',
    width: 'minmax(84px, 0.7fr)',
    isNarrow: true,
    cell: (beacon) => (
      <Link className="plain-link" href={routeOfBeacon(beacon)}>
        {beacon.event ?? 'unreadable'}
      </Link>
    ),
  },
  {
    id: 'verdict',
    header: 'Verdict',
    width: 'minmax(130px, 2fr)',
    isNarrow: true,
    cell: (beacon) => (
      <span className="bar">
        <VerdictChips beacon={beacon} />
      </span>
    ),
  },
  { id: 'format', header: 'Format', width: '64px', cell: ({ format }) => format ?? <span className="faint">–</span> },
  {
    id: 'slot_id',
    header: 'Slot',
    width: 'minmax(136px, 1fr)',
    cell: ({ slot_id }) => <Id kind="placement" id={slot_id} />,
  },
  {
    id: 'session_id',
    header: 'Session',
    width: 'minmax(90px, 0.9fr)',
    cell: ({ session_id }) => <Id kind="session" id={session_id} />,
  },
  {
    id: 'lag',
    header: 'Sent after',
    width: '84px',
    isNumber: true,
    cell: ({ occurred_at_ms, received_at_ms }) =>
      occurred_at_ms === null ? <span className="faint">–</span> : `${received_at_ms - occurred_at_ms} ms`,
  },
  {
    id: 'received_at_ms',
    header: 'When',
    width: '96px',
    isNarrow: true,
    isNumber: true,
    cell: ({ received_at_ms }) => <Time at_ms={received_at_ms} />,
  },
]

/** A duplicate has the beacon_id of another, and several may come within a millisecond. */
const keyOf = ({ slot_id, beacon_id, verdict, received_at_ms, event }: BeaconItem) =>
  `${received_at_ms} ${verdict} ${event} ${slot_id} ${beacon_id}`
const isAffected = ({ type }: SandboxEvent) => type.startsWith('beacon.')

export interface BeaconTableProps {
  query: Readonly<Record<string, string>>
  isLive?: boolean
  empty: ReactNode
}

export function BeaconTable({ query, isLive = true, empty }: BeaconTableProps) {
  const list = useList<BeaconItem>('beacons.list', { query }, { keyOf, isAffected, isLive })
  return <DataTable label="Beacons" list={list} columns={columns} keyOf={keyOf} routeOf={routeOfBeacon} empty={empty} />
}
