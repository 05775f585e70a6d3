/** Consent: every revision of every session, or the record of one identifier. */
import { decodeInteger, encodeInteger } from '#contract/ids.ts'
import type { ConsentItem } from '#contract/resources/consent.ts'
import type { SandboxEvent } from '../../data/live.ts'
import { useResource } from '../../data/resource.ts'
import { Json } from '../../parts/Json.tsx'
import { type Column, idColumn, timeWidth } from '../../parts/lists/columns.tsx'
import { LiveTable, type LiveTableProps, type Table } from '../../parts/lists/DataTable.tsx'
import { type ListFilter, projectFilter } from '../../parts/lists/filters.ts'
import { ListPage } from '../../parts/lists/ListPage.tsx'
import { Page } from '../../parts/Page.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { Chip, findTone } from '../../parts/values/Chip.tsx'
import { Id } from '../../parts/values/Id.tsx'
import { routeTo } from '../../parts/values/identifiers.ts'
import { Time } from '../../parts/values/Time.tsx'

export function ConsentPage({ id }: { id: string }) {
  return id === '' ? <ConsentHistory /> : <ConsentRecord id={id} />
}

const filters: readonly ListFilter[] = [
  { name: 'session_id', label: 'Session', kind: 'text', isSearch: true },
  projectFilter,
]

function ConsentHistory() {
  return (
    <ListPage
      title="Consent"
      filters={filters}
      noun="consent"
      empty={
        <Empty icon="consent" title="No consent stored">
          <code>svc api consent.set --session-id first --decision granted</code>
        </Empty>
      }
    >
      {(query, listed) => <ConsentTable query={query} {...listed} />}
    </ListPage>
  )
}

function ConsentRecord({ id }: { id: string }) {
  const number = decodeInteger(id.replace(/^cns_/, ''))
  const query = { limit: 1, ...(number !== null && { cursor: encodeInteger(number + 1) }) }
  const resource = useResource('consent.list', { query }, isAffected)
  return (
    <Page title={id} copies="consent_id" lead="One consent revision of a session">
      <Shown resource={resource}>
        {({ items }) => {
          const record = items.find(({ consent_id }) => consent_id === id)
          if (record === undefined) return <Empty icon="consent" title="No such consent revision" />
          return (
            <Panel title={`Revision ${record.revision}`} actions={<Id kind="session" id={record.session_id} />}>
              <Json value={record} endpoint="consent.list" prefix="items" label="the consent" />
            </Panel>
          )
        }}
      </Shown>
    </Page>
  )
}

/** Consent also expires when the clock moves. */
const isAffected = ({ type }: SandboxEvent) => type === 'consent.changed' || type === 'clock.changed'

const flag = (isOn: boolean) => <Chip tone={isOn ? 'good' : 'plain'}>{isOn ? 'yes' : 'no'}</Chip>

const columns: readonly Column<ConsentItem>[] = [
  { ...idColumn('session_id', 'Session', 'session', 'minmax(110px, 1.3fr)'), isNarrow: true },
  {
    id: 'state',
    header: 'State',
    // `withdrawn` and `replaced` fit, on a phone in two lines.
    width: 'minmax(min(150px, 30vw), 1.2fr)',
    isNarrow: true,
    cell: ({ lifecycle_state, is_current }) => (
      <span className="bar">
        <Chip tone={is_current ? findTone(lifecycle_state) : 'plain'}>{lifecycle_state}</Chip>
        {!is_current && <span className="faint tiny">replaced</span>}
      </span>
    ),
  },
  { id: 'revision', header: 'Revision', width: '64px', isNumber: true },
  {
    id: 'semantic',
    header: 'Topic may match',
    width: '116px',
    cell: ({ semantic_targeting }) => flag(semantic_targeting),
  },
  { id: 'prompt', header: 'Prompt shared', width: '104px', cell: ({ prompt_shared }) => flag(prompt_shared) },
  { id: 'source', header: 'Source', width: 'minmax(80px, 0.8fr)', isWide: true },
  {
    id: 'expires',
    header: 'Expires',
    width: timeWidth,
    isWide: true,
    cell: ({ expires_at_ms }) => <Time at_ms={expires_at_ms} show="date" />,
  },
  {
    id: 'updated',
    header: 'Stored',
    width: timeWidth,
    isNarrow: true,
    isNumber: true,
    cell: ({ updated_at_ms }) => <Time at_ms={updated_at_ms} show="date" />,
  },
]

const table: Table<ConsentItem> = {
  id: 'consent.list',
  label: 'Consent',
  columns,
  getKey: ({ consent_id, revision }) => `${consent_id} ${revision}`,
  getRoute: ({ consent_id }) => routeTo('consent', consent_id),
  isAffected,
}

export function ConsentTable(props: Omit<LiveTableProps<ConsentItem>, 'table'>) {
  return <LiveTable table={table} {...props} />
}
