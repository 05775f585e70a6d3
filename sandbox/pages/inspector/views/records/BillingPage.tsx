/** The billing report: totals, by day, by format and price, and the beacons that did not count. */
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { formats } from '#contract/facts/formats.ts'
import type { BillingReport } from '#contract/resources/billing.ts'
import { call } from '../../data/api.ts'
import type { SandboxEvent } from '../../data/live.ts'
import { useResource } from '../../data/resource.ts'
import { Chart } from '../../parts/Chart.tsx'
import { buildListAddress, Figure, type Filters, notCountedFilters, ReasonFigure } from '../../parts/Figures.tsx'
import { SaveRows } from '../../parts/lists/DownloadCsv.tsx'
import { FilterBar } from '../../parts/lists/FilterBar.tsx'
import { createChoice, type ListFilter, projectFilter, useFilters } from '../../parts/lists/filters.ts'
import { Page } from '../../parts/Page.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Empty, Shown } from '../../parts/Shown.tsx'
import { Chip } from '../../parts/values/Chip.tsx'
import { BeaconList } from '../beacons/BeaconTable.tsx'

/** `since` is a span before the time of the sandbox clock. */
const isAffected = ({ type }: SandboxEvent) => type.startsWith('beacon.') || type === 'clock.changed'

const filters: readonly ListFilter[] = [
  projectFilter,
  createChoice('since', 'Since', [
    ['1h', '1 hour'],
    ['24h', '1 day'],
    ['168h', '7 days'],
  ]),
  { name: 'session_id', label: 'Session', kind: 'text', isSearch: true },
]

export function BillingPage() {
  const [values, change] = useFilters(filters)
  const report = useResource('billing.report', { query: values }, isAffected)
  const { state: clock } = useResource('clock.show', {}, ({ type }) => type === 'clock.changed')
  return (
    <Page
      title="Billing"
      lead="What production would have billed. Nothing is ever billed here."
      actions={
        <Link className="link" href="/billing/reconcile">
          Compare your own counts
        </Link>
      }
    >
      <FilterBar filters={filters} values={values} onChange={change} />
      <Shown resource={report}>
        {(data) =>
          data.lines.length === 0 && data.not_counted.count === 0 ? (
            <Empty icon="billing" title="Nothing to bill yet">
              Accepted beacons appear here with what they bill.
            </Empty>
          ) : (
            <div className="column">
              <Totals report={data} values={values} />
              <Fills values={values} />
              {clock.data !== null && <Days values={values} report={data} now_ms={clock.data.now_ms} />}
              <Lines report={data} values={values} />
              <NotCounted report={data} values={values} />
            </div>
          )
        }
      </Shown>
    </Page>
  )
}

function money(amount: number, currency: string): string {
  return `${amount.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 6 })} ${currency}`
}

interface ReportProps {
  report: BillingReport
  values: Filters
}

function Totals({ report, values }: ReportProps) {
  const { totals, not_counted } = report
  return (
    <div className="totals">
      {totals.map(({ client_id, billing_model, currency, count, amount, publisher_amount }) => (
        <section key={`${client_id} ${currency}`} className="panel" aria-label={`Total for ${client_id}`}>
          <h2 className="bar spread">
            {client_id}
            <Chip tone="plain">{billing_model}</Chip>
          </h2>
          <p className="figure">{money(amount, currency)}</p>
          <p className="soft">
            <Figure count={count} list="beacons" filters={{ ...values, client_id, currency, billed: 'true' }} /> billed,{' '}
            {money(publisher_amount, currency)} to the publisher
          </p>
        </section>
      ))}
      <section className="panel" aria-label="Did not count">
        <h2>Did not count</h2>
        <p className="figure">
          <Figure count={not_counted.count} list="beacons" filters={{ ...values, ...notCountedFilters(report) }} />
        </p>
        <p className="soft">beacons, accepted, repeated or rejected</p>
        <p className="bar wrapping">
          {not_counted.reasons.slice(0, 3).map(({ reason_code: reason, count }) => (
            <span key={reason} className="bar">
              <ReasonFigure reason={reason} count={count} list="beacons" filters={{ ...values, reason }} />
            </span>
          ))}
        </p>
      </section>
    </div>
  )
}

const isFunnelAffected = (event: SandboxEvent) => isAffected(event) || event.type === 'placement.decided'

/** The commonest cause first: a fill that nobody saw has no beacon that could say why it is not billed. */
function Fills({ values }: { values: Filters }) {
  const { client_id, session_id, since } = values
  const query = Object.fromEntries(Object.entries({ client_id, session_id, since }).filter(([, value]) => value))
  const { state } = useResource('placements.funnel', { query }, isFunnelAffected)
  if (state.status !== 'ready' || state.data.fills === 0) return null
  const { fills, formats, is_complete, oldest_slot_id } = state.data
  const counted = { ...query, from_slot_id: is_complete ? null : oldest_slot_id }
  const without = (step: 'rendered' | 'visible' | 'billable') =>
    fills - formats.reduce((sum, format) => sum + format[step], 0)
  const causes = [
    ['Not billed', without('billable'), { billed: 'false' }],
    ['Never viewed', without('visible'), { missing: 'visible' }],
    ['Without a render beacon', without('rendered'), { missing: 'rendered' }],
  ] as const
  return (
    <Panel
      title="Fills that bill nothing"
      lead={is_complete ? 'By placement; a fill that was never viewed is in both counts.' : 'Of the newest placements.'}
    >
      <dl className="figures">
        <div>
          <dt className="soft">Fills</dt>
          <dd>
            <Figure count={fills} list="placements" filters={{ ...counted, fill: 'true' }} />
          </dd>
        </div>
        {causes.map(([name, count, filters]) => (
          <div key={name}>
            <dt className="soft">{name}</dt>
            <dd>
              <Figure count={count} list="placements" filters={{ ...counted, ...filters }} />
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}

const dayMs = 86_400_000
const shownDays = 14

interface Day {
  start_ms: number
  counts: Readonly<Record<string, number>>
}

interface DaysProps {
  values: Readonly<Record<string, string>>
  report: BillingReport
  now_ms: number
}

/** Each day is a separate report, read one after the other, newest first. */
function Days({ values, report, now_ms }: DaysProps) {
  const [days, setDays] = useState<readonly Day[]>([])
  const { client_id, session_id } = values
  const today_ms = Math.floor(now_ms / dayMs) * dayMs
  const billed = report.totals.reduce((sum, { count }) => sum + count, 0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another sum means other days
  useEffect(() => {
    let isShown = true
    const read = async () => {
      const found: Day[] = []
      for (let index = 0; index < shownDays && isShown; index++) {
        const start_ms = today_ms - index * dayMs
        const query = { client_id, session_id, since: String(start_ms), until: String(start_ms + dayMs) }
        const { lines } = await call('billing.report', {
          query: Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)),
        })
        const counts: Record<string, number> = {}
        for (const { format, count, is_billed } of lines) {
          if (is_billed) counts[format] = (counts[format] ?? 0) + count
        }
        found.unshift({ start_ms, counts })
        if (isShown) setDays([...found])
      }
    }
    // The rest of the report is shown even without them.
    read().catch(() => undefined)
    return () => {
      isShown = false
    }
  }, [client_id, session_id, billed, today_ms])
  const series = formats.map((format, index) => ({
    label: format,
    color: ['--good', '--focus', '--warn'][index] ?? '--good',
    values: days.map(({ counts }) => counts[format] ?? 0),
  }))
  return (
    <Panel title="Billed by day" lead="The last two weeks, in sandbox time.">
      <Chart
        label={`Billed by day and format: ${days.map(({ start_ms, counts }) => `${new Date(start_ms).toISOString().slice(0, 10)} ${JSON.stringify(counts)}`).join(', ')}`}
        times_ms={days.map(({ start_ms }) => start_ms)}
        series={series}
        kind="bars"
        height_px={200}
      />
    </Panel>
  )
}

function Lines({ report: { lines }, values }: ReportProps) {
  return (
    <Panel title="By format and price" actions={<SaveRows rows={lines} name="billing.csv" />}>
      {lines.length === 0 ? (
        <p className="soft">Nothing counted yet.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        <section className="scroller" aria-label="Report lines" tabIndex={0}>
          <table className="plain-table">
            <thead>
              <tr>
                {['Project', 'Format', 'Metric'].map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
                {['Count', 'Price CPM', 'Amount', 'Publisher'].map((name) => (
                  <th key={name} scope="col" className="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {lines.map((line) => (
                <tr key={`${line.client_id} ${line.format} ${line.metric} ${line.gross_cpm} ${line.currency}`}>
                  <td>{line.client_id}</td>
                  <td>{line.format}</td>
                  <td>
                    <span className="bar">
                      {line.metric.replaceAll('_', ' ')}
                      {line.is_billed && <Chip tone="money">billed</Chip>}
                    </span>
                  </td>
                  <td className="number">
                    <Figure count={line.count} list="beacons" filters={{ ...values, ...filtersOfLine(line) }} />
                  </td>
                  <td className="number">{line.gross_cpm.toFixed(2)}</td>
                  <td className="number">{line.is_billed ? money(line.amount, line.currency) : '–'}</td>
                  <td className="number">{line.is_billed ? money(line.publisher_amount, line.currency) : '–'}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Panel>
  )
}

function filtersOfLine({ client_id, format, metric, gross_cpm, currency }: BillingReport['lines'][number]): Filters {
  return { client_id, format, metric, gross_cpm: String(gross_cpm), currency }
}

function NotCounted({ report: { not_counted }, values }: ReportProps) {
  const { count, reasons, beacons } = not_counted
  if (count === 0) return null
  const maxCount = Math.max(...reasons.map((reason) => reason.count))
  return (
    <div className="columns">
      <Panel title="Why beacons did not count">
        <ul className="reasons">
          {reasons.map((reason) => (
            <li key={reason.reason_code}>
              <Link className="chip-link" href={buildListAddress('beacons', { ...values, reason: reason.reason_code })}>
                <Chip tone="warn">{reason.reason_code}</Chip>
              </Link>
              <span className="funnel-track">
                <span className="funnel-bar" style={{ width: `${(100 * reason.count) / maxCount}%` }} />
              </span>
              <span className="number">
                <Figure count={reason.count} list="beacons" filters={{ ...values, reason: reason.reason_code }} />
              </span>
            </li>
          ))}
        </ul>
      </Panel>
      <Panel title="Newest">
        <BeaconList beacons={beacons.slice(0, 20)} />
      </Panel>
    </div>
  )
}
