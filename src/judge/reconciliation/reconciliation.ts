/** Compares what an integrator counted with what the sandbox accepted, and explains each difference. Pure: data in, data out. */
import type { Mode } from '#contract/fields.ts'
import type { Metric } from '#contract/resources/beacons.ts'
import { formatDuration } from '#foundation/duration.ts'
import { causes, describeCause, describeChange, type Explanation } from './causes.ts'
import { zoneName } from './cells/calendar.ts'
import { suggestMetric } from './column-words.ts'
import { compareSums } from './compare-sums.ts'
import { compareTurns, nearestZone } from './compare-turns.ts'
import { type ComparedDays, selectTurns } from './compared-span.ts'
import { type Comparison, type Difference, isOfMode, type MetricTotal, type Scope } from './difference.ts'
import type { OwnCounts } from './own-counts.ts'
import { mayCount } from './own-report.ts'
import { createDayNamer } from './time-zone.ts'
import type { Turn } from './turns.ts'

/** The differences of one cause and metric. */
interface CauseGroup extends Explanation {
  metric: Metric
  /** Whether it is only possible: of sums. */
  is_possible: boolean
  /** Slots, sessions or days. */
  count: number
  /** The part of the total difference that it explains. */
  difference: number
  /** The same without signs: what moves between days adds up to no difference. */
  deviation: number
  meaning: string
  change: string
}

export interface Reconciliation extends Omit<Comparison, 'totals' | 'differences'> {
  /** Whether something was compared, every metric is within the tolerance, and all that may be one was read. */
  ok: boolean
  key: OwnCounts['key']
  mode: Mode | 'all'
  modes: ModeCounts
  tolerance_percent: number
  totals: readonly (MetricTotal & { is_within: boolean })[]
  /** Those that explain most first. Their differences add up to those of the totals. */
  causes: readonly CauseGroup[]
  differences: readonly (Difference & { meaning: string })[]
  /** The days of the file; null when all turns or a given span are compared. */
  days: ComparedDays | null
  /** Metrics that count here and for which no column, or no event, of the file was found. */
  missing_metrics: readonly Metric[]
  /** Columns that count something, or events, that were not read: one may be that of a missing metric. */
  doubtful_columns: readonly string[]
}

/** Returns the comparison of a file with the turns of a sandbox. @param tolerance_percent deviation that is allowed */
export function reconcile(
  own: OwnCounts,
  all: readonly Turn[],
  scope: Scope,
  tolerance_percent: number,
): Reconciliation {
  const { turns, days } = selectTurns(own, all, scope)
  const { totals, differences, ...about } =
    own.key === 'slot_id' ? compareTurns(own, turns, scope) : compareSums(own, turns, scope)
  const judged = totals.map((total) => ({
    ...total,
    is_within: total.deviation_percent !== null && total.deviation_percent <= tolerance_percent,
  }))
  const missing_metrics = findMissingMetrics(own, turns, scope)
  const counting = own.unread.filter(({ kind }) => kind === 'count').map(({ column }) => column)
  const doubtful =
    own.layout === 'columns' ? counting : own.other_events.flatMap(({ event }) => (mayCount(event) ? [event] : []))
  const doubtful_columns = missing_metrics.length > 0 ? doubtful : []
  const modes = countModes(own, turns)
  const isNothing = findNothing(own, { totals, modes, mode: scope.mode, ...about }) !== null
  return {
    ok: !isNothing && doubtful_columns.length === 0 && judged.every(({ is_within }) => is_within),
    key: own.key,
    mode: scope.mode,
    modes,
    tolerance_percent,
    totals: judged,
    causes: groupByCause(differences, own.key),
    differences: differences.map((difference) => ({ ...difference, meaning: describeCause(difference) })),
    days,
    missing_metrics,
    doubtful_columns,
    ...about,
  }
}

type Compared = Pick<Reconciliation, 'mode' | 'modes' | 'rows_outside'> & { totals: readonly MetricTotal[] }

/** Returns why nothing was compared; null where something was. */
function findNothing({ rows }: OwnCounts, compared: Compared): 'no_count' | 'outside' | 'no_turn' | null {
  const { totals, mode, rows_outside } = compared
  if (totals.length === 0) return 'no_count'
  if (totals.some(({ own, accepted }) => own + accepted > 0)) return null
  if (rows.length > 0 && rows_outside === rows.length) return 'outside'
  const { live, test } = compared.modes.sandbox
  return { live, test, all: live + test }[mode] === 0 ? 'no_turn' : null
}

/**
 * Returns why nothing was compared; null where something was.
 * @param file what messages call it
 * @param is_empty whether the sandbox has no turn at all
 */
export function describeNothing(
  own: OwnCounts,
  compared: Compared,
  { file, is_empty }: { file: string; is_empty: boolean },
): { message: string; command_hint: string } | null {
  const nothing = findNothing(own, compared)
  if (nothing === null) return null
  const kind = compared.mode === 'all' || is_empty ? '' : `${compared.mode} `
  const [why, command_hint] = {
    no_count: [
      `no row of ${file} has a count, or an event that is a metric`,
      'Export all of what you counted, or name an event of it: --map EVENT=METRIC',
    ],
    outside: [
      `no row of ${file} is inside the span, and nothing was counted there`,
      'Check --since and --until, and the days of the file.',
    ],
    no_turn: [
      `${file} counts 0, and the sandbox has no ${kind}turn${is_empty ? '' : ' of that time'}`,
      is_empty ? 'Play a turn first: svc trigger' : 'Check the days of the file.',
    ],
  }[nothing] as [string, string]
  return { message: `Nothing was compared: ${why}.`, command_hint }
}

/** The turns that a file names, by slot, session or day, and those of the sandbox that it is compared with. */
interface ModeCounts {
  file: Readonly<Record<Mode, number>>
  sandbox: Readonly<Record<Mode, number>>
}

/** A sum of a day names every turn of it, as the billing report counts all. Turns of the days around are only looked into. */
function countModes(own: OwnCounts, turns: readonly Turn[]): ModeCounts {
  const keys = new Set<string | null>(own.rows.map(({ key }) => key))
  const modes = { file: { live: 0, test: 0 }, sandbox: { live: 0, test: 0 } }
  const nameDay = createDayNamer(own)
  for (const turn of turns) {
    if (own.key === 'day' && !keys.has(nameDay(turn.created_at_ms))) continue
    modes.sandbox[turn.mode]++
    if (own.key === 'day' || keys.has(turn[own.key])) modes.file[turn.mode]++
  }
  return modes
}

/** Returns the traffic that is compared by default: that of most turns that the file names; all for a sum of days. */
export function defaultMode(own: OwnCounts, all: readonly Turn[]): Mode | 'all' {
  const { turns } = selectTurns(own, all, { since_ms: null, until_ms: null })
  const { live, test } = countModes(own, turns).file
  if (own.key === 'day' ? live > 0 === test > 0 : live === test) return 'all'
  return live > test ? 'live' : 'test'
}

/** Returns which traffic is compared, and which the file has, in a sentence or two. */
export function describeModes({ key, mode, modes: { file, sandbox } }: Pick<Reconciliation, 'key' | 'mode' | 'modes'>) {
  const list = ({ live, test }: Readonly<Record<Mode, number>>) =>
    `${live} live and ${test} test ${test === 1 ? 'turn' : 'turns'}`
  const compared = mode === 'all' ? 'Live and test traffic are compared' : `Only ${mode} traffic is compared`
  const named =
    key === 'day'
      ? `The sandbox has ${list(sandbox)} in what is compared`
      : `Your file names ${list(file)} of the sandbox`
  const isMixed = mode === 'all' && file.live > 0 && file.test > 0
  return `${compared}. ${named}.${isMixed ? ' Production counts no test traffic.' : ''}`
}

/**
 * Returns which metrics the file lacks, a sentence; null for none.
 * @param example how a column or an event is named, such as `Name it: --map "Ad views=click"`, by itself and the metric that it is likely
 */
export function describeMissing(
  { missing_metrics, doubtful_columns }: Pick<Reconciliation, 'missing_metrics' | 'doubtful_columns'>,
  { layout }: Pick<OwnCounts, 'layout'>,
  example?: (name: string, metric: Metric | null) => string,
): string | null {
  if (missing_metrics.length === 0) return null
  const isEvent = layout === 'rows'
  const found = `o ${isEvent ? 'event' : 'column'} was found for ${missing_metrics.join(', ')}, which ${missing_metrics.length === 1 ? 'counts' : 'count'} here`
  const likely = (name: string) => missing_metrics.find((metric) => metric === suggestMetric(name)) ?? null
  const name = doubtful_columns.find((each) => likely(each) !== null) ?? doubtful_columns[0]
  if (name === undefined) return `N${found}.`
  const unread = `${isEvent ? 'rows with the event ' : ''}${doubtful_columns.join(', ')} ${isEvent || doubtful_columns.length > 1 ? 'were' : 'was'} not read`
  const advice = isEvent ? 'Name each event as its metric, and leave out the rows of others.' : 'Choose its column.'
  return `Not all was compared: n${found}, and ${unread}. ${example?.(name, likely(name)) ?? advice}`
}

/** Returns how the clock and the time zone of a file differ from those of the sandbox, a sentence each. */
export function describeClocks({
  day_shift_ms,
  day_shift_range_ms,
  clock_offset_ms,
  causes,
}: Pick<Reconciliation, 'day_shift_ms' | 'day_shift_range_ms' | 'clock_offset_ms' | 'causes'>): string[] {
  const side = clock_offset_ms > 0 ? 'ahead of' : 'behind'
  const zone_ms = nearestZone(clock_offset_ms)
  const [apart, why] =
    zone_ms === null
      ? [formatDuration(clock_offset_ms, 2), '']
      : [`about ${formatDuration(zone_ms, 2)}`, ': they are those of another time zone']
  const offset = `The times of your file are ${apart} ${side} those of the sandbox${why}.`
  const { from, to } = day_shift_range_ms ?? { from: day_shift_ms, to: day_shift_ms }
  const zones = from === to ? zoneName(from) : `a zone between ${zoneName(from)} and ${zoneName(to)}`
  const zone = `Your days are possibly those of ${zones}, and those of the sandbox are of UTC.`
  const [named, counted] = day_shift_ms > 0 ? ['late', 'before'] : ['early', 'after']
  const day = `Your days are possibly named a day ${named}: each has the counts of the day ${counted} it in the sandbox, in UTC.`
  const sum = (groups: readonly CauseGroup[]) => groups.reduce((total, { deviation }) => total + deviation, 0)
  const rest = sum(causes.filter(({ cause }) => cause !== 'time_zone'))
  const limit = rest === 0 ? '' : ` It does not explain ${rest} of the ${sum(causes)} that differ.`
  const shift = `${Math.abs(day_shift_ms) === day_ms ? day : zone}${limit}`
  return [...(clock_offset_ms === 0 ? [] : [offset]), ...(day_shift_ms === 0 ? [] : [shift])]
}

const day_ms = 86_400_000

/** Returns what a cause explains: `+3`; `+7 -7` for what moves between days. */
export function explainedText({ difference, deviation }: Pick<CauseGroup, 'difference' | 'deviation'>): string {
  const [more, fewer] = [(deviation + difference) / 2, (deviation - difference) / 2]
  return [more > 0 ? [`+${more}`] : [], fewer > 0 ? [`-${fewer}`] : []].flat().join(' ')
}

/** Returns a cause as a word or two: `late beacon_stale`, `possibly doubled`. */
export function nameCause({
  cause,
  reason_code,
  is_possible = false,
}: Explanation & { is_possible?: boolean }): string {
  return `${is_possible ? 'possibly ' : ''}${cause}${reason_code === null ? '' : ` ${reason_code}`}`
}

/** Returns the cause of a difference, and the other possible ones of a sum with their turns. */
export function listCauses({ possible, ...difference }: Difference): string {
  const name = nameCause(difference)
  const others = possible.filter((each) => nameCause(each) !== nameCause({ ...difference, is_possible: false }))
  const count = (turns: number) => `${turns} ${turns === 1 ? 'turn' : 'turns'}`
  return [name, ...others.map((each) => `${nameCause({ ...each, is_possible: true })} (${count(each.turns)})`)].join(
    ', ',
  )
}

const causeOrder = Object.keys(causes)

function groupByCause(differences: readonly Difference[], key: OwnCounts['key']): CauseGroup[] {
  const groups = Map.groupBy(
    differences,
    ({ cause, reason_code, metric, is_possible }) => `${cause} ${reason_code} ${metric} ${is_possible}`,
  )
  return [...groups.values()]
    .map((group): CauseGroup => {
      const { cause, reason_code, metric, is_possible } = group[0]!
      return {
        cause,
        reason_code,
        metric,
        is_possible,
        count: group.length,
        difference: group.reduce((sum, { difference }) => sum + difference, 0),
        deviation: group.reduce((sum, { difference }) => sum + Math.abs(difference), 0),
        meaning: describeCause({ cause, reason_code, is_possible }),
        change: describeChange({ cause, reason_code }, key),
      }
    })
    .sort((a, b) => b.deviation - a.deviation || causeOrder.indexOf(a.cause) - causeOrder.indexOf(b.cause))
}

function findMissingMetrics({ metrics }: OwnCounts, turns: readonly Turn[], scope: Scope): Metric[] {
  const found = new Set<Metric>()
  for (const turn of turns) {
    if (!isOfMode(scope, turn)) continue
    for (const { metric } of turn.beacons) if (metric !== null && !metrics.includes(metric)) found.add(metric)
  }
  return [...found]
}
