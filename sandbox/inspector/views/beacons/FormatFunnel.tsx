/** How far the placements of each format have come: decided, framed, rendered, visible, billable. */
import type { SandboxEvent } from '../../data/live.ts'
import { useResource } from '../../data/resource.ts'

const steps = ['decided', 'framed', 'rendered', 'visible', 'billable'] as const

const isAffected = ({ type }: SandboxEvent) =>
  type === 'placement.decided' || type === 'frame.loaded' || type === 'beacon.accepted'

export interface FunnelQuery {
  client_id?: string | undefined
  session_id?: string | undefined
  since?: string | undefined
}

/** The sandbox counts the newest 1,000 placements of a query: where there are older ones, the heading says so. */
export function FormatFunnel({ query }: { query: FunnelQuery }) {
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
