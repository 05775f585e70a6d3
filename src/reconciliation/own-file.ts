/**
 * Reads a file of an integrator's own counts: comma separated (RFC 4180), semicolon separated as spreadsheets write it
 * where the comma is the decimal sign, tab separated, or JSON lines. Pure: text in, rows out, each with its line.
 */
import { flattenRows } from '#contract/separated.ts'
import { isObject, parseJson } from '#foundation/json.ts'

/** A file that cannot be compared. The message is a sentence about "it"; the hint says what to do. */
export class OwnFileError extends Error {
  override readonly name = 'OwnFileError'
  readonly hint: string
  /** The rows that it is about, a line for each: `line 4: views is many`. They may contain text of the file. */
  readonly rows: readonly string[]

  constructor(message: string, hint: string, rows: readonly string[] = []) {
    super(message)
    this.hint = hint
    this.rows = rows
  }
}

export interface OwnRow {
  /** Where it begins, from 1. */
  line: number
  /** By the names of the columns. Cells of csv and tsv are texts; an absent one is empty. */
  cells: ReadonlyMap<string, unknown>
}

export interface OwnFile {
  kind: 'csv' | 'tsv' | 'jsonl'
  /** The names of its columns, in order. */
  names: readonly string[]
  rows: readonly OwnRow[]
}

/** Returns the rows of a file; none for an empty one. @throws OwnFileError that names each line that cannot be read */
export function parseOwnFile(text: string): OwnFile {
  const start = text.trimStart()
  if (start.startsWith('{')) return parseLines(text)
  if (start.startsWith('[')) {
    throw new OwnFileError(
      'It is one JSON document.',
      "Write one object on each line: jq -c '.[]' FILE. Or export it as CSV.",
    )
  }
  return parseSeparated(text)
}

/** A row that cannot be read, or has a bad value. */
export interface RowProblem {
  line: number
  /** Without a full stop. Never repeats a token. */
  message: string
}

const maxListed = 10

/** Returns the failure of a file with rows that cannot be read. */
export function rowFailure(problems: readonly RowProblem[], hint: string): OwnFileError {
  const listed = problems.slice(0, maxListed).map(({ line, message }) => `line ${line}: ${message}`)
  const more = problems.length - listed.length
  const count = problems.length === 1 ? 'One row' : `${problems.length} rows`
  const rest = more > 0 ? [`and ${more} more`] : []
  return new OwnFileError(`${count} cannot be read:`, hint, [...listed, ...rest])
}

function parseLines(text: string): OwnFile {
  const problems: RowProblem[] = []
  const read: { line: number; value: object }[] = []
  for (const [index, content] of text.split(/\r\n|\r|\n/).entries()) {
    if (content.trim() === '') continue
    const value = parseJson(content)
    const line = index + 1
    if (isObject(value)) read.push({ line, value })
    else if (value === undefined) problems.push({ line, message: 'it is not JSON' })
    else problems.push({ line, message: 'it is not an object' })
  }
  if (problems.length > 0) throw rowFailure(problems, 'Write one JSON object on each line.')
  const { names, rows } = flattenRows(
    read.map(({ value }) => value),
    false,
  )
  return { kind: 'jsonl', names, rows: rows.map((cells, index) => ({ line: read[index]!.line, cells })) }
}

function parseSeparated(text: string): OwnFile {
  const separator = findSeparator(text)
  const [head, ...records] = separator === '\t' ? readTabbed(text) : readRecords(text, separator)
  const names = head?.cells.map((name) => name.trim()) ?? []
  const repeated = names.find((name, index) => name !== '' && names.indexOf(name) !== index)
  if (repeated !== undefined)
    throw new OwnFileError(`Two columns are named ${repeated}.`, 'Give each column a name of its own.')
  const problems = records
    .filter(({ cells }) => cells.length !== names.length)
    .map(({ line, cells }) => ({ line, message: `it has ${cells.length} cells, and the header ${names.length}` }))
  if (problems.length > 0) throw rowFailure(problems, 'Quote cells that contain the separator, as RFC 4180 says.')
  return {
    kind: separator === '\t' ? 'tsv' : 'csv',
    names,
    rows: records.map(({ line, cells }) => ({
      line,
      cells: new Map(cells.map((cell, index) => [names[index]!, unguard(cell)])),
    })),
  }
}

/** Returns the separator that occurs most often in the header. */
function findSeparator(text: string): string {
  const header = /^[^\r\n]*/.exec(text.trimStart())![0]
  const count = (separator: string) => header.split(separator).length - 1
  return ['\t', ',', ';'].reduce((best, each) => (count(each) > count(best) ? each : best), ',')
}

/** Removes the apostrophe before a text that a spreadsheet would take for a formula: `svc ... -o csv` adds it. */
function unguard(cell: string): string {
  return /^'[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell
}

interface SeparatedRecord {
  line: number
  cells: string[]
}

function readTabbed(text: string): SeparatedRecord[] {
  return text
    .split(/\r\n|\r|\n/)
    .map((content, index) => ({ line: index + 1, cells: content.split('\t') }))
    .filter(({ cells }) => cells.length > 1 || cells[0] !== '')
}

function readRecords(text: string, separator: string): SeparatedRecord[] {
  const records: SeparatedRecord[] = []
  for (let at = 0, line = 1; at < text.length; line++) {
    const record: SeparatedRecord = { line, cells: [] }
    for (let isMore = true; isMore; ) {
      const { cell, end } = text[at] === '"' ? readQuoted(text, at, line) : readPlain(text, at, separator)
      record.cells.push(cell)
      line += cell.split('\n').length - 1
      isMore = text[end] === separator
      if (!isMore && end < text.length && text[end] !== '\r' && text[end] !== '\n') {
        const problem = { line, message: 'text follows the closing quote of a cell' }
        throw rowFailure([problem], 'Double each quote inside a quoted cell, as RFC 4180 says.')
      }
      at = isMore ? end + 1 : end
    }
    at += text.startsWith('\r\n', at) ? 2 : 1
    if (record.cells.length > 1 || record.cells[0] !== '') records.push(record)
  }
  return records
}

function readPlain(text: string, start: number, separator: string): { cell: string; end: number } {
  let end = start
  while (end < text.length && text[end] !== separator && text[end] !== '\r' && text[end] !== '\n') end++
  return { cell: text.slice(start, end), end }
}

function readQuoted(text: string, start: number, line: number): { cell: string; end: number } {
  let end = start + 1
  for (;;) {
    const quote = text.indexOf('"', end)
    if (quote === -1) throw rowFailure([{ line, message: 'a quote is not closed' }], 'Close it, or double it.')
    if (text[quote + 1] !== '"') return { cell: text.slice(start + 1, quote).replaceAll('""', '"'), end: quote + 1 }
    end = quote + 2
  }
}
