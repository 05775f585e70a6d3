/** `svc beacons reconcile`: an integrator's own counts beside those of the sandbox, and the cause of each difference. */
import { Argument, InvalidArgumentError, Option } from 'commander'
import { projectFilter } from '#cli/endpoint/endpoint-command.ts'
import { endpoints } from '#cli/endpoint/facts.ts'
import { fieldOptions, flagValues } from '#cli/endpoint/flags.ts'
import { repeatable } from '#cli/endpoint/option-values.ts'
import { type Command, type CommandContext, type CommandInput, listOption, textOption } from '#cli/run/command.ts'
import { displayName, readUserBytes } from '#cli/run/user-file.ts'
import type { Mode } from '#contract/fields.ts'
import type { Explanation } from '#reconciliation/causes.ts'
import { parseDayExample } from '#reconciliation/cells/calendar.ts'
import { parseNumberExample } from '#reconciliation/cells/numbers.ts'
import { quoteColumn } from '#reconciliation/columns.ts'
import { describeDays } from '#reconciliation/compared-span.ts'
import { describeBadPercent, parsePercent } from '#reconciliation/difference.ts'
import { describeReading } from '#reconciliation/own-report.ts'
import {
  describeClocks,
  describeMissing,
  describeModes,
  explainedText,
  listCauses,
  nameCause,
  type Reconciliation,
} from '#reconciliation/reconciliation.ts'
import {
  compareWithTurns,
  loadTurns,
  type OwnFileReport,
  readOwnBytes,
  type ServiceScope,
} from '#reconciliation/service-comparison.ts'
import type { Turns } from '#reconciliation/turns.ts'
import { exitCodes } from '#text/cli-error.ts'
import { type Column, tableLines } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { alignPairs, plural } from '#text/text.ts'

const signed = (value: number) => (value > 0 ? `+${value}` : String(value))
const rounded = (percent: number) => Math.round(percent * 100) / 100
const percentText = (value: number | null) => (value === null ? '-' : `${rounded(value)} %`)
const signedPercent = (value: number | null) => (value === null ? '-' : `${signed(rounded(value))} %`)

const totalColumns: readonly Column[] = [
  { name: 'metric' },
  { name: 'yours', field: 'own' },
  { name: 'accepted' },
  { name: 'difference', text: signed },
  { name: 'percent', rank: 2, text: signedPercent },
  { name: 'deviation', field: 'deviation_percent', text: percentText },
  { name: 'verdict', paint: (cell, style) => (cell.startsWith('above') ? style.red(cell) : style.green(cell)) },
]
const causeColumns: readonly Column[] = [
  { name: 'cause', field: 'certainty', paint: (cell, style) => style.yellow(cell) },
  { name: 'reason', field: 'reason_code', rank: 2 },
  { name: 'metric' },
  { name: 'count' },
  { name: 'explains', text: (value: number | string) => (typeof value === 'number' ? signed(value) : value) },
]
const differenceColumns: readonly Column[] = [
  { name: 'slot', field: 'slot_id', kind: 'id' },
  { name: 'session', field: 'session_id', rank: 4, least: 8 },
  { name: 'day', rank: 3 },
  { name: 'metric', rank: 2 },
  { name: 'yours', field: 'own' },
  { name: 'accepted' },
  { name: 'explained', field: 'difference', rank: 5, text: signed },
  { name: 'cause', field: 'why', least: 16, paint: (cell, style) => style.yellow(cell) },
]

const { since, until } = endpoints['billing.report'].query?.properties ?? {}
const span = fieldOptions({ since, until })

export const reconcile: Command = {
  name: 'reconcile',
  summary: 'Compare your own counts with those accepted, and explain each difference',
  details:
    'Reads CSV, TSV or JSON with a row for each slot, asset token, session or day (UTC) and a column for each metric, or with a row for each event. Columns are found by their names; --map names others: rendered_impression, viewable_impression, click, completed_view, slot_id, asset_token, session_id, day, time, metric, count; none leaves a column out. An event of a column of events is named like a column: --map clk=click. How numbers and days are written is decided by their columns; where they leave it open, --numbers and --dates do. Rows of totals are left out, and named. Prints the totals, the causes with the part of the difference that each explains and what to change, and each turn that differs; the causes of a sum are only possible ones. Compares the traffic of the turns in your file, and the days (UTC) from its first turn to its last: --since and --until name others. The deviation adds up the differences of all rows without their sign: too many here and too few there do not cancel out. Exit code 6 when the deviation of a metric is above --tolerance; 5 if nothing was compared, or a metric has no column while one that may hold it was not read.',
  arguments: [new Argument('<file>', 'your counts; - for stdin')],
  options: [
    repeatable('--map <own=theirs>', 'your column or event for a field: "Ad views=viewable_impression"'),
    new Option('--numbers <example>', 'how your numbers are written: 1.234,5 or 1,234.5').argParser((text) => {
      if (parseNumberExample(text) !== null) return text
      throw new InvalidArgumentError('It must be an example: 1.234,5 or 1,234.5.')
    }),
    new Option('--dates <example>', 'how your days are written: 31.12.2026 or 12/31/2026').argParser((text) => {
      if (parseDayExample(text) !== null) return text
      throw new InvalidArgumentError('It must be an example: 31.12.2026 or 12/31/2026.')
    }),
    new Option('--tolerance <percent>', 'largest deviation of a metric that is allowed, such as 1%')
      .default(0, '0%')
      .argParser(readTolerance),
    new Option('--mode <mode>', 'traffic that counts; default: that of the turns in your file').choices([
      'live',
      'test',
      'all',
    ] satisfies (Mode | 'all')[]),
    ...span.values(),
    new Option('--all', 'show each turn that differs'),
  ],
  tables: [totalColumns, causeColumns, differenceColumns],
  hasRows: true,
  examples: [
    'beacons reconcile counts.csv --tolerance 1%',
    "beacons reconcile counts.csv --map 'Ad clicks=click' -o json",
  ],
  run: runReconcile,
}

async function runReconcile(context: CommandContext, { args, options }: CommandInput): Promise<number> {
  const { client, out, signal, system } = context
  const file = args[0] as string
  const name = displayName(file)
  const own = readOwnBytes(
    { name, bytes: await readUserBytes(system, file) },
    {
      map: listOption(options, 'map'),
      numbers: textOption(options, 'numbers'),
      dates: textOption(options, 'dates'),
    },
  )
  const { since, until } = flagValues(span, options) as { since?: string; until?: string }
  const project = await projectFilter(context)
  const scope: ServiceScope = {
    ...{ project, since, until },
    mode: textOption(options, 'mode') as ServiceScope['mode'],
    tolerance_percent: options.tolerance as number,
  }
  let count = 0
  const onRead = (turns: number) => {
    count = turns
  }
  const loading = loadTurns(client(), scope, { own: own.counts, signal, onRead })
  const found = await out.progress(() => `Reading the turns of the sandbox: ${count.toLocaleString('en')}`, loading)
  const readNow = async () => (await client().clock.show({}, { signal })).now_ms
  const result = await compareWithTurns({ name, own }, found, scope, readNow)
  const isShort = options.all !== true
  out.list(result, result.differences, (style) => reportLines(result, style, isShort))
  for (const note of listNotes(own, result, options)) out.note(note)
  if (result.ok) return exitCodes.ok.exit_code
  const isWithin = result.totals.every(({ is_within }) => is_within)
  return (isWithin ? exitCodes.expectation : exitCodes.discrepancy).exit_code
}

function readTolerance(text: string): number {
  const percent = parsePercent(text)
  if (percent !== null) return percent
  throw new InvalidArgumentError(describeBadPercent(text))
}

/** Turns that are listed without --all. */
const shortList = 10

function reportLines(result: Reconciliation, style: Style, isShort: boolean): string[] {
  const { key, totals, differences, tolerance_percent } = result
  const rows = totals.map((total) => ({ ...total, verdict: total.is_within ? 'ok' : `above ${tolerance_percent} %` }))
  const causes = result.causes.map((group) => ({
    ...group,
    certainty: nameCause({ ...group, reason_code: null }),
    explains: group.deviation === Math.abs(group.difference) ? group.difference : explainedText(group),
    count: key === 'slot_id' ? group.count : plural(group.count, key === 'day' ? 'day' : 'session'),
  }))
  const columns = differenceColumns.filter(({ name }) => name !== 'day' || key === 'day')
  const shown = differences
    .slice(0, isShort ? shortList : undefined)
    .map((each) => ({ ...each, why: listCauses(each) }))
  const parts =
    causes.length === 0
      ? []
      : [tableLines(causeColumns, causes, style), changeLines(causes, style), tableLines(columns, shown, style)]
  return [tableLines(totalColumns, rows, style), ...parts]
    .filter(({ length }) => length > 0)
    .flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]))
}

/** Returns what to change, once for each cause. */
function changeLines(causes: readonly (Explanation & { meaning: string; change: string })[], style: Style): string[] {
  if (style.view.columns !== null) return []
  const changes = new Map(causes.map((group) => [nameCause(group), `${group.meaning} ${group.change}`]))
  return alignPairs([...changes], style)
}

function* listNotes(
  own: OwnFileReport,
  result: Reconciliation & Pick<Turns, 'stray_beacons'>,
  { mode, all }: CommandInput['options'],
): Generator<string> {
  const { differences, rows_outside, stray_beacons } = result
  if (differences.length > shortList && all !== true)
    yield `${differences.length - shortList} more differences. List them: --all, or -o csv`
  const example = (name: string, metric: string | null) =>
    metric === null
      ? `Say what it counts: --map ${quoteColumn(name, 'none')}, or the metric that it is in place of none`
      : `Name it: --map ${quoteColumn(name, metric)}, or ${quoteColumn(name, 'none')} for another count`
  const missing = describeMissing(result, own.counts, example)
  if (missing !== null) yield missing
  yield* describeReading(own, true)
  if (rows_outside > 0) yield `${plural(rows_outside, 'row')} outside the span, not compared.`
  const days = describeDays(result.days)
  if (days !== null) yield `${days} Others: --since`
  yield mode === undefined ? `${describeModes(result)} Other traffic: --mode live, test or all` : describeModes(result)
  yield* describeClocks(result)
  const numbers = suggestNumbers(own, result)
  if (numbers !== null) yield `Your counts are 1,000 times those of the sandbox: --numbers ${numbers}`
  if (stray_beacons > 0)
    yield `${plural(stray_beacons, 'refused beacon')} with no slot: svc beacons list --verdict rejected`
}

/** Returns the other way to read numbers where it alone makes all counts agree; null where it does not. */
function suggestNumbers({ columns }: OwnFileReport, { totals }: Pick<Reconciliation, 'totals'>): string | null {
  if (totals.some(({ own, accepted }) => own !== 1_000 * accepted) || totals.every(({ own }) => own === 0)) return null
  const formats = columns.map(({ format }) => format)
  if (formats.includes('thousands with a point')) return '1,234.5'
  return formats.includes('thousands with a comma') ? '1.234,5' : null
}
