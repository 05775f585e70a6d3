/**
 * One property in a JSON file that others wrote: added, replaced or removed as text, so that comments, order, indents and
 * line ends stay. A comment behind the last property stays behind it, and a removal undoes exactly what was added.
 */
import { createScanner, findNodeAtLocation, getNodeValue, type Node, type ParseError, parseTree } from 'jsonc-parser'
import { findNestingProblem, locateProblem, locateSyntaxError } from '#foundation/json/syntax.ts'
import type { Json } from '#foundation/json.ts'

/** A text with the property, and whether a comma had to be added before it. */
interface Added {
  text: string
  added_comma: boolean
}

/** A text that cannot be changed, with the reason. */
export class JsonFileError extends Error {
  override readonly name = 'JsonFileError'
}

/** Returns the value at a path; undefined when there is none. @throws JsonFileError when it is no JSON with comments */
export function readEntry(text: string, path: readonly string[]): unknown {
  const node = findNodeAtLocation(parse(text), [...path])
  // A copy has the prototype of plain objects.
  return node === undefined ? undefined : structuredClone(getNodeValue(node))
}

/** Adds a property to the object at a path. @throws JsonFileError when there is no such object */
export function addEntry(text: string, path: readonly string[], name: string, value: Json): Added {
  const parent = requireObject(text, path)
  const last = parent.children?.at(-1)
  return last === undefined ? addFirst(text, parent, name, value) : addLast(text, { parent, last }, name, value)
}

function addFirst(text: string, parent: Node, name: string, value: Json): Added {
  const open = parent.offset + 1
  const close = parent.offset + parent.length - 1
  const inside = text.slice(open, close).trimEnd()
  const style = readStyle(text)
  const indent = indentAt(text, parent.offset)
  const isOneLine = !text.includes('\n') && text.trim() !== '{}'
  const start = isOneLine ? '' : `${style.eol}${indent}${style.unit}`
  const end = isOneLine ? '' : `${style.eol}${indent}`
  const property = writeProperty(name, value, isOneLine ? null : { ...style, indent: indent + style.unit })
  return { text: `${text.slice(0, open)}${inside}${start}${property}${end}${text.slice(close)}`, added_comma: false }
}

function addLast(text: string, { parent, last }: { parent: Node; last: Node }, name: string, value: Json): Added {
  const close = parent.offset + parent.length - 1
  const lastEnd = last.offset + last.length
  const comma = findComma(text, lastEnd)
  const isOneLine = !text.slice(parent.offset, close).includes('\n')
  const style = readStyle(text)
  const indent = indentAt(text, last.offset)
  const at = isOneLine ? (comma ?? lastEnd) : endOfLine(text, comma ?? lastEnd, close)
  const start = isOneLine ? ' ' : `${style.eol}${indent}`
  const property = writeProperty(name, value, isOneLine ? null : { ...style, indent })
  const before = comma === null ? `${text.slice(0, lastEnd)},${text.slice(lastEnd, at)}` : text.slice(0, at)
  return { text: `${before}${start}${property}${text.slice(at)}`, added_comma: comma === null }
}

/** Replaces the value at a path. @throws JsonFileError when there is none */
export function replaceEntry(text: string, path: readonly string[], value: Json): string {
  const node = findNodeAtLocation(parse(text), [...path])
  const property = node?.parent
  if (node === undefined || property === undefined) throw new JsonFileError(`it has no ${path.join('.')}`)
  const style = readStyle(text)
  const isWide = !text.slice(node.offset, node.offset + node.length).includes('\n')
  const written = writeValue(value, isWide ? null : { ...style, indent: indentAt(text, property.offset) })
  return text.slice(0, node.offset) + written + text.slice(node.offset + node.length)
}

/** Removes a property, and the comma before it that was added with it. */
export function removeEntry(text: string, path: readonly string[], added_comma: boolean): string {
  const property = findNodeAtLocation(parse(text), [...path])?.parent
  const siblings = property?.parent?.children ?? []
  if (property === undefined) return text
  const end = property.offset + property.length
  const start = startOfBlank(text, property.offset)
  const previous = siblings[siblings.indexOf(property) - 1]
  const following = siblings[siblings.indexOf(property) + 1]
  if (following !== undefined || previous === undefined || !added_comma) {
    const comma = following === undefined && !added_comma ? null : findComma(text, end)
    return closeEmpty(text.slice(0, start), text.slice(comma ?? end), siblings.length === 1)
  }
  const comma = findComma(text, previous.offset + previous.length)
  if (comma === null) return text.slice(0, start) + text.slice(end)
  return text.slice(0, comma - 1) + text.slice(comma, start) + text.slice(end)
}

/** An object without properties is written `{}`, unless a comment is in it. */
function closeEmpty(before: string, after: string, isEmpty: boolean): string {
  return isEmpty && before.endsWith('{') && /^\s*\}/.test(after) ? before + after.trimStart() : before + after
}

function parse(text: string): Node {
  const tooDeep = findNestingProblem(text)
  if (tooDeep !== null) throw new JsonFileError(`it cannot be read. ${locateProblem(tooDeep, text)}`)
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  const [error] = errors
  if (error !== undefined) throw new JsonFileError(`it is not JSON. ${locateSyntaxError(error, text)}`)
  if (root?.type !== 'object') throw new JsonFileError('it is not a JSON object')
  return root
}

function requireObject(text: string, path: readonly string[]): Node {
  const node = findNodeAtLocation(parse(text), [...path])
  if (node?.type === 'object') return node
  throw new JsonFileError(`its ${path.join('.')} is not an object`)
}

/** How a file is written. */
interface Style {
  eol: string
  /** One level of indent. */
  unit: string
}

function readStyle(text: string): Style {
  const [, unit = '  '] = /^([ \t]+)["}]/m.exec(text) ?? []
  return { eol: text.includes('\r\n') ? '\r\n' : '\n', unit }
}

function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
  return /^[ \t]*/.exec(line)?.[0] ?? ''
}

/** `null`: on one line. */
type Layout = (Style & { indent: string }) | null

function writeProperty(name: string, value: Json, layout: Layout): string {
  return `${JSON.stringify(name)}: ${writeValue(value, layout)}`
}

function writeValue(value: Json, layout: Layout): string {
  if (layout === null) return JSON.stringify(value)
  return JSON.stringify(value, null, layout.unit).replaceAll('\n', `${layout.eol}${layout.indent}`)
}

/** Returns the end of the comma that follows, behind blanks and comments; null when something else follows. */
function findComma(text: string, from: number): number | null {
  const scanner = createScanner(text, true)
  scanner.setPosition(from)
  scanner.scan()
  return text[scanner.getTokenOffset()] === ',' ? scanner.getTokenOffset() + 1 : null
}

/** Returns where the line of a place ends, behind its comment, and at most `most`. */
function endOfLine(text: string, from: number, most: number): number {
  const scanner = createScanner(text, false)
  scanner.setPosition(from)
  let end = from
  while (end < most) {
    scanner.scan()
    const token = text.slice(scanner.getTokenOffset(), scanner.getTokenOffset() + scanner.getTokenLength())
    if (token.startsWith('//') || token.startsWith('/*')) end = scanner.getTokenOffset() + token.length
    else if (!/^[ \t]+$/.test(token)) break
  }
  return end
}

/** Returns where the blanks before a place begin, with the line end before them. */
function startOfBlank(text: string, from: number): number {
  return from - (/\r?\n?(?<![ \t])[ \t]*$/.exec(text.slice(0, from))?.[0].length ?? 0)
}
