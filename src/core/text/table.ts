/**
 * Tables: rows under the names of their columns. On a terminal they fit its width: the least important columns are
 * dropped before a cell is cut, and times are short. Anywhere else every column is printed, with full values.
 */
import { isTime } from '#contract/separated.ts'
import { findEntry } from '#foundation/table-entry.ts'
import type { Style } from './terminal.ts'
import { cutText, formatValue, sizeText, textWidth, timeText, wrap } from './text.ts'

export interface Column {
  /** The name of the column in the header and for `--columns`. */
  name: string
  /** The property of a row; default: the name. */
  field?: string
  /** When a terminal is too narrow, the highest rank is dropped first. 1, the default, is never dropped. */
  rank?: number
  /** `time`: epoch milliseconds. `id`: never cut, since the next command needs it. `ms`: one decimal at most. `size`: bytes. `prose`: further lines in place of a cut. */
  kind?: 'time' | 'id' | 'ms' | 'size' | 'prose'
  /** A long text is cut to this width before columns are dropped for it. */
  least?: number
  /** The text of a value that is not printed as it is; an empty one for a value that says nothing. */
  text?: (value: never) => string
  paint?: (cell: string, style: Style) => string
}

type TableRow = object

const gap = 2
/** No column is cut to less than this. */
const narrowest = 8
const minProseColumns = 24

/**
 * Returns a table with its header: the columns of `--columns`, or all of them. No lines when `--columns` names none of
 * this table's columns. `indent` is the room that the caller takes before each line. The view keeps the columns that
 * had no room.
 */
export function tableLines(all: readonly Column[], rows: readonly TableRow[], style: Style, indent = 0): string[] {
  const columns = chosen(all, style)
  if (columns.length === 0) return []
  const cells = rows.map((row) => columns.map((column) => cellText(column, row, style)))
  const natural = columns.map(({ name }, index) =>
    Math.max(textWidth(name), ...cells.map((row) => textWidth(row[index] ?? ''))),
  )
  const shown = fitting(columns, natural, style, indent)
  const isShown = (column: Column) => shown.some((each) => each.column === column)
  style.view.left_out?.push(columns.filter((column) => !isShown(column)).map(({ name }) => name))
  const isNumeric = columns.map(
    ({ kind, name, field = name }) =>
      kind !== 'time' && rows.length > 0 && rows.every((row) => typeof readField(row, field) === 'number'),
  )
  const line = (texts: readonly string[], paint: (text: string, column: Column) => string) =>
    shown
      .map(({ column, width }, place) => {
        const cell = cutText(texts[columns.indexOf(column)] ?? '', width)
        const blank = ' '.repeat(Math.max(0, width - textWidth(cell)))
        if (isNumeric[columns.indexOf(column)]) return blank + paint(cell, column)
        return paint(cell, column) + (place === shown.length - 1 ? '' : blank)
      })
      .join(' '.repeat(gap))
      .trimEnd()
  const painted = (text: string, { paint }: Column) => paint?.(text, style) ?? text
  const head = style.dim(
    line(
      columns.map(({ name }) => name),
      (text) => text,
    ),
  )
  return [head, ...cells.flatMap((row) => wrappedRow(row, columns, shown).map((texts) => line(texts, painted)))]
}

/** A list: as JSON the whole document or its items, as text the rows. */
interface Table {
  whole: unknown
  items: readonly TableRow[]
  /** The items, unless they are shown otherwise than listed. */
  rows?: readonly TableRow[]
}

/** What prints a list: the output of a command. */
interface ListPrinter {
  list(
    whole: unknown,
    items: readonly TableRow[],
    lines: (style: Style) => readonly string[],
    columns: readonly Column[],
  ): void
}

export function printTable(out: ListPrinter, columns: readonly Column[], { whole, items, rows = items }: Table): void {
  out.list(whole, items, (style) => (rows.length === 0 ? [] : tableLines(columns, rows, style)), columns)
}

/** Returns the columns of `--columns`, in its order; all without it. With several tables, each has its own columns. */
function chosen(columns: readonly Column[], { view }: Style): readonly Column[] {
  if (view.columns === null) return columns
  return view.columns.flatMap((name) => {
    const known = columns.find((column) => column.name === name || column.field === name)
    // A column of --columns is never dropped.
    if (known !== undefined) return { ...known, rank: 1 }
    if (view.has_tables) return []
    return isTime(name) ? { name, kind: 'time' } : { name }
  })
}

/** Returns the widths of the columns that fit, from left to right. */
function fitting(
  columns: readonly Column[],
  natural: readonly number[],
  { columns: room, view }: Style,
  indent: number,
): { column: Column; width: number }[] {
  const all = columns.map((column, index) => {
    const least = column.kind === 'prose' ? minProseColumns : (column.least ?? Number.POSITIVE_INFINITY)
    const most = natural[index] ?? 0
    return { column, most, width: Math.min(most, Math.max(least, textWidth(column.name))) }
  })
  if (room === undefined || view.wide) return all.map(({ column, most }) => ({ column, width: most }))
  const over = () => all.reduce((sum, { width }) => sum + width + gap, indent - gap) - room
  while (over() > 0) {
    const last = Math.max(...all.map(({ column }) => column.rank ?? 1))
    if (last === 1) break
    all.splice(
      all.findLastIndex(({ column }) => column.rank === last),
      1,
    )
  }
  for (const each of all) each.width = Math.min(each.most, each.width + Math.max(0, -over()))
  for (let rest = over(); rest > 0; rest--) {
    const widest = all
      .filter(({ column, width }) => column.kind !== 'id' && column.kind !== 'time' && width > narrowest)
      .reduce<(typeof all)[number] | undefined>(
        (most, each) => (most && most.width >= each.width ? most : each),
        undefined,
      )
    if (widest === undefined) break
    widest.width--
  }
  return all
}

/** Returns the lines of a row: prose that is wider than its column continues below. */
function wrappedRow(
  row: readonly string[],
  columns: readonly Column[],
  shown: readonly { column: Column; width: number }[],
): (readonly string[])[] {
  const parts = columns.map((column, index) => {
    const width = shown.find((each) => each.column === column)?.width
    const text = row[index] ?? ''
    return column.kind === 'prose' && width !== undefined && textWidth(text) > width ? wrap(text, width) : [text]
  })
  const height = Math.max(...parts.map(({ length }) => length))
  return Array.from({ length: height }, (_, line) => parts.map((part) => part[line] ?? ''))
}

function cellText({ name, field = name, kind, text }: Column, row: TableRow, style: Style): string {
  const value = readField(row, field)
  if (text !== undefined) return text(value as never)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (kind === 'ms' && typeof value === 'number') return formatMs(value)
  if (kind === 'size' && typeof value === 'number') return sizeText(value)
  return kind === 'time' && typeof value === 'number' ? timeText(value, style, true) : formatValue(value)
}

/** Returns milliseconds with at most one decimal. */
function formatMs(duration_ms: number): string {
  return String(Math.round(duration_ms * 10) / 10)
}

function readField(row: TableRow, field: string): unknown {
  return Reflect.get(row, field)
}

type Paint = NonNullable<Column['paint']>

/** Green: success. Yellow: success with a reservation, or not yet. Red: failure. */
const words: Readonly<Record<string, 'green' | 'yellow' | 'red'>> = {
  accepted: 'green',
  ready: 'green',
  delivered: 'green',
  granted: 'green',
  won: 'green',
  holds: 'green',
  ok: 'green',
  OK: 'green',
  yes: 'green',
  duplicate: 'yellow',
  pending: 'yellow',
  outbid: 'yellow',
  expired: 'yellow',
  cancelled: 'yellow',
  rejected: 'red',
  failed: 'red',
  denied: 'red',
  withdrawn: 'red',
  differs: 'red',
}

/** Colours a verdict, a status or an outcome; any other word is dimmed. */
export const paintWord: Paint = (cell, style) => {
  const color = findEntry(words, /^\w+/.exec(cell)?.[0] ?? '')
  return color === undefined ? style.dim(cell) : style[color](cell)
}

/** Colours a reason: anything but OK is worth a look. */
export const paintReason: Paint = (cell, style) =>
  cell === '-' ? style.dim(cell) : cell === 'OK' ? style.green(cell) : style.yellow(cell)

/** Colours the status of a response by its class. */
export const paintStatus: Paint = (cell, style) =>
  cell.startsWith('2')
    ? style.green(cell)
    : cell.startsWith('4')
      ? style.yellow(cell)
      : /^[05]/.test(cell)
        ? style.red(cell)
        : cell

/** Dims a cell of little importance. */
export const paintDim: Paint = (cell, style) => style.dim(cell)
