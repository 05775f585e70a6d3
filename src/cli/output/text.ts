/** Values as aligned text for people. */
import type { Style } from './style.ts'

/** `name  value` lines with the names in one column. Rows without a value are left out. */
export function alignPairs(rows: readonly (readonly [name: string, value: string | null])[], style: Style): string[] {
  const shown = rows.filter((row): row is readonly [string, string] => row[1] !== null)
  const width = Math.max(0, ...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${style.dim(name.padEnd(width))}  ${value}`)
}

/**
 * A table with a head; the columns of numbers are right-aligned. `paint` colours a cell, by the name of its column. On a
 * terminal the widest columns are cut to fit, but never a time, nor an
 * identifier that the next command needs.
 */
export function alignTable(
  head: readonly string[],
  rows: readonly (readonly unknown[])[],
  style: Style,
  paint: Readonly<Record<string, (cell: string) => string>> = {},
): string[] {
  const whole = rows.map((row) => row.map(formatValue))
  const natural = head.map((name, column) => Math.max(name.length, ...whole.map((row) => lengthOf(row[column] ?? ''))))
  const widths = fitted(natural, head, style.columns)
  const cells = whole.map((row) => row.map((cell, column) => cut(cell, widths[column] ?? 0)))
  const isNumeric = head.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'))
  const line = (row: readonly string[], paint: Readonly<Record<string, (cell: string) => string>>) =>
    row
      .map((cell, column) => {
        const blank = ' '.repeat((widths[column] ?? 0) - lengthOf(cell))
        const painted = paint[head[column] ?? '']?.(cell) ?? cell
        return isNumeric[column] ? blank + painted : painted + blank
      })
      .join('  ')
      .trimEnd()
  const names = head.map((name, column) => cut(name, widths[column] ?? 0))
  return [style.dim(line(names, {})), ...cells.map((row) => line(row, paint))]
}

const narrowest = 8
const gap = 2
/** Room for the indent of a table within a section. */
const indent = 2

/** Widths that fit the terminal, as far as they can: the widest column that may be cut gives way first. */
function fitted(natural: readonly number[], head: readonly string[], columns: number | undefined): number[] {
  const widths = [...natural]
  if (columns === undefined) return widths
  let over = widths.reduce((sum, width) => sum + width + gap, indent - gap) - columns
  while (over > 0) {
    let widest = -1
    for (const [column, width] of widths.entries()) {
      const isNeeded = /^(slot|job|request|beacon|session)(_id)?$|_ms$|^received$/.test(head[column] ?? '')
      if (!isNeeded && width > narrowest && (widest === -1 || width > widths[widest]!)) widest = column
    }
    if (widest === -1) break
    widths[widest]! -= 1
    over--
  }
  return widths
}

function cut(text: string, width: number): string {
  return lengthOf(text) <= width ? text : `${[...text].slice(0, Math.max(0, width - 1)).join('')}…`
}

/** Any JSON as indented `name  value` lines. */
export function describeValue(value: unknown, style: Style): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => describeItem(item, style))
  if (typeof value !== 'object' || value === null) return [formatValue(value)]
  const members = Object.entries(value)
  const width = Math.max(0, ...members.filter(([, member]) => !isNested(member)).map(([name]) => name.length))
  return members.flatMap(([name, member]) =>
    isNested(member)
      ? [style.dim(name), ...describeValue(member, style).map((line) => `  ${line}`)]
      : [`${style.dim(name.padEnd(width))}  ${formatMember(name, member)}`],
  )
}

/** A member's value; epoch milliseconds as a time. */
export function formatMember(name: string, value: unknown): string {
  return typeof value === 'number' && isTime(name) ? formatTime(value) : formatValue(value)
}

/** Whether a member of this name is an instant in epoch milliseconds. */
export function isTime(name: string): boolean {
  return /(^|_)at_ms$|^now_ms$/.test(name)
}

/** Epoch milliseconds as RFC 3339, UTC. */
export function formatTime(epoch_ms: number): string {
  return new Date(epoch_ms).toISOString()
}

/** A scalar, or a list of them, on one line. Control characters, which could steer a terminal, are removed. */
export function formatValue(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(formatValue).join(', ')
  if (typeof value === 'object') return Object.keys(value).length === 0 ? '-' : JSON.stringify(value)
  return String(value).replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
}

function describeItem(item: unknown, style: Style): string[] {
  const [first = '', ...rest] = describeValue(item, style)
  return [`- ${first}`, ...rest.map((line) => `  ${line}`)]
}

/** Whether a value takes lines of its own. */
function isNested(value: unknown): boolean {
  if (Array.isArray(value)) return value.some((item) => typeof item === 'object' && item !== null)
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

function lengthOf(text: string): number {
  return [...text].length
}
