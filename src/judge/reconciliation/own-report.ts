/** A file of own counts as a whole: its columns, how its values are written, and its counts. */
import { eventMetrics } from '#contract/beacon-verdict.ts'
import { type DayOrder, describeDays, findDayOrder } from './cells/calendar.ts'
import { type DecimalSign, describeNumbers, findDecimalSign, parseWhole } from './cells/numbers.ts'
import { isValueName, metrics, normalizeWord, type OwnField, suggestMetric } from './column-words.ts'
import { findColumns, listColumns, type Mapping, type OwnColumns, quoteColumn, splitMap } from './columns.ts'
import type { StatedTotals } from './json/beside-rows.ts'
import {
  hasValues,
  mayHoldCounts,
  type OwnCount,
  type OwnCounts,
  readOwnCounts,
  type UnreadColumn,
} from './own-counts.ts'
import { isEmpty, type OwnFile } from './own-file.ts'
import { OwnFileError, shortText } from './own-file-error.ts'

/** What the user of a file says about it; null and none where the file decides. */
export interface OwnSettings {
  /** Which field a column holds, and which metric an event is. */
  map: readonly Mapping[]
  decimal: DecimalSign | null
  order: DayOrder | null
}

const noSettings: OwnSettings = { map: [], decimal: null, order: null }

/** A column that was read. */
interface ReadColumn {
  column: string
  field: OwnField
  /** How its values are written, `thousands with a point`; null for plain ones. */
  format: string | null
}

/** The counts of a file, and how it was read. */
export interface OwnReport {
  counts: OwnCounts
  columns: readonly ReadColumn[]
  /** The line of its header; null for JSON. */
  header_line: number | null
  /** What a JSON document has beside its rows: totals that were held against them, and lists that were not read. */
  beside: { totals: readonly string[]; lists: readonly string[] }
}

/** Returns what a file counts; null when it has no rows. @throws OwnFileError */
export function readOwnReport(file: OwnFile, settings: OwnSettings = noSettings): OwnReport | null {
  if (file.rows.length === 0) return null
  const mapped = splitMap(file.names, settings.map)
  const columns = findColumns(file.names, mapped, (field, column) => hasValues(file, field, column))
  const read = listColumns(columns)
  const listCells = (isWanted: (field: OwnField) => boolean) =>
    textsIn(file, new Set(read.filter(({ field }) => isWanted(field)).map(({ column }) => file.names.indexOf(column))))
  const counted = () => listCells(isCount)
  const decimal = findDecimalSign(
    { counts: counted(), others: () => textsOutside(file, columns), separator: file.separator },
    settings.decimal,
  )
  const order = findDayOrder(listCells(isDate), settings.order)
  const unread = findUnread(file, read, mapped.ignored)
  refuseSums(file, columns, unread)
  const counts = readOwnCounts(file, columns, { ...mapped, decimal, order })
  refuseMonths(counts)
  if (counts.rows.length === 0 && counts.other_events.length === 0 && counts.left_out.length > 0) return null
  const { totals = [], other_lists = [] } = file
  for (const stated of totals) holdTotals(stated, columns, counts.rows, decimal)
  return {
    counts: { ...counts, unread },
    beside: { totals: totals.filter(({ is_named }) => is_named).map(({ name }) => name), lists: other_lists },
    columns: read.map(({ column, field }) => ({ column, field, format: describeFormat(field, column) })),
    header_line: file.header_line,
  }

  function describeFormat(field: OwnField, column: string): string | null {
    const cells = () => textsIn(file, new Set([file.names.indexOf(column)]))
    if (isCount(field)) return describeNumbers(cells(), decimal)
    return isDate(field) ? describeDays(cells(), order) : null
  }
}

/** Where a spreadsheet takes the days of a month for months, each day is a month behind the one before. @throws OwnFileError */
function refuseMonths({ key, rows }: Pick<OwnCounts, 'key' | 'rows'>): void {
  const day = rows[0]?.key.slice(-2) ?? ''
  const days = new Set(rows.map((row) => row.key))
  if (days.size < 3 || day === '01' || findSpan({ key, rows }, day) !== 'month') return
  const message = `Its days are a month apart: ${[...days].slice(0, 3).join(', ')}.`
  throw new OwnFileError(message, 'Export it by day, with days as text: a spreadsheet can take the day for the month.')
}

/** Totals that a document states beside its rows must be their sums, where they have the same columns. @throws OwnFileError */
function holdTotals(
  { name, is_named, counts: stated }: StatedTotals,
  { counts: read }: OwnColumns,
  rows: readonly OwnCount[],
  decimal: DecimalSign,
): void {
  if (read.layout === 'rows') return
  for (const { metric, column } of read.columns) {
    const text = stated.get(column) ?? stated.get(column.slice(column.lastIndexOf('.') + 1))
    const total = isEmpty(text) ? null : parseWhole(String(text), typeof text === 'number' ? '.' : decimal)
    const sum = rows.reduce((sum, { counts }) => sum + (counts[metric] ?? 0), 0)
    if (total === null || total === sum || (!is_named && total === 0)) continue
    if (!is_named) throw besideRows(shortText(name), `${total} of ${column}`)
    const message = `Its ${shortText(name)} are ${total} of ${column}, and the sum of its rows is ${sum}: is the file whole?`
    throw new OwnFileError(message, `Export all of its rows, or remove ${shortText(name)}: nothing was compared.`)
  }
}

function besideRows(name: string, count: string): OwnFileError {
  return new OwnFileError(
    `Its ${name} beside the rows has ${count}.`,
    `Add it to the rows if it counts, or remove ${name}.`,
  )
}

/**
 * Rows of events by day are rather sums than events, each with a time: a column of counts that is not read is theirs. So
 * is one named as a value.
 */
function refuseSums(file: OwnFile, { key, counts, time_column }: OwnColumns, unread: readonly UnreadColumn[]): void {
  const mayBeCount = ({ column, kind }: UnreadColumn) =>
    isValueName(column) || (key === 'day' && kind === 'count' && hasValues(file, 'viewable_impression', column))
  const column = unread.find(mayBeCount)?.column
  if (counts.layout === 'columns' || counts.count_column !== null) return
  if (time_column !== null || column === undefined) return
  const message = `Its rows are of events by ${key === 'day' ? 'day' : 'key'}, and ${shortText(column)} may be how many.`
  throw new OwnFileError(message, 'Choose the column of the count.', {
    command_hint: `Say what it is: --map ${quoteColumn(column, 'count')}, or ${quoteColumn(column, 'none')} where each row is one event`,
  })
}

/** Words of names of columns of whole numbers that are counts of something else, or none. */
const otherWords = new Set(
  [
    'id ids percent sign rate ratio share line row rank year month week hour day age time timestamp ms index version status code port zip width height',
    'request requests anfragen filled fills fill bids bid opportunities eligible measurable unfilled errors users conversions leads',
  ].flatMap((words) => words.split(' ')),
)
/** Words of names of columns of yes and no that are no counts. */
const flagWords = new Set('test live debug mobile consent gdpr coppa bot'.split(' '))
const amountWords = new Set(
  [
    'money cpm ecpm vcpm cpc cpv rpm tkp etkp revenue price cost costs spend amount earnings payout budget fee currency',
    'umsatz preis kosten erlos erlose betrag einnahmen verdienst ausgaben netto brutto',
  ].flatMap((words) => words.split(' ')),
)

const knownEvents: ReadonlySet<string> = new Set([
  ...Object.keys(eventMetrics),
  'no_fill',
  'decision',
  'session_start',
  'page_view',
])

/** Whether an event that no metric is named by may be one all the same. */
export function mayCount(event: string): boolean {
  const name = normalizeWord(event)
  return !knownEvents.has(name) && !name.split('_').some((word) => otherWords.has(word) || amountWords.has(word))
}

function findUnread(file: OwnFile, read: readonly { column: string }[], ignored: readonly string[]): UnreadColumn[] {
  const known = new Set(['', ...ignored, ...read.map(({ column }) => column)])
  return [...new Set(file.names)]
    .filter((column) => !known.has(column))
    .map((column) => ({ column, kind: readKind(file, column) }))
}

function readKind(file: OwnFile, column: string): UnreadColumn['kind'] {
  const words = normalizeWord(column).split('_')
  if (words.some((word) => amountWords.has(word))) return 'amount'
  const cells = [...textsIn(file, new Set([file.names.indexOf(column)]))].filter((cell) => cell.trim() !== '')
  if (cells.length > 0 && cells.every((cell) => /[€$£¥]/.test(cell))) return 'amount'
  // A name that says it needs no values.
  if (suggestMetric(column) !== null) return 'count'
  if (words.some((word) => otherWords.has(word))) return 'other'
  if (hasValues(file, 'viewable_impression', column)) return 'count'
  return !words.some((word) => flagWords.has(word)) && mayHoldCounts(file, column) ? 'count' : 'other'
}

/** Returns how a file was read, a sentence for each thing that may surprise. */
export function* describeReading(own: OwnReport & { encoding: string }, isCommand = false): Generator<string> {
  const { columns, header_line, encoding, counts } = own
  const read = columns.filter(({ column, field, format }) => column !== field || format !== null)
  const names = read.map(
    ({ column, field, format }) => `${field} from ${column}${format === null ? '' : ` (${format})`}`,
  )
  if (names.length > 0) yield `Read ${names.join(', ')}.`
  yield* describeUnread(counts, isCommand)
  if (header_line !== null && header_line > 1) yield `The header is in line ${header_line}.`
  if (encoding === 'Windows-1252') yield 'It is not UTF-8, and was read as Windows-1252.'
  if (counts.zeros.length > 0) {
    const named = counts.zeros.map(({ text, cells }) => `${cells} ${text === '' ? 'empty' : `with ${text}`}`)
    yield `Cells of counts that were read as 0: ${named.join(', ')}.`
  }
  yield* describeLeftOut(own)
  const events = [...counts.read_events].filter(([event, metric]) => normalizeWord(event) !== metric)
  if (events.length > 0)
    yield `Read as events: ${events.map(([event, metric]) => `${shortText(event)} as ${metric ?? 'none'}`).join(', ')}.`
  const span = findSpan(counts, '01')
  if (span !== null)
    yield `Its days are a ${span} apart, and those between are compared as 0: sums of ${span}s must be exported by day.`
  for (const { event, rows } of counts.other_events) {
    yield `Not compared: ${rows} ${rows === 1 ? 'row' : 'rows'} with the event ${event}, which is no metric.`
  }
}

/** Returns the rows that are no counts, and what is beside the rows. */
function* describeLeftOut({ counts, beside }: OwnReport): Generator<string> {
  for (const reason of ['total', 'note', 'header'] as const) {
    const rows = counts.left_out.filter((row) => row.reason === reason)
    if (rows.length === 0) continue
    const named = rows.slice(0, maxNamed).map(({ line, text }) => `${counts.unit} ${line} (${text})`)
    const more = rows.length > maxNamed ? ` and ${rows.length - maxNamed} more` : ''
    yield `Left out as ${leftOutNames[reason]}: ${named.join(', ')}${more}.`
  }
  if (beside.totals.length > 0) yield `Left out as totals beside the rows: ${beside.totals.map(shortText).join(', ')}.`
  if (beside.lists.length > 0)
    yield `Not read: other lists (${beside.lists.slice(0, maxNamed).map(shortText).join(', ')}).`
  const sums = counts.left_out.filter(({ reason }) => reason === 'sum')
  if (sums.length > 0) {
    const named = sums.slice(0, maxNamed).map(({ line, text }) => `${counts.unit} ${line} is the sum of ${text}`)
    yield `Left out: ${named.join(', ')}${sums.length > maxNamed ? ` and ${sums.length - maxNamed} more` : ''}.`
  }
}

/** Returns the columns that were not read. @param isCommand whether flags and commands can be used */
function* describeUnread({ unread }: OwnCounts, isCommand: boolean): Generator<string> {
  const list = (isWanted: (kind: UnreadColumn['kind']) => boolean) =>
    unread
      .filter(({ kind }) => isWanted(kind))
      .map(({ column }) => shortText(column))
      .join(', ')
  const [others, amounts] = [list((kind) => kind !== 'amount'), list((kind) => kind === 'amount')]
  if (others !== '') yield `Not read: ${others}.${isCommand ? ' --map reads one.' : ''}`
  if (amounts !== '') yield `Not compared: prices and amounts (${amounts})${isCommand ? ': svc beacons billing' : '.'}`
}

const day_ms = 86_400_000

/**
 * Returns how far the days of a file, two at least, are apart, where they may stand for more than themselves.
 * @param day of each month
 */
function findSpan({ key, rows }: Pick<OwnCounts, 'key' | 'rows'>, day: string): 'week' | 'month' | null {
  const days = key === 'day' ? [...new Set(rows.map((row) => row.key))].toSorted() : []
  if (days.length < 2) return null
  const isWeek = (day: string, index: number) =>
    index === 0 || Date.parse(day) - Date.parse(days[index - 1]!) === 7 * day_ms
  if (days.every(isWeek)) return 'week'
  return days.every((each) => each.endsWith(`-${day}`)) ? 'month' : null
}

const leftOutNames = { total: 'a total', note: 'a note', header: 'the header again' } as const
const maxNamed = 5

function isCount(field: OwnField): boolean {
  return field === 'count' || metrics.some((metric) => metric === field)
}

function isDate(field: OwnField): boolean {
  return field === 'day' || field === 'time'
}

function* textsIn({ rows }: OwnFile, indices: ReadonlySet<number>): Generator<string> {
  for (const { cells } of rows) {
    for (const index of indices) {
      const cell = cells[index]
      if (typeof cell === 'string') yield cell
    }
  }
}

/** Returns the cells of the columns that are not read. */
function textsOutside(file: OwnFile, columns: OwnColumns): Iterable<string> {
  const read = new Set(listColumns(columns).map(({ column }) => file.names.indexOf(column)))
  return textsIn(file, new Set(file.names.map((_, index) => index).filter((index) => !read.has(index))))
}
