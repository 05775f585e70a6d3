/**
 * Finds the rows of a file that are no counts: totals and sums, which would count everything twice, notes below the
 * counts, and a header that is there again. Each is named in the result.
 */
import type { KeyField } from '../column-words.ts'
import { isEmpty, type OwnFile, type OwnRow } from '../own-file.ts'
import { shortText } from '../own-file-error.ts'
import { findTotalRows, type RowReader, type WrongTotal } from './total-rows.ts'

interface FileReader extends RowReader {
  key: KeyField
  /** Its name. */
  key_column: string
}

export interface LeftOutRow {
  line: number
  reason: 'total' | 'note' | 'header' | 'sum'
  /** The cell that names it, as messages show it; of a sum, its rows: `lines 2 to 4`. */
  text: string
}

/** Returns the rows that are no counts, and totals that are no sum: the file is not whole, or counts something else. */
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
  const { found, wrong } = findTotalRows(rows, reader)
  for (const { row, reason, text } of found) left_out.push({ line: row.line, reason, text })
  return { left_out: left_out.toSorted((a, b) => a.line - b.line), wrong }
}

function isHeader(row: OwnRow, { names }: OwnFile, { key_column, keyCell }: FileReader): boolean {
  return keyCell(row) === key_column && names.every((name, index) => name === String(row.cells[index] ?? '').trim())
}

/** Returns the last rows of one cell that is no key: when and by whom a report was written. */
function findTrailingNotes({ rows, names }: OwnFile, { findKey, key, keyCell }: FileReader): ReadonlySet<OwnRow> {
  const notes = new Set<OwnRow>()
  for (let index = rows.length - 1; index >= 0; index--) {
    const row = rows[index]!
    const [text, more] = row.cells.filter((cell) => !isEmpty(cell))
    const isAlone = more === undefined && /[^\d.,'’%\s-]/.test(String(text))
    // A session may have any name: one cell of several is then rather a row without counts.
    const isShort = key !== 'session_id' || row.cells.length < names.length
    if (!isAlone || !isShort || (key !== 'session_id' && !isEmpty(keyCell(row)) && findKey(keyCell(row)) !== null))
      break
    notes.add(row)
  }
  return notes
}
