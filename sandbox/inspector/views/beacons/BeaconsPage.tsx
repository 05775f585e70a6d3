/** Beacons as they come, and how far the placements of each format have come. */
import { useMemo, useState } from 'react'
import { kindOf } from '../../app/identifiers.ts'
import type { SandboxEvent } from '../../data/live.ts'
import { useResource } from '../../data/resource.ts'
import { useSession } from '../../data/session.ts'
import { choiceOf, type Filter, FilterBar, projectFilter, sinceFilter, useFilters } from '../../parts/Filters.tsx'
import { LastMinute, type Rate } from '../../parts/LastMinute.tsx'
import { Page } from '../../parts/Panel.tsx'
import { Empty } from '../../parts/States.tsx'
import { BeaconTable } from './BeaconTable.tsx'

const rates: readonly Rate[] = [
  { name: 'Accepted', color: '--good', isCounted: ({ type }) => type === 'beacon.accepted' },
  { name: 'Duplicate', color: '--warn', isCounted: ({ type }) => type === 'beacon.duplicate' },
  { name: 'Rejected', color: '--bad', isCounted: ({ type }) => type === 'beacon.rejected' },
]

const events = ['render', 'visible', 'click', 'play_started', 'play_completed', 'completion', 'heartbeat']

export function BeaconsPage() {
  const { projects } = useSession()
  const filters = useMemo((): Filter[] => {
    return [
      {
        name: 'q',
        label: 'Slot, session or beacon',
        kind: 'text',
        placeholder: 'Slot, session or beacon',
        isSearch: true,
      },
      choiceOf('verdict', 'Verdict', ['accepted', 'duplicate', 'rejected']),
      choiceOf('event', 'Event', events),
      choiceOf('format', 'Format', ['banner', 'clip', 'native']),
      projectFilter(projects),
      sinceFilter,
    ]
  }, [projects])
  const [values, change] = useFilters(filters)
  const [isLive, setLive] = useState(true)
  const { q, ...rest } = values
  const query: Readonly<Record<string, string>> = { ...rest, ...searchOf(q) }
  return (
    <Page title="Beacons" isFull>
      <LastMinute rates={rates} />
      <FormatFunnel query={{ client_id: query.client_id, session_id: query.session_id, since: query.since }} />
      <FilterBar filters={filters} values={values} onChange={change} live={{ isOn: isLive, onChange: setLive }} />
      <BeaconTable
        query={query}
        isLive={isLive}
        empty={
          Object.keys(values).length > 0 ? (
            <Empty icon="filter" title="No beacon matches these filters" />
          ) : (
            <Empty icon="beacons" title="No beacons yet">
              A page sends them when it shows a frame: open the demo host, or <code>svc beacons send</code>.
            </Empty>
          )
        }
      />
    </Page>
  )
}

/** Returns the filter of a search text: a slot by its form, a beacon by the form of a UUID, else a session. */
function searchOf(text: string | undefined): { slot_id?: string; beacon_id?: string; session_id?: string } {
  if (text === undefined) return {}
  if (kindOf(text) === 'placement') return { slot_id: text }
  return /^[0-9a-f]{8}-[0-9a-f-]{27}$/i.test(text) ? { beacon_id: text } : { session_id: text }
}

const steps = ['decided', 'framed', 'rendered', 'visible', 'billable'] as const

const isAffected = ({ type }: SandboxEvent) =>
  type === 'placement.decided' || type === 'frame.loaded' || type === 'beacon.accepted'

interface FunnelQuery {
  client_id?: string | undefined
  session_id?: string | undefined
  since?: string | undefined
}

/**
 * How far the placements of each format have come: decided, framed, rendered, visible, billable. The sandbox counts the
 * newest 1,000 placements of a query: where there are older ones, the heading says so.
 */
function FormatFunnel({ query }: { query: FunnelQuery }) {
  const { state } = useResource('placements.funnel', { query }, isAffected)
  if (state.status !== 'ready' || state.data.fills === 0) return null
  const { formats, placements, is_complete } = state.data
  return (
    <>
      <p className="label soft funnel-range">
        {!is_complete && 'The newest '}
        {placements.toLocaleString('en')} {placements === 1 ? 'placement' : 'placements'}
        {query.client_id !== undefined && ` of ${query.client_id}`}
        {query.session_id !== undefined && ` in session ${query.session_id}`}
        {query.since !== undefined && ` of the last ${query.since}`}
        {!is_complete && '. Older ones are not counted: filter by project, session or time.'}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: on a phone it scrolls, which the keyboard must reach */}
      <section className="format-funnels" aria-label="Funnel of each format" tabIndex={0}>
        {formats.map((format) => (
          <article key={format.format} className="panel format-funnel">
            <h2 className="bar spread">
              {format.format}
              <span className="faint tiny">
                {format.decided.toLocaleString('en')} {format.decided === 1 ? 'fill' : 'fills'}
              </span>
            </h2>
            <dl>
              {steps.map((step) => (
                <div key={step} data-step={step}>
                  <dt className="soft">{step}</dt>
                  <dd className="funnel-track">
                    <span
                      className="funnel-bar"
                      style={{ width: `${(100 * format[step]) / Math.max(1, format.decided)}%` }}
                    />
                  </dd>
                  <dd className="number">{format[step].toLocaleString('en')}</dd>
                </div>
              ))}
            </dl>
          </article>
        ))}
      </section>
    </>
  )
}
