/** The beacons in a file: one body, an array of bodies, JSON lines, or the beacon requests of a HAR file. */
import { contract } from '../../contract/index.ts'
import type { LintFinding } from '../lint/finding.ts'
import { createPlaces, type JsonNode, JsonSyntaxError, nameStart, nodeAt, parseJsonText } from '../lint/json-text.ts'

/** One body and where it came from. */
export interface FileBeacon {
  value: unknown
  /** Bytes of the body, as UTF-8. */
  bytes: number
  /** When the request was made, epoch milliseconds, where the file says so. */
  sent_at_ms: number | null
  /** Where a member of it stands; of a HAR file, where its body does. */
  place(path: readonly PropertyKey[], isName: boolean): { line: number; column: number }
}

export interface BeaconFile {
  kind: 'json' | 'json lines' | 'har'
  beacons: FileBeacon[]
  /** What is wrong with the file, or with the requests around the bodies. */
  findings: LintFinding[]
}

export function readBeaconFile(text: string): BeaconFile {
  const start = text.startsWith('\uFEFF') ? 1 : 0
  const place = createPlaces(text)
  const whole = parsed(text, start, text.length)
  if (whole instanceof JsonSyntaxError) {
    const lines = linesOf(text, start)
    return lines.length > 1 && !(parsed(text, lines[0]!.start, lines[0]!.end) instanceof JsonSyntaxError)
      ? readLines(text, lines, place)
      : { kind: 'json', beacons: [], findings: [malformed(whole, place)] }
  }
  if (harEntries(whole) !== null) return readHar(whole, place)
  const nodes = whole.items ?? [whole]
  return { kind: 'json', beacons: nodes.map((node) => beaconOf(text, node, place)), findings: [] }
}

type Place = ReturnType<typeof createPlaces>

function readLines(text: string, lines: readonly { start: number; end: number }[], place: Place): BeaconFile {
  const file: BeaconFile = { kind: 'json lines', beacons: [], findings: [] }
  for (const { start, end } of lines) {
    const node = parsed(text, start, end)
    if (node instanceof JsonSyntaxError) file.findings.push(malformed(node, place))
    else file.beacons.push(beaconOf(text, node, place))
  }
  return file
}

/** Lines that are not blank. */
function linesOf(text: string, from: number): { start: number; end: number }[] {
  return [...text.matchAll(/[^\n]*\S[^\n]*/g)]
    .map(({ index, 0: line }) => ({ start: Math.max(index, from), end: index + line.length }))
    .filter(({ start, end }) => start < end)
}

function beaconOf(text: string, node: JsonNode, place: Place): FileBeacon {
  return {
    value: node.value,
    bytes: Buffer.byteLength(text.slice(node.start, node.end)),
    sent_at_ms: null,
    place: (path, isName) => place(isName ? nameStart(node, path) : nodeAt(node, path).start),
  }
}

/** Where beacons go, and where public clients of before sent them. */
const beaconPath = contract['beacons.send'].path
const oldBeaconPath = /^\/public\/(?:wrapper|browser)\/v1\/beacons$/

function readHar(root: JsonNode, place: Place): BeaconFile {
  const file: BeaconFile = { kind: 'har', beacons: [], findings: [] }
  for (const entry of harEntries(root) ?? []) {
    const request = nodeAt(entry, ['request'])
    const path = pathOf(member(request, 'url'))
    const isOld = path !== null && oldBeaconPath.test(path)
    if (member(request, 'method') !== 'POST' || (path !== beaconPath && !isOld)) continue
    const url = place(nodeAt(request, ['url']).start)
    if (isOld) file.findings.push(oldRoute(path, url))
    const body = nodeAt(request, ['postData', 'text'])
    const text = member(request, 'postData', 'text')
    if (typeof text !== 'string') {
      file.findings.push(problem(url, 'body_empty', 'The request has no body, or the HAR file was saved without it.'))
      continue
    }
    const type = member(request, 'postData', 'mimeType')
    if (typeof type === 'string' && type !== '' && !/^application\/json\b/i.test(type)) {
      file.findings.push(
        problem(
          place(body.start),
          'content_type_unsupported',
          `The request has the content type ${type.slice(0, 60)}.`,
        ),
      )
    }
    const node = parsed(text, 0, text.length)
    if (node instanceof JsonSyntaxError) {
      file.findings.push(problem(place(body.start), 'json_malformed', `The body is not JSON: ${node.message}`))
      continue
    }
    const sent_at_ms = Date.parse(String(member(entry, 'startedDateTime')))
    file.beacons.push({
      value: node.value,
      bytes: Buffer.byteLength(text),
      sent_at_ms: Number.isNaN(sent_at_ms) ? null : sent_at_ms,
      place: () => place(body.start),
    })
  }
  return file
}

function harEntries(root: JsonNode): readonly JsonNode[] | null {
  return root.members?.get('log')?.node.members?.get('entries')?.node.items ?? null
}

/** A scalar of a HAR file; undefined where there is none. */
function member(node: JsonNode, ...path: readonly string[]): unknown {
  let value = node.value
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

function pathOf(url: unknown): string | null {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).pathname : null
}

function parsed(text: string, start: number, end: number): JsonNode | JsonSyntaxError {
  try {
    return parseJsonText(text, start, end)
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error
    throw error
  }
}

function malformed({ message, offset }: JsonSyntaxError, place: Place): LintFinding {
  return problem(place(offset), 'json_malformed', message)
}

const fixes = {
  json_malformed: 'Send one JSON object a beacon; this is none.',
  body_empty: 'Save the HAR file with its content, or send a JSON object.',
  content_type_unsupported:
    'Send Content-Type: application/json; navigator.sendBeacon with a string sends text/plain: use fetch with keepalive.',
} as const

function problem(at: { line: number; column: number }, code: keyof typeof fixes, message: string): LintFinding {
  return { ...at, severity: 'error', code, path: null, message, fix: fixes[code] }
}

function oldRoute(path: string, at: { line: number; column: number }): LintFinding {
  const message = `${path} is a deprecated alias.`
  return { ...at, severity: 'warning', code: 'route_deprecated', path: null, message, fix: `Send to ${beaconPath}.` }
}
