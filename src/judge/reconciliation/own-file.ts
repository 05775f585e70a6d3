/**
 * Reads a file of an integrator's own counts as spreadsheets, ad servers and BI tools write it: separated by commas,
 * semicolons, tabs or bars, with lines before the header, rows of totals and notes below it; or JSON. Pure: text in,
 * rows out, each with its line.
 */
import Papa from 'papaparse'
import { mayLoseDigits, parseExactly, replaceExactNumbers } from '#foundation/json/exact-numbers.ts'
import { isObject, maxNestingLevels, nestsDeeper, parseJson } from '#foundation/json.ts'
import { countKnownColumns, type Mapping } from './columns.ts'
import type { StatedTotals } from './json/beside-rows.ts'
import { readDocument, tabulate } from './json/json-document.ts'
import { OwnFileError, type RowProblem, rowFailure } from './own-file-error.ts'

export interface OwnRow {
  /** Where it begins, from 1. In one JSON document: which item it is. */
  line: number
  /** In the order of the names. Cells of text are texts; a row may have fewer than the header. */
  cells: readonly unknown[]
}

export interface OwnFile {
  kind: 'csv' | 'tsv' | 'jsonl' | 'json'
  /** What stands between two cells; null for JSON. */
  separator: Separator | null
  /** The line of the header; null for JSON. */
  header_line: number | null
  /** The names of its columns, in order. Two that are not read may be the same. */
  names: readonly string[]
  rows: readonly OwnRow[]
  /** Whether its last line has no end: it may be cut off. */
  is_unended?: boolean
  /** What a JSON document has beside its rows. */
  totals?: readonly StatedTotals[]
  other_lists?: readonly string[]
}

type Separator = (typeof separators)[number]
const separators = [',', ';', '\t', '|'] as const

/**
 * Returns the rows of a file; none for an empty one.
 * @param map columns that are named by their user: the header has them
 * @throws OwnFileError that names each line that cannot be read
 */
export function parseOwnFile(text: string, map: readonly Mapping[] = []): OwnFile {
  const content = text.startsWith('\ufeff') ? text.slice(1) : text
  const start = content.trimStart()
  // A title of a report can stand in brackets.
  if (/^(\{|\[\s*[\]{["])/.test(start)) return parseJsonFile(content, map)
  if (start.startsWith('<')) {
    throw new OwnFileError('It is HTML or XML, as some programs save under .xls.', 'Save it as CSV.')
  }
  return parseSeparated(content, map)
}

/** Returns the rows of one JSON document, or of an object or an array on each line. @throws OwnFileError */
function parseJsonFile(text: string, map: readonly Mapping[]): OwnFile {
  const whole = parseValue(text)
  if (typeof whole === 'object' && whole !== null) return tabulateDocument(whole, map)
  if (!text.trimStart().startsWith('[')) return parseLines(text)
  const lines = text.split(/\r\n|\r|\n/).flatMap((line) => (line.trim() === '' ? [] : [parseValue(line)]))
  if (lines.every((line) => Array.isArray(line))) return tabulateDocument(lines, map)
  const hint = 'Write one JSON object for each row, or export it as CSV.'
  throw new OwnFileError('It begins as a JSON array, and is not JSON.', hint)
}

function tabulateDocument(whole: object, map: readonly Mapping[]): OwnFile {
  return { kind: 'json', separator: null, header_line: null, ...readDocument(whole, map) }
}

/** Reads JSON. A number that would lose digits, such as the id of a session, stays the text that it is. */
function parseValue(text: string): unknown {
  return mayLoseDigits(text) ? replaceExactNumbers(parseExactly(text), (digits) => digits) : parseJson(text)
}

function parseLines(text: string): OwnFile {
  const problems: RowProblem[] = []
  const read: { line: number; value: object }[] = []
  for (const [index, content] of text.split(/\r\n|\r|\n/).entries()) {
    if (content.trim() === '') continue
    const value = parseValue(content)
    const line = index + 1
    if (isObject(value)) read.push({ line, value })
    else if (value === undefined)
      problems.push({
        line,
        message: nestsDeeper(content) ? `it nests deeper than ${maxNestingLevels} levels` : 'it is not JSON',
      })
    else problems.push({ line, message: 'it is not an object' })
  }
  if (problems.length > 0) throw rowFailure(problems, 'Write one JSON object on each line.')
  return { kind: 'jsonl', separator: null, header_line: null, ...tabulate(read) }
}

function parseSeparated(text: string, map: readonly Mapping[]): OwnFile {
  // Terminals draw tables with bars of their own.
  const bars = text.includes('|') ? text : text.replace(/[│┃║]/g, '|')
  const lines = bars.replace(/\r\n?/g, '\n')
  const [, stated, declaration = ''] = /^(?:"?sep=(.)"?[^\n]*)(\n|$)/i.exec(lines) ?? []
  const skipped = stated === undefined ? 0 : lines.indexOf(declaration === '' ? '' : '\n') + 1
  const found = findHeader(lines.slice(skipped), stated, map)
  const records = readRecords(lines.slice(skipped), found.separator, skipped === 0 ? 1 : 2)
  const [head, ...rows] = records.slice(found.index)
  refuseTables(records.slice(0, found.index), head, map)
  return {
    kind: found.separator === '\t' ? 'tsv' : 'csv',
    separator: found.separator,
    header_line: head?.line ?? null,
    names: trimmedNames(head?.cells ?? []),
    rows,
    is_unended: !lines.endsWith('\n'),
  }
}

/** @throws OwnFileError if rows before the header have a header of their own: they would not be compared */
function refuseTables(before: readonly OwnRow[], head: OwnRow | undefined, map: readonly Mapping[]): void {
  const at = before.findIndex(({ cells }) => countKnownColumns(trimmedNames(cells), map) > 0)
  const hasNumbers = before
    .slice(at + 1)
    .some(({ cells }) => cells.some((cell) => /^\s*\d[\d.,'’\s]*$/.test(String(cell))))
  if (at < 0 || !hasNumbers || head === undefined) return
  throw new OwnFileError(
    `It has two tables: their headers are in lines ${before[at]!.line} and ${head.line}.`,
    'Give each table in a file of its own.',
  )
}

/** Returns the names of columns; a line break in one is a blank, as flags and messages need it. */
function trimmedNames(cells: readonly unknown[]): string[] {
  const joinLines = (cell: unknown) =>
    String(cell)
      .split('\n')
      .map((line) => line.trim())
      .join(' ')
      .trim()
  const names = cells.map(joinLines)
  while (names.length > 1 && names.at(-1) === '') names.pop()
  return names
}

/** The header is looked for in the first lines. */
const headerCharacters = 64_000

interface FoundHeader {
  separator: Separator
  /** Among the records that are not blank. */
  index: number
}

/** Returns the separator and the header: the first record with most columns that are known, else the first with most cells. */
function findHeader(text: string, stated: string | undefined, map: readonly Mapping[]): FoundHeader {
  const end = text.lastIndexOf('\n', headerCharacters)
  const sample = text.length <= headerCharacters || end === -1 ? text : text.slice(0, end)
  const isStated = (separator: Separator) =>
    separator === stated || (stated === undefined && sample.includes(separator))
  const candidates = separators.filter(isStated)
  const found = (candidates.length === 0 ? ([','] as const) : candidates).map((separator) => {
    const records = readRecords(sample, separator, 1, true)
    const known = records.map(({ cells }) => countKnownColumns(trimmedNames(cells), map))
    const most = Math.max(0, ...known)
    const width = modalWidth(records)
    const index = most > 0 ? known.indexOf(most) : records.findIndex(({ cells }) => trimmedNames(cells).length >= width)
    return { separator, index: Math.max(index, 0), known: most, width }
  })
  return found.reduce((best, each) =>
    each.known > best.known || (each.known === best.known && each.width > best.width) ? each : best,
  )
}

/** Returns how many cells most records have. */
function modalWidth(records: readonly OwnRow[]): number {
  const widths = Map.groupBy(records, ({ cells }) => cells.length)
  return [...widths].reduce((best, [width, { length }]) => (length > best.length ? { width, length } : best), {
    width: 0,
    length: 0,
  }).width
}

/** Returns the records that are not blank, each with its line. @throws OwnFileError for quotes that do not match */
function readRecords(text: string, separator: Separator, firstLine: number, isSample = false): OwnRow[] {
  const quoted = Papa.parse<string[]>(text, { delimiter: separator, newline: '\n' })
  // In tab separated values of other programs a quote is a character.
  const isSwallowed = (cell: string) => cell.includes('\n') && cell.includes('\t')
  const isPlain =
    separator === '\t' && (quoted.errors.length > 0 || quoted.data.some((cells) => cells.some(isSwallowed)))
  const { data, errors } = isPlain
    ? Papa.parse<string[]>(text, { delimiter: separator, newline: '\n', quoteChar: '\0' })
    : quoted
  const records: OwnRow[] = []
  const lineByRecord: number[] = []
  let line = firstLine
  for (const raw of data) {
    lineByRecord.push(line)
    const cells = raw.map((cell) => readFormula(cell.replace(unseen, '')))
    if (!isRuled(cells)) records.push({ line, cells })
    line++
    for (const cell of raw) if (cell.includes('\n')) line += cell.split('\n').length - 1
  }
  if (errors.length > 0 && !isSample) throw quoteFailure(errors, lineByRecord)
  const swallowed = data.flatMap((raw, index) => (isSample || !holdsRows(raw, separator) ? [] : [lineByRecord[index]!]))
  if (swallowed.length > 0) {
    const message = 'a quoted cell of it holds a line break, and what looks like rows'
    const problems = swallowed.map((line) => ({ line, message }))
    throw rowFailure(problems, 'Double each quote that is a part of a text, and quote that text.')
  }
  return records
}

/** Whether each line of a record looks like a row of its own: as many cells, and a column of numbers. */
function holdsRows(cells: readonly string[], separator: Separator): boolean {
  if (!cells.some((cell) => cell.includes('\n') && cell.includes(separator))) return false
  const lines = cells
    .join(separator)
    .split('\n')
    .map((line) => line.split(separator))
  const isNumber = (_: string, at: number) => lines.every((line) => /^\s*\d+\s*$/.test(line[at] ?? ''))
  return lines.every((line) => line.length === cells.length) && cells.some(isNumber)
}

/** Marks of no width around a text, which spreadsheets and web pages leave. */
const unseen = /^[\u200b\u200e\u200f\u202a-\u202e\u2060\ufeff]+|[\u200b\u200e\u200f\u202a-\u202e\u2060\ufeff]+$/g

/** Returns the text of a formula that is one text: `="0012"`, with which programs keep spreadsheets from reading a number. */
function readFormula(cell: string): string {
  const [, text] = /^="((?:[^"]|"")*)"$/.exec(cell) ?? []
  return text === undefined ? cell : text.replaceAll('""', '"')
}

/** Whether a record has nothing but blanks, or draws a line. */
function isRuled(cells: readonly string[]): boolean {
  const isDrawn = (cell: string) => cell.length >= 3 && /^[\s:]*[-=+_\u2500-\u257f][-=+_\s:\u2500-\u257f]*$/.test(cell)
  return cells.every((cell) => cell === '' || cell.trim() === '' || isDrawn(cell))
}

function quoteFailure(errors: readonly Papa.ParseError[], lineByRecord: readonly number[]): OwnFileError {
  const messages = new Map<number, string>()
  for (const { code, row = 0 } of errors) {
    const line = lineByRecord[row] ?? lineByRecord.at(-1) ?? 1
    // One wrong quote is found twice.
    if (messages.has(line)) continue
    messages.set(line, code === 'MissingQuotes' ? 'a quote is not closed' : 'text follows the closing quote of a cell')
  }
  const problems = [...messages].map(([line, message]) => ({ line, message }))
  return rowFailure(problems, 'Close each quote, and double those inside a quoted cell.')
}

/** Whether a cell has no value. */
export function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'string' && value.trim() === '')
}
