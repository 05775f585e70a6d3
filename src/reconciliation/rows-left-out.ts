/**
 * Finds the rows of a file that are no counts: totals, which would count everything twice, notes below the counts, and a
 * header that is there again. Each is named in the result.
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
}

export interface LeftOutRow {
  line: number
  reason: 'total' | 'note' | 'header'
  /** Its first cell, as messages show it. */
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
  return found
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
