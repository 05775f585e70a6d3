/** The beacons in a file: one body, an array of bodies, JSON lines, or the beacon requests of a HAR file. */
import { findNodeAtLocation, type Node } from 'jsonc-parser'
import { explainIssues, type LocatedFieldError, withInput } from '#contract/errors.ts'
import { contract } from '#contract/index.ts'
import { readHarText } from '#contract/recordings/har-text.ts'
import { BeaconRequest } from '#contract/resources/beacons.ts'
import type { Place } from '#foundation/finding.ts'
import {
  createLocator,
  findNestingProblem,
  type ParsedJson,
  parseJsonPart,
  withoutDeepParts,
} from '#foundation/json/syntax.ts'
import { type JsonObject, parseJsonObject, valueAt } from '#foundation/json.ts'

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
  /** `unknown` when it begins like none of these, or when none of its objects has a field of a beacon. */
  kind: 'json' | 'json lines' | 'har' | 'unknown'
  beacons: FileBeacon[]
}

export interface Times {
  /** The present, epoch milliseconds. */
  now_ms: number
  /** When the beacons would be sent; null when unknown: then only times in the future are wrong. */
  sent_at_ms: number | null
}

export function readBeaconFile(text: string, times: Times): BeaconFile {
  const file = { text, locate: createLocator(text), times }
  const whole = parseJsonPart(text, 0, text.length)
  if ('problem' in whole) {
    const har = findNestingProblem(text) === null ? null : readHar(withoutDeepParts(text), file)
    if (har !== null) return har
    const lines = lineRanges(text).map(([from, to]) => parseJsonPart(text, from, to))
    if (lines.length > 1 && 'node' in lines[0]!)
      return { kind: agreeOnKind(lines, 'json lines'), beacons: lines.map((line) => toFileBeacon(line, file)) }
    return { kind: /^\s*([[{]|$)/.test(text) ? 'json' : 'unknown', beacons: [toFileBeacon(whole, file)] }
  }
  const har = readEntries(whole.node, file)
  if (har !== null) return har
  const { node, base } = whole
  const items = (node.type === 'array' ? (node.children ?? []) : [node]).map((item) => ({ node: item, base }))
  return { kind: agreeOnKind(items, 'json'), beacons: items.map((item) => toFileBeacon(item, file)) }
}

/** Returns the beacons of a HAR file whose deep parts are left out; null for another text. */
function readHar(text: string, file: SourceFile): BeaconFile | null {
  const parsed = parseJsonPart(text, 0, text.length)
  return 'problem' in parsed ? null : readEntries(parsed.node, { ...file, text })
}

function readEntries(whole: Node, file: SourceFile): BeaconFile | null {
  const entries = findNodeAtLocation(whole, ['log', 'entries'])
  if (entries?.type !== 'array') return null
  return { kind: 'har', beacons: (entries.children ?? []).flatMap((entry) => harBeacons(entry, file)) }
}

/** Fields that a beacon has and few other objects, however they are spelled: `beaconId`. */
const ownFields = new Set(['beaconid', 'assettoken', 'event'])

function agreeOnKind<Kind>(items: readonly ParsedJson[], kind: Kind): Kind | 'unknown' {
  const isBeacon = (item: ParsedJson) => {
    if ('problem' in item) return false
    const names = [...propertiesIn(item.node).keys()]
    return names.length === 0 && item.node.type === 'object'
      ? true
      : names.some((name) => ownFields.has(name.toLowerCase().replaceAll(/[^a-z]/g, '')))
  }
  return items.length === 0 || items.some(isBeacon) ? kind : 'unknown'
}

interface SourceFile {
  text: string
  locate(offset: number): Place
  times: Times
}

function toFileBeacon(parsed: ParsedJson, { text, locate, times }: SourceFile): FileBeacon {
  return {
    request: null,
    times,
    body: readBody(parsed, text),
    place: (path, isName = false) =>
      locate('problem' in parsed ? parsed.offset : parsed.base + offsetAt(parsed.node, path, isName)),
  }
}

function readBody(parsed: ParsedJson, text: string): FileBeacon['body'] {
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
  const { request, startedDateTime } = parseJsonObject(text.slice(entry.offset, entry.offset + entry.length)) ?? {}
  const path = URL.parse(String(valueAt(request, 'url')))?.pathname ?? ''
  if (valueAt(request, 'method') !== 'POST' || (path !== beaconPath && !oldBeaconPath.test(path))) return []
  const type = valueAt(request, 'postData.mimeType')
  const url_place = locate(offsetAt(entry, ['request', 'url']))
  const content =
    readHarText(valueAt(request, 'postData') as JsonObject) ?? readHarText(valueAt(request, '_content') as JsonObject)
  const started_ms = Date.parse(String(startedDateTime))
  const sent_at_ms = times.sent_at_ms ?? (Number.isNaN(started_ms) ? null : started_ms)
  const place = typeof content === 'string' ? locate(offsetAt(entry, ['request', 'postData', 'text'])) : url_place
  const body = typeof content === 'string' ? readBody(parseJsonPart(content, 0, content.length), content) : null
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
function lineRanges(text: string): [start: number, end: number][] {
  return [...text.matchAll(/(?<![^\n])[^\n]*\S[^\n]*/g)].map(({ index, 0: line }) => [index, index + line.length])
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
