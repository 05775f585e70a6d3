/** Consent: every revision of every session, or the record of one identifier. */
import { useMemo } from 'react'
import { decodeInteger, encodeInteger } from '../../../../src/contract/ids.ts'
import { useResource } from '../../data/resource.ts'
import { useSession } from '../../data/session.ts'
import { type Filter, FilterBar, projectFilter, useFilters } from '../../parts/Filters.tsx'
import { Id } from '../../parts/Id.tsx'
import { Json } from '../../parts/Json.tsx'
import { Page, Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/States.tsx'
import { ConsentTable } from './ConsentTable.tsx'

export function ConsentPage({ id }: { id: string }) {
  return id === '' ? <ConsentHistory /> : <ConsentRecord id={id} />
}

function ConsentHistory() {
  const { projects } = useSession()
  const filters = useMemo(
    (): Filter[] => [{ name: 'session_id', label: 'Session', kind: 'text', isSearch: true }, projectFilter(projects)],
    [projects],
  )
  const [values, change] = useFilters(filters)
  return (
    <Page title="Consent" isFull>
      <FilterBar filters={filters} values={values} onChange={change} />
      <ConsentTable
        query={values}
        empty={
          <Empty icon="consent" title={Object.keys(values).length > 0 ? 'No consent matches' : 'No consent is stored'}>
            <code>svc consent set --session-id first --decision granted</code>
          </Empty>
        }
      />
    </Page>
  )
}

function ConsentRecord({ id }: { id: string }) {
  const number = decodeInteger(id.replace(/^cns_/, ''))
  const query = { limit: 1, ...(number !== null && { cursor: encodeInteger(number + 1) }) }
  const resource = useResource('consent.list', { query }, ({ type }) => type === 'consent.changed')
  return (
    <Page title={id} copies="consent_id" lead="A revision of the consent of a session">
      <Shown resource={resource}>
        {({ items }) => {
          const record = items.find(({ consent_id }) => consent_id === id)
          if (record === undefined) return <Empty icon="consent" title="There is no such consent" />
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
