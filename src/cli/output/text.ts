/** Values as aligned text. Widths are terminal columns: East Asian characters and emoji take two. */
import { stripVTControlCharacters } from 'node:util'
import stringWidth from 'string-width'
import { jsonText, oneLine } from './printable.ts'
import type { Style } from './style.ts'
import { timeText } from './time.ts'

/** Prose below this width is harder to read than a line that the terminal breaks. */
const leastProse = 30

/**
 * Returns `name  value` lines with the values in one column; on a terminal a long one goes on below. Rows without a value are
 * left out.
 */
export function alignPairs(rows: readonly (readonly [name: string, value: string | null])[], style: Style): string[] {
  const shown = rows.filter((row): row is readonly [string, string] => row[1] !== null)
  const width = widest(shown.map(([name]) => name))
  const room = style.columns === undefined ? 0 : style.columns - width - 2
  return shown.flatMap(([name, value]) => {
    const text = oneLine(value)
    const isLong = room >= leastProse && text.length > room && textWidth(stripVTControlCharacters(text)) > room
    const [first = '', ...rest] = isLong && text === stripVTControlCharacters(text) ? wrap(text, room) : [text]
    return [`${style.dim(padEnd(name, width))}  ${first}`, ...rest.map((line) => ' '.repeat(width + 2) + line)]
  })
}

/** Created on first use: it initializes ICU, which takes 20 ms. */
let graphemes: Intl.Segmenter | undefined

/** Returns the text cut to a width, with `…` where something is missing. No character is cut in two. */
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

/** Returns the words of a text in lines of at most `width` columns; a longer word has a line of its own. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)} ${word}`
    if (lines.length > 0 && textWidth(longer) <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

/**
 * Returns a text after a head, wrapped to `width` columns, its further lines below its first word. Without a width, which is
 * where it goes to no terminal, it is one line.
 */
export function hangingLines(head: string, text: string, width: number | undefined): string[] {
  if (width === undefined) return [head + text]
  const indent = textWidth(stripVTControlCharacters(head))
  return wrap(text, width - indent).map((line, index) => (index === 0 ? head : ' '.repeat(indent)) + line)
}

/** Returns the text with blanks up to a width. */
export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)))
}

/** Returns the columns that a text takes. ASCII is what most texts are, and needs no tables of characters. */
export function textWidth(text: string): number {
  return /^[ -~]*$/.test(text) ? text.length : stringWidth(text)
}

function widest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map((text) => textWidth(text)))
}

/** Returns any JSON value as indented `name  value` lines. */
export function describeValue(value: unknown, style: Style): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => describeItem(item, style))
  if (typeof value !== 'object' || value === null) return [formatValue(value)]
  const fields = Object.entries(value)
  const width = widest(fields.filter(([, field]) => !isNested(field)).map(([name]) => oneLine(name)))
  return fields.flatMap(([name, field]) =>
    isNested(field)
      ? [style.dim(oneLine(name)), ...describeValue(field, style).map((line) => `  ${line}`)]
      : [`${style.dim(padEnd(oneLine(name), width))}  ${formatField(name, field, style)}`],
  )
}

/** Returns the value of a field on one line; epoch milliseconds as a time. */
function formatField(name: string, value: unknown, style: Style): string {
  return typeof value === 'number' && isTime(name) ? timeText(value, style) : formatValue(value)
}

/** Returns a number of bytes in a unit that is easy to read: `912 bytes`, `16 kB`, `1.2 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return bytes === 1 ? '1 byte' : `${bytes} bytes`
  const [unit, size] = bytes < 999_500 ? ['kB', 1_000] : bytes < 999_500_000 ? ['MB', 1e6] : ['GB', 1e9]
  const count = bytes / Number(size)
  return `${count.toFixed(count < 9.95 ? 1 : 0)} ${unit}`
}

/** Whether a field of this name holds epoch milliseconds. */
export function isTime(name: string): boolean {
  return /(^|_)at_ms$|^(server_time|now)_ms$/.test(name)
}

/** Returns a scalar, or a list of them, on one line, with the control characters written out that could steer a terminal. */
export function formatValue(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(formatValue).join(', ')
  if (typeof value === 'object') return Object.keys(value).length === 0 ? '-' : jsonText(value)
  return oneLine(String(value))
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
