/** What an integrator counted, row by row of a file: for which slot, session or day, which metric, how many. */
import { encodeId, parseToken } from '#contract/ids.ts'
import type { Metric } from '#contract/resources/beacons.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { type KeyField, metrics, metricWords, normalizeWord, type OwnColumns } from './columns.ts'
import { type OwnFile, OwnFileError, type OwnRow, type RowProblem, rowFailure } from './own-file.ts'

type Counts = Readonly<Partial<Record<Metric, number>>>

export interface OwnCount {
  line: number
  /** A slot (also that of an asset token), a session, or a day as `2026-01-31`. */
  key: string
  /** When it happened, by the file, epoch milliseconds; null where the file has no time. */
  time_ms: number | null
  counts: Counts
}

export interface OwnCounts {
  key: Exclude<KeyField, 'asset_token'>
  /** The metrics that the file counts. */
  metrics: readonly Metric[]
  rows: readonly OwnCount[]
  /** Rows of events that are no metric, by event: they are not compared. */
  other_events: readonly { event: string; rows: number }[]
}

/** Returns the counts of a file. @throws OwnFileError that names each line with a bad value */
export function readOwnCounts(file: OwnFile, columns: OwnColumns): OwnCounts {
  const rows: OwnCount[] = []
  const problems: RowProblem[] = []
  const others = new Map<string, number>()
  for (const row of file.rows) {
    try {
      const counts = readCounts(row, columns, others)
      if (counts !== null) rows.push({ line: row.line, counts, ...readKey(row, columns) })
    } catch (error) {
      if (!(error instanceof BadValue)) throw error
      problems.push({ line: row.line, message: error.message })
    }
  }
  if (problems.length > 0) throw rowFailure(problems, 'Correct these rows, or leave them out: nothing was compared.')
  const other_events = [...others].map(([event, count]) => ({ event, rows: count }))
  if (rows.length === 0 && other_events.length > 0) throw noMetric(other_events.map(({ event }) => event))
  return {
    key: columns.key === 'asset_token' ? 'slot_id' : columns.key,
    metrics: listMetrics(columns, rows),
    rows,
    other_events,
  }
}

class BadValue extends Error {}

function noMetric(events: readonly string[]): OwnFileError {
  const words = metrics.map((metric) => `${metric} (also ${metricWords[metric].slice(0, 3).join(', ')})`)
  const message = `No event of it is a metric: ${events.slice(0, 10).join(', ')}.`
  return new OwnFileError(message, `The metrics are: ${words.join('; ')}`)
}

function listMetrics({ counts }: OwnColumns, rows: readonly OwnCount[]): readonly Metric[] {
  if (counts.layout === 'columns') return counts.columns.map(({ metric }) => metric)
  return metrics.filter((metric) => rows.some((row) => row.counts[metric] !== undefined))
}

/** Returns what a row counts; null for an event that is no metric, which is added to `others`. */
function readCounts({ cells }: OwnRow, { counts }: OwnColumns, others: Map<string, number>): Counts | null {
  if (counts.layout === 'columns') {
    return Object.fromEntries(
      counts.columns.map(({ metric, column }) => [metric, readCount(cells.get(column), column)]),
    )
  }
  const event = cells.get(counts.metric_column)
  // Our own export of beacons has no metric where a beacon did not count.
  if (isEmpty(event)) return null
  const metric = findMetric(String(event))
  if (metric !== null) {
    const { count_column } = counts
    return { [metric]: count_column === null ? 1 : readCount(cells.get(count_column), count_column) }
  }
  const name = shortText(event)
  others.set(name, (others.get(name) ?? 0) + 1)
  return null
}

function findMetric(event: string): Metric | null {
  const word = normalizeWord(event)
  return metrics.find((metric) => metric === word || metricWords[metric].includes(word)) ?? null
}

const flags: Readonly<Record<string, number>> = { true: 1, yes: 1, false: 0, no: 0 }

/** Reads a whole number, with or without separators of thousands, or yes and no; an empty cell is 0. */
function readCount(value: unknown, column: string): number {
  if (isEmpty(value)) return 0
  const text = String(value).trim()
  const flag = findEntry(flags, text.toLowerCase())
  if (flag !== undefined) return flag
  const count = /^\d{1,3}(,\d{3})+$/.test(text) ? Number(text.replaceAll(',', '')) : Number(text)
  if (/^\d[\d,]*(\.0+)?$/.test(text) && Number.isSafeInteger(count)) return count
  throw new BadValue(`${column} is ${shortText(value)}: it must be a whole number from 0, yes or no`)
}

function readKey({ cells }: OwnRow, columns: OwnColumns): Pick<OwnCount, 'key' | 'time_ms'> {
  const { key, key_column, time_column } = columns
  const value = cells.get(key_column)
  if (isEmpty(value)) throw new BadValue(`${key_column} is empty: no ${key.replace('_', ' ')} to count it for`)
  const time = time_column === null || time_column === key_column ? null : cells.get(time_column)
  const time_ms = isEmpty(time) ? null : readTime(time, time_column!)
  if (key === 'day') return { key: readDay(value, key_column), time_ms }
  return { key: key === 'asset_token' ? readToken(value, key_column) : String(value).trim(), time_ms }
}

/** Returns the slot of an asset token. The token itself is in no message. */
function readToken(value: unknown, column: string): string {
  const token = parseToken(String(value).trim())
  if (token?.kind === 'ast') return encodeId('slot', token.id)
  throw new BadValue(`${column} is no asset token: ast_, the id of its slot, and a secret`)
}

function readDay(value: unknown, column: string): string {
  const text = String(value).trim()
  const [, year, month, day] = /^(\d{4})-?(\d{2})-?(\d{2})$/.exec(text) ?? []
  if (year === undefined) return new Date(readTime(value, column)).toISOString().slice(0, 10)
  const name = `${year}-${month}-${day}`
  const date = new Date(`${name}T00:00:00Z`)
  if (!Number.isNaN(date.getTime()) && date.toISOString().startsWith(name)) return name
  throw new BadValue(`${column} is ${shortText(value)}: there is no such day`)
}

/** Epoch seconds are below this, milliseconds are not. */
const secondsBelow = 1e11

/** Reads an RFC 3339 time, epoch seconds or milliseconds. A time without a zone is read as UTC. */
function readTime(value: unknown, column: string): number {
  const text = String(value).trim()
  if (/^\d{9,14}(\.\d+)?$/.test(text)) return Number(text) < secondsBelow ? Number(text) * 1_000 : Number(text)
  if (/^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}/.test(text)) {
    const zone = /([Zz]|[+-]\d{2}:?\d{2})$/.test(text) ? '' : 'Z'
    const time_ms = Date.parse(text.replace(' ', 'T') + zone)
    if (!Number.isNaN(time_ms)) return time_ms
  }
  const expected = 'a day such as 2026-01-31, a time such as 2026-01-31T12:00:00Z, or epoch milliseconds'
  throw new BadValue(`${column} is ${shortText(value)}: it must be ${expected}`)
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || String(value).trim() === ''
}

const maxShownLength = 40

/** Returns a value as messages show it; a token or key not at all. */
function shortText(value: unknown): string {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  if (/\b(ast|at|bt|sk|pk)_/.test(text)) return 'a token'
  return text.length > maxShownLength ? `${text.slice(0, maxShownLength)}...` : text
}
