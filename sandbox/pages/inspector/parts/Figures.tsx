/**
 * Counts that open the rows behind them. Every count of a page is a `Figure`: the list that it opens has as many rows as
 * it says.
 */
import { Link } from 'wouter'
import type { BillingReport } from '#contract/resources/billing.ts'
import type { SandboxEvent } from '../data/live.ts'
import { useResource } from '../data/resource.ts'
import { Panel } from './Panel.tsx'
import { Shown } from './Shown.tsx'
import { Chip } from './values/Chip.tsx'

/** The filters of a list; those without a value are left out. */
export type Filters = Readonly<Record<string, string | null | undefined>>

/** Returns the address of the rows of a list that these filters select. */
export function buildListAddress(list: 'placements' | 'beacons', filters: Filters): string {
  const set = Object.entries(filters).filter((entry): entry is [string, string] => Boolean(entry[1]))
  const query = new URLSearchParams(set)
  return `/${list}${query.size === 0 ? '' : `?${query}`}`
}

interface FigureProps {
  count: number
  list: 'placements' | 'beacons'
  filters: Filters
}

export function Figure({ count, list, filters }: FigureProps) {
  return (
    <Link className="figure-link" href={buildListAddress(list, filters)} data-figure={count}>
      {count.toLocaleString('en')}
    </Link>
  )
}

/** A reason with its number of rows; both open them. */
export function ReasonFigure({ reason, ...figure }: FigureProps & { reason: string }) {
  return (
    <>
      <Link className="chip-link" href={buildListAddress(figure.list, figure.filters)}>
        <Chip tone="warn">{reason}</Chip>
      </Link>
      <Figure {...figure} />
    </>
  )
}

/** Returns the filters of the beacons that a report does not count. */
export function notCountedFilters({ not_counted }: Pick<BillingReport, 'not_counted'>): Filters {
  return { reason: not_counted.reasons.map(({ reason_code }) => reason_code).join(',') || 'DUPLICATE' }
}

const isAffected = ({ type }: SandboxEvent) =>
  type === 'placement.decided' || type === 'job.created' || type.startsWith('beacon.') || type === 'frame.loaded'

interface TotalsProps {
  /** Of one session; default: of everything. */
  query?: { session_id?: string }
  actions?: React.ReactNode
}

/** Placements by their outcome, and beacons by whether they bill. */
export function TotalsPanel({ query = {}, actions }: TotalsProps) {
  const funnel = useResource('placements.funnel', { query }, isAffected)
  const billing = useResource('billing.report', { query }, isAffected)
  return (
    <Panel title="Totals" actions={actions}>
      <Shown resource={funnel}>
        {({ placements, is_complete, oldest_slot_id, fills, no_fills, pending, no_fill_reasons }) => {
          // Billing counts all placements, the funnel at most the newest 1,000.
          const ofAll = is_complete ? '' : ' (all)'
          const counted = { ...query, from_slot_id: is_complete ? null : oldest_slot_id }
          const total = (name: string, count: number, list: 'placements' | 'beacons', filters: Filters) => (
            <div>
              <dt className="soft">{name}</dt>
              <dd>
                <Figure count={count} list={list} filters={filters} />
              </dd>
            </div>
          )
          return (
            <>
              <dl className="figures">
                {total(is_complete ? 'Placements' : 'Newest placements', placements, 'placements', counted)}
                {total('Fills', fills, 'placements', { ...counted, fill: 'true' })}
                {total('No-fills', no_fills, 'placements', { ...counted, fill: 'false' })}
                {pending > 0 && total('Pending', pending, 'placements', { ...counted, decided: 'false' })}
                {billing.state.status === 'ready' && (
                  <>
                    {total(
                      `Billed${ofAll}`,
                      billing.state.data.totals.reduce((sum, { count }) => sum + count, 0),
                      'beacons',
                      { ...query, billed: 'true' },
                    )}
                    {total(`Did not count${ofAll}`, billing.state.data.not_counted.count, 'beacons', {
                      ...query,
                      ...notCountedFilters(billing.state.data),
                    })}
                  </>
                )}
              </dl>
              {no_fill_reasons.length > 0 && (
                <ul className="bar wrapping reasons-line">
                  {no_fill_reasons.map(({ no_fill_reason: reason, count }) => (
                    <li key={reason} className="bar">
                      <ReasonFigure reason={reason} count={count} list="placements" filters={{ ...counted, reason }} />
                    </li>
                  ))}
                </ul>
              )}
            </>
          )
        }}
      </Shown>
    </Panel>
  )
}
