/**
 * Finds the rows of a file that are no counts: totals and sums, which would count everything twice, notes below the
 * counts, and a header that is there again. Each is named in the result.
 */
import type { KeyField } from './columns.ts'
import { isEmpty, type OwnFile, type OwnRow } from './own-file.ts'
import { shortText } from './own-file-error.ts'

/** What is known of the column that says what a row counts for. */
interface KeyReader {
  key: KeyField
  /** Its name. */
  key_column: string
  keyCell(row: OwnRow): unknown
  isKey(value: unknown): boolean
  /** Which cells are labels: neither a key nor a time nor a count. */
  labels: readonly number[]
  /** The count of each metric column; null for a row that has none, or for rows of events. */
  listCounts(row: OwnRow): readonly number[] | null
}

export interface LeftOutRow {
  line: number
  reason: 'total' | 'note' | 'header' | 'sum'
  /** Its first cell, as messages show it; of a sum, its rows: `lines 2 to 4`. */
  text: string
}

const totalWords = new Set(
  [
    'total|totals|grand total|grand totals|subtotal|sub total|sub-total|overall|overall total|sum|all rows',
    'gesamt|gesamtsumme|gesamtergebnis|insgesamt|summe|ergebnis|teilergebnis|zwischensumme',
    'total général|total general|totaux|sous-total|somme|totale|totale generale|totale complessivo|totali',
    'total geral|totales|suma|suma total|soma|totaal|eindtotaal|subtotaal|totalt|summa|yhteensä',
    'razem|suma końcowa|toplam|genel toplam|итого|общий итог|всего|合計|総計|小計|总计|合计|總計|총계|합계',
  ].flatMap((words) => words.split('|')),
)

/** Whether a cell names a row of totals: `Grand Total:`, `Gesamt (12)`. */
function isTotalName(cell: unknown): boolean {
  if (typeof cell !== 'string' || cell.length > maxNameLength) return false
  const words = cell
    .toLowerCase()
    .replace(/\([^()]*\)/g, '')
    .replace(/[\s:：*=]+/g, ' ')
    .trim()
  return totalWords.has(words)
}

const maxNameLength = 60

/** Whether a cell is the total of a group: `2026-01-31 Total`, `Total for January`. */
function namesTotal(cell: unknown): boolean {
  if (typeof cell !== 'string' || cell.length > maxNameLength) return false
  const words = cell.trim().split(/\s+/)
  return [words[0], words.at(-1), words.slice(0, 2).join(' '), words.slice(-2).join(' ')].some(isTotalName)
}

/** Returns the rows that are no counts. Rows that say nothing at all are left out without a word. */
export function findRowsLeftOut(file: OwnFile, reader: KeyReader): LeftOutRow[] {
  const found: LeftOutRow[] = []
  if (file.separator === null) return found
  const add = (row: OwnRow, reason: LeftOutRow['reason']) =>
    found.push({ line: row.line, reason, text: shortText(row.cells.find((cell) => !isEmpty(cell)) ?? '') })
  const notes = findTrailingNotes(file, reader)
  for (const row of file.rows) {
    if (notes.has(row)) add(row, 'note')
    else if (isTotal(row, reader)) add(row, 'total')
    else if (isHeader(row, file, reader)) add(row, 'header')
  }
  const named = new Set(found.map(({ line }) => line))
  const rows = file.rows.filter(({ line }) => !named.has(line))
  return [...found, ...findSums(rows, reader)].toSorted((a, b) => a.line - b.line)
}

/** A row that is named a total, and is not the sum of rows beside it: the file is not whole, or counts something else. */
export interface WrongTotal {
  line: number
  /** Its first cell. */
  text: string
  counts: readonly number[]
  /** Of all other rows. */
  sums: readonly number[]
}

/**
 * Returns the totals that are no sum: neither of rows right before it, as a subtotal or a grand total, nor of rows right after
 * it, as programs write it that begin with the total.
 */
export function findWrongTotals(file: OwnFile, left_out: readonly LeftOutRow[], reader: KeyReader): WrongTotal[] {
  const reasons = new Map(left_out.map(({ line, reason }) => [line, reason]))
  const totals = file.rows.filter(({ line }) => reasons.get(line) === 'total').slice(0, maxTried)
  if (totals.length === 0) return []
  const counted = file.rows.flatMap((row) => {
    const counts = reasons.has(row.line) ? null : reader.listCounts(row)
    return counts === null ? [] : [{ line: row.line, counts }]
  })
  return totals.flatMap((row) => {
    const counts = reader.listCounts(row)
    if (counts === null || counts.every((count) => count === 0)) return []
    const at = counted.findIndex(({ line }) => line > row.line)
    const [before, after] = at < 0 ? [counted, []] : [counted.slice(0, at), counted.slice(at)]
    if (isSumOfFirst(counts, before.toReversed()) || isSumOfFirst(counts, after)) return []
    const sums = counts.map((_, index) => counted.reduce((sum, each) => sum + each.counts[index]!, 0))
    return [{ line: row.line, text: shortText(row.cells.find((cell) => !isEmpty(cell)) ?? ''), counts, sums }]
  })
}

/** Whether some rows from the first on add up to these counts. */
function isSumOfFirst(counts: readonly number[], rows: readonly { counts: readonly number[] }[]): boolean {
  const sums = counts.map(() => 0)
  for (const row of rows) {
    for (const [index, count] of row.counts.entries()) sums[index]! += count
    if (sums.every((sum, index) => sum === counts[index])) return true
    if (sums.some((sum, index) => sum > counts[index]!)) return false
  }
  return false
}

/** Each costs the time of its rows: a file of sums has fewer. */
const maxTried = 5_000

/** A row that may be a sum, and the rows before it that it would sum up. */
interface SumRow {
  row: OwnRow
  parts: readonly OwnRow[]
}

/**
 * Returns the rows without a label that are the exact sum of those before them: subtotals, and a total at the end. One row alone
 * is summed up only in a file that has other sums: by itself it may be a count of its own.
 */
function findSums(rows: readonly OwnRow[], reader: KeyReader): LeftOutRow[] {
  const sums: SumRow[] = []
  /** The rows that count, since the last sum and all. */
  let group: OwnRow[] = []
  const counted: OwnRow[] = []
  let tried = 0
  for (const [index, row] of rows.entries()) {
    const key = reader.keyCell(row)
    const hasNoKey = isEmpty(key)
    const before = counted.at(-1)
    const lacksLabel = reader.labels.some((index) => isEmpty(row.cells[index]) && !isEmpty(before?.cells[index]))
    const isCandidate = (hasNoKey || lacksLabel) && tried++ < maxTried
    // Some programs begin with the total.
    const others = index === 0 && hasNoKey ? [rows.slice(1)] : [group, counted]
    const candidates = (isCandidate ? others : []).map((parts) =>
      hasNoKey ? parts : parts.slice(parts.findLastIndex((part) => reader.keyCell(part) !== key) + 1),
    )
    const parts = candidates.find((each) => isSum(row, each, hasNoKey, reader))
    if (parts === undefined) {
      group.push(row)
      counted.push(row)
    } else {
      sums.push({ row, parts })
      group = []
    }
  }
  if (sums.every(({ parts }) => parts.length < 2)) return []
  return sums.map(({ row, parts }) => ({ line: row.line, reason: 'sum', text: nameLines(parts) }))
}

function isSum(
  row: OwnRow,
  parts: readonly OwnRow[],
  hasNoKey: boolean,
  { labels, listCounts, isKey, keyCell }: KeyReader,
): boolean {
  const isUnlabelled = (index: number) =>
    isEmpty(row.cells[index]) && parts.every(({ cells }) => !isEmpty(cells[index]))
  if (parts.length === 0 || !(hasNoKey || labels.some(isUnlabelled))) return false
  if (!parts.every((part) => isKey(keyCell(part)))) return false
  const counts = listCounts(row) ?? []
  const all = parts.flatMap((part) => [listCounts(part) ?? []])
  return (
    counts.some((count) => count > 0) &&
    counts.every((count, index) => count === all.reduce((sum, each) => sum + (each[index] ?? Number.NaN), 0))
  )
}

function nameLines(rows: readonly OwnRow[]): string {
  const [first, last] = [rows[0]!.line, rows.at(-1)!.line]
  if (rows.length === 1) return `line ${first}`
  return `lines ${first} ${rows.length === 2 ? 'and' : 'to'} ${last}`
}

/** A session may have any name: only a whole one is the name of a total. */
function isTotal(row: OwnRow, { key, keyCell, isKey }: KeyReader): boolean {
  const cell = keyCell(row)
  if (isEmpty(cell)) return row.cells.some(namesTotal)
  return key === 'session_id' ? isTotalName(cell) : !isKey(cell) && namesTotal(cell)
}

function isHeader(row: OwnRow, { names }: OwnFile, { key_column, keyCell }: KeyReader): boolean {
  return keyCell(row) === key_column && names.every((name, index) => name === String(row.cells[index] ?? '').trim())
}

/** Returns the last rows of one cell that is no key: when and by whom a report was written. */
function findTrailingNotes({ rows, names }: OwnFile, { isKey, key, keyCell }: KeyReader): ReadonlySet<OwnRow> {
  const notes = new Set<OwnRow>()
  for (let index = rows.length - 1; index >= 0; index--) {
    const row = rows[index]!
    const [text, more] = row.cells.filter((cell) => !isEmpty(cell))
    const isAlone = more === undefined && /[^\d.,'’%\s-]/.test(String(text))
    // A session may have any name: one cell of several is then rather a row without counts.
    const isShort = key !== 'session_id' || row.cells.length < names.length
    if (!isAlone || !isShort || (key !== 'session_id' && isKey(keyCell(row)))) break
    notes.add(row)
  }
  return notes
}
