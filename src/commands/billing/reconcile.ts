/** `svc billing reconcile`: an integrator's own counts beside those of the sandbox, and the cause of each difference. */
import { Argument, InvalidArgumentError, Option } from 'commander'
import { projectFilter } from '#cli/endpoint/endpoint-command.ts'
import { endpoints } from '#cli/endpoint/facts.ts'
import { fieldOptions, flagValues } from '#cli/endpoint/flags.ts'
import { repeatable } from '#cli/endpoint/option-values.ts'
import { type Column, tableLines } from '#cli/output/table.ts'
import { oneLine, type Style } from '#cli/output/terminal.ts'
import { alignPairs, plural } from '#cli/output/text.ts'
import { type Command, type CommandContext, type CommandInput, listOption, textOption } from '#cli/run/command.ts'
import { CliError, exitCodes, nothingChecked } from '#cli/run/errors.ts'
import { displayName, readUserText } from '#cli/run/user-file.ts'
import { nextCursor } from '#client/client.ts'
import type { Mode } from '#contract/fields.ts'
import { parseSince, sinceMs } from '#foundation/duration.ts'
import type { Explanation } from '#reconciliation/causes.ts'
import { parseColumnMap } from '#reconciliation/columns.ts'
import { parsePercent, type Scope } from '#reconciliation/difference.ts'
import { OwnFileError, parseOwnFile } from '#reconciliation/own-file.ts'
import {
  reconcile as compareCounts,
  defaultMode,
  describeClocks,
  type OwnReport,
  type Reconciliation,
  readOwnReport,
} from '#reconciliation/reconciliation.ts'
import { readTurns, type Turns } from '#reconciliation/turns.ts'

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
  { name: 'verdict', paint: (cell, style) => (cell === 'over' ? style.red(cell) : style.green(cell)) },
]
const causeColumns: readonly Column[] = [
  { name: 'cause', paint: (cell, style) => style.yellow(cell) },
  { name: 'reason', field: 'reason_code', rank: 2 },
  { name: 'metric' },
  { name: 'count' },
  { name: 'explains', field: 'difference', text: signed },
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
    'Reads CSV, TSV or JSON lines with a row for each slot, asset token, session or day (UTC) and a column for each metric, or with a row for each event. Columns are found by their names; --map names others: rendered_impression, viewable_impression, click, completed_view, slot_id, asset_token, session_id, day, time, metric, count. Prints the totals, the causes with the part of the difference that each explains and what to change, and each turn that differs. Compares live traffic where there is any, else test traffic. The deviation adds up the differences of all rows without their sign: too many here and too few there do not cancel out. Exit code 6 when the deviation of a metric is above --tolerance; 5 if there is nothing to compare.',
  arguments: [new Argument('<file>', 'your counts; - for stdin')],
  options: [
    repeatable('--map <own=theirs>', 'your column for a field, such as "Ad views=viewable_impression"'),
    new Option('--tolerance <percent>', 'largest deviation of a metric that is allowed, such as 1%')
      .default(0, '0%')
      .argParser(readTolerance),
    new Option('--mode <mode>', 'traffic that counts; default: live where there is any').choices([
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
    'billing reconcile counts.csv --tolerance 1%',
    "billing reconcile counts.csv --map 'Ad clicks=click' -o json",
  ],
  run: runReconcile,
}

async function runReconcile(context: CommandContext, { args, options }: CommandInput): Promise<number> {
  const { out, system } = context
  const file = args[0] as string
  const name = displayName(file)
  const own = readReport(await readUserText(system, file), name, listOption(options, 'map'))
  const { turns, stray_beacons } = await out.progress('Reading the turns of the sandbox', loadTurns(context))
  const scope = await readScope(context, options, turns)
  const result = compareCounts(own.counts, turns, scope, options.tolerance as number)
  const counted = result.totals.reduce((sum, total) => sum + total.own + total.accepted, 0)
  if (counted === 0 && turns.length === 0) {
    throw nothingChecked(`There is nothing to compare: ${name} counts 0, and the sandbox has no turn.`, noTurnsHint)
  }
  const whole = { file: name, ...result, columns: own.columns, other_events: own.counts.other_events, stray_beacons }
  const isShort = options.all !== true
  out.list(whole, result.differences, (style) => reportLines(result, style, isShort))
  for (const note of listNotes(own, { ...result, stray_beacons, turns }, options)) out.note(note)
  return result.ok ? exitCodes.ok.exit_code : exitCodes.discrepancy.exit_code
}

const noTurnsHint = 'Play a turn first: svc trigger'

function readReport(text: string, name: string, map: readonly string[]): OwnReport {
  const mapped = refuse('map_invalid', '', () => parseColumnMap(map))
  const report = refuse('file_invalid', `${name}: `, () => readOwnReport(parseOwnFile(text), mapped))
  if (report !== null) return report
  throw nothingChecked(`There is no row in ${name}.`, 'It needs a header and a row for each slot, session or day.')
}

/** Returns what `read` does, with what it cannot read as an error of usage. */
function refuse<T>(code: string, about: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof OwnFileError)) throw error
    // A value of the file cannot start a line of its own.
    const message = [about + error.message, ...error.rows].map(oneLine).join('\n  ')
    throw new CliError('usage', error.rows.length > 0 ? 'rows_invalid' : code, message, error.hint)
  }
}

async function loadTurns(context: CommandContext): Promise<Turns> {
  const { client, signal } = context
  const project = await projectFilter(context)
  const api = client()
  return readTurns({
    async placements(page) {
      const read = await api.placements.list({ query: { ...project, ...page } }, { signal })
      return { items: read.items, next_cursor: nextCursor(read, page.cursor ?? null) }
    },
    async beacons(page) {
      const read = await api.beacons.list({ query: { ...project, ...page } }, { signal })
      return { items: read.items, next_cursor: nextCursor(read, page.cursor ?? null) }
    },
  })
}

async function readScope(
  { client, signal }: CommandContext,
  options: CommandInput['options'],
  turns: Turns['turns'],
): Promise<Scope> {
  const limits = flagValues(span, options) as { since?: string; until?: string }
  const isTimed = Object.keys(limits).length > 0
  const now_ms = isTimed ? (await client().clock.show({}, { signal })).now_ms : 0
  const time_ms = (text: string | undefined) => {
    const start = parseSince(text ?? '')
    return start === null ? null : sinceMs(start, now_ms)
  }
  const mode = textOption(options, 'mode') as Mode | 'all' | undefined
  return { mode: mode ?? defaultMode(turns), since_ms: time_ms(limits.since), until_ms: time_ms(limits.until) }
}

function readTolerance(text: string): number {
  const percent = parsePercent(text)
  if (percent !== null) return percent
  throw new InvalidArgumentError('It must be a percentage, such as 1% or 0.5%.')
}

/** Turns that are listed without --all. */
const shortList = 10

function reportLines({ key, totals, causes, differences }: Reconciliation, style: Style, isShort: boolean): string[] {
  const rows = totals.map((total) => ({ ...total, verdict: total.is_within ? 'ok' : 'over' }))
  const columns = differenceColumns.filter(({ name }) => name !== 'day' || key === 'day')
  const shown = differences.slice(0, isShort ? shortList : undefined).map((each) => ({ ...each, why: nameCause(each) }))
  const parts =
    causes.length === 0
      ? []
      : [tableLines(causeColumns, causes, style), changeLines(causes, style), tableLines(columns, shown, style)]
  return [tableLines(totalColumns, rows, style), ...parts]
    .filter(({ length }) => length > 0)
    .flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]))
}

function nameCause({ cause, reason_code }: Explanation): string {
  return reason_code === null ? cause : `${cause} ${reason_code}`
}

/** Returns what to change, once for each cause. */
function changeLines(causes: Reconciliation['causes'], style: Style): string[] {
  if (style.view.columns !== null) return []
  const changes = new Map(causes.map((group) => [nameCause(group), `${group.meaning} ${group.change}`]))
  return alignPairs([...changes], style)
}

function* listNotes(
  own: OwnReport,
  result: Reconciliation & Turns,
  { mode, all }: CommandInput['options'],
): Generator<string> {
  const { differences, turns, missing_metrics, rows_outside, stray_beacons } = result
  if (differences.length > shortList && all !== true)
    yield `${differences.length - shortList} more differences. List them: --all, or -o csv`
  const read = own.columns.filter(({ column, field }) => column !== field)
  if (read.length > 0) yield `Read ${read.map(({ column, field }) => `${field} from ${column}`).join(', ')}.`
  for (const { event, rows } of own.counts.other_events)
    yield `Not compared: ${plural(rows, 'row')} with the event ${event}, which is no metric.`
  if (missing_metrics.length > 0) yield `Counted here, but not in your file: ${missing_metrics.join(', ')}.`
  if (rows_outside > 0) yield `${plural(rows_outside, 'row')} outside the span, not compared.`
  const other = result.mode === 'all' ? 0 : turns.filter((turn) => turn.mode !== result.mode).length
  if (other > 0 && mode === undefined)
    yield `Only ${result.mode} traffic is compared, not ${plural(other, 'turn')} of test keys. To compare both: --mode all`
  yield* describeClocks(result)
  if (stray_beacons > 0)
    yield `${plural(stray_beacons, 'refused beacon')} with no slot: svc beacons list --verdict rejected`
}
