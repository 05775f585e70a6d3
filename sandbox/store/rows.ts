/**
 * Rows as both adapters store them: settings as differences from the defaults, JSON as text. Also the conditions and pages of lists, bounded caches, and checks that a row can be read at all.
 */

import { normalizeOriginEntries } from '#contract/origins.ts'
import type { Measurements } from '#contract/resources/beacons.ts'
import { defaultSettings, type ProjectSettings, withDefaults } from '#contract/resources/projects.ts'
import { isObject, parseJson, parseJsonObject } from '#foundation/json.ts'
import {
  type BeaconListRow,
  type BeaconRow,
  type EvidenceRow,
  type ExchangeFilter,
  type Page,
  type PageQuery,
  type ProjectRow,
  StorageError,
} from './store.ts'

/** Returns a page of rows that were read with one more than the limit. */
export function toPage<Row extends { id: number }>(rows: Row[], limit: number): Page<Row> {
  const page = rows.slice(0, limit)
  return { rows: page, next: rows.length > limit ? page.at(-1)!.id : null }
}

/** The conditions of a list, collected one by one. */
export interface Conditions {
  /** Adds a condition when all of its values are given; each `?` in it stands for the next one. */
  add(condition: string, ...values: readonly (string | number | null | undefined)[]): void
  readonly conditions: readonly string[]
  readonly values: readonly (string | number)[]
}

export function createConditions(): Conditions {
  const conditions: string[] = []
  const values: (string | number)[] = []
  return {
    add(condition, ...wanted) {
      const present = wanted.filter((value) => value !== undefined && value !== null)
      if (present.length < wanted.length) return
      conditions.push(condition)
      values.push(...present)
    },
    conditions,
    values,
  }
}

/* Requests. Here and below, columns are in the order in which the SQLite adapter inserts their values. */

export const summaryColumns =
  'id, at_ms, method, path, status, error, reason_code, duration_us, project_id, session_id, slot_id, key_kind, key_id'

export const exchangeColumns = `${summaryColumns}, request_headers, request_body, response_headers, response_body`

/** What the headers of an exchange in a trace begin with: of a response to a client, and of the request of a callback. */
const traceMarks = { response: '"x-sandbox-trace":"', request: '"traceparent":"00-' } as const

/**
 * An expression for the trace of an exchange. `find` is the function of the database that returns the position of a text,
 * from 1, or 0: with it, headers are not parsed. The traceparent of a client does not count: it may be malformed.
 */
export function traceColumn(find: 'instr' | 'strpos'): string {
  const part = (column: string, mark: string) =>
    `WHEN ${find}(${column}, '${mark}') > 0 THEN substr(${column}, ${find}(${column}, '${mark}') + ${mark.length}, 32)`
  const { response, request } = traceMarks
  return `CASE ${part('response_headers', response)} WHEN substr(path, 1, 1) = '/' THEN NULL ${part('request_headers', request)} END AS trace_id`
}

/**
 * Returns the range of rows that a list of the journal reads, and the conditions that they must meet, except for the
 * path.
 */
export function exchangeConditions<Filter extends Conditions>(
  query: Pick<PageQuery, 'before'> & ExchangeFilter,
  createFilter: () => Filter,
): { range: Filter; filter: Filter } {
  const range = createFilter()
  range.add('id < ?', query.before)
  range.add('id > ?', query.after)
  const filter = createFilter()
  filter.add('method = ?', query.method)
  filter.add(
    "(slot_id = ? OR (session_id = ? AND substr(path, 1, 11) = '/v1/consent'))",
    ...(query.turn === undefined ? [undefined] : [query.turn.slot_id, query.turn.session_id ?? '']),
  )
  filter.add('status = ?', query.status)
  filter.add('status / 100 = ?', query.status_class)
  filter.add('reason_code = ?', query.reason_code)
  filter.add('project_id = ?', query.project_id)
  filter.add('key_kind = ?', query.key_kind)
  filter.add('key_id = ?', query.key_id)
  filter.add('session_id = ?', query.session_id)
  filter.add('trace_id = ?', query.trace_id)
  filter.add('at_ms >= ?', query.since_ms)
  filter.add('at_ms <= ?', query.until_ms)
  return { range, filter }
}

/** Adds a row to a cache of at most `size` rows. A full cache drops its older half. */
export function cacheRow<Key, Value>(rows: Map<Key, Value>, size: number, key: Key, value: Value): void {
  if (rows.size >= size) {
    let surplus = size / 2
    for (const oldest of rows.keys()) {
      if (surplus-- <= 0) break
      rows.delete(oldest)
    }
  }
  rows.set(key, value)
}

/**
 * Parses a JSON object of a row.
 * @throws StorageError for anything else, which only a damaged or edited file contains
 */
export function parseRow<Value>(text: string): Value {
  const value = parseJsonObject(text)
  if (value === null) throw notWritten()
  return value as Value
}

function notWritten(): StorageError {
  return new StorageError(new Error('a row is not the JSON that was written'), 'read')
}

/* Values that every row has: only a damaged or edited file has others. */

/** Returns a value, or a row that another one refers to. @throws StorageError when it is missing */
export function required<Value>(value: Value, what: string): NonNullable<Value> {
  if (value === null || value === undefined) throw new StorageError(new Error(`${what} is missing`), 'read')
  return value
}

/** @throws StorageError for anything but bytes */
export function requiredBytes(value: unknown, what: string): Buffer {
  if (!Buffer.isBuffer(value)) throw new StorageError(new Error(`${what} is not bytes`), 'read')
  return value
}

/** @throws StorageError for anything but text */
export function requiredText(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new StorageError(new Error(`${what} is not text`), 'read')
  return value
}

/** Parses a value of the table `meta`. @throws StorageError when it is not JSON */
export function parseMeta<Value>(text: string): Value {
  const value = parseJson(text)
  if (value === undefined) throw notWritten()
  return value as Value
}

/* Projects */

export type StoredProject = Omit<ProjectRow, 'settings'> & { settings: string }

/** Settings are stored as differences from the defaults, one level deep for groups. */
export function ownSettings(settings: ProjectSettings): Record<string, unknown> {
  return difference({ ...settings }, { ...defaultSettings }, 1)
}

function difference(
  value: Record<string, unknown>,
  fallback: Record<string, unknown>,
  depth: number,
): Record<string, unknown> {
  const own: Record<string, unknown> = {}
  for (const [name, inner] of Object.entries(value)) {
    const usual = fallback[name]
    if (JSON.stringify(inner) === JSON.stringify(usual)) continue
    own[name] = depth > 0 && isObject(usual) ? difference({ ...(inner as object) }, usual, depth - 1) : inner
  }
  return own
}

/** Origins are normalized when they are set; here again for projects of older versions, of imports and of fixtures. */
export function toProject({ settings, ...stored }: StoredProject): ProjectRow {
  const read = withDefaults(parseRow(settings))
  return { ...stored, settings: { ...read, allowed_origins: normalizeOriginEntries(read.allowed_origins) } }
}

/* Evidence */

export type StoredEvidence<Row extends EvidenceRow = EvidenceRow> = Omit<Row, 'hash'> & { hash: Buffer }

export function toEvidence<Row extends StoredEvidence>(stored: Row): Omit<Row, 'hash'> & { hash: string } {
  const hash = requiredBytes(stored.hash, 'a hash of evidence').toString('hex')
  return { ...stored, entry: requiredText(stored.entry, 'an entry of evidence'), hash }
}

/* Beacons */

export type StoredBeacon = Omit<BeaconRow, 'measurements'> & { measurements: string | null }

export const beaconColumns =
  'id, slot_id, beacon_id, event, occurred_at_ms, received_at_ms, body_sha256, measurements, extras'

export const unacceptedColumns =
  'id, verdict, project_id, slot_id, beacon_id, event, occurred_at_ms, received_at_ms, reason_code'

export function withMeasurements<Row extends { measurements: string | null }>(stored: Row) {
  const { measurements } = stored
  return { ...stored, measurements: measurements === null ? null : parseRow<Measurements>(measurements) }
}

/** Returns a page from two tables, each of which has read its newest part. */
export function mergeBeacons(parts: readonly Page<BeaconListRow>[], limit: number): Page<BeaconListRow> {
  // Rows count only as far as the table that stopped first was read.
  const reached = Math.max(...parts.map(({ next }) => next ?? 0))
  const rows = parts
    .flatMap((part) => part.rows)
    .filter(({ beacon }) => beacon.id >= reached)
    .sort((a, b) => b.beacon.id - a.beacon.id)
  const page = rows.slice(0, limit)
  return { rows: page, next: rows.length > limit ? page.at(-1)!.beacon.id : reached || null }
}

/* Callbacks */

export const callbackColumns =
  'id AS slot_id, project_id, key_id, url, status, attempts, http_status, problem, created_at_ms, attempted_at_ms'

/** A query of the largest identifier in use, as `id`. */
export const largestIdText = `SELECT coalesce(max(id), 0) AS id FROM (${[
  'activation',
  'consent',
  'job',
  'slot',
  'beacon',
  'aside_beacon',
  'exchange',
]
  .map((table) => `SELECT max(id) AS id FROM ${table}`)
  .join(' UNION ALL ')}) largest`
