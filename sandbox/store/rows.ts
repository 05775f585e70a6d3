/**
 * Rows as both adapters store them: settings as differences from the defaults, decisions as columns, JSON as text. Also
 * the conditions and pages of lists, bounded caches, and checks that a row can be read at all.
 */

import type { AuthoritativeConsent } from '#contract/fields.ts'
import type { NoFillReason } from '#contract/no-fill.ts'
import { normalizeOriginEntries } from '#contract/origins.ts'
import type { Measurements } from '#contract/resources/beacons.ts'
import { defaultSettings, type ProjectSettings, withDefaults } from '#contract/resources/projects.ts'
import { isObject, parseJson, parseJsonObject } from '#foundation/json.ts'
import {
  type BeaconListRow,
  type BeaconRow,
  type DecisionFacts,
  type EvidenceRow,
  type ExchangeFilter,
  type ExchangeRow,
  type JobFacts,
  type JobRow,
  type Page,
  type PageQuery,
  type ProjectRow,
  type SlotRow,
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
  filter.add('status = ?', query.status)
  filter.add('status / 100 = ?', query.status_class)
  filter.add('reason_code = ?', query.reason_code)
  filter.add('project_id = ?', query.project_id)
  filter.add('key_kind = ?', query.key_kind)
  filter.add('key_id = ?', query.key_id)
  filter.add('session_id = ?', query.session_id)
  filter.add('at_ms >= ?', query.since_ms)
  filter.add('at_ms <= ?', query.until_ms)
  return { range, filter }
}

/** Foreign exchanges that are kept. */
const mostForeign = 100

/** The newest exchanges of foreign pages, in the memory of the process that refused them, and their number. */
interface ForeignExchanges {
  append(row: ExchangeRow): void
  readonly rows: readonly ExchangeRow[]
  readonly count: number
  clear(): void
}

export function createForeignExchanges(): ForeignExchanges {
  let rows: ExchangeRow[] = []
  let count = 0
  return {
    append(row) {
      count++
      rows.unshift(row)
      if (rows.length > mostForeign) rows.pop()
    },
    get rows() {
      return rows
    },
    get count() {
      return count
    },
    clear() {
      rows = []
      count = 0
    },
  }
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
function requiredText(value: unknown, what: string): string {
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

/* Slots and their decisions */

type FilledOutcome = Extract<DecisionFacts['outcome'], { status: 'filled' }>
type Nullable<Row> = { [Name in keyof Row]: Row[Name] | null }

/** A slot with its job. The columns of the decision are null while it is pending. */
export interface StoredSlot extends Omit<JobRow, 'facts'>, Nullable<Omit<FilledOutcome, 'status'>> {
  job_id: number
  due_at_ms: number
  decided_at_ms: number | null
  no_fill_reason: NoFillReason | null
  label_text: string | null
  consent: string | null
  trace: string | null
  catalogue: number | null
  topic: string | null
  first_frame_at_ms: number | null
  facts: string
}

/** The columns of a decision, in the order of `decisionValues`. */
export const decisionColumns =
  'decided_at_ms, format, campaign_id, creative_id, width, height, duration_ms, gross_cpm, currency, template_id, asset_token_hash, no_fill_reason, label_text, consent, trace, catalogue, topic'.split(
    ', ',
  )

/** Returns the values of a decision, in the order of `decisionColumns`. */
export function decisionValues(decision: DecisionFacts): (string | number | null | Uint8Array)[] {
  const { outcome } = decision
  const fill = outcome.status === 'filled' ? outcome : null
  return [
    decision.decided_at_ms,
    fill?.format ?? null,
    fill?.campaign_id ?? null,
    fill?.creative_id ?? null,
    fill?.width ?? null,
    fill?.height ?? null,
    fill?.duration_ms ?? null,
    fill?.gross_cpm ?? null,
    fill?.currency ?? null,
    fill?.template_id ?? null,
    fill?.asset_token_hash ?? null,
    outcome.status === 'no_fill' ? outcome.reason : null,
    decision.label_text,
    JSON.stringify(decision.consent),
    decision.trace,
    decision.catalogue,
    decision.topic,
  ]
}

export function toSlot(stored: StoredSlot, project: ProjectRow): SlotRow {
  const { id, job_id, project_id, session_id, job_type, mode, key_id, created_at_ms, decided_at_ms } = stored
  const facts = parseRow<JobFacts>(stored.facts)
  return {
    id,
    project,
    job: { id: job_id, project_id, session_id, job_type, mode, key_id, created_at_ms, facts },
    created_at_ms,
    due_at_ms: stored.due_at_ms,
    decision: decided_at_ms === null ? null : toDecision(stored, decided_at_ms),
    first_frame_at_ms: stored.first_frame_at_ms,
  }
}

/** @throws StorageError when a column that every decision has is missing */
function toDecision(stored: StoredSlot, decided_at_ms: number): DecisionFacts {
  const value = <Name extends keyof StoredSlot>(name: Name) => required(stored[name], name)
  return {
    decided_at_ms,
    outcome:
      stored.format === null
        ? { status: 'no_fill', reason: value('no_fill_reason') }
        : {
            status: 'filled',
            format: stored.format,
            campaign_id: value('campaign_id'),
            creative_id: value('creative_id'),
            width: value('width'),
            height: value('height'),
            duration_ms: stored.duration_ms,
            gross_cpm: value('gross_cpm'),
            currency: value('currency'),
            template_id: stored.template_id,
            asset_token_hash: requiredBytes(stored.asset_token_hash, 'asset_token_hash'),
          },
    label_text: value('label_text'),
    consent: parseRow<AuthoritativeConsent>(value('consent')),
    trace: value('trace'),
    catalogue: value('catalogue'),
    topic: stored.topic,
  }
}

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
