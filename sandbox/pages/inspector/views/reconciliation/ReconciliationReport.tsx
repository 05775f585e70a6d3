/** The result of a comparison: totals, a chart by day, causes with what to change, and each difference. */
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import { countByDay } from '#reconciliation/days.ts'
import { describeReading, type OwnReport } from '#reconciliation/own-report.ts'
import {
  describeClocks,
  describeMissing,
  describeNothing,
  explainedText,
  listCauses,
  nameCause,
  type Reconciliation,
} from '#reconciliation/reconciliation.ts'
import type { Turn } from '#reconciliation/turns.ts'
import { Chart } from '../../parts/Chart.tsx'
import { Segments } from '../../parts/Fields.tsx'
import { SaveRows } from '../../parts/lists/DownloadCsv.tsx'
import { Panel } from '../../parts/Panel.tsx'
import { Chip } from '../../parts/values/Chip.tsx'

interface ReportProps {
  result: Reconciliation
}

interface ReconciliationReportProps extends ReportProps {
  own: OwnReport & { encoding: string }
  turns: readonly Turn[]
  /** Whether the sandbox has no turn at all. */
  is_empty: boolean
}

export function ReconciliationReport({ result, own, turns, is_empty }: ReconciliationReportProps) {
  const nothing = describeNothing(own.counts, result, { file: 'your file', is_empty })
  return (
    <>
      <Totals result={result} />
      <Notes result={result} own={own} />
      <Days result={result} own={own} turns={turns} />
      <Causes result={result} agreement={nothing?.message ?? (result.ok ? bothAgree : allReadAgree)} />
      <Differences result={result} turns={turns} />
    </>
  )
}

function metricName(metric: string): string {
  return metric.replaceAll('_', ' ')
}

function signed(value: number): string {
  return `${value > 0 ? '+' : ''}${value.toLocaleString('en')}`
}

function percentText(value: number | null): string {
  return value === null ? '–' : `${signed(Math.round(value * 100) / 100)} %`
}

function Totals({ result: { totals } }: ReportProps) {
  return (
    <div className="totals">
      {totals.map(({ metric, own, accepted, difference, percent, deviation_percent, is_within }) => (
        <section key={metric} className="panel" aria-label={metricName(metric)}>
          <h2 className="bar spread">
            {metricName(metric)}
            <Chip tone={is_within ? 'good' : 'bad'}>
              {is_within ? 'within the tolerance' : 'deviation above the tolerance'}
            </Chip>
          </h2>
          <p className="figure">
            {percentText(percent)} <span className="soft">({signed(difference)})</span>
          </p>
          <p className="soft">
            {own.toLocaleString('en')} yours, {accepted.toLocaleString('en')} accepted
            {deviation_percent !== null && `, deviation ${percentText(deviation_percent).replace('+', '')}`}
          </p>
        </section>
      ))}
    </div>
  )
}

function Notes({ result, own }: Pick<ReconciliationReportProps, 'result' | 'own'>) {
  const missing = describeMissing(result, own.counts)
  const notes = [...describeClocks(result), ...(missing === null ? [] : [missing]), ...describeReading(own)]
  if (notes.length === 0) return null
  return (
    <ul className="soft">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  )
}

const series = [
  ['both', 'counted by both', '--good'],
  ['own_only', 'only yours', '--warn'],
  ['accepted_only', 'only accepted', '--focus'],
] as const

function Days({ result, own: { counts: own }, turns }: Omit<ReconciliationReportProps, 'is_empty'>) {
  const [chosen, setChosen] = useState(result.totals[0]?.metric)
  const metric = own.metrics.find((each) => each === chosen) ?? own.metrics[0]
  const days = useMemo(
    () => (metric === undefined ? [] : countByDay(result, turns, own, metric)),
    [result, turns, own, metric],
  )
  if (metric === undefined || days.length === 0) return null
  return (
    <Panel
      title="By day"
      lead="By the day of each turn, UTC. What has no turn here has no day."
      actions={
        own.metrics.length > 1 && (
          <Segments
            label="Metric"
            value={metric}
            onChange={setChosen}
            values={own.metrics.map((each) => [each, metricName(each)] as const)}
          />
        )
      }
    >
      <Chart
        label={`${metricName(metric)} by day: ${days.map(describeDay).join('; ')}`}
        times_ms={days.map(({ start_ms }) => start_ms)}
        series={series.map(([field, label, color]) => ({ label, color, values: days.map((day) => day[field]) }))}
        kind="bars"
        height_px={200}
      />
    </Panel>
  )
}

function describeDay(day: ReturnType<typeof countByDay>[number]): string {
  const counts = series.map(([field, label]) => `${day[field]} ${label}`)
  return `${new Date(day.start_ms).toISOString().slice(0, 10)} ${counts.join(', ')}`
}

const bothAgree = 'No difference: both count the same.'
const allReadAgree = 'What was read has no difference, and not all was compared.'

/** @param agreement what is said without a cause */
function Causes({ result: { causes }, agreement }: ReportProps & { agreement: string }) {
  if (causes.length === 0) {
    return (
      <Panel title="Causes">
        <p className="soft">{agreement}</p>
      </Panel>
    )
  }
  const most = Math.max(...causes.map(({ deviation }) => deviation), 1)
  return (
    <Panel title="Causes" lead="What each explains of the difference: together they are the difference.">
      <ul className="causes">
        {causes.map(({ metric, count, difference, deviation, meaning, change, ...explanation }) => (
          <li key={`${nameCause(explanation)} ${metric}`}>
            <p className="bar wrapping">
              <Chip tone="warn">{nameCause(explanation)}</Chip>
              <span className="soft">
                {metricName(metric)}, {count} {count === 1 ? 'difference' : 'differences'}
              </span>
            </p>
            <p className="bar">
              <span className="funnel-track grow">
                <span className="funnel-bar" style={{ width: `${(100 * deviation) / most}%` }} />
              </span>
              <span className="cause-sum">{explainedText({ difference, deviation })}</span>
            </p>
            <p>
              {meaning} <span className="soft">{change}</span>
            </p>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

/** More rows would slow the page down; the file has all. */
const maxShown = 200

function Differences({ result: { differences }, turns }: ReportProps & { turns: readonly Turn[] }) {
  const known = useMemo(() => new Set(turns.map(({ slot_id }) => slot_id)), [turns])
  if (differences.length === 0) return null
  return (
    <Panel
      title="Differences"
      lead={
        differences.length > maxShown
          ? `The first ${maxShown} of ${differences.length.toLocaleString('en')}.`
          : undefined
      }
      actions={<SaveRows rows={differences} name="billing-differences.csv" />}
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <section className="scroller" aria-label="Differences" tabIndex={0}>
        <table className="plain-table">
          <thead>
            <tr>
              {['Slot, session or day', 'Metric'].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
              {['Yours', 'Accepted', 'Explained'].map((name) => (
                <th key={name} scope="col" className="number">
                  {name}
                </th>
              ))}
              <th scope="col">Cause</th>
            </tr>
          </thead>
          <tbody>
            {differences.slice(0, maxShown).map((each) => {
              const { slot_id, session_id, day, metric, own, accepted, difference } = each
              const isKnown = slot_id !== null && known.has(slot_id)
              return (
                <tr key={`${slot_id} ${session_id} ${day} ${metric} ${nameCause(each)}`}>
                  <td>
                    {isKnown ? (
                      <Link className="link" href={`/placements/${slot_id}`}>
                        {slot_id}
                      </Link>
                    ) : (
                      (slot_id ?? day ?? session_id ?? 'no session')
                    )}
                  </td>
                  <td>{metricName(metric)}</td>
                  <td className="number">{own}</td>
                  <td className="number">{accepted}</td>
                  <td className="number">{signed(difference)}</td>
                  <td>{listCauses(each)}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </section>
    </Panel>
  )
}
