/**
 * Values as comma or tab separated lines, for spreadsheets: `-o csv` as RFC 4180 says, `-o tsv` with a tab between cells. The
 * columns are the fields of the API; those of an object inside have dotted names.
 */
import { isObject } from '#foundation/json.ts'
import { CliError } from '../run/errors.ts'
import type { TimeChoice } from '../settings/table.ts'
import { jsonText, oneLine } from './terminal.ts'
import { isTime } from './text.ts'

export type SeparatedFormat = 'csv' | 'tsv'

/** The name of a column of a table, and its field; default: the name. */
export interface NamedField {
  name: string
  field?: string
}

interface SeparatedOptions {
  /** The fields of `--columns`, by their names or those of the header; null for all. */
  fields: readonly string[] | null
  /** Times are ISO 8601 under a name without `_ms`, and epoch milliseconds only for `ms`. */
  time: TimeChoice | null
}

type Cells = ReadonlyMap<string, unknown>

/** Returns the rows of a value that is no list: those of its first table, as of a report, or the value itself. */
export function findRows(value: unknown): readonly unknown[] {
  const table = isObject(value) ? Object.values(value).find(isTable) : undefined
  return table ?? (Array.isArray(value) ? value : [value])
}

function isTable(value: unknown): value is readonly object[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject)
}

/**
 * Returns a header and a line for each row; empty without rows. A column is where it was first seen.
 * @throws CliError when `--columns` names a field that no row has
 */
export function separatedText(
  rows: readonly unknown[],
  format: SeparatedFormat,
  { fields, time }: SeparatedOptions,
): string {
  if (rows.length === 0) return ''
  const cells = rows.map((row) => flatten(row, time !== 'ms'))
  const known = [...new Set(cells.flatMap((row) => [...row.keys()]))]
  const chosen = fields === null ? known : fields.map((name) => findColumn(name, known))
  const lines = [chosen, ...cells.map((row) => chosen.map((name) => cellText(row.get(name))))]
  return lines.map((line) => joinLine(line, format)).join('')
}

function findColumn(name: string, known: readonly string[]): string {
  const found = known.find((each) => each === name || each === withoutUnit(name))
  if (found !== undefined) return found
  throw new CliError('usage', 'column_unknown', `There is no field ${name}.`, `The fields are: ${known.join(', ')}`)
}

/** Returns the fields of a row by their dotted names. A row that is no object has one field. */
function flatten(row: unknown, isIso: boolean): Cells {
  if (!isObject(row)) return new Map([['value', row]])
  const cells = new Map<string, unknown>()
  const add = (value: unknown, name: string, prefix: string) => {
    if (isObject(value) && Object.keys(value).length > 0) {
      for (const [inner, each] of Object.entries(value)) add(each, inner, `${prefix}${name}.`)
    } else if (isIso && isTime(name) && isDate(value)) {
      cells.set(prefix + withoutUnit(name), new Date(value).toISOString())
    } else cells.set(prefix + (isIso && isTime(name) ? withoutUnit(name) : name), value)
  }
  for (const [name, value] of Object.entries(row)) add(value, name, '')
  return cells
}

/** Whether a number of milliseconds is a date; others stay numbers. */
function isDate(value: unknown): value is number {
  return typeof value === 'number' && !Number.isNaN(new Date(value).getTime())
}

function withoutUnit(name: string): string {
  return name.replace(/_ms$/, '')
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'string') return typeof value === 'object' ? jsonText(value) : String(value)
  // A spreadsheet would compute it: as a text it begins with an apostrophe.
  return /^[=+\-@\t\r]/.test(value) ? `'${oneLine(value)}` : oneLine(value)
}

function joinLine(cells: readonly string[], format: SeparatedFormat): string {
  if (format === 'tsv') return `${cells.join('\t')}\n`
  return `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`
}
