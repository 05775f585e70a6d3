/**
 * What is wrong with a text that is not JSON, and where. JSON.parse has no place for most mistakes, and quotes the text
 * around some, which can contain a key.
 */
import { createScanner, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import type { Place } from '../finding.ts'
import { maxNestingLevels } from '../json.ts'

/** Returns the problem of a text that JSON.parse refuses, as `Line 3, column 5: A comma is missing here.` */
export function describeJsonProblem(text: string): string {
  const parsed = parseJsonPart(text, 0, text.length)
  if (!('problem' in parsed)) return 'It has a character that JSON does not allow.'
  return locateProblem(parsed, text)
}

/** Returns a syntax error of a text in one sentence, as `Line 3, column 5: A comma is missing here.` */
export function locateSyntaxError(error: ParseError, text: string): string {
  return locateProblem({ problem: describeSyntaxError(error, text), offset: error.offset }, text)
}

/** Returns a problem with its place, as `Line 3, column 5: It nests deeper than 64 levels.` */
export function locateProblem({ problem, offset }: { problem: string; offset: number }, text: string): string {
  const { line, column } = createLocator(text)(offset)
  return `Line ${line}, column ${column}: ${problem}`
}

/** A parsed part of a text: offsets of its nodes count from `base`. */
export type ParsedJson = { node: Node; base: number } | { problem: string; offset: number }

/** Parses a part of a text as strict JSON. */
export function parseJsonPart(text: string, start: number, end: number): ParsedJson {
  const part = text.slice(start, end)
  const tooDeep = findNestingProblem(part)
  if (tooDeep !== null) return { problem: tooDeep.problem, offset: start + tooDeep.offset }
  const errors: ParseError[] = []
  const node = parseTree(part, errors, { disallowComments: true, allowTrailingComma: false })
  const [error] = errors
  if (error !== undefined) return { problem: describeSyntaxError(error, part), offset: start + error.offset }
  if (node === undefined) return { problem: 'The text ends where a value should be.', offset: end }
  return { node, base: start }
}

/**
 * Returns where a text, with comments or without, first nests deeper than the API accepts, or null. jsonc-parser is recursive, so
 * it must never see such a text.
 */
export function findNestingProblem(text: string): { problem: string; offset: number } | null {
  const scanner = createScanner(text, true)
  let open = 0
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    const character = text[scanner.getTokenOffset()]
    if (character === '{' || character === '[') open++
    if (character === '}' || character === ']') open--
    if (open > maxNestingLevels) {
      return { problem: `It nests deeper than ${maxNestingLevels} levels.`, offset: scanner.getTokenOffset() }
    }
  }
  return null
}

/**
 * Returns a JSON text with blanks in place of what nests deeper than the API accepts, so that everything else keeps its place:
 * browsers note whole call stacks beside each request.
 */
export function withoutDeepParts(text: string): string {
  const scanner = createScanner(text, true)
  let open = 0
  let kept = ''
  let copied = 0
  /** Where the part that is left out begins. */
  let start = 0
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    const at = scanner.getTokenOffset()
    const character = text[at]
    if ((character === '{' || character === '[') && ++open === maxNestingLevels) start = at + 1
    if ((character === '}' || character === ']') && open-- === maxNestingLevels) {
      kept += text.slice(copied, start) + ' '.repeat(at - start)
      copied = at
    }
  }
  return kept + text.slice(copied)
}

/**
 * Returns a name that an object of a JSON text has twice, or null. Readers disagree on which of the two counts. Iterative: the
 * text may nest deeply.
 */
export function findRepeatedName(text: string): string | null {
  const scanner = createScanner(text, true)
  /** The names of each open object; null for an array. */
  const open: (Set<string> | null)[] = []
  let isName = false
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    const character = text[scanner.getTokenOffset()]
    const names = open.at(-1)
    if (character === '"' && isName && names instanceof Set) {
      const name = scanner.getTokenValue()
      if (names.has(name)) return name
      names.add(name)
    }
    if (character === '{') open.push(new Set())
    if (character === '[') open.push(null)
    if (character === '}' || character === ']') open.pop()
    isName = character === '{' || character === ','
  }
  return null
}

/** Describes a syntax error in one sentence. */
function describeSyntaxError({ error, offset, length }: ParseError, text: string): string {
  const name = printParseErrorCode(error)
  const character = text[offset]
  const closes = character === '}' || character === ']'
  if (closes && /,\s*$/.test(text.slice(0, offset))) return `There is a comma before ${character}: remove it.`
  if (offset >= text.length) return 'The text ends too early: a value, a comma or a bracket is missing.'
  const sentences: Readonly<Record<string, string>> = {
    PropertyNameExpected: 'The name of a property must be in double quotes.',
    ColonExpected: 'A colon is missing here.',
    CommaExpected: 'A comma is missing here.',
    CloseBraceExpected: 'A } is missing here.',
    CloseBracketExpected: 'A ] is missing here.',
    EndOfFileExpected: 'There is more text after the JSON value.',
    InvalidCommentToken: 'JSON does not allow comments.',
    UnexpectedEndOfString: 'This string does not end on its line.',
    InvalidCharacter: 'This string has a control character: escape it.',
    InvalidEscapeCharacter: 'This string has an unknown escape.',
    InvalidUnicode: 'This string has an incomplete \\u escape.',
  }
  const word = text.slice(offset, offset + Math.min(length, 10))
  if (wordsOfOtherLanguages.test(word)) return `${word} is not a JSON value.`
  return sentences[name] ?? 'This is not a JSON value. Text must be in double quotes.'
}

/** Only these are quoted: any other text can be a key or a password. */
const wordsOfOtherLanguages = /^(True|TRUE|False|FALSE|None|NULL|Null|nil|undefined|NaN|-?Infinity)$/

/** Returns a function from offsets in a text to line and column. */
export function createLocator(text: string): (offset: number) => Place {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (offset) => {
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 }
  }
}
