/**
 * The request journal. Exchanges are buffered and written with the next group commit, so recording never slows a
 * request; the table is bounded and drops its oldest rows, and counts them.
 *
 * Its key is its only index, because every request would pay for another. So a filter reads a bounded number of rows,
 * newest first, and returns where it stopped. A co-routine reads rows in the order of the key: a page that fills up
 * early reads no further.
 */
import type Database from 'better-sqlite3'
import { oldClientHeader } from '#contract/endpoint.ts'
import { createForeignExchanges } from '#store/foreign-exchanges.ts'
import { exchangeColumns as columns, exchangeConditions, summaryColumns, toPage, traceColumn } from '../rows.ts'
import type { ExchangeFilter, ExchangeRow, ExchangeSummary, Page, PageQuery, RequestStore } from '../store.ts'
import { isStorageFailure } from './file/failures.ts'
import type { Connection } from './group-commit.ts'
import type { ProjectTable } from './projects.ts'
import { createFilter, type Filter, metaValue } from './rows.ts'

/** The version that an old client states. Most rows have none, and their headers are not parsed. */
const oldClient = `CASE WHEN instr(request_headers, '"${oldClientHeader}":') > 0 THEN request_headers ->> '$."${oldClientHeader}"' END`

/** Rows over the limit that may pile up before they are removed together. */
const slack = 64

/** Rows that stay buffered while the database refuses writes. */
const maxBuffered = 1_000

/** Rows that one query reads. */
const maxRead = 5_000

const traced = traceColumn('instr')

export function requestTable({ db, flush, nudge, read }: Connection, projects: ProjectTable, limit: number) {
  const find = db.prepare<[number], ExchangeRow>(`SELECT ${columns} FROM exchange WHERE id = ?`)
  const foreign = createForeignExchanges()
  const buffer = exchangeBuffer({ db, read }, limit)
  let isClosed = false

  const methods: RequestStore = {
    appendExchange(row) {
      if (isClosed || limit === 0) return
      // A reset or a restore may have removed the project in the meantime.
      const isOrphan = row.project_id !== null && !projects.exists(row.project_id)
      buffer.append(isOrphan ? { ...row, project_id: null } : row)
      nudge()
    },
    appendForeign(row) {
      if (!isClosed && limit > 0) foreign.append(row)
    },
    foreignExchanges: () => foreign.rows,
    async findExchange(id) {
      return readAll(() => find.get(id)) ?? foreign.rows.find((row) => row.id === id) ?? null
    },
    listExchanges: async (query) =>
      readAll(() =>
        listExchanges<ExchangeSummary>(db, `${summaryColumns}, ${oldClient} AS old_client, ${traced}`, query),
      ),
    readExchanges: async (query) => readAll(() => listExchanges<ExchangeRow>(db, withTrace(columns, query), query)),
    countExchanges: async (query) => readAll(() => countExchanges(db, query)),
    journal: () => ({ enabled: limit > 0, limit, ...buffer.count(), foreign: foreign.count }),
  }

  const { write, committed, rolledBack } = buffer
  return { write, committed, rolledBack, clear, close, methods }

  /** Reads the table with the rows that were buffered. */
  function readAll<Result>(query: () => Result): Result {
    flush()
    return read(query)
  }

  /** Called when the table was replaced by one of `rows` rows. Drops the buffer too. */
  function clear(rows: number): void {
    buffer.clear(rows)
    foreign.clear()
  }

  /** Ignores further exchanges. */
  function close(): void {
    isClosed = true
  }
}

/** The exchanges that the next commit stores, and the number of those that are stored. */
function exchangeBuffer({ db, read }: Pick<Connection, 'db' | 'read'>, limit: number) {
  const table = boundedTable({ db, read }, limit)
  let buffer: ExchangeRow[] = []
  /** Rows of the open transaction, which are not stored before its commit. */
  let written: ExchangeRow[] = []
  /** Rows that were lost: refused, or too many while the database refused writes. */
  let lost = 0

  return { append, write, committed, rolledBack, clear, count }

  function append(row: ExchangeRow): void {
    buffer.push(row)
  }

  /** Writes the buffer inside the running transaction. */
  function write(): void {
    if (buffer.length === 0) return
    written = buffer
    buffer = []
    lost += written.length - table.insert(written)
  }

  /** Called after the commit of the written rows. */
  function committed(): void {
    written = []
    table.committed()
  }

  /** Buffers the written rows again, up to a limit, and counts the lost ones. */
  function rolledBack(): void {
    const rows = [...written, ...buffer]
    written = []
    buffer = rows.slice(-maxBuffered)
    lost += rows.length - buffer.length
    table.rolledBack()
  }

  function clear(rows: number): void {
    buffer = []
    written = []
    lost = 0
    table.clear(rows)
  }

  function count(): { size: number; dropped: number } {
    return { size: table.size() + buffer.length, dropped: table.dropped() + lost }
  }
}

/** The stored exchanges, of which the oldest are dropped, and their counts. */
function boundedTable({ db, read }: Pick<Connection, 'db' | 'read'>, limit: number) {
  const tryInsert = prepareInsert(db)
  const countRows = db.prepare<[], number>('SELECT count(*) FROM exchange').pluck()
  const prune = db.prepare('DELETE FROM exchange WHERE id IN (SELECT id FROM exchange ORDER BY id LIMIT ?)')
  const storedDropped = metaValue<number>(db, 'journal_dropped')
  /** The number of rows in the table; null until they are counted, which reads all of its pages, once, at startup. */
  let size: number | null = null
  /** The same without the rows of the open transaction. */
  let committedSize: number | null = null
  let dropped = storedDropped.find() ?? 0

  return { insert, committed, rolledBack, clear, size: () => size ?? read(count), dropped: () => dropped }

  /** Inserts rows, drops those over the limit, and returns how many it could insert. */
  function insert(rows: readonly ExchangeRow[]): number {
    const before = count()
    let stored = 0
    for (const row of rows) if (tryInsert(row)) stored += 1
    size = before + stored
    if (size <= limit + slack) return stored
    const surplus = size - limit
    prune.run(surplus)
    size -= surplus
    dropped += surplus
    storedDropped.save(dropped)
    return stored
  }

  function committed(): void {
    committedSize = size
  }

  function rolledBack(): void {
    size = committedSize
    dropped = storedDropped.find() ?? 0
  }

  function clear(rows: number): void {
    committedSize = rows
    rolledBack()
  }

  function count(): number {
    if (size === null) committedSize = size = countRows.get()!
    return size
  }
}

/**
 * Returns a function that stores a row, and returns whether it could. A row that is refused costs nothing but itself: its
 * request has taken effect.
 */
function prepareInsert(db: Database.Database) {
  const insert = db.prepare(`INSERT OR REPLACE INTO exchange (${columns}) VALUES (${columns.replaceAll(/\w+/g, '?')})`)
  return (row: ExchangeRow): boolean => {
    try {
      insert.run(
        row.id,
        row.at_ms,
        row.method,
        row.path,
        row.status,
        row.error,
        row.reason_code,
        row.duration_us,
        row.project_id,
        row.session_id,
        row.slot_id,
        row.key_kind,
        row.key_id,
        row.request_headers,
        row.request_body,
        row.response_headers,
        row.response_body,
      )
      return true
    } catch (error) {
      if (isStorageFailure(error)) throw error
      return false
    }
  }
}

function listExchanges<Row extends { id: number }>(
  db: Database.Database,
  names: string,
  query: PageQuery & ExchangeFilter,
): Page<Row> {
  const { text, values, range } = conditions(query)
  const rows = db
    .prepare<(string | number)[], Row>(`SELECT * FROM (${newest(names, range)}) WHERE ${text} LIMIT ?`)
    .all(...range.values, ...values, query.limit + 1)
  return rows.length <= query.limit ? { rows, next: findEnd(db, range) } : toPage(rows, query.limit)
}

function countExchanges(db: Database.Database, query: Pick<PageQuery, 'before'> & ExchangeFilter) {
  const { text, values, range } = conditions(query)
  const count = db
    .prepare<(string | number)[], number>(
      `SELECT count(*) FROM (${newest(withTrace(summaryColumns, query), range)}) WHERE ${text}`,
    )
    .pluck()
    .get(...range.values, ...values)!
  return { count, next: findEnd(db, range) }
}

/** The last row that was read; null when there is none after it. */
function findEnd(db: Database.Database, range: Filter): number | null {
  const ids = db
    .prepare<(string | number)[], number>(
      `SELECT id FROM exchange WHERE ${range.where()} ORDER BY id DESC LIMIT 2 OFFSET ${maxRead - 1}`,
    )
    .pluck()
    .all(...range.values)
  return ids.length < 2 ? null : ids[0]!
}

/** Adds the trace for a filter that compares it. */
function withTrace(names: string, { trace_id }: ExchangeFilter): string {
  return trace_id === undefined ? names : `${names}, ${traced}`
}

function newest(names: string, range: Filter): string {
  return `SELECT ${names} FROM exchange WHERE ${range.where()} ORDER BY id DESC LIMIT ${maxRead}`
}

/** Returns the range of rows that are read, and the conditions that they must meet. */
function conditions(query: Pick<PageQuery, 'before'> & ExchangeFilter) {
  const { range, filter } = exchangeConditions(query, createFilter)
  if (query.path?.includes('*') === true) filter.add('path GLOB ?', toGlob(query.path))
  else filter.add('substr(path, 1, ?) = ?', query.path?.length, query.path)
  return { text: filter.where(), values: filter.values, range }
}

/** `?` and `[` are special in GLOB; here they match themselves. */
function toGlob(path: string): string {
  return path.replaceAll(/[?[]/g, (character) => `[${character}]`)
}
