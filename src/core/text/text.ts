/**
 * Values as aligned text. Widths are terminal columns: East Asian characters and emoji take two. Times are in the form
 * that `--time` requests, in UTC, as in JSON and in the journal.
 */
import { stripVTControlCharacters } from 'node:util'
import stringWidth from 'string-width'
import { isTime } from '#contract/separated.ts'
import { jsonText, oneLine, type Style } from './terminal.ts'

/** Prose narrower than this is harder to read than a line wrapped by the terminal. */
const minProseColumns = 30

/**
 * Returns `name  value` lines with the values in one column, after an indent; on a terminal a long one continues below.
 * Rows without a value are left out.
 */
export function alignPairs(
  rows: readonly (readonly [name: string, value: string | null])[],
  style: Style,
  indent = '',
): string[] {
  const shown = rows.filter((row): row is readonly [string, string] => row[1] !== null)
  const width = widest(shown.map(([name]) => name))
  const room = style.columns === undefined ? 0 : style.columns - indent.length - width - 2
  return shown.flatMap(([name, value]) => {
    const text = oneLine(value)
    const isLong = room >= minProseColumns && text.length > room && textWidth(stripVTControlCharacters(text)) > room
    const [first = '', ...rest] = isLong ? wrap(text, room) : [text]
    const below = indent + ' '.repeat(width + 2)
    return [`${indent}${style.dim(padEnd(name, width))}  ${first}`, ...rest.map((line) => below + line)]
  })
}

/** Created on first use: it initializes ICU, which takes 20 ms. */
let graphemes: Intl.Segmenter | undefined

/** Returns the text cut to a width, with `…` where it was cut. No character is split. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  graphemes ??= new Intl.Segmenter()
  let cut = ''
  let left = width - 1
  for (const { segment } of graphemes.segment(text)) {
    left -= textWidth(segment)
    if (left < 0) break
    cut += segment
  }
  return `${cut}…`
}

/** Returns the words of a text in lines of at most `width` columns; a longer word has its own line. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)} ${word}`
    if (lines.length > 0 && textWidth(stripVTControlCharacters(longer)) <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

/** The indent of a text that is below its head, because one of its words has no room next to the head. */
const belowHead = 4

/**
 * Returns a text after a head, wrapped to `width` columns, its further lines below its first word. A text with a word that is
 * wider than that, such as a path, begins below the head: broken by the terminal it could not be copied. Without a width,
 * when it does not go to a terminal, it is one line.
 */
export function hangingLines(head: string, text: string, width: number | undefined): string[] {
  if (width === undefined) return [head + text]
  const bare = stripVTControlCharacters(head)
  const indent = textWidth(bare)
  if (indent > belowHead && widest(text.split(/\s+/)) > width - indent) {
    const lines = wrap(text, width - belowHead).map((line) => ' '.repeat(belowHead) + line)
    return bare.trim() === '' ? lines : [head.trimEnd(), ...lines]
  }
  return wrap(text, width - indent).map((line, index) => (index === 0 ? head : ' '.repeat(indent)) + line)
}

/**
 * Returns a text after a head, broken after every `width` columns, with further lines below its first character. Unlike
 * with word wrapping, nothing changes and no line is too long: for bodies, hashes and tokens.
 */
export function brokenLines(head: string, text: string, width: number | undefined): string[] {
  if (width === undefined) return [head + text]
  const indent = textWidth(stripVTControlCharacters(head))
  const room = Math.max(1, width - indent)
  if (textWidth(text) <= room) return [head + text]
  graphemes ??= new Intl.Segmenter()
  const lines = ['']
  let left = room
  for (const { segment } of graphemes.segment(text)) {
    const taken = textWidth(segment)
    if (taken > left) {
      lines.push('')
      left = room
    }
    lines[lines.length - 1] += segment
    left -= taken
  }
  return lines.map((line, index) => (index === 0 ? head : ' '.repeat(indent)) + line)
}

/** Returns the text with blanks up to a width. */
export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)))
}

/** Returns the columns that a text takes. Most texts are ASCII, which needs no tables of characters. */
export function textWidth(text: string): number {
  return /^[ -~]*$/.test(text) ? text.length : stringWidth(text)
}

function widest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map((text) => textWidth(text)))
}

/** Returns any JSON value as indented `name  value` lines, its names unchanged: for bodies. */
export function describeValue(value: unknown, style: Style): string[] {
  return fieldLines(value, style, (name, field) => ({
    label: name,
    text: typeof field === 'number' && isTime(name) ? timeText(field, style) : formatValue(field),
  }))
}

/** How a field is written: its label, and its value if it is on the same line. */
type FieldText = (name: string, value: unknown) => { label: string; text: string }

/** Returns any JSON value as indented lines, each field as returned by `fieldText`. */
export function fieldLines(value: unknown, style: Style, fieldText: FieldText): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => itemLines(item, style, fieldText))
  if (typeof value !== 'object' || value === null) return [formatValue(value)]
  const rows = Object.entries(value).map(([name, field]) => {
    const { label, text } = fieldText(name, field)
    return { label: oneLine(label), text, nested: isNested(field) ? fieldLines(field, style, fieldText) : null }
  })
  const width = widest(rows.filter(({ nested }) => nested === null).map(({ label }) => label))
  return rows.flatMap(({ label, text, nested }) =>
    nested === null
      ? [`${style.dim(padEnd(label, width))}  ${text}`]
      : [style.dim(label), ...nested.map((line) => `  ${line}`)],
  )
}

/** Returns a number of bytes in a unit that is easy to read: `912 bytes`, `16 kB`, `1.2 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return bytes === 1 ? '1 byte' : `${bytes} bytes`
  const [unit, size] = bytes < 999_500 ? ['kB', 1_000] : bytes < 999_500_000 ? ['MB', 1e6] : ['GB', 1e9]
  const count = bytes / Number(size)
  return `${count.toFixed(count < 9.95 ? 1 : 0)} ${unit}`
}

/** Returns a count with its noun: `1 request`, `3 requests`. */
export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : many}`
}

/** Returns a scalar, or a list of them, on one line, with control characters that could affect a terminal escaped. */
export function formatValue(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(formatValue).join(', ')
  if (typeof value === 'object') return Object.keys(value).length === 0 ? '-' : jsonText(value)
  return oneLine(String(value))
}

function itemLines(item: unknown, style: Style, fieldText: FieldText): string[] {
  const [first = '', ...rest] = fieldLines(item, style, fieldText)
  return [`- ${first}`, ...rest.map((line) => `  ${line}`)]
}

/** Whether a value takes its own lines. */
function isNested(value: unknown): boolean {
  if (Array.isArray(value)) return value.some((item) => typeof item === 'object' && item !== null)
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** The maximum epoch milliseconds of a date. */
const lastDateMs = 8.64e15

/**
 * Returns epoch milliseconds as text: `12:03:41` in the tables of a terminal, with the date if it is not today; RFC
 * 3339 elsewhere; `2m ago` or the number if `--time` says so. A client may send any number as a time, even one that is
 * not a date.
 */
export function timeText(epoch_ms: number, { view, columns }: Style, isShort = false): string {
  if (view.time === 'ms' || Math.abs(epoch_ms) > lastDateMs) return String(epoch_ms)
  if (view.time === 'relative') return relativeTime(epoch_ms - view.now_ms)
  return isShort && columns !== undefined ? shortTime(epoch_ms, view.now_ms) : formatTime(epoch_ms)
}

/** Returns epoch milliseconds as RFC 3339, UTC. */
export function formatTime(epoch_ms: number): string {
  return new Date(epoch_ms).toISOString()
}

/** Returns `12:03:41` for a time today, `Jan 30 12:03` for one this year, `2025-01-30` for any other. */
function shortTime(epoch_ms: number, now_ms: number): string {
  const text = formatTime(epoch_ms)
  const today = formatTime(now_ms)
  if (text.slice(0, 10) === today.slice(0, 10)) return text.slice(11, 19)
  if (text.slice(0, 4) !== today.slice(0, 4)) return text.slice(0, text.indexOf('T'))
  const month = 'JanFebMarAprMayJunJulAugSepOctNovDec'.slice(Number(text.slice(5, 7)) * 3 - 3).slice(0, 3)
  return `${month} ${text.slice(8, 10)} ${text.slice(11, 16)}`
}

/** Returns `2m ago`, or `in 2m` for a future time. */
function relativeTime(from_now_ms: number): string {
  const span = Math.abs(from_now_ms)
  const [unit, size] = units.find(([, size]) => span >= size) ?? []
  if (unit === undefined || size === undefined) return 'now'
  const count = `${Math.floor(span / size)}${unit}`
  return from_now_ms < 0 ? `${count} ago` : `in ${count}`
}

/** Returns a path under the home directory as `~/...`. */
export function shortenPath(path: string, home: string): string {
  return home !== '' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
