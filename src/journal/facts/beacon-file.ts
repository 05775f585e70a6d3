/** The beacons in a file: one body, an array of bodies, JSON lines, or the beacon requests of a HAR file. */
import {
  createScanner,
  findNodeAtLocation,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser'
import { explainIssues, type LocatedFieldError, withInput } from '../../contract/errors.ts'
import { contract } from '../../contract/index.ts'
import { BeaconRequest } from '../../contract/resources/beacons.ts'
import { valueAt } from '../../foundation/json.ts'

/** Line and column in a file, both from 1. */
export interface Place {
  line: number
  column: number
}

/** One body and where it came from. */
export interface FileBeacon {
  body:
    | { status: 'missing' }
    | { status: 'malformed'; message: string }
    /** An array where one beacon should be. */
    | { status: 'batch' }
    | {
        status: 'read'
        value: unknown
        /** The size of the body in UTF-8. */
        bytes: number
        /** Null when it does not match the schema; then `fields` says why. */
        beacon: BeaconRequest | null
        fields: LocatedFieldError[]
      }
  /** The request around it, in a HAR file. */
  request: { path: string; content_type: string | null; url_place: Place } | null
  times: Times
  /**
   * Returns the place of one of its fields, or of the name of that field; in a HAR file always the place of its body.
   */
  place(path: readonly PropertyKey[], isName?: boolean): Place
}

/** A beacon of a file that the service would accept. */
export interface AcceptedInFile extends Pick<FileBeacon, 'place'> {
  beacon: BeaconRequest
  /** When it claims to have happened, epoch milliseconds. */
  at_ms: number
}

export interface BeaconFile {
  kind: 'json' | 'json lines' | 'har'
  beacons: FileBeacon[]
}

export interface Times {
  /** The present, epoch milliseconds. */
  now_ms: number
  /** When the beacons would be sent; null when unknown: then only times in the future are wrong. */
  sent_at_ms: number | null
}

export function readBeaconFile(marked: string, times: Times): BeaconFile {
  // A byte order mark is no part of the text, and of no place in it.
  const text = marked.replace(/^\uFEFF/, '')
  const file = { text, locate: createLocator(text), times }
  const whole = parse(text, 0, text.length)
  if ('problem' in whole) {
    const lines = linesOf(text).map(([from, to]) => parse(text, from, to))
    return lines.length > 1 && 'node' in lines[0]!
      ? { kind: 'json lines', beacons: lines.map((line) => beaconOf(line, file)) }
      : { kind: 'json', beacons: [beaconOf(whole, file)] }
  }
  const entries = findNodeAtLocation(whole.node, ['log', 'entries'])
  if (entries?.type === 'array') {
    return { kind: 'har', beacons: (entries.children ?? []).flatMap((entry) => harBeacons(entry, file)) }
  }
  const { node, base } = whole
  const items = node.type === 'array' ? (node.children ?? []) : [node]
  return { kind: 'json', beacons: items.map((item) => beaconOf({ node: item, base }, file)) }
}

interface SourceFile {
  text: string
  locate(offset: number): Place
  times: Times
}

/** A parsed part of a text: offsets of its nodes count from `base`. */
type Parsed = { node: Node; base: number } | { problem: string; offset: number }

function beaconOf(parsed: Parsed, { text, locate, times }: SourceFile): FileBeacon {
  return {
    request: null,
    times,
    body: bodyOf(parsed, text),
    place: (path, isName = false) =>
      locate('problem' in parsed ? parsed.offset : parsed.base + offsetAt(parsed.node, path, isName)),
  }
}

function bodyOf(parsed: Parsed, text: string): FileBeacon['body'] {
  if ('problem' in parsed) return { status: 'malformed', message: parsed.problem }
  const { node, base } = parsed
  const source = text.slice(base + node.offset, base + node.offset + node.length)
  const value: unknown = JSON.parse(source)
  if (Array.isArray(value)) return { status: 'batch' }
  const { data = null, error } = BeaconRequest.safeParse(value, withInput)
  const fields = error === undefined ? [] : explainIssues(error.issues).fields
  return { status: 'read', value, bytes: Buffer.byteLength(source), beacon: data, fields }
}

/** The path of beacons, and the paths that public clients used before. */
export const beaconPath = contract['beacons.send'].path
export const oldBeaconPath = /^\/public\/(?:wrapper|browser)\/v1\/beacons$/

/** Returns the beacon of a HAR entry; none when the entry is another request. */
function harBeacons(entry: Node, { text, locate, times }: SourceFile): FileBeacon[] {
  const { request, startedDateTime } = JSON.parse(text.slice(entry.offset, entry.offset + entry.length)) as {
    request?: unknown
    startedDateTime?: unknown
  }
  const path = URL.parse(String(valueAt(request, 'url')))?.pathname ?? ''
  if (valueAt(request, 'method') !== 'POST' || (path !== beaconPath && !oldBeaconPath.test(path))) return []
  const type = valueAt(request, 'postData.mimeType')
  const url_place = locate(offsetAt(entry, ['request', 'url']))
  const content = valueAt(request, 'postData.text')
  const started_ms = Date.parse(String(startedDateTime))
  const sent_at_ms = times.sent_at_ms ?? (Number.isNaN(started_ms) ? null : started_ms)
  const place = typeof content === 'string' ? locate(offsetAt(entry, ['request', 'postData', 'text'])) : url_place
  const body = typeof content === 'string' ? bodyOf(parse(content, 0, content.length), content) : null
  if (body?.status === 'malformed') body.message = `The body is not JSON: ${body.message}`
  return [
    {
      body: body ?? { status: 'missing' },
      times: { ...times, sent_at_ms },
      request: { path, content_type: typeof type === 'string' && type !== '' ? type : null, url_place },
      place: () => place,
    },
  ]
}

/** Returns the start and end of each line that is not blank. */
function linesOf(text: string): [start: number, end: number][] {
  return [...text.matchAll(/(?<![^\n])[^\n]*\S[^\n]*/g)].map(({ index, 0: line }) => [index, index + line.length])
}

/** Deeper than any body of the contract; the service refuses it too. */
const maxDepth = 64

/** Parses a part of a text as strict JSON. */
function parse(text: string, start: number, end: number): Parsed {
  const part = text.slice(start, end)
  const tooDeep = offsetOfDepth(part, maxDepth + 1)
  if (tooDeep !== null) return { problem: `It nests deeper than ${maxDepth} levels.`, offset: start + tooDeep }
  const errors: ParseError[] = []
  const node = parseTree(part, errors, { disallowComments: true, allowTrailingComma: false })
  const [error] = errors
  if (error !== undefined) return { problem: problemOf(error, part), offset: start + error.offset }
  if (node === undefined) return { problem: 'The text ends where a value should be.', offset: end }
  return { node, base: start }
}

/** Returns where brackets first nest to a depth, or null. The parser is recursive, so it must never see such a text. */
function offsetOfDepth(text: string, depth: number): number | null {
  const scanner = createScanner(text, true)
  let open = 0
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    const character = text[scanner.getTokenOffset()]
    if (character === '{' || character === '[') open++
    if (character === '}' || character === ']') open--
    if (open > depth) return scanner.getTokenOffset()
  }
  return null
}

/** Describes a syntax error in one sentence. */
function problemOf({ error, offset, length }: ParseError, text: string): string {
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
  return sentences[name] ?? `${printable(text.slice(offset, offset + Math.min(length, 20)))} is not a JSON value.`
}

/** Replaces control characters: a terminal would act on them. */
function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '?')
}

/** Returns where the value at a path begins, or its name; without such a value, where its innermost parent begins. */
function offsetAt(root: Node, path: readonly PropertyKey[], isName = false): number {
  let node = root
  for (const [index, key] of path.entries()) {
    const child = node.type === 'array' ? node.children?.[Number(key)] : propertiesIn(node).get(String(key))
    if (child === undefined) return node.offset
    if (isName && index === path.length - 1 && child.parent?.type === 'property') return child.parent.offset
    node = child
  }
  return node.offset
}

const propertiesByNode = new WeakMap<Node, Map<string, Node>>()

/** Returns the values of an object by name. Kept: an object of many unknown fields is asked for each of them. */
function propertiesIn(node: Node): Map<string, Node> {
  let properties = propertiesByNode.get(node)
  if (properties === undefined) {
    properties = new Map()
    for (const { children: [name, value] = [] } of node.type === 'object' ? (node.children ?? []) : []) {
      if (name !== undefined && value !== undefined && !properties.has(name.value)) properties.set(name.value, value)
    }
    propertiesByNode.set(node, properties)
  }
  return properties
}

/** Returns a function from offsets in a text to line and column. */
function createLocator(text: string): (offset: number) => Place {
  // No editor counts the byte order mark.
  const starts = [text.startsWith('\uFEFF') ? 1 : 0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (offset) => {
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] as number) <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - (starts[low] as number) + 1 }
  }
}
