/**
 * Finds the rows of a file that are no counts: totals and sums, which would count everything twice, notes below the
 * counts, and a header that is there again. Each is named in the result.
 */
import type { KeyField } from '../column-words.ts'
import { quoteColumn } from '../columns.ts'
import { isEmpty, type OwnFile, type OwnRow } from '../own-file.ts'
import { OwnFileError, rowFailure, shortText } from '../own-file-error.ts'
import type { RowReader } from './entries.ts'
import { namesOther } from './total-names.ts'
import { findTotalRows, type WrongTotal } from './total-rows.ts'

interface FileReader extends RowReader {
  key: KeyField
  /** Its name. */
  key_column: string
  /** Whether a column is read, by its index. */
  isRead(index: number): boolean
  /** Whether a text in a column may be a count, yes or no, or an event that is a metric. */
  mayCount(text: string, index: number): boolean
}

export interface LeftOutRow {
  line: number
  reason: 'total' | 'note' | 'header' | 'sum'
  /** The cell that names it, as messages show it; of a sum, its rows: `lines 2 to 4`. */
  text: string
}

/**
 * Returns the rows that are no counts, and totals that are no sum: the file is not whole, or counts something else.
 * @throws OwnFileError for several breakdowns in one table
 */
export function findRowsLeftOut(
  file: OwnFile,
  reader: FileReader,
): { left_out: readonly LeftOutRow[]; wrong: readonly WrongTotal[] } {
  const left_out: LeftOutRow[] = []
  const notes = file.separator === null ? new Set() : findTrailingNotes(file, reader)
  const rows = file.rows.filter((row) => {
    const reason = notes.has(row) ? 'note' : isHeader(row, file, reader) ? 'header' : null
    const text = shortText(row.cells.find((cell) => !isEmpty(cell)) ?? '')
    if (reason !== null) left_out.push({ line: row.line, reason, text })
    return reason === null
  })
  refuseCopy(rows, left_out)
  refuseOthers(rows, file.names, reader)
  const { found, wrong, breakdowns } = findTotalRows(rows, reader)
  if (breakdowns !== null && wrong.length === 0) throw severalBreakdowns(breakdowns.map((index) => file.names[index]!))
  for (const { row, reason, text } of found) left_out.push({ line: row.line, reason, text })
  return { left_out: left_out.toSorted((a, b) => a.line - b.line), wrong }
}

/** @throws OwnFileError where all rows below a header that is there again are there before it */
function refuseCopy(rows: readonly OwnRow[], left_out: readonly LeftOutRow[]): void {
  const header = left_out.find(({ reason }) => reason === 'header')?.line
  if (header === undefined) return
  const text = ({ cells }: OwnRow) => JSON.stringify(cells)
  const before = new Set(rows.filter(({ line }) => line < header).map(text))
  const after = rows.filter(({ line }) => line > header)
  if (after.length === 0 || !after.every((row) => before.has(text(row)))) return
  const message = `What stands below the header of line ${header} is there once before.`
  throw new OwnFileError(message, 'Leave it out: nothing was compared.')
}

/** @throws OwnFileError for rows of another time, or of a part of others */
function refuseOthers(rows: readonly OwnRow[], names: readonly string[], { labels, unit }: FileReader): void {
  const at = labels.find((index) => rows.some(({ cells }) => namesOther(cells[index])))
  if (at === undefined) return
  const name = names[at]!
  const problems = rows.flatMap(({ line, cells }) =>
    namesOther(cells[at])
      ? [
          {
            line,
            message: `${name} is ${shortText(cells[at])}: it is of another time, a part of other rows, or no count`,
          },
        ]
      : [],
  )
  const hint = 'Leave these rows out: nothing was compared.'
  throw rowFailure(problems, { hint, command_hint: `${hint} If they count: --map ${quoteColumn(name, 'none')}` }, unit)
}

function severalBreakdowns(columns: readonly string[]): OwnFileError {
  const [one, other] = columns.map(shortText)
  const message = `No row of it has both ${one} and ${other}: it may have the same counts by each of them.`
  const options = columns.map((column) => `--map ${quoteColumn(column, 'none')}`).join(' ')
  return new OwnFileError(message, 'Export one breakdown.', {
    command_hint: `Export one breakdown. If each row counts by itself: ${options}`,
  })
}

function isHeader(row: OwnRow, { names }: OwnFile, { key_column, keyCell }: FileReader): boolean {
  return keyCell(row) === key_column && names.every((name, index) => name === String(row.cells[index] ?? '').trim())
}

/**
 * Returns the last rows of one cell that is no key: when and by whom a report was written. It is the first cell, or in a
 * column that is not read; elsewhere the row has no key.
 */
function findTrailingNotes(file: OwnFile, reader: FileReader): ReadonlySet<OwnRow> {
  const { rows, names } = file
  const { findKey, key, keyCell, isRead, mayCount } = reader
  const notes = new Set<OwnRow>()
  for (let index = rows.length - 1; index >= 0; index--) {
    const row = rows[index]!
    const [text, more] = row.cells.filter((cell) => !isEmpty(cell))
    const at = row.cells.findIndex((cell) => !isEmpty(cell))
    const isPlaced = !isRead(at) || (at === 0 && !mayCount(String(text).trim(), at))
    const isAlone = more === undefined && isPlaced && /[^\d.,'’%\s-]/.test(String(text))
    // A session may have any name: one cell of several is then rather a row without counts.
    const isShort = key !== 'session_id' || row.cells.length < names.length
    if (!isAlone || !isShort || (key !== 'session_id' && !isEmpty(keyCell(row)) && findKey(keyCell(row)) !== null))
      break
    if (index === rows.length - 1 && isCutOff(row, file, reader)) break
    notes.add(row)
  }
  return notes
}

/** Whether the last line ends inside its key: it has no end, and begins as the key of another row does. */
function isCutOff({ line, cells }: OwnRow, { rows, names, is_unended }: OwnFile, reader: FileReader): boolean {
  const text = String(cells[0] ?? '')
  const isLast = is_unended === true && rows.at(-1)?.line === line
  if (!isLast || reader.key_index !== 0 || cells.length >= names.length) return false
  const shape = (key: string) => (/\d/.test(text) ? key.replace(/[\p{L}\d]/gu, 'x') : key)
  return rows.some((row) => row.line !== line && shape(String(reader.keyCell(row))).startsWith(shape(text)))
}
