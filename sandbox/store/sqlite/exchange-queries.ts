/**
 * Reading the journal by filter. It has no index but its key, because every index is paid for by every request; so a
 * filter looks at a bounded number of rows, newest first, and says where it stopped. Rows are read in the order of the
 * key by a co-routine: a page that fills early reads no further.
 */
import type Database from 'better-sqlite3'
import type { ExchangeFilter, ExchangeRow, ExchangeSummary, Page, PageQuery } from '../store.ts'
import { createFilter, type Filter } from './filter.ts'

/** Rows that one query looks at. */
const lookedAt = 5_000

type From = Pick<PageQuery, 'before'> & ExchangeFilter

export function exchangeQueries(db: Database.Database, columns: string, summaryColumns: string) {
  const page = <Row extends { id: number }>(names: string, query: PageQuery & ExchangeFilter): Page<Row> => {
    const { text, values, range } = conditions(query)
    const rows = db
      .prepare<(string | number)[], Row>(`SELECT ${names} FROM (${newest(names, range)}) WHERE ${text} LIMIT ?`)
      .all(...range.values, ...values, query.limit + 1)
    if (rows.length <= query.limit) return { rows, next: end(range) }
    return { rows: rows.slice(0, query.limit), next: rows[query.limit - 1]!.id }
  }
  /** The last row that was looked at; null when there is none beyond it. */
  const end = (range: Filter): number | null => {
    const ids = db
      .prepare<(string | number)[], number>(
        `SELECT id FROM exchange WHERE ${range.where()} ORDER BY id DESC LIMIT 2 OFFSET ${lookedAt - 1}`,
      )
      .pluck()
      .all(...range.values)
    return ids.length < 2 ? null : ids[0]!
  }
  return {
    list: (query: PageQuery & ExchangeFilter) => page<ExchangeSummary>(summaryColumns, query),
    read: (query: PageQuery & ExchangeFilter) => page<ExchangeRow>(columns, query),
    count(query: From): { count: number; next: number | null } {
      const { text, values, range } = conditions(query)
      const count = db
        .prepare<(string | number)[], number>(`SELECT count(*) FROM (${newest(summaryColumns, range)}) WHERE ${text}`)
        .pluck()
        .get(...range.values, ...values)!
      return { count, next: end(range) }
    },
  }
}

function newest(names: string, range: Filter): string {
  return `SELECT ${names} FROM exchange WHERE ${range.where()} ORDER BY id DESC LIMIT ${lookedAt}`
}

/** What bounds the rows that are looked at, and what is looked for in them. */
function conditions(query: From) {
  const range = createFilter()
  range.add('id < ?', query.before)
  range.add('id > ?', query.after)
  const filter = createFilter()
  filter.add('method = ?', query.method)
  if (query.path?.includes('*') === true) filter.add('path GLOB ?', globOf(query.path))
  else filter.add('substr(path, 1, ?) = ?', query.path?.length, query.path)
  filter.add('status = ?', query.status)
  filter.add('status / 100 = ?', query.status_class)
  filter.add('reason_code = ?', query.reason_code)
  filter.add('project_id = ?', query.project_id)
  filter.add('key_kind = ?', query.key_kind)
  filter.add('key_id = ?', query.key_id)
  filter.add('session_id = ?', query.session_id)
  filter.add('at_ms >= ?', query.since_ms)
  filter.add('at_ms <= ?', query.until_ms)
  return { text: filter.where(), values: filter.values, range }
}

/** GLOB knows `?` and `[` too, which stand for themselves here. */
function globOf(path: string): string {
  return path.replaceAll(/[?[]/g, (character) => `[${character}]`)
}
