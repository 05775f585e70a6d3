import type { SandboxEvent } from '../../data/live.ts'
import { useResource } from '../../data/resource.ts'
import { Figure, type Filters } from '../../parts/Figures.tsx'

const steps = ['decided', 'framed', 'rendered', 'visible', 'billable'] as const

const isAffected = ({ type }: SandboxEvent) =>
  type === 'placement.decided' || type === 'frame.loaded' || type === 'beacon.accepted'

interface FunnelQuery {
  client_id?: string | undefined
  session_id?: string | undefined
  since?: string | undefined
}

/**
 * How far the placements of each format got: decided, framed, rendered, visible, billable. The sandbox counts the
 * newest 1,000 placements of a query: if there are older ones, the heading says so.
 */
export function FormatFunnel({ query }: { query: FunnelQuery }) {
  const { state } = useResource('placements.funnel', { query }, isAffected)
  if (state.status !== 'ready' || state.data.fills === 0) return null
  const { formats, placements, is_complete, oldest_slot_id } = state.data
  const counted = { ...query, from_slot_id: is_complete ? null : oldest_slot_id }
  const stepFilters = (step: (typeof steps)[number], format: string): Filters => ({
    ...counted,
    format,
    reached: step === 'decided' ? null : step,
  })
  return (
    <>
      <p className="label soft funnel-range">
        {!is_complete && 'Newest '}
        <Figure count={placements} list="placements" filters={counted} />{' '}
        {placements === 1 ? 'placement' : 'placements'}
        {query.client_id !== undefined && ` in ${query.client_id}`}
        {query.session_id !== undefined && ` in session ${query.session_id}`}
        {query.since !== undefined && ` in the last ${query.since}`}
        {!is_complete && '. Older ones are not counted: filter by project, session or time.'}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: on a phone it scrolls, which the keyboard must reach */}
      <section className="format-funnels" aria-label="Funnel by format" tabIndex={0}>
        {formats.map((format) => (
          <article key={format.format} className="panel format-funnel">
            <h2 className="bar spread">
              {format.format}
              <span className="faint tiny">
                <Figure count={format.decided} list="placements" filters={stepFilters('decided', format.format)} />{' '}
                {format.decided === 1 ? 'fill' : 'fills'}
              </span>
            </h2>
            <dl>
              {steps.map((step) => (
                <div key={step} data-step={step}>
                  <dt className="soft">{step}</dt>
                  <dd className="funnel-track">
                    {format[step] > 0 && (
                      <span className="funnel-bar" style={{ width: `${(100 * format[step]) / format.decided}%` }} />
                    )}
                  </dd>
                  <dd className="number">
                    <Figure count={format[step]} list="placements" filters={stepFilters(step, format.format)} />
                  </dd>
                </div>
              ))}
            </dl>
          </article>
        ))}
      </section>
    </>
  )
}
