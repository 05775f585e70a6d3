/** A file of own counts that was chosen or dropped, read as far as it can be. */
import { parseDayExample } from '#reconciliation/cells/calendar.ts'
import { parseNumberExample } from '#reconciliation/cells/numbers.ts'
import { ownFields } from '#reconciliation/column-words.ts'
import type { Mapping } from '#reconciliation/columns.ts'
import { refuseFarDays } from '#reconciliation/compared-span.ts'
import { type DecodedFile, decodeOwnFile } from '#reconciliation/file-bytes.ts'
import { type OwnFile, parseOwnFile } from '#reconciliation/own-file.ts'
import { OwnFileError } from '#reconciliation/own-file-error.ts'
import { type OwnReport, readOwnReport } from '#reconciliation/own-report.ts'
import type { Turns } from '#reconciliation/turns.ts'
import { ApiProblem } from '../../data/api.ts'

export interface ChosenFile extends DecodedFile {
  name: string
}

export type ReadFile =
  | { status: 'read'; names: readonly string[]; report: OwnReport & Pick<DecodedFile, 'encoding'> }
  | { status: 'refused'; names: readonly string[]; message: string; hint: string; rows: readonly string[] }

/** What was chosen: columns by field, and `numbers` and `dates` by an example; '' or none where the file decides. */
export type Choices = Readonly<Record<string, string>>

/** A tab holds the text and its rows: the command line reads larger files. */
const maxBytes = 50_000_000

/** Resolves to the text of a file. @throws ApiProblem */
export async function loadFile(file: File): Promise<ChosenFile> {
  if (file.size > maxBytes)
    throw refused('The file is too large for a page.', 'Use the command line: svc beacons reconcile FILE')
  try {
    return { name: file.name, ...decodeOwnFile(new Uint8Array(await file.arrayBuffer())) }
  } catch (error) {
    if (!(error instanceof OwnFileError)) throw error
    throw refused(`${file.name}: ${error.message}`, error.hint)
  }
}

function refused(message: string, hint: string): ApiProblem {
  return new ApiProblem(0, { reason_code: 'file_invalid', message, hint }, message)
}

/** Returns the counts of a file that can be compared with some turns, or why it can't. */
export function readChosen({ name, text, encoding }: ChosenFile, chosen: Choices, turns: Turns['turns']): ReadFile {
  let file: OwnFile | null = null
  try {
    const map = listChosen(chosen)
    file = parseOwnFile(text, map)
    const report = readOwnReport(file, {
      map,
      decimal: parseNumberExample(chosen.numbers ?? ''),
      order: parseDayExample(chosen.dates ?? ''),
    })
    if (report !== null) refuseFarDays(report.counts, turns)
    if (report !== null) return { status: 'read', names: file.names, report: { ...report, encoding } }
    const hint = 'It needs a header and rows.'
    return { status: 'refused', names: [], message: `${name} has no row.`, hint, rows: [] }
  } catch (error) {
    if (!(error instanceof OwnFileError)) throw error
    const { message, hint, rows } = error
    return { status: 'refused', names: file?.names ?? [], message, hint, rows }
  }
}

function listChosen(chosen: Choices): readonly Mapping[] {
  return ownFields.flatMap((field) => (chosen[field] ? [{ own: chosen[field], field }] : []))
}
