/** What an integrator counted, row by row of a file: for which slot, session or day, which metric, how many. */
import { parseToken } from '#contract/ids.ts'
import type { Metric } from '#contract/resources/beacons.ts'
import { unguard } from '#contract/separated.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { type DayOrder, parseZonedTime } from './cells/calendar.ts'
import { BadValue, findKey, findStrange, isSlot, type KeyFormat, parseTime, readKey, readTime } from './cells/keys.ts'
import { type DecimalSign, parseWhole } from './cells/numbers.ts'
import { findMetric, metrics, metricWords, normalizeWord, type OwnField, suggestMetric } from './column-words.ts'
import { type OwnColumns, quoteColumn, unknownColumn } from './columns.ts'
import { findRowsLeftOut, type LeftOutRow } from './left-out/rows-left-out.ts'
import type { WrongTotal } from './left-out/total-rows.ts'
import { isEmpty, type OwnFile, type OwnRow } from './own-file.ts'
import { OwnFileError, type RowProblem, rowFailure, shortText } from './own-file-error.ts'

type Counts = Readonly<Partial<Record<Metric, number>>>

export interface OwnCount {
  line: number
  /** A slot (also that of an asset token), a session, or a day as `2026-01-31`. */
  key: string
  /** When it happened, by the file, epoch milliseconds; null where the file has no time. */
  time_ms: number | null
  counts: Counts
}

export interface OwnCounts {
  key: Exclude<OwnColumns['key'], 'asset_token'>
  /** The metrics that the file counts. */
  metrics: readonly Metric[]
  rows: readonly OwnCount[]
  /** The events that were read, each with its metric; null for one that is left out on purpose. */
  read_events: ReadonlyMap<string, Metric | null>
  /** Rows of events that are no metric, by event: they are not compared. */
  other_events: readonly { event: string; rows: number }[]
  /** Cells of counts that were read as 0 though no number stands there, by their text; empty for none. */
  zeros: readonly { text: string; cells: number }[]
  /** Rows that are not counts: totals, notes, a header that is there again. */
  left_out: readonly LeftOutRow[]
  layout: OwnColumns['counts']['layout']
  /** What its rows are numbered by. */
  unit: 'line' | 'item'
  unread: readonly UnreadColumn[]
  /** Whether its times state their zone: their days are in no other. */
  is_zoned: boolean
  /** When its days begin, by the offsets of their midnights, epoch milliseconds; null for days of UTC. */
  midnights: ReadonlyMap<string, number> | null
}

/** A column that was not read, and what its values may be: counts, prices and amounts, or anything else. */
export interface UnreadColumn {
  column: string
  kind: 'count' | 'amount' | 'other'
}

/** How the values of a file are written. */
interface ValueFormat {
  decimal: DecimalSign
  order: DayOrder | null
  /** Columns that are left out on purpose. */
  ignored: readonly string[]
  /** The metrics of events; null for one that is left out on purpose. */
  events: ReadonlyMap<string, Metric | null>
}

type RowFormat = ValueFormat & KeyFormat

/** Returns the counts of a file. @throws OwnFileError that names each line with a bad value */
export function readOwnCounts(file: OwnFile, columns: OwnColumns, format: ValueFormat): Omit<OwnCounts, 'unread'> {
  const rows: OwnCount[] = []
  const problems: RowProblem[] = []
  const others = new Map<string, number>()
  const read_events = new Map<string, Metric | null>()
  const zeros = new Map<string, number>()
  const keys = listKeys(file, columns)
  const zones = findZones(keys, columns, format)
  const strange = findStrange(keys, columns)
  const reader = createReader(file, columns, { ...format, midnights: zones.midnights, strange })
  const { left_out, wrong } = findRowsLeftOut(file, reader)
  for (const total of wrong)
    problems.push({ line: total.line, message: describeWrongTotal(total, columns, file.names) })
  const isWrong = new Set(wrong.map(({ line }) => line))
  const isLeftOut = new Set(left_out.map(({ line }) => line))
  for (const row of file.rows) {
    if (isLeftOut.has(row.line) || isWrong.has(row.line)) continue
    try {
      const counts = reader.readCounts(row, { others, read_events, zeros })
      if (counts !== null) rows.push({ line: row.line, counts, ...reader.readKey(row) })
    } catch (error) {
      if (!(error instanceof BadValue)) throw error
      problems.push({ line: row.line, message: error.message })
    }
  }
  // Rows without a key that have labels are those of a group above.
  const isOfGroup = (row: OwnRow) => isEmpty(reader.keyCell(row)) && reader.labels.some((at) => !isEmpty(row.cells[at]))
  const has_unlabelled = problems.length > 0 && file.rows.some((row) => !isLeftOut.has(row.line) && isOfGroup(row))
  if (problems.length > 0) throw refuseRows(file.names, problems, { wrong, has_unlabelled, unit: reader.unit })
  const other_events = [...others].map(([event, count]) => ({ event, rows: count }))
  const unknown = [...format.events.keys()].find((event) => !read_events.has(event))
  if (unknown !== undefined) throw unknownColumn(unknown, file.names, [...read_events.keys(), ...others.keys()])
  refuseSynonyms(read_events, format.events, columns)
  if (rows.length === 0 && other_events.length > 0) throw noMetric(other_events.map(({ event }) => event))
  return {
    key: columns.key === 'asset_token' ? 'slot_id' : columns.key,
    metrics: listMetrics(columns, rows),
    rows,
    read_events,
    other_events,
    zeros: [...zeros].map(([text, cells]) => ({ text, cells })),
    left_out,
    layout: columns.counts.layout,
    unit: reader.unit,
    ...zones,
  }
}

function listKeys({ names, rows }: OwnFile, { key_column }: OwnColumns): string[] {
  const index = names.indexOf(key_column)
  return rows.map(({ cells }) => String(cells[index] ?? '').trim())
}

/**
 * Returns what the times of days say of their zone. Midnights with an offset are days of that zone, as databases write them.
 * Midnights of UTC may be labels of any days.
 */
function findZones(
  keys: readonly string[],
  { key }: OwnColumns,
  { order }: ValueFormat,
): Pick<OwnCounts, 'is_zoned' | 'midnights'> {
  const texts = key === 'day' ? keys : []
  const times = texts.filter((text) => parseTime(text, order) !== null).map(parseZonedTime)
  const zoned = times.filter((time) => time !== null)
  if (zoned.length === 0 || zoned.length < times.length) return { is_zoned: false, midnights: null }
  if (zoned.some(({ clock_ms }) => clock_ms !== 0)) return { is_zoned: true, midnights: null }
  if (zoned.every(({ offset_ms }) => offset_ms === 0)) return { is_zoned: false, midnights: null }
  return { is_zoned: true, midnights: new Map(zoned.map(({ day, at_ms }) => [day, at_ms])) }
}

function refuseRows(
  names: readonly string[],
  problems: readonly RowProblem[],
  { wrong, has_unlabelled, unit }: { wrong: readonly WrongTotal[]; has_unlabelled: boolean; unit: string },
): OwnFileError {
  const pivot = has_unlabelled
    ? ' A pivot table can repeat the labels of its groups in each row. Of several breakdowns, export one.'
    : ''
  const with_jq = unit === 'item' ? ' (with jq)' : ''
  const hint = `Correct these rows, or leave them out${with_jq}: nothing was compared.${pivot}`
  const doubtful = wrong.find(({ has_key }) => has_key)
  const name = doubtful === undefined ? '' : names[doubtful.column]!
  const command_hint =
    name === '' ? hint : `${hint} If ${nameTotal(doubtful!, names)} is no total: --map ${quoteColumn(name, 'none')}`
  const sorted = problems.toSorted((a, b) => a.line - b.line)
  return rowFailure(sorted, { hint, command_hint }, unit)
}

function describeWrongTotal(total: WrongTotal, { counts: read }: OwnColumns, names: readonly string[]): string {
  const { counts, sums, parts } = total
  const columns = read.layout === 'columns' ? read.columns.map(({ column }) => column) : [read.count_column ?? '']
  const wrong = columns.flatMap((column, index) =>
    counts[index] === null || counts[index] === sums[index]
      ? []
      : [`${counts[index]} of ${column}, and the sum of ${parts} is ${sums[index] ?? 0}`],
  )
  const name = nameTotal(total, names)
  if (wrong.length === 0) return `${name} has the counts of ${parts}: it may be their sum, or more`
  return `${name} is ${wrong.join('; ')}: is the file whole?`
}

function nameTotal({ text, column }: WrongTotal, names: readonly string[]): string {
  return text ?? `a row without ${names[column]}`
}

/**
 * Two events of one metric may be the same count twice, and so may two spellings of one where each has its count.
 * @throws OwnFileError unless their user named them
 */
function refuseSynonyms(
  read: ReadonlyMap<string, Metric | null>,
  named: ValueFormat['events'],
  { counts }: OwnColumns,
): void {
  const hasCounts = counts.layout === 'rows' && counts.count_column !== null
  const spell = (event: string) => (hasCounts ? event : normalizeWord(event))
  const words = new Set([...named.keys()].map(spell))
  const guessed = [...read.keys()].filter((event) => !words.has(spell(event)))
  for (const event of guessed) {
    const metric = read.get(event)!
    const isOther = (each: string) => read.get(each) === metric && spell(each) !== spell(event)
    const other = [...read.keys()].find(isOther)
    if (other === undefined) continue
    const both = `--map ${quoteColumn(event, metric)} --map ${quoteColumn(other, metric)}`
    throw new OwnFileError(
      `The events ${shortText(event)} and ${shortText(other)} both could be ${metric}.`,
      'Choose one.',
      {
        command_hint: `Leave one out: --map ${quoteColumn(other, 'none')}. If both count: ${both}`,
      },
    )
  }
}

function noMetric(events: readonly string[]): OwnFileError {
  const words = metrics.map((metric) => `${metric} (also ${metricWords[metric].slice(0, 3).join(', ')})`)
  const message = `No event of it is a metric: ${events.slice(0, 10).join(', ')}.`
  const hint = `The metrics are: ${words.join('; ')}`
  const event = events.find((each) => suggestMetric(each) !== null)
  const example = event === undefined ? 'EVENT=METRIC' : quoteColumn(event, suggestMetric(event)!)
  return new OwnFileError(message, hint, { command_hint: `Say which it is: --map ${example}. ${hint}` })
}

function listMetrics({ counts }: OwnColumns, rows: readonly OwnCount[]): readonly Metric[] {
  if (counts.layout === 'columns') return counts.columns.map(({ metric }) => metric)
  return metrics.filter((metric) => rows.some((row) => row.counts[metric] !== undefined))
}

/** Reads the rows of a file, each value by the format that was found for all of them. */
function createReader({ names, separator, kind, header_line }: OwnFile, columns: OwnColumns, format: RowFormat) {
  const indexOf = (column: string) => names.indexOf(column)
  const keyIndex = indexOf(columns.key_column)
  const timeIndex =
    columns.time_column === null || columns.time_column === columns.key_column ? -1 : indexOf(columns.time_column)
  const { counts } = columns
  const counted =
    counts.layout === 'columns'
      ? counts.columns.map(({ metric, column }) => ({ metric, column, index: indexOf(column) }))
      : []
  const metricIndex = counts.layout === 'rows' ? indexOf(counts.metric_column) : -1
  const countColumn = counts.layout === 'rows' ? counts.count_column : null
  const countIndex = countColumn === null ? -1 : indexOf(countColumn)
  const cellAt = ({ cells }: OwnRow, index: number) =>
    separator === null ? cells[index] : unguard(String(cells[index] ?? ''))
  const readCell = ({ cells }: OwnRow, { column, index }: CountColumn, zeros: Map<string, number>) =>
    readNoted(cells[index], { column, decimal: format.decimal, zeros })
  const readColumns = (row: OwnRow, zeros: Map<string, number>): Counts => {
    const found: Partial<Record<Metric, number>> = {}
    for (const { metric, column, index } of counted) {
      if (index >= row.cells.length) throw new BadValue(describeShort(column, row.line - 1 === header_line))
      found[metric] = readCell(row, { column, index }, zeros)
    }
    return found
  }
  const noLabels = new Set([keyIndex, timeIndex, metricIndex, countIndex, ...counted.map(({ index }) => index)])
  const summed = countColumn === null ? counted : [{ column: countColumn, index: countIndex }]
  return {
    labels: names.flatMap((name, index) => (noLabels.has(index) || format.ignored.includes(name) ? [] : [index])),
    metric_index: metricIndex,
    unit: kind === 'json' ? ('item' as const) : ('line' as const),
    isNothing: isNoNumber,
    isWhole: (text: string) => parseWhole(text, '.') !== null || parseWhole(text, ',') !== null,
    listCounts(row: OwnRow): readonly (number | null)[] | null {
      try {
        return summed.map(({ column, index }) =>
          isNoNumber(row.cells[index]) ? null : readCount(row.cells[index], column, format.decimal),
        )
      } catch (error) {
        if (!(error instanceof BadValue)) throw error
        return null
      }
    },
    isRead: (index: number) => noLabels.has(index),
    mayCount(text: string, index: number): boolean {
      if (index === metricIndex) return nameMetric(text, format) !== null
      return summed.some((each) => each.index === index) && Object.hasOwn(flags, text.toLowerCase())
    },
    key: columns.key,
    key_column: columns.key_column,
    key_index: keyIndex,
    isAnyKey: columns.key === 'session_id',
    keyCell: (row: OwnRow) => cellAt(row, keyIndex),
    findKey: (value: unknown) => findKey(value, columns, format),
    /**
     * Returns what a row counts; null for an event that is no metric, which is added to `others`. Cells without a number
     * that are 0 are added to `zeros`.
     */
    readCounts(row: OwnRow, { others, read_events, zeros }: Noted): Counts | null {
      refuseWide(row, names.length)
      if (counts.layout === 'columns') return readColumns(row, zeros)
      const event = cellAt(row, metricIndex)
      // Our own export of beacons has no metric where a beacon did not count.
      if (isEmpty(event)) return null
      const name = typeof event === 'object' ? shortText(event) : String(event).trim()
      const metric = nameMetric(name, format)
      if (metric !== null || format.events.has(name)) read_events.set(name, metric)
      else addTo(others, shortText(name))
      if (metric === null) return null
      return { [metric]: countColumn === null ? 1 : readCell(row, { column: countColumn, index: countIndex }, zeros) }
    },
    readKey(row: OwnRow): Pick<OwnCount, 'key' | 'time_ms'> {
      const time = timeIndex === -1 ? null : cellAt(row, timeIndex)
      const time_ms = isEmpty(time) ? null : readTime(time, columns.time_column!, format)
      return { key: readKey(cellAt(row, keyIndex), columns, format), time_ms }
    },
  }
}

function describeShort(column: string, isFirst: boolean): string {
  const why = isFirst ? '. If a name of the header has a line break, write the header on one line' : ''
  return `it ends before ${column}${why}`
}

interface CountColumn {
  column: string
  index: number
}

/** Reads a count. A cell without a number that is 0 is added to `zeros`. */
function readNoted(
  cell: unknown,
  { column, decimal, zeros }: { column: string; decimal: DecimalSign; zeros: Map<string, number> },
): number {
  const count = readCount(cell, column, decimal)
  if (count === 0 && isNoNumber(cell)) addTo(zeros, isEmpty(cell) ? '' : shortText(cell))
  return count
}

function nameMetric(event: string, { events }: ValueFormat): Metric | null {
  return events.has(event) ? (events.get(event) ?? null) : findMetric(event)
}

function refuseWide({ cells }: OwnRow, width: number): void {
  if (cells.slice(width).every(isEmpty)) return
  throw new BadValue(`it has ${cells.length} cells, and the header ${width}: quote cells with the separator in them`)
}

/** What is noted of the rows of a file. */
interface Noted {
  others: Map<string, number>
  read_events: Map<string, Metric | null>
  zeros: Map<string, number>
}

function addTo(counts: Map<string, number>, text: string): void {
  counts.set(text, (counts.get(text) ?? 0) + 1)
}

/** What programs write where there is nothing to count. */
const nothings = new Set(['-', '--', '–', '—', 'null', '\\n', 'n/a', 'na', 'nan'])

/** Whether a cell stands for nothing: an empty one, or a word for it. */
function isNoNumber(cell: unknown): boolean {
  return isEmpty(cell) || (typeof cell === 'string' && nothings.has(cell.trim().toLowerCase()))
}

const flags: Readonly<Record<string, number>> = {
  ...{ true: 1, yes: 1, wahr: 1, ja: 1, vrai: 1, oui: 1, t: 1, y: 1, j: 1 },
  ...{ false: 0, no: 0, falsch: 0, nein: 0, faux: 0, non: 0, f: 0, n: 0 },
}

/** Reads a whole number, with or without separators of thousands, or yes and no; an empty cell, or a word for nothing, is 0. */
function readCount(value: unknown, column: string, decimal: DecimalSign): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  if (isNoNumber(value)) return 0
  const text = String(value)
  const count =
    parseWhole(text, typeof value === 'number' ? '.' : decimal) ?? findEntry(flags, text.trim().toLowerCase())
  if (count !== undefined) return count
  throw new BadValue(`${column} is ${shortText(value)}: it must be a whole number from 0, yes or no`)
}

/**
 * Whether a column may hold a count: a cell of it can be read as one, and not most of them are something else. One that has
 * only words for nothing may be of zeros; an empty one is not used.
 */
export function mayHoldCounts({ names, rows }: OwnFile, column: string): boolean {
  const index = names.indexOf(column)
  const texts = rows.map(({ cells }) => String(cells[index] ?? '').trim()).filter((text) => text !== '')
  const isCount = (text: string) =>
    isNoNumber(text) ||
    Object.hasOwn(flags, text.toLowerCase()) ||
    (parseWhole(text, '.') ?? parseWhole(text, ',')) !== null
  return texts.filter(isCount).length * 2 > texts.length
}

/** Whether a column has values of a field: one slot or asset token at least, whole numbers alone for a metric, days for a day. */
export function hasValues({ names, rows }: OwnFile, field: OwnField, column: string): boolean {
  const index = names.indexOf(column)
  const texts = rows.map(({ cells }) => String(cells[index] ?? '').trim()).filter((text) => text !== '')
  if (field === 'slot_id') return texts.some(isSlot)
  if (field === 'asset_token') return texts.some((text) => parseToken(text)?.kind === 'ast')
  if (field === 'day')
    return texts.some((text) => (parseTime(text, 'day_first') ?? parseTime(text, 'month_first')) !== null)
  return texts.length > 0 && texts.every((text) => (parseWhole(text, '.') ?? parseWhole(text, ',')) !== null)
}
