/** Every slot of the sandbox, newest first. */
import { useMemo, useState } from 'react'
import { kindOf } from '../../app/identifiers.ts'
import { useSession } from '../../data/session.ts'
import { choiceOf, type Filter, FilterBar, projectFilter, sinceFilter, useFilters } from '../../parts/Filters.tsx'
import { Page } from '../../parts/Panel.tsx'
import { Empty } from '../../parts/States.tsx'
import { PlacementTable } from './PlacementTable.tsx'

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
