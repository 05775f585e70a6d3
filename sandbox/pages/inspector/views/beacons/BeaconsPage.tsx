/** Beacons as they arrive. */
import { useSearchParams } from 'wouter'
import { acceptMeanings } from '#contract/error-codes.ts'
import { formats } from '#contract/facts/formats.ts'
import { call } from '../../data/api.ts'
import { useLoaded } from '../../data/resource.ts'
import { LastMinute, type Rate } from '../../parts/LastMinute.tsx'
import { createChoice, type ListFilter, onDemand, projectFilter, sinceFilter } from '../../parts/lists/filters.ts'
import { ListPage } from '../../parts/lists/ListPage.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { detectKind } from '../../parts/values/identifiers.ts'
import { BeaconTable } from './BeaconTable.tsx'
import { FormatFunnel } from './FormatFunnel.tsx'

const verdictRate = (name: string, color: string, verdict: string): Rate => ({
  name,
  color,
  isCounted: ({ type }) => type === `beacon.${verdict}`,
  list: 'beacons',
  filters: { verdict },
})

const rates: readonly Rate[] = [
  verdictRate('Accepted', '--good', 'accepted'),
  verdictRate('Duplicate', '--warn', 'duplicate'),
  verdictRate('Rejected', '--bad', 'rejected'),
]

const events = ['render', 'visible', 'click', 'play_started', 'play_completed', 'completion', 'heartbeat']

const filters: readonly ListFilter[] = [
  { name: 'q', label: 'Slot, session or beacon', kind: 'text', isSearch: true },
  createChoice('verdict', 'Verdict', ['accepted', 'duplicate', 'rejected']),
  createChoice('event', 'Event', events),
  createChoice('format', 'Format', formats),
  createChoice('reason', 'Reason', Object.keys(acceptMeanings)),
  createChoice('billed', 'Billed', [
    ['true', 'yes'],
    ['false', 'no'],
  ]),
  projectFilter,
  sinceFilter,
  onDemand('metric', 'Metric'),
  onDemand('gross_cpm', 'Price CPM'),
  onDemand('currency', 'Currency'),
  onDemand('session_id', 'Session'),
  onDemand('until', 'Until'),
]

export function BeaconsPage() {
  const [params] = useSearchParams()
  const text = params.get('q') ?? ''
  const search = useLoaded(text, () => resolveSearch(text))
  return (
    <ListPage
      title="Beacons"
      filters={filters}
      isPausable
      noun="beacon"
      empty={
        <Empty icon="beacons" title="No beacons yet">
          A page sends them when it shows a frame: open the demo host, or <code>svc beacons send</code>.
        </Empty>
      }
      above={({ client_id, since, session_id }) => (
        <>
          <LastMinute rates={rates} />
          <FormatFunnel query={{ client_id, since, session_id: session_id ?? search.state.data?.session_id }} />
        </>
      )}
    >
      {({ q, ...rest }, listed) => (
        <Shown resource={search}>{(found) => <BeaconTable query={{ ...rest, ...found }} {...listed} />}</Shown>
      )}
    </ListPage>
  )
}

interface BeaconSearch {
  slot_id?: string
  beacon_id?: string
  session_id?: string
}

/**
 * Resolves to the filter of a search text: a slot by its form, a beacon if there is one, else a session. Both have
 * identifiers of any form.
 */
async function resolveSearch(text: string): Promise<BeaconSearch> {
  if (text === '') return {}
  if (detectKind(text) === 'placement') return { slot_id: text }
  const { items } = await call('beacons.list', { query: { beacon_id: text, limit: 1 } })
  return items.length > 0 ? { beacon_id: text } : { session_id: text }
}
