/** Compares what an integrator counted with what the sandbox accepted, and explains each difference. Pure: data in, data out. */
import type { Mode } from '#contract/fields.ts'
import type { Metric } from '#contract/resources/beacons.ts'
import { formatDuration } from '#foundation/duration.ts'
import { causes, describeCause, describeChange, type Explanation } from './causes.ts'
import { findColumns, type OwnColumns, type OwnField } from './columns.ts'
import { compareSums } from './compare-sums.ts'
import { compareTurns } from './compare-turns.ts'
import type { Comparison, Difference, MetricTotal, Scope } from './difference.ts'
import { type OwnCounts, readOwnCounts } from './own-counts.ts'
import type { OwnFile } from './own-file.ts'
import type { Turn } from './turns.ts'

/** The counts of a file, and the columns that were read. */
export interface OwnReport {
  counts: OwnCounts
  columns: readonly { column: string; field: OwnField }[]
}

/** Returns what a file counts; null when it has no rows. @throws OwnFileError */
export function readOwnReport(file: OwnFile, mapped: ReadonlyMap<OwnField, string>): OwnReport | null {
  if (file.rows.length === 0) return null
  const columns = findColumns(file.names, mapped)
  return { counts: readOwnCounts(file, columns), columns: listColumns(columns) }
}

function listColumns({ key, key_column, time_column, counts }: OwnColumns): OwnReport['columns'] {
  return [
    { column: key_column, field: key },
    ...(time_column === null || time_column === key_column ? [] : [{ column: time_column, field: 'time' as const }]),
    ...(counts.layout === 'columns'
      ? counts.columns.map(({ metric, column }) => ({ column, field: metric }))
      : [
          { column: counts.metric_column, field: 'metric' as const },
          ...(counts.count_column === null ? [] : [{ column: counts.count_column, field: 'count' as const }]),
        ]),
  ]
}

/** The differences of one cause and metric. */
interface CauseGroup extends Explanation {
  metric: Metric
  /** Slots, sessions or days. */
  count: number
  /** The part of the total difference that it explains. */
  difference: number
  meaning: string
  change: string
}

export interface Reconciliation extends Omit<Comparison, 'totals' | 'differences'> {
  /** Whether every metric is within the tolerance. */
  ok: boolean
  key: OwnCounts['key']
  mode: Mode | 'all'
  tolerance_percent: number
  totals: readonly (MetricTotal & { is_within: boolean })[]
  /** Those that explain most first. Their differences add up to those of the totals. */
  causes: readonly CauseGroup[]
  differences: readonly (Difference & { meaning: string })[]
  /** Metrics that count here and that the file does not have. */
  missing_metrics: readonly Metric[]
}

/** Returns the comparison of a file with the turns of a sandbox. @param tolerance_percent deviation that is allowed */
export function reconcile(
  own: OwnCounts,
  turns: readonly Turn[],
  scope: Scope,
  tolerance_percent: number,
): Reconciliation {
  const { totals, differences, ...about } =
    own.key === 'slot_id' ? compareTurns(own, turns, scope) : compareSums(own, turns, scope)
  const judged = totals.map((total) => ({
    ...total,
    is_within: total.deviation_percent !== null && total.deviation_percent <= tolerance_percent,
  }))
  return {
    ok: judged.every(({ is_within }) => is_within),
    key: own.key,
    mode: scope.mode,
    tolerance_percent,
    totals: judged,
    causes: groupByCause(differences),
    differences: differences.map((difference) => ({ ...difference, meaning: describeCause(difference) })),
    missing_metrics: findMissingMetrics(own, turns, scope),
    ...about,
  }
}

/** Returns the traffic that is compared by default: live where there is any, since production counts nothing else. */
export function defaultMode(turns: readonly Turn[]): Mode {
  return turns.some(({ mode }) => mode === 'live') ? 'live' : 'test'
}

/** Returns how the clock and the time zone of a file differ from those of the sandbox, a sentence each. */
export function describeClocks({
  day_shift_ms,
  clock_offset_ms,
}: Pick<Comparison, 'day_shift_ms' | 'clock_offset_ms'>): string[] {
  const side = clock_offset_ms > 0 ? 'ahead of' : 'behind'
  const offset = `The times of your file are ${formatDuration(clock_offset_ms, 2)} ${side} those of the sandbox.`
  const zone = `Your days are those of ${zoneName(day_shift_ms)}, and those of the sandbox of UTC.`
  return [...(clock_offset_ms === 0 ? [] : [offset]), ...(day_shift_ms === 0 ? [] : [zone])]
}

/** Returns a time zone by its distance from UTC: `UTC+05:30`. */
function zoneName(shift_ms: number): string {
  const minutes = Math.abs(shift_ms) / 60_000
  const digits = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0'))
  return `UTC${shift_ms < 0 ? '-' : '+'}${digits.join(':')}`
}

const causeOrder = Object.keys(causes)

function groupByCause(differences: readonly Difference[]): CauseGroup[] {
  const groups = Map.groupBy(differences, ({ cause, reason_code, metric }) => `${cause} ${reason_code} ${metric}`)
  const apart = (each: CauseGroup) => Math.abs(each.difference)
  return [...groups.values()]
    .map((group): CauseGroup => {
      const { cause, reason_code, metric } = group[0]!
      return {
        cause,
        reason_code,
        metric,
        count: group.length,
        difference: group.reduce((sum, { difference }) => sum + difference, 0),
        meaning: describeCause({ cause, reason_code }),
        change: describeChange({ cause, reason_code }),
      }
    })
    .sort((a, b) => apart(b) - apart(a) || causeOrder.indexOf(a.cause) - causeOrder.indexOf(b.cause))
}

function findMissingMetrics({ metrics }: OwnCounts, turns: readonly Turn[], { mode }: Scope): Metric[] {
  const found = new Set<Metric>()
  for (const turn of turns) {
    if (mode !== 'all' && turn.mode !== mode) continue
    for (const { metric } of turn.beacons) if (metric !== null && !metrics.includes(metric)) found.add(metric)
  }
  return [...found]
}
