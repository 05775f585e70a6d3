/** Every slot of the sandbox, newest first; those of one job, campaign or session. */
import { type ReactNode, useMemo, useState } from 'react'
import type { PlacementItem } from '../../../../src/contract/control/placements.ts'
import { useList } from '../../data/list.ts'
import type { SandboxEvent } from '../../data/live.ts'
import { useResource } from '../../data/resource.ts'
import { useSession } from '../../data/session.ts'
import { Chip } from '../../parts/Chip.tsx'
import { type Column, DataTable } from '../../parts/DataTable.tsx'
import { choiceOf, type Filter, FilterBar, projectFilter, sinceFilter, useFilters } from '../../parts/Filters.tsx'
import { Id, kindOf, routeTo } from '../../parts/Id.tsx'
import { Page } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/States.tsx'
import { TabSet } from '../../parts/Tabs.tsx'
import { dateAndTime, Time } from '../../parts/Time.tsx'
import { BeaconTable } from '../beacons/BeaconsPage.tsx'
import { ConsentTable } from '../records/ConsentPage.tsx'

export function PlacementsPage() {
  const { projects } = useSession()
  const filters = useMemo((): Filter[] => {
    return [
      {
        name: 'q',
        label: 'Session, job, slot or campaign',
        kind: 'text',
        placeholder: 'Session, job, slot, campaign',
        isSearch: true,
      },
      projectFilter(projects),
      choiceOf('fill', 'Outcome', [
        ['true', 'fills'],
        ['false', 'no-fills'],
      ]),
      choiceOf('format', 'Format', ['banner', 'clip', 'native']),
      sinceFilter,
    ]
  }, [projects])
  const [values, change] = useFilters(filters)
  const [isLive, setLive] = useState(true)
  const { q, ...rest } = values
  const query = { ...rest, ...searchOf(q) }
  const isFiltered = Object.keys(values).length > 0
  return (
    <Page title="Placements" isFull>
      <FilterBar filters={filters} values={values} onChange={change} live={{ isOn: isLive, onChange: setLive }} />
      <PlacementTable
        query={query}
        isLive={isLive}
        empty={
          isFiltered ? (
            <Empty icon="filter" title="No placement matches these filters" />
          ) : (
            <Empty icon="placements" title="No placements yet">
              <p>Request the first one:</p>
              <code>svc placements create --format banner --topic coffee</code>
            </Empty>
          )
        }
      />
    </Page>
  )
}

/** Returns the filter of a search text: a job or a campaign by its form, else a session. A slot is opened, not searched. */
function searchOf(text: string | undefined): {
  slot_id?: string
  job_id?: string
  campaign_id?: string
  session_id?: string
} {
  if (text === undefined) return {}
  const kind = kindOf(text)
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

/** `/campaigns/cmp_...`: the slots that a campaign has filled. */
export function CampaignPage({ id }: { id: string }) {
  return (
    <Page title={id} copies="campaign_id" lead="The placements that this campaign has filled" isFull>
      <PlacementTable
        query={{ campaign_id: id }}
        isLive
        empty={
          <Empty icon="placements" title="This campaign has filled no placement">
            The decision of a placement says which rule has removed it.
          </Empty>
        }
      />
    </Page>
  )
}

const columns: readonly Column<PlacementItem>[] = [
  {
    id: 'slot_id',
    header: 'Slot',
    width: 'minmax(136px, 1fr)',
    isNarrow: true,
    cell: ({ slot_id }) => <Id kind="placement" id={slot_id} />,
  },
  {
    id: 'outcome',
    header: 'Outcome',
    width: 'minmax(112px, 1.3fr)',
    isNarrow: true,
    cell: (item) => (
      <span className="bar">
        <Chip>{outcomeOf(item)}</Chip>
        <Chip tone="warn">{item.no_fill_reason}</Chip>
      </span>
    ),
  },
  { id: 'format', header: 'Format', width: '64px', cell: ({ format }) => format ?? <span className="faint">–</span> },
  { id: 'job_type', header: 'Surface', width: '64px', cell: ({ job_type }) => job_type },
  {
    id: 'session_id',
    header: 'Session',
    width: 'minmax(100px, 1fr)',
    cell: ({ session_id }) => <Id kind="session" id={session_id} />,
  },
  { id: 'client_id', header: 'Project', width: 'minmax(84px, 0.7fr)', cell: ({ client_id }) => client_id },
  {
    id: 'decision',
    header: 'Decided in',
    width: '84px',
    isNumber: true,
    cell: ({ created_at_ms, decided_at_ms }) =>
      decided_at_ms === null ? <span className="faint">–</span> : `${decided_at_ms - created_at_ms} ms`,
  },
  {
    id: 'created_at_ms',
    header: 'When',
    width: '104px',
    isNarrow: true,
    isNumber: true,
    cell: ({ created_at_ms }) =>
      isToday(created_at_ms) ? <Time at_ms={created_at_ms} /> : <span>{dateAndTime(created_at_ms)}</span>,
  },
]

/** Returns the outcome of a slot in a word: `fill`, `no_fill`, `pending`, `expired`. */
export function outcomeOf({ fill, status }: Pick<PlacementItem, 'fill' | 'status'>): string {
  if (fill === null) return status
  return fill ? 'fill' : 'no_fill'
}

function isToday(at_ms: number): boolean {
  return new Date(at_ms).toDateString() === new Date().toDateString()
}

const keyOf = ({ slot_id }: PlacementItem) => slot_id
const routeOf = ({ slot_id }: PlacementItem) => routeTo('placement', slot_id)
const isAffected = ({ type }: SandboxEvent) => type === 'placement.decided' || type === 'job.created'

interface PlacementTableProps {
  query: Readonly<Record<string, string>>
  isLive?: boolean
  empty: ReactNode
}

/** A list of placements by a query of placements.list. A slot_id shows that one alone. */
function PlacementTable({ query, isLive = true, empty }: PlacementTableProps) {
  const { slot_id } = query
  const list = useList<PlacementItem>('placements.list', slot_id === undefined ? { query } : null, {
    keyOf,
    isAffected,
    isLive,
  })
  const single = useResource('placements.explain', slot_id === undefined ? null : { params: { slot_id } })
  if (slot_id === undefined) {
    return <DataTable label="Placements" list={list} columns={columns} keyOf={keyOf} routeOf={routeOf} empty={empty} />
  }
  return (
    <Shown resource={single} missing={empty}>
      {(item) => (
        <DataTable
          label="Placements"
          list={{ ...list, items: [item], isLoading: false, hasMore: false, problem: null }}
          columns={columns}
          keyOf={keyOf}
          routeOf={routeOf}
        />
      )}
    </Shown>
  )
}

/** `/sessions/ID`: its placements, its beacons and the history of its consent. */
export function SessionPage({ id }: { id: string }) {
  const query = { session_id: id }
  return (
    <Page title={id} copies="session_id" lead="A session, in every project that has one of this name" isFull>
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
