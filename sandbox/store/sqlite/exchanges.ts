/**
 * The request journal. Exchanges are buffered and written with the next group commit, so that recording never slows a
 * request; the table is bounded, the oldest go first, and how many went is kept.
 */
import type Database from 'better-sqlite3'
import type { ExchangeRow } from '../store.ts'
import { exchangeQueries } from './exchange-queries.ts'

const columns =
  'id, at_ms, method, path, status, error, reason_code, duration_us, project_id, session_id, slot_id, request_headers, request_body, response_headers, response_body, key_kind, key_id'
const summaryColumns = columns
  .split(', ')
  .filter((name) => !/_(headers|body)$/.test(name))
  .join(', ')

/** Rows over the limit that may pile up before they are removed together. */
const slack = 64

/** Rows held back while the database refuses writes. */
const heldBack = 1_000

export function exchangeStatements(db: Database.Database, limit: number) {
  const insert = db.prepare(`INSERT OR REPLACE INTO exchange (${columns}) VALUES (${columns.replaceAll(/\w+/g, '?')})`)
  const find = db.prepare<[number], ExchangeRow>(`SELECT ${columns} FROM exchange WHERE id = ?`)
  const count = db.prepare('SELECT count(*) FROM exchange').pluck()
  const prune = db.prepare('DELETE FROM exchange WHERE id IN (SELECT id FROM exchange ORDER BY id LIMIT ?)')
  const readDropped = db.prepare("SELECT value FROM meta WHERE name = 'journal_dropped'").pluck()
  const saveDropped = db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('journal_dropped', ?)")
  let buffer: ExchangeRow[] = []
  /** Rows of the transaction under way: not kept before its commit. */
  let written: ExchangeRow[] = []
  /** Rows that could not be held back while the database refused writes. */
  let lost = 0
  let size = count.get() as number
  let dropped = Number(readDropped.get() ?? 0)

  return {
    /** False when the journal is off. */
    push(row: ExchangeRow): boolean {
      if (limit === 0) return false
      buffer.push(row)
      return true
    },
    /** Writes the buffer within the running transaction. */
    write(): void {
      if (buffer.length === 0) return
      const rows = buffer
      buffer = []
      written = rows
      for (const row of rows) {
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
          row.request_headers,
          row.request_body,
          row.response_headers,
          row.response_body,
          row.key_kind,
          row.key_id,
        )
      }
      size += rows.length
      if (size > limit + slack) {
        const over = size - limit
        prune.run(over)
        size -= over
        dropped += over
        saveDropped.run(String(dropped))
      }
    },
    /** After the commit that the rows went into. */
    committed(): void {
      written = []
    },
    /** After a rollback: what was written is buffered again, bounded, and what does not fit is counted. */
    forget(): void {
      const kept = [...written, ...buffer]
      written = []
      buffer = kept.slice(-heldBack)
      lost += kept.length - buffer.length
      size = count.get() as number
      dropped = Number(readDropped.get() ?? 0)
    },
    /** Drops what is buffered too, when the table has been emptied. */
    clear(): void {
      buffer = []
      written = []
      lost = 0
      this.forget()
    },
    find: (id: number) => find.get(id) ?? null,
    ...exchangeQueries(db, columns, summaryColumns),
    status: () => ({ enabled: limit > 0, limit, size: size + buffer.length, dropped: dropped + lost }),
  }
}
