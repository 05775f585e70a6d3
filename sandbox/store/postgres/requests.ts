/**
 * The request journal. Exchanges are buffered and written with the next group commit, so recording never slows a
 * request; the table is bounded and drops its oldest rows, and counts them. A filter reads a bounded number of rows,
 * newest first, and returns where it stopped. Foreign exchanges stay in the memory of the node that refused them.
 */
import { oldClientHeader } from '#contract/endpoint.ts'
import { parseJsonObject } from '#foundation/json.ts'
import { createForeignExchanges } from '#store/foreign-exchanges.ts'
import { exchangeColumns as columns, exchangeConditions, summaryColumns, toPage, traceColumn } from '../rows.ts'
import type { ExchangeFilter, ExchangeRow, ExchangeSummary, Page, PageQuery, RequestStore } from '../store.ts'
import type { Head } from './batch/head.ts'
import { encodeBytes } from './batch/json.ts'
import type { TakenExchanges } from './batch/transact.ts'
import type { Connection } from './group-commit.ts'
import { createFilter, type Filter } from './rows.ts'

type Stored = Omit<ExchangeRow, 'request_body' | 'response_body'> & {
  request_body: Buffer | null
  response_body: Buffer | null
}

/** The headers of an old client, which state its version; null for other clients, whose headers are not loaded. */
const oldClient = `CASE WHEN strpos(request_headers, '"${oldClientHeader}":') > 0 THEN request_headers END`

/** How soon rows that the database refused are sent again, milliseconds. */
const retryMs = 500
/** Rows that stay buffered while the database refuses writes. */
const maxBuffered = 1_000
/** Rows that one query reads. */
const maxRead = 5_000

const traced = traceColumn('strpos')

export function requestTable({ read, flush, nudge }: Connection, limit: number, head: () => Head) {
  const foreign = createForeignExchanges()
  const buffer = exchangeBuffer(nudge)
  let isClosed = false

  const methods: RequestStore = {
    appendExchange(row) {
      if (isClosed || limit === 0) return
      buffer.append(row)
      nudge()
    },
    appendForeign(row) {
      if (!isClosed && limit > 0) foreign.append(row)
    },
    foreignExchanges: () => foreign.rows,
    async findExchange(id) {
      await flush()
      const [row] = await read<Stored>(`SELECT ${columns} FROM exchange WHERE id = $1`, [id])
      return row === undefined ? (foreign.rows.find((other) => other.id === id) ?? null) : toRow(row)
    },
    async listExchanges(query) {
      await flush()
      const { rows, next } = await listExchanges<Omit<ExchangeSummary, 'old_client'> & { headers: string | null }>(
        read,
        `${summaryColumns}, ${oldClient} AS headers, ${traced}`,
        query,
      )
      return { rows: rows.map(({ headers, ...row }) => ({ ...row, old_client: parseVersion(headers) })), next }
    },
    async readExchanges(query) {
      await flush()
      const { rows, next } = await listExchanges<Stored>(read, withTrace(columns, query), query)
      return { rows: rows.map(toRow), next }
    },
    async countExchanges(query) {
      await flush()
      return countExchanges(read, query)
    },
    journal() {
      const { exchanges, exchanges_dropped } = head()
      const { waiting, lost } = buffer.count()
      const [size, dropped] = [exchanges + waiting, exchanges_dropped + lost]
      return { enabled: limit > 0, limit, size, dropped, foreign: foreign.count }
    },
  }

  const { hasSuspects, take } = buffer
  return { hasSuspects, take, clear, close, methods }

  /** Drops everything of a state that was replaced. */
  function clear(): void {
    buffer.clear()
    foreign.clear()
  }

  /** Ignores further exchanges. */
  function close(): void {
    isClosed = true
  }
}

/** The exchanges that are not stored yet. */
function exchangeBuffer(nudge: Connection['nudge']) {
  let buffer: ExchangeRow[] = []
  /** How many rows are in transactions under way. */
  let taken = 0
  /** Rows that were lost: refused, or too many while the database refused writes. */
  let lost = 0
  /** How many of the oldest buffered rows were in a transaction that was refused: one of them may be why. */
  let suspects = 0

  return {
    append: (row: ExchangeRow) => void buffer.push(row),
    hasSuspects: () => suspects > 0,
    take,
    clear,
    count: () => ({ waiting: buffer.length + taken, lost }),
  }

  /** Returns the buffered rows, to be stored with a batch; of suspects the oldest, and only alone. */
  function take(isAlone: boolean): TakenExchanges {
    const isSuspect = suspects > 0
    const rows = buffer.splice(0, isSuspect ? Number(isAlone) : buffer.length)
    if (isSuspect) suspects -= rows.length
    taken += rows.length
    return {
      rows: rows.map(toJsonRow),
      stored() {
        taken -= rows.length
      },
      putBack() {
        taken -= rows.length
        const all = [...rows, ...buffer]
        buffer = all.slice(-maxBuffered)
        lost += all.length - buffer.length
        if (buffer.length > 0) nudge(retryMs)
      },
      refused() {
        taken -= rows.length
        if (isSuspect) {
          lost += rows.length
          return
        }
        buffer = [...rows, ...buffer]
        suspects = rows.length
      },
    }
  }

  function clear(): void {
    buffer = []
    suspects = 0
    lost = 0
  }
}

function toJsonRow({ request_body, response_body, ...row }: ExchangeRow) {
  return {
    ...row,
    request_body: request_body === null ? null : encodeBytes(request_body),
    response_body: response_body === null ? null : encodeBytes(response_body),
  }
}

type Read = Connection['read']

async function listExchanges<Row extends { id: number }>(
  read: Read,
  names: string,
  query: PageQuery & ExchangeFilter,
): Promise<Page<Row>> {
  const { range, filter } = conditions(query)
  const where = filter.where(range.values.length + 1)
  const most = range.values.length + filter.values.length + 1
  const rows = await read<Row>(`SELECT * FROM (${newest(names, range)}) newest WHERE ${where} LIMIT $${most}`, [
    ...range.values,
    ...filter.values,
    query.limit + 1,
  ])
  return rows.length <= query.limit ? { rows, next: await findEnd(read, range) } : toPage(rows, query.limit)
}

async function countExchanges(read: Read, query: Pick<PageQuery, 'before'> & ExchangeFilter) {
  const { range, filter } = conditions(query)
  const where = filter.where(range.values.length + 1)
  const [row] = await read<{ count: number }>(
    `SELECT count(*) AS count FROM (${newest(withTrace(summaryColumns, query), range)}) newest WHERE ${where}`,
    [...range.values, ...filter.values],
  )
  return { count: row?.count ?? 0, next: await findEnd(read, range) }
}

/** The last row that was read; null when there is none after it. */
async function findEnd(read: Read, range: Filter): Promise<number | null> {
  const ids = await read<{ id: number }>(
    `SELECT id FROM exchange WHERE ${range.where(1)} ORDER BY id DESC LIMIT 2 OFFSET ${maxRead - 1}`,
    range.values,
  )
  return ids.length < 2 ? null : ids[0]!.id
}

function toRow(stored: Stored): ExchangeRow {
  const { request_body, response_body } = stored
  return {
    ...stored,
    request_body: request_body === null ? null : request_body.toString(),
    response_body: response_body === null ? null : response_body.toString(),
  }
}

function parseVersion(headers: string | null): string | null {
  if (headers === null) return null
  const version = parseJsonObject(headers)?.[oldClientHeader]
  return typeof version === 'string' ? version : null
}

/** Adds the trace for a filter that compares it. */
function withTrace(names: string, { trace_id }: ExchangeFilter): string {
  return trace_id === undefined ? names : `${names}, ${traced}`
}

function newest(names: string, range: Filter): string {
  return `SELECT ${names} FROM exchange WHERE ${range.where(1)} ORDER BY id DESC LIMIT ${maxRead}`
}

/** Returns the range of rows that are read, and the conditions that they must meet. */
function conditions(query: Pick<PageQuery, 'before'> & ExchangeFilter) {
  const { range, filter } = exchangeConditions(query, createFilter)
  if (query.path?.includes('*') === true) filter.add(`path LIKE ? ESCAPE '\\'`, toLike(query.path))
  else filter.add('starts_with(path, ?)', query.path)
  return { range, filter }
}

/** `%`, `_` and the backslash are special in LIKE; here they match themselves. */
function toLike(path: string): string {
  return path.replaceAll(/[%_\\]/g, (character) => `\\${character}`).replaceAll('*', '%')
}
