/**
 * Foreign text in Markdown: in code spans, code blocks and `<code>` it is neither markup nor a mention. Lists and texts
 * are cut to a number of bytes, and say how much is left out.
 */

import { escapeHtml } from '#foundation/html.ts'
import { oneLine } from '#text/terminal.ts'
import { sizeText } from '#text/text.ts'

/** Characters of a text on one line. */
const widest = 300

/** Returns a list after a blank line, cut to a number of bytes; what is left out of `total` is counted. */
export function limitList(lines: readonly string[], room: number, what: string, total = lines.length): string[] {
  if (lines.length === 0) return []
  if (byteLength(lines) <= room && lines.length === total) return ['', ...lines]
  const shown = countFitting(lines, room - 100)
  return ['', ...lines.slice(0, shown), `- … and ${total - shown} more (${what})`]
}

/** Returns how many of the texts fit, from the first. */
export function countFitting(texts: readonly string[], room: number): number {
  let used = 0
  const index = texts.findIndex((text) => {
    used += byteLength([text])
    return used > room
  })
  return index < 0 ? texts.length : index
}

/** Each text has a line end. */
export function byteLength(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0)
}

/** Returns a text on one line as a code span: its fence is longer than any in the text. */
export function codeSpan(text: string): string {
  const line = briefLine(text)
  const fence = '`'.repeat(longestRun(line) + 1)
  const space = /^`|`$/.test(line) ? ' ' : ''
  return line === '' ? '(nothing)' : `${fence}${space}${line}${space}${fence}`
}

/** Returns a text on one line for HTML, in which Markdown is not read. */
export function htmlCode(text: string): string {
  return `<code>${escapeHtml(briefLine(text))}</code>`
}

/** Returns the beginning of a text on one line. */
function briefLine(text: string): string {
  const line = oneLine(text.slice(0, 2 * widest)).trim()
  if (line.length <= widest && text.length <= 2 * widest) return line
  return `${line.slice(0, widest).replace(/[\ud800-\udbff]$/, '')}… (${text.length} characters)`
}

export function codeBlock(language: string, text: string): string[] {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1))
  return [`${fence}${language}`, text.trimEnd(), fence]
}

function longestRun(text: string): number {
  return Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
}

/** Returns a text of at most so many bytes, with the number of those that are left out. */
export function cutText(text: string, room: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= room) return text
  const kept = bytes
    .subarray(0, room)
    .toString()
    .replace(/\ufffd$/, '')
  return `${kept}\n… ${sizeText(bytes.length - room)} more: --reporter html=qa.html has it`
}
