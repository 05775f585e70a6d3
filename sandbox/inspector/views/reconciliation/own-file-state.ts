/** A file of own counts that was chosen or dropped, read as far as it can be. */
import { ColumnsError, type OwnField, ownFields } from '#reconciliation/columns.ts'
import { type OwnFile, OwnFileError, parseOwnFile } from '#reconciliation/own-file.ts'
import { type OwnReport, readOwnReport } from '#reconciliation/reconciliation.ts'
import { ApiProblem } from '../../data/api.ts'

export interface ChosenFile {
  name: string
  text: string
}

export type ReadFile =
  | { status: 'read'; names: readonly string[]; report: OwnReport }
  | { status: 'refused'; names: readonly string[]; message: string; hint: string; rows: readonly string[] }

/** A tab holds the text and its rows: the command line reads larger files. */
const maxBytes = 50_000_000

/** Resolves to the text of a file: UTF-8, or UTF-16 with a byte order mark. @throws ApiProblem */
export async function loadFile(file: File): Promise<ChosenFile> {
  if (file.size > maxBytes)
    throw refused('The file is too large for a page.', 'Use the command line: svc billing reconcile FILE')
  const bytes = new Uint8Array(await file.arrayBuffer())
  const [first, second] = bytes
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
  try {
    return { name: file.name, text: new TextDecoder(encoding, { fatal: true }).decode(bytes) }
  } catch {
    throw refused(`${file.name} is not text.`, 'Save it as CSV in UTF-8.')
  }
}

function refused(message: string, hint: string): ApiProblem {
  return new ApiProblem(0, { reason_code: 'file_invalid', message, hint }, message)
}

/** @param chosen the columns that were chosen, by field; '' for one that is found by its name */
export function readChosen({ name, text }: ChosenFile, chosen: Readonly<Record<string, string>>): ReadFile {
  let file: OwnFile | null = null
  try {
    file = parseOwnFile(text)
    const report = readOwnReport(file, listChosen(chosen))
    if (report !== null) return { status: 'read', names: file.names, report }
    return {
      status: 'refused',
      names: [],
      message: `${name} has no row.`,
      hint: 'It needs a header and rows.',
      rows: [],
    }
  } catch (error) {
    if (!(error instanceof OwnFileError)) throw error
    const hint = error instanceof ColumnsError ? 'Choose what its columns hold.' : error.hint
    return { status: 'refused', names: file?.names ?? [], message: error.message, hint, rows: error.rows }
  }
}

function listChosen(chosen: Readonly<Record<string, string>>): ReadonlyMap<OwnField, string> {
  const columns = new Map<OwnField, string>()
  for (const field of ownFields) {
    const column = chosen[field] ?? ''
    if (column !== '') columns.set(field, column)
  }
  return columns
}
