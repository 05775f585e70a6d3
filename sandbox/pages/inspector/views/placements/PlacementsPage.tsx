/** Every slot of the sandbox, newest first; also the slots of one job, campaign or session. */
import { lazy, type ReactNode, Suspense } from 'react'
import { Link, useSearchParams } from 'wouter'
import { acceptMeanings } from '#contract/error-codes.ts'
import { formats } from '#contract/facts/formats.ts'
import { noFillReasons } from '#contract/no-fill.ts'
import type { PlacementItem } from '#contract/resources/placements.ts'
import { createSingleList } from '../../data/list.ts'
import { useResource } from '../../data/resource.ts'
import { buildListAddress, TotalsPanel } from '../../parts/Figures.tsx'
import { type Column, idColumn, timeColumn } from '../../parts/lists/columns.tsx'
import { DataTable, LiveTable, type LiveTableProps, type Table } from '../../parts/lists/DataTable.tsx'
import { createChoice, type ListFilter, onDemand, projectFilter, sinceFilter } from '../../parts/lists/filters.ts'
import { ListPage } from '../../parts/lists/ListPage.tsx'
import { Page } from '../../parts/Page.tsx'
import { Empty, Loading, Shown } from '../../parts/Shown.tsx'
import { TabSet } from '../../parts/TabSet.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { detectKind, routeTo } from '../../parts/values/identifiers.ts'
import { BeaconTable } from '../beacons/BeaconTable.tsx'
import { ConsentTable } from '../records/ConsentPage.tsx'

/** How far a fill may get. */
const fillSteps = ['framed', 'rendered', 'visible', 'billable']

const filters: readonly ListFilter[] = [
  {
    name: 'q',
    label: 'Session, job, slot or campaign',
    kind: 'text',
    placeholder: 'Session, job, slot, campaign',
    isSearch: true,
  },
  projectFilter,
  createChoice('fill', 'Outcome', [
    ['true', 'fills'],
    ['false', 'no-fills'],
  ]),
  createChoice('format', 'Format', formats),
  createChoice('billed', 'Billed', [
    ['true', 'yes'],
    ['false', 'no'],
  ]),
  { ...createChoice('missing', 'Did not reach', fillSteps), unset: 'not filtered' },
  createChoice('reason', 'Reason', [...Object.keys(noFillReasons), ...Object.keys(acceptMeanings)]),
  sinceFilter,
  onDemand('reached', 'Reached'),
  onDemand('decided', 'Decided'),
  onDemand('session_id', 'Session'),
  onDemand('from_slot_id', 'From slot'),
]

export function PlacementsPage() {
  return (
    <ListPage
      title="Placements"
      filters={filters}
      isPausable
      noun="placement"
      actions={() => (
        <Link className="small" href="/bundles">
          Open a bundle
        </Link>
      )}
      empty={
        <Empty icon="placements" title="No placements yet">
          <p>Request the first one:</p>
          <code>svc placements create --format banner --topic coffee</code>
        </Empty>
      }
    >
      {({ q, ...rest }, listed) => <PlacementTable query={{ ...rest, ...parseSearch(q) }} {...listed} />}
    </ListPage>
  )
}

/** Returns the filter of a search text: a job or a campaign by its form, else a session. A slot is opened, not searched. */
function parseSearch(text: string | undefined): {
  slot_id?: string
  job_id?: string
  campaign_id?: string
  session_id?: string
} {
  if (text === undefined) return {}
  const kind = detectKind(text)
  if (kind === 'placement') return { slot_id: text }
  if (kind === 'campaign') return { campaign_id: text }
  return kind === 'job' ? { job_id: text } : { session_id: text }
}

/** `/jobs/job_...`: the slots of one job. */
export function JobPage({ id }: { id: string }) {
  return (
    <Page title={id} copies="job_id" lead="The slots of this job" isFull>
      <PlacementTable query={{ job_id: id }} empty={<Empty icon="agent" title="There is no such job" />} />
    </Page>
  )
}

/** `/campaigns/cmp_...`: the slots that a campaign filled, and its creatives in every look. */
export function CampaignPage({ id }: { id: string }) {
  const [params, setParams] = useSearchParams()
  const placements = (
    <PlacementTable
      query={{ campaign_id: id }}
      empty={
        <Empty icon="placements" title="This campaign has not filled any placement">
          The decision of a placement says which rule removed it.
        </Empty>
      }
    />
  )
  return (
    <Page title={id} copies="campaign_id" lead="The placements that this campaign filled, and how its ads look" isFull>
      <TabSet
        label="Of this campaign"
        className="full-tabs"
        panelClassName="full-panel"
        selectedKey={params.get('part') === 'looks' ? 'looks' : 'placements'}
        onSelect={(part) => setParams({ part }, { replace: true })}
        tabs={[
          { id: 'placements', title: 'Placements', content: placements },
          { id: 'looks', title: 'Every look', content: <Looks campaign_id={id} /> },
        ]}
      />
    </Page>
  )
}

const CampaignSheet = lazy(async () => ({
  default: (await import('../demand/CampaignSheet.tsx')).CampaignSheet,
}))

function Looks({ campaign_id }: { campaign_id: string }) {
  return (
    <div className="looks-panel scroller">
      <Suspense fallback={<Loading />}>
        <CampaignSheet campaign_id={campaign_id} />
      </Suspense>
    </div>
  )
}

const columns: readonly Column<PlacementItem>[] = [
  { ...idColumn('slot_id', 'Slot', 'placement', 'minmax(136px, 1fr)'), isNarrow: true },
  {
    id: 'outcome',
    header: 'Outcome',
    width: 'minmax(94px, 1.3fr)',
    isNarrow: true,
    cell: (item) => (
      <span className="bar">
        <Chip>{readOutcome(item)}</Chip>
        {item.forced && <Chip tone="warn">forced</Chip>}
        {item.no_fill_reason !== null && (
          <Link className="chip-link" href={buildListAddress('placements', { reason: item.no_fill_reason })}>
            <Chip tone="warn">{item.no_fill_reason}</Chip>
          </Link>
        )}
      </span>
    ),
  },
  { id: 'format', header: 'Format', width: '64px' },
  { id: 'job_type', header: 'Surface', width: '64px' },
  idColumn('session_id', 'Session', 'session', 'minmax(100px, 1fr)'),
  { id: 'client_id', header: 'Project', width: 'minmax(84px, 0.7fr)', isWide: true },
  {
    id: 'reached',
    header: 'Reached',
    width: '72px',
    cell: ({ fill, reached }) => (fill === true ? (reached ?? 'decision') : null),
  },
  timeColumn('created_at_ms'),
]

/** Returns the outcome of a slot in a word: `fill`, `no_fill`, `pending`, `expired`. */
export function readOutcome({ fill, status }: Pick<PlacementItem, 'fill' | 'status'>): string {
  if (fill === null) return status
  return fill ? 'fill' : 'no_fill'
}

const table: Table<PlacementItem> = {
  id: 'placements.list',
  label: 'Placements',
  columns,
  getKey: ({ slot_id }) => slot_id,
  getRoute: ({ slot_id }) => routeTo('placement', slot_id),
  // How far they got changes with their frames and beacons.
  isAffected: ({ type }) =>
    type === 'placement.decided' || type === 'job.created' || type === 'frame.loaded' || type.startsWith('beacon.'),
}

/** A list of placements by a query of placements.list. A slot_id shows only that one. */
function PlacementTable(props: Omit<LiveTableProps<PlacementItem>, 'table'>) {
  const { slot_id } = props.query
  if (slot_id === undefined)
    return <LiveTable table={table} {...props} query={{ ...props.query, with_reached: 'true' }} />
  return <OnePlacement slot_id={slot_id} empty={props.empty} />
}

function OnePlacement({ slot_id, empty }: { slot_id: string; empty: ReactNode }) {
  const resource = useResource('placements.explain', { params: { slot_id } })
  return (
    <Shown resource={resource} missing={empty}>
      {(item) => <DataTable {...table} list={createSingleList(item, resource.reload)} />}
    </Shown>
  )
}

/** `/sessions/ID`: its placements, its beacons and the history of its consent. */
export function SessionPage({ id }: { id: string }) {
  const query = { session_id: id }
  return (
    <Page title={id} copies="session_id" lead="A session, in every project that has one with this name" isFull>
      <TotalsPanel query={query} />
      <TabSet
        label="Of this session"
        className="full-tabs"
        panelClassName="full-panel"
        tabs={[
          {
            id: 'placements',
            title: 'Placements',
            content: (
              <PlacementTable
                query={query}
                empty={<Empty icon="placements" title="This session has no placements" />}
              />
            ),
          },
          {
            id: 'beacons',
            title: 'Beacons',
            content: <BeaconTable query={query} empty={<Empty icon="beacons" title="This session has no beacons" />} />,
          },
          {
            id: 'consent',
            title: 'Consent',
            content: (
              <ConsentTable query={query} empty={<Empty icon="consent" title="This session has stored no consent" />} />
            ),
          },
        ]}
      />
    </Page>
  )
}
