import { Link } from 'wouter'
import type { BeaconItem } from '#contract/resources/beacons.ts'
import { buildListAddress } from '../../parts/Figures.tsx'
import { type Column, idColumn, timeColumn } from '../../parts/lists/columns.tsx'
import { LiveTable, type LiveTableProps, type Table } from '../../parts/lists/DataTable.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { routeTo } from '../../parts/values/identifiers.ts'
import { Time } from '../../parts/values/Time.tsx'
import { lag } from '../../parts/values/times.ts'

const columns: readonly Column<BeaconItem>[] = [
  {
    id: 'event',
    header: 'Event',
    width: 'minmax(96px, 0.5fr)',
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
    // `accepted` and `bills viewable_impression` fit, on a phone in two lines.
    width: 'minmax(min(256px, 34vw), 2fr)',
    isNarrow: true,
    cell: (beacon) => (
      <span className="bar">
        <VerdictChips beacon={beacon} />
      </span>
    ),
  },
  { id: 'format', header: 'Format', width: '48px' },
  idColumn('slot_id', 'Slot', 'placement', 'minmax(136px, 0.5fr)'),
  { ...idColumn('session_id', 'Session', 'session', 'minmax(72px, 0.9fr)'), isWide: true },
  {
    id: 'lag',
    header: 'Delay',
    width: '84px',
    isNumber: true,
    cell: ({ occurred_at_ms, received_at_ms }) =>
      occurred_at_ms === null ? null : received_at_ms < occurred_at_ms ? (
        <span title="The beacon states a time after its arrival: the clock of its page is ahead of the sandbox clock.">
          {lag(received_at_ms - occurred_at_ms)}
        </span>
      ) : (
        <span title="From the event on the page to its receipt.">{lag(received_at_ms - occurred_at_ms)}</span>
      ),
  },
  timeColumn('received_at_ms'),
]

const table: Table<BeaconItem> = {
  id: 'beacons.list',
  label: 'Beacons',
  columns,
  // A duplicate has the beacon_id of another, and several may arrive in the same millisecond.
  getKey: ({ slot_id, beacon_id, verdict, received_at_ms, event }) =>
    `${received_at_ms} ${verdict} ${event} ${slot_id} ${beacon_id}`,
  getRoute: routeOfBeacon,
  isAffected: ({ type }) => type.startsWith('beacon.'),
}

export function BeaconTable(props: Omit<LiveTableProps<BeaconItem>, 'table'>) {
  return <LiveTable table={table} {...props} />
}

interface BeaconListProps {
  beacons: readonly BeaconItem[]
  /** Times are shown as spans after this one; default: the time of day. */
  since_ms?: number
}

export function BeaconList({ beacons, since_ms }: BeaconListProps) {
  return (
    <ol className="event-list">
      {beacons.map((beacon, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: beacons are only added, and a duplicate has the id of another
        <li key={index} className="event-row">
          <Time at_ms={beacon.received_at_ms} {...(since_ms === undefined ? {} : { since_ms })} />
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

type Judged = Pick<BeaconItem, 'verdict' | 'reason_code' | 'would_bill' | 'metric'>

/** Whether a beacon was accepted, why not, and what it would bill. */
export function VerdictChips({ beacon: { verdict, reason_code, would_bill, metric } }: { beacon: Judged }) {
  return (
    <>
      <Chip>{verdict}</Chip>
      {reason_code !== 'OK' && reason_code !== 'DUPLICATE' && (
        <Link className="chip-link" href={buildListAddress('beacons', { reason: reason_code })}>
          <Chip tone={verdict === 'rejected' ? 'bad' : 'warn'}>{reason_code}</Chip>
        </Link>
      )}
      {would_bill && <Chip tone="money">{`bills ${metric ?? ''}`}</Chip>}
    </>
  )
}

/**
 * Returns the page of a beacon. A beacon whose body could not be read has no identifier: it is found by its time of
 * arrival.
 */
function routeOfBeacon({ beacon_id, received_at_ms }: BeaconItem): string {
  return routeTo('beacon', beacon_id ?? `@${received_at_ms}`)
}
