/**
 * Finds rows that are sums of other rows, which would count everything twice: subtotals and totals in any column, with a
 * name or with none. A row covers those that have its values wherever it has one: a day and `Total` those of the day, no day
 * and a country those of the country. Whether it is their sum decides; a name alone does not: `Total Wine` sells wine.
 */
import type { OwnRow } from '../own-file.ts'
import { shortText } from '../own-file-error.ts'
import { findBreakdowns, findRepeated } from './breakdowns.ts'
import {
  addUp,
  countDigits,
  type Dimension,
  type Entry,
  findDimensions,
  findRun,
  type Group,
  hasNoKey,
  isSum,
  noGroup,
  type RowReader,
  readEntry,
  sureDigits,
} from './entries.ts'

interface TotalRow {
  row: OwnRow
  reason: 'total' | 'sum'
  /** The cell that names it; of a sum, its rows: `lines 2 to 4`. */
  text: string
}

/** A row that is named a total, and is not the sum of the rows that it covers. */
export interface WrongTotal {
  line: number
  /** null without a name. */
  text: string | null
  /** The index of the column that names it, or where its label is missing. */
  column: number
  counts: readonly (number | null)[]
  sums: readonly number[]
  /** The rows that it covers: `lines 2 to 4`. */
  parts: string
  /** Whether it may be a count of its own, as it has a key. */
  has_key: boolean
}

/** Returns the rows that are totals or sums, and those that claim to be. @param rows without notes and headers */
export function findTotalRows(rows: readonly OwnRow[], reader: RowReader): TotalRows {
  const judged = judgeRows(rows, reader)
  const names = new Set(judged.wrong.flatMap(({ column, text, has_key }) => (has_key ? [`${column} ${text}`] : [])))
  if (names.size === 0) return judged
  // A total over all shows whether the others are counts of something with such a name: of the advertiser Total.
  const withThem = judgeRows(rows, { ...reader, names })
  return withThem.wrong.length === 0 && withThem.found.some(({ row }) => hasNoKey(row, reader)) ? withThem : judged
}

interface TotalRows {
  found: readonly TotalRow[]
  wrong: readonly WrongTotal[]
  /** The columns of two breakdowns that both have all counts; null for none. */
  breakdowns: readonly [number, number] | null
}

function judgeRows(rows: readonly OwnRow[], reader: RowReader): TotalRows {
  const found: TotalRow[] = []
  const wrong: WrongTotal[] = []
  const dimensions = findDimensions(rows, reader)
  const entries = rows.flatMap((row) => readEntry(row, dimensions, reader) ?? [])
  const bare = new Set(entries.filter((entry) => isBareTotal(entry, reader)))
  const isWhole = ({ named, values }: Entry) => named === null && !values.includes(null)
  const withCounts = entries.filter((entry) => entry.counts.length > 0 && !bare.has(entry))
  const [counted, candidates] = [withCounts.filter(isWhole), withCounts.filter((entry) => !isWhole(entry))]
  let singles = 0
  for (const [pattern, tried] of listPatterns(candidates, counted.length)) {
    const level = createLevel({ dimensions, rows: counted, pattern }, tried)
    for (const { entry, verdict, group } of judgeEntries(tried, level)) {
      if (verdict === 'counted') counted.push(entry)
      if (verdict === 'wrong') wrong.push(describeWrong(entry, group, { counted, dimensions, unit: reader.unit }))
      if (verdict !== 'sum') continue
      found.push(entry.named === null ? nameSum(entry, group, counted, reader.unit) : nameTotal(entry))
      if (isBare(entry) && group.rows.length < 2) singles++
    }
  }
  for (const { rows, parts, index } of findRepeated(counted, dimensions, reader)) {
    const sum = { ...rows[0]!, counts: addUp(rows).sums, named: index }
    wrong.push(describeWrong(sum, addUp(parts), { counted, dimensions, unit: reader.unit }))
  }
  // One row alone is summed up only in a file that has other sums: by itself it lacks its key.
  const has_others = singles < found.length || [...bare].some(({ is_average }) => !is_average)
  return {
    found: [...[...bare].map(nameTotal), ...(has_others ? found : [])],
    wrong: wrong.toSorted((a, b) => a.line - b.line),
    breakdowns: findBreakdowns(counted, dimensions, reader),
  }
}

/** Whether a row has counts alone. */
function isBare({ named, values }: Entry): boolean {
  return named === null && values.every((value) => value === null)
}

/** Whether a row is named a total, or an average, and has no count to hold against others. An average without a key needs none. */
function isBareTotal({ row, counts, named, values, is_average }: Entry, reader: RowReader): boolean {
  if (is_average) return counts.length === 0 || (values[0] === null && hasNoKey(row, reader))
  return counts.length === 0 && named !== null && values[0] === null
}

/** Each pattern costs the time of all rows. */
const maxRowsTried = 1_000_000

/**
 * Returns rows by the columns in which they have a value, those with most first: what is no sum there is a part of those above. A
 * file of totals has few such patterns, one of sparse columns many: then only those with names are tried.
 */
function listPatterns(candidates: readonly Entry[], rows: number): readonly (readonly [string, readonly Entry[]])[] {
  const patterns = Map.groupBy(candidates, ({ values }) => values.map((value) => (value === null ? '-' : '+')).join(''))
  const width = (pattern: string) => pattern.replaceAll('+', '').length
  return [...patterns]
    .toSorted(([a], [b]) => width(a) - width(b))
    .filter(([, entries], index) => index * rows < maxRowsTried || entries.some(({ named }) => named !== null))
}

function nameTotal({ row, named }: Entry): TotalRow {
  return { row, reason: 'total', text: shortText(row.cells[named!] ?? '') }
}

function nameSum({ row }: Entry, { rows }: Group, counted: readonly Entry[], unit: RowReader['unit']): TotalRow {
  return { row, reason: 'sum', text: nameLines(rows, counted, unit) }
}

function describeWrong(
  { row, named, counts, values }: Entry,
  { sums, rows }: Group,
  {
    counted,
    dimensions,
    unit,
  }: Pick<Level, 'counted'> & Pick<RowReader, 'unit'> & { dimensions: readonly Dimension[] },
): WrongTotal {
  const text = named === null ? null : shortText(row.cells[named] ?? '')
  const column = named ?? dimensions[values.indexOf(null)]!.index
  const has_key = values[0] !== null && column !== dimensions[0]!.index
  return { line: row.line, text, column, counts, sums, parts: nameLines(rows, counted, unit), has_key }
}

/** Returns some rows by their lines; with their number where others are between them. */
function nameLines(rows: readonly OwnRow[], counted: readonly Entry[], unit: RowReader['unit']): string {
  const [first, last] = [rows[0]?.line ?? 0, rows.at(-1)?.line ?? 0]
  if (rows.length < 2) return rows.length === 0 ? 'no rows' : `${unit} ${first}`
  const isWhole = counted.filter(({ row: { line } }) => line >= first && line <= last).length === rows.length
  if (!isWhole) return `${rows.length} rows of ${unit}s ${first} to ${last}`
  return `${unit}s ${first} ${rows.length === 2 ? 'and' : 'to'} ${last}`
}

/** Where the rows of one pattern are looked for. */
interface Level {
  /** Returns the rows with the same values. */
  all(entry: Entry): Group
  /** The same without those of whole numbers, which may be counts. */
  texts(entry: Entry): Group
  /** In the order of the file. */
  counted: readonly Entry[]
  /** Whether another row has a value. */
  isShared(value: string, position: number): boolean
}

function createLevel(
  { dimensions, rows, pattern }: { dimensions: readonly Dimension[]; rows: readonly Entry[]; pattern: string },
  entries: readonly Entry[],
): Level {
  const counted = rows.toSorted((a, b) => a.row.line - b.row.line)
  const isGiven = dimensions.map((_, position) => pattern[position] === '+')
  const isText = isGiven.map((given, position) => given && !dimensions[position]!.isWhole)
  const all = indexGroups(entries, counted, isGiven)
  const known: ReadonlySet<string | null>[] = []
  return {
    ...{ all, texts: isText.join() === isGiven.join() ? all : indexGroups(entries, counted, isText), counted },
    isShared(value, position) {
      known[position] ??= new Set(counted.map(({ values }) => values[position]!))
      return known[position].has(value)
    },
  }
}

interface Judged {
  entry: Entry
  verdict: 'sum' | 'wrong' | 'counted' | 'unknown'
  group: Group
}

/** Judges the rows that have a value in the same columns. */
function judgeEntries(entries: readonly Entry[], level: Level): readonly Judged[] {
  const judged = entries.map((entry): Judged => {
    const groups = [level.all(entry), level.texts(entry)]
    const sum = groups.find((group) => isSum(entry, group)) ?? findOther(entry, level)
    const group = sum ?? groups.find(({ rows }) => rows.length > 0) ?? noGroup
    if (sum !== undefined) return { entry, group, verdict: 'sum' }
    const isNone = entry.counts.every((count) => (count ?? 0) === 0)
    if (entry.values[0] !== null) return { entry, group, verdict: isNone || group === noGroup ? 'counted' : 'wrong' }
    if (entry.named === null) return { entry, group, verdict: 'unknown' }
    return { entry, group, verdict: isNone ? 'sum' : 'wrong' }
  })
  const isUnnamed = ({ entry }: Judged) => entry.named === null && entry.values[0] !== null
  const unnamed = judged.filter(isUnnamed)
  // A label may be missing: such rows are counts where most of them are no sums, and sums where that is no accident.
  const sums = unnamed.filter(({ verdict }) => verdict === 'sum')
  const several = sums.filter(({ group }) => group.rows.length > 1)
  const others = unnamed.filter(({ verdict }) => verdict === 'wrong').length
  const digits = sums.reduce((sum, { entry, group }) => sum + countDigits(entry.counts, group.rows.length), 0)
  // A total is never less than its parts: where none is, they may be totals of more than the file has.
  const mayCover = ({ entry: { counts }, group: { sums } }: Judged) =>
    counts.every((count, at) => (count ?? 0) >= sums[at]!)
  const parted = unnamed.filter(({ verdict }) => verdict !== 'counted')
  const isDoubtful = others > 0 && parted.length > 1 && parted.every(mayCover)
  if (others > 0 ? several.length > others : digits >= sureDigits) return judged
  const verdict = isDoubtful || (others === 0 && digits >= doubtfulDigits) ? 'wrong' : 'counted'
  return judged.map((each) => (isUnnamed(each) && each.verdict !== 'counted' ? { ...each, verdict } : each))
}

/** Digits that are equal by accident in one of two files. */
const doubtfulDigits = 0.3

/** Returns the rows that each entry covers, by their values in some columns. */
function indexGroups(entries: readonly Entry[], counted: readonly Entry[], isUsed: readonly boolean[]) {
  const signature = ({ values }: Entry) => values.filter((_, position) => isUsed[position]).join('\n')
  const parts = new Map(entries.map((entry): [string, Entry[]] => [signature(entry), []]))
  for (const entry of counted) parts.get(signature(entry))?.push(entry)
  const groups = new Map([...parts].map(([name, each]) => [name, addUp(each)]))
  return (entry: Entry): Group => groups.get(signature(entry)) ?? noGroup
}

/**
 * Returns the rows that a total sums up where its values do not say so: those right before or after one without a key, as
 * programs write sections; or those with the same values but for texts that no other row has, such as `3 campaigns`.
 */
function findOther(entry: Entry, { counted, isShared }: Level): Group | undefined {
  const { row, values, named } = entry
  if (values[0] === null) {
    const at = counted.findIndex((each) => each.row.line > row.line)
    const [before, after] = at < 0 ? [counted, []] : [counted.slice(0, at), counted.slice(at)]
    if (named === null) return isBare(entry) ? findRun(entry, before.toReversed()) : undefined
    return findRun(entry, before.toReversed()) ?? findRun(entry, after)
  }
  if (named === null) return undefined
  const shared = values.map((value, at) => (value !== null && isShared(value, at) ? value : null))
  if (shared[0] === null || values.every((value, at) => value === shared[at])) return undefined
  const group = addUp(
    counted.filter((each) => shared.every((value, at) => value === null || value === each.values[at])),
  )
  return group.rows.length > 1 && isSum(entry, group) ? group : undefined
}
