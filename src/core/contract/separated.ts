/**
 * Values as comma or tab separated lines, for spreadsheets: csv as RFC 4180 says, tsv with a tab between cells. The columns are
 * the fields of the API; those of an object inside have dotted names.
 */
import { isObject } from '#foundation/json.ts'

export type SeparatedFormat = 'csv' | 'tsv'

interface SeparatedTable {
  /** In the order in which they were first seen. */
  names: readonly string[]
  rows: readonly ReadonlyMap<string, unknown>[]
}

/** Whether a field is a time, by its name: epoch milliseconds. */
export function isTime(name: string): boolean {
  return /(^|_)at_ms$|^(server_time|now)_ms$/.test(name)
}

/** Returns the name that a time has as RFC 3339. */
export function nameWithoutUnit(name: string): string {
  return name.replace(/_ms$/, '')
}

/**
 * Returns the fields of each row by their dotted names. A row that isn't an object has one field, `value`.
 * @param isIso whether times are RFC 3339 under a name without `_ms`
 */
export function flattenRows(rows: readonly unknown[], isIso: boolean): SeparatedTable {
  const cells = rows.map((row) => flattenRow(row, isIso))
  return { names: [...new Set(cells.flatMap((row) => [...row.keys()]))], rows: cells }
}

function flattenRow(row: unknown, isIso: boolean): ReadonlyMap<string, unknown> {
  if (!isObject(row)) return new Map([['value', row]])
  const cells = new Map<string, unknown>()
  const add = (value: unknown, name: string, prefix: string) => {
    // An empty object has no field, and so no column.
    if (isObject(value)) {
      for (const [inner, each] of Object.entries(value)) add(each, inner, `${prefix}${name}.`)
    } else if (isIso && isTime(name)) cells.set(prefix + nameWithoutUnit(name), toIso(value))
    else cells.set(prefix + name, value)
  }
  for (const [name, value] of Object.entries(row)) add(value, name, '')
  return cells
}

/** A number of milliseconds that is no date stays a number. */
function toIso(value: unknown): unknown {
  if (typeof value !== 'number') return value
  const date = new Date(value)
  return Number.isNaN(date.getTime()) ? value : date.toISOString()
}

/** How csv is written. */
export interface SeparatedForm {
  /** What stands between two cells. */
  delimiter: string
  /** Whether it begins with a byte order mark, by which spreadsheets know UTF-8. */
  bom: boolean
}

const usualForm: SeparatedForm = { delimiter: ',', bom: false }

/**
 * Returns the header and a line for each row; empty without rows.
 * @param toLine returns a text without tabs and line ends
 */
export function separatedText(
  { names, rows }: SeparatedTable,
  format: SeparatedFormat,
  toLine: (text: string) => string,
  { delimiter, bom }: SeparatedForm = usualForm,
): string {
  if (rows.length === 0) return ''
  const lines = [names, ...rows.map((row) => names.map((name) => cellText(row.get(name), toLine)))]
  const join = format === 'tsv' ? joinPlain : (cells: readonly string[]) => joinQuoted(cells, delimiter)
  return `${bom ? '\ufeff' : ''}${lines.map(join).join('')}`
}

function cellText(value: unknown, toLine: (text: string) => string): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'object') return toLine(JSON.stringify(value))
  return typeof value === 'string' ? guard(value, toLine) : String(value)
}

/**
 * Returns a text that no spreadsheet computes: an apostrophe stands where a formula would begin. Programs of some
 * languages begin a cell after each semicolon, whatever the file says.
 */
function guard(value: string, toLine: (text: string) => string): string {
  const text = toLine(value).replace(/;(?=[=+\-@＝＋－＠])/g, ";'")
  return /^[=+\-@\t\r＝＋－＠]|^;'/.test(text) || /^[\t\r]/.test(value) ? `'${text}` : text
}

/** Returns the text that `guard` was given. */
export function unguard(cell: string): string {
  if (!cell.includes("'")) return cell
  const text = /^'([=+\-@\t\r＝＋－＠]|;')/.test(cell) ? cell.slice(1) : cell
  return text.replace(/;'(?=[=+\-@＝＋－＠])/g, ';')
}

function joinPlain(cells: readonly string[]): string {
  return `${cells.join('\t')}\n`
}

function joinQuoted(cells: readonly string[], delimiter: string): string {
  const quote = (cell: string) =>
    cell.includes(delimiter) || /["\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
  return `${cells.map(quote).join(delimiter)}\r\n`
}
