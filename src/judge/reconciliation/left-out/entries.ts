/** The rows of a file as their values, the key and each label, and their counts: what sums are looked for by. */
import { isEmpty, type OwnRow } from '../own-file.ts'
import { shortText } from '../own-file-error.ts'
import { isAverageName, isTotalName, namesStatistic, namesTotal, restOfTotal } from './total-names.ts'

/** What is known of the columns of a file. */
export interface RowReader {
  /** What a row is numbered by. */
  unit: 'line' | 'item'
  key_index: number
  keyCell(row: OwnRow): unknown
  /** Returns what a cell of the key column names, or null. */
  findKey(value: unknown): string | null
  /** A session may have any name, also that of a total. */
  isAnyKey: boolean
  /** Which cells are labels: neither a key nor a time nor a count. */
  labels: readonly number[]
  /** The cell that says what is counted; -1 where columns do. */
  metric_index: number
  /** Whether a cell has a word for nothing. */
  isNothing(cell: unknown): boolean
  /** Whether a text is a whole number. */
  isWhole(text: string): boolean
  /** Names of totals that are of something else, each after its column. */
  names?: ReadonlySet<string>
  /** The counts of a row, null where a cell has none; null for a row that has no counts. */
  listCounts(row: OwnRow): readonly (number | null)[] | null
}

export interface Entry {
  row: OwnRow
  counts: readonly (number | null)[]
  /** Of the key and each label; null covers all. */
  values: readonly (string | null)[]
  /** The column with the name of a total; null without one. */
  named: number | null
  /** Whether that name is one of an average. */
  is_average: boolean
}

export interface Group {
  sums: readonly number[]
  rows: readonly OwnRow[]
}

export const noGroup: Group = { sums: [], rows: [] }

export function addUp(entries: readonly Entry[]): Group {
  if (entries.length === 0) return noGroup
  const sums = entries[0]!.counts.map((_, index) => entries.reduce((sum, { counts }) => sum + (counts[index] ?? 0), 0))
  return { sums, rows: entries.map(({ row }) => row) }
}

export interface Dimension {
  index: number
  /** Whether it holds whole numbers alone: identifiers, or counts of something else. */
  isWhole: boolean
  values: ReadonlySet<string>
}

/** Returns the key and the labels; not those of amounts and rates, which are sums of their own. */
export function findDimensions(rows: readonly OwnRow[], reader: RowReader): readonly Dimension[] {
  const indices = [reader.key_index, ...reader.labels, ...(reader.metric_index < 0 ? [] : [reader.metric_index])]
  return indices.flatMap((index, position) => {
    const values = new Set<string>()
    for (const { cells } of rows)
      if (!isBlank(cells[index]) && !isTotalName(cells[index])) values.add(normalize(cells[index]))
    if (position === 0) return [{ index, isWhole: false, values }]
    const texts = [...values].filter((text) => !/^[-–—]+$/.test(text))
    const isWhole = texts.length > 0 && texts.every(reader.isWhole)
    const isAmount = !isWhole && texts.length > 0 && texts.every((text) => amount.test(text))
    return values.size === 0 || isAmount ? [] : [{ index, isWhole, values }]
  })
}

const amount = /^[-+(€$£¥\s]{0,4}\d[\d.,\s'’]{0,30}[€$£¥%)\s]{0,4}$/

function normalize(cell: unknown): string {
  return String(cell).trim().toLowerCase()
}

/** Whether a cell is empty, or the word of a database for it: a rollup has it where a row is a sum. */
function isBlank(cell: unknown): boolean {
  return isEmpty(cell) || (typeof cell === 'string' && /^\s*(null|\\n)\s*$/i.test(cell))
}

/** Returns a row as its values and counts; null where its key is neither one nor a total. */
export function readEntry(row: OwnRow, dimensions: readonly Dimension[], reader: RowReader): Entry | null {
  let named: number | null = null
  const cell = reader.keyCell(row)
  const findKey = (text: unknown) => (isEmpty(text) ? null : reader.findKey(text))
  const isStatistic = namesStatistic(cell)
  const isNamed =
    (reader.isAnyKey && isTotalName(cell)) || ((isStatistic || namesTotal(cell)) && findKey(cell) === null)
  const key = isNamed ? findKey(restOfTotal(cell)) : findKey(cell)
  if (isNamed) named = reader.key_index
  else if (key === null && !isBlank(cell)) return null
  const values = dimensions.map(({ index, values }, position) => {
    if (position === 0) return key
    const label = row.cells[index]
    if (isBlank(label) || (key === null && reader.isNothing(label))) return null
    const isName = index === reader.metric_index || reader.names?.has(`${index} ${shortText(label)}`)
    if (isName || !namesTotal(label)) return normalize(label)
    const rest = normalize(restOfTotal(label))
    // `Spring Total` is one of Spring, and `Total Wine` a name.
    const isOfGroup = rest !== '' && values.has(rest)
    if (!isTotalName(label) && !isOfGroup && key !== null) return normalize(label)
    named ??= index
    return isOfGroup ? rest : null
  })
  const is_average = named !== null && (isAverageName(row.cells[named]) || (named === reader.key_index && isStatistic))
  return { row, counts: reader.listCounts(row) ?? [], values, named, is_average }
}

/** Digits that are equal by accident in one of 16 files. */
export const sureDigits = 1.2

/** Returns how many digits of a sum are as they must be; half of those of one row, which may be there twice. */
export function countDigits(counts: readonly (number | null)[], parts: number): number {
  const digits = counts.reduce<number>((sum, count) => sum + Math.log10(Math.max(count ?? 0, 1)), 0)
  return parts > 1 ? digits : digits / 2
}

/** Whether a row has the counts of others: their sums, or their means, rounded. One of zeros with a key is a count, and does no harm. */
export function isSum({ counts, values, is_average }: Entry, { sums, rows }: Group): boolean {
  const isEqual = counts.every(
    (count, index) =>
      count === null || (is_average ? Math.abs(count - sums[index]! / rows.length) < 1 : count === sums[index]),
  )
  return rows.length > 0 && isEqual && counts.some((count) => count !== null && (count > 0 || values[0] === null))
}

/** Returns the first rows, in their order in the file, if some of them add up to the counts of a row. */
export function findRun(entry: Entry, counted: readonly Entry[]): Group | undefined {
  const sums = entry.counts.map(() => 0)
  for (const [last, { counts }] of counted.entries()) {
    for (const [index, count] of counts.entries()) sums[index]! += count ?? 0
    if (isSum(entry, { sums, rows: [counted[0]!.row] })) {
      const rows = counted.slice(0, last + 1).map(({ row }) => row)
      return { sums, rows: rows.toSorted((a, b) => a.line - b.line) }
    }
    if (sums.some((sum, index) => sum > (entry.counts[index] ?? Number.POSITIVE_INFINITY))) return undefined
  }
  return undefined
}

/** Whether a row has no key, or a text in its place. */
export function hasNoKey(row: OwnRow, { keyCell, findKey }: RowReader): boolean {
  return isEmpty(keyCell(row)) || findKey(keyCell(row)) === null
}
