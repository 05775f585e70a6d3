/** How far the newest placements of each format have come: decided, framed, rendered, visible, billable. */
import type { SandboxEvent } from '../../data/live.ts'
import { useResource } from '../../data/resource.ts'

const steps = ['decided', 'framed', 'rendered', 'visible', 'billable'] as const

const isAffected = ({ type }: SandboxEvent) =>
  type === 'placement.decided' || type === 'frame.loaded' || type === 'beacon.accepted'

export function FormatFunnel({ query }: { query: { client_id?: string } }) {
  const { state } = useResource('placements.funnel', { query }, isAffected)
  if (state.status !== 'ready' || state.data.fills === 0) return null
  const { formats, fills, is_complete } = state.data
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: on a phone it scrolls, which the keyboard must reach
    <section className="format-funnels" aria-label="Funnel of each format" tabIndex={0}>
      {formats.map((format) => (
        <article key={format.format} className="panel format-funnel">
          <h2 className="bar spread">
            {format.format}
            <span className="faint tiny">
              {is_complete ? `${format.decided} fills` : `of the newest ${fills} fills`}
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
  )
}
