/** How many placements there are, how they ended, and what production would have billed. */
import { Link } from 'wouter'
import type { SandboxEvent } from '../../data/live.ts'
import { useResource } from '../../data/resource.ts'
import { Chip } from '../../parts/Chip.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Shown } from '../../parts/States.tsx'

const isAffected = ({ type }: SandboxEvent) => type === 'placement.decided' || type.startsWith('beacon.')

export function Totals() {
  const funnel = useResource('placements.funnel', {}, isAffected)
  const billing = useResource('billing.report', {}, isAffected)
  return (
    <Panel
      title="Totals"
      actions={
        <Link className="link" href="/billing">
          Billing
        </Link>
      }
    >
      <Shown resource={funnel}>
        {({ placements, is_complete, fills, no_fills, pending, no_fill_reasons }) => (
          <>
            <dl className="figures">
              <Total name={is_complete ? 'Placements' : 'Newest placements'} value={placements} />
              <Total name="Fills" value={fills} />
              <Total name="No-fills" value={no_fills} />
              {pending > 0 && <Total name="Pending" value={pending} />}
              {billing.state.status === 'ready' && (
                <>
                  <Total name="Billed" value={billing.state.data.totals.reduce((sum, { count }) => sum + count, 0)} />
                  <Total name="Did not count" value={billing.state.data.not_counted.count} />
                </>
              )}
            </dl>
            {no_fill_reasons.length > 0 && (
              <ul className="bar wrapping reasons-line">
                {no_fill_reasons.map(({ no_fill_reason, count }) => (
                  <li key={no_fill_reason} className="bar">
                    <Chip tone="warn">{no_fill_reason}</Chip>
                    <span className="soft">{count.toLocaleString('en')}</span>
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
      </Shown>
    </Panel>
  )
}

function Total({ name, value }: { name: string; value: number }) {
  return (
    <div>
      <dt className="soft">{name}</dt>
      <dd>{value.toLocaleString('en')}</dd>
    </div>
  )
}
