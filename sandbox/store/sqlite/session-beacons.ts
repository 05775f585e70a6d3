/**
 * The beacons of sessions. Each entry has the latest time up to and including it, which grows with the identifiers
 * whatever the clock does: so bisection finds the first entry that can be at or after a time.
 */
import type Database from 'better-sqlite3'
import { cacheRow } from '../rows.ts'
import type { BeaconScope } from '../store.ts'
import { maxFoundRows, sessionsNamed } from './rows.ts'

const maxCachedSessions = 20_000
/** Entries of `session_beacon` whose times one part compares: a few milliseconds. */
const entriesAtOnce = 50_000

/** A beacon of a session, and the latest time at which it or an earlier one was received. */
interface Entry {
  id: number
  latest_at_ms: number
}

export type SessionBeacons = ReturnType<typeof sessionBeacons>

export function sessionBeacons(db: Database.Database) {
  const statements = prepareEntries(db)
  const { findNewest, clear } = newestEntries(statements)

  return { clear, add, find }

  /** Adds a beacon to its session. If a newer one has overtaken it, it raises the time of the newer one. */
  function add(session: number, is_accepted: number, id: number, received_at_ms: number): void {
    const last = findNewest(session, is_accepted)
    const latest_at_ms = Math.max(received_at_ms, last.latest_at_ms)
    statements.insert.run(session, is_accepted, id, received_at_ms, latest_at_ms)
    if (last.id > id) statements.raiseNewer.run(latest_at_ms, session, is_accepted, id)
    last.id = Math.max(id, last.id)
    last.latest_at_ms = latest_at_ms
  }

  /** Returns the next beacons of a session below `end` that were received in time, newest first. */
  function find(
    table: 'beacon' | 'aside_beacon',
    session_id: string,
    { since_ms = 0, until_ms = Number.MAX_SAFE_INTEGER }: BeaconScope,
    end: number,
  ) {
    const is_accepted = Number(table === 'beacon')
    const isTimed = since_ms > 0 || until_ms < Number.MAX_SAFE_INTEGER
    const findFirst = (session: number) => findFirstSince(session, is_accepted, since_ms, end)
    const first = since_ms === 0 ? 0 : Math.min(end, ...statements.findSessions.all(session_id).map(findFirst))
    const start =
      prepareStart(db, isTimed ? entriesAtOnce : maxFoundRows).get(is_accepted, first, end, session_id) ?? first
    const ids = prepareBetween(db).all(session_id, is_accepted, start, end, since_ms, until_ms)
    if (ids.length === maxFoundRows) return { ids, next: ids.at(-1)! }
    return { ids, next: start === first ? null : start }
  }

  /** Returns the identifier below which no beacon of a session was received at `since_ms` or later; `end` at most. */
  function findFirstSince(session: number, is_accepted: number, since_ms: number, end: number): number {
    const last = statements.findLast.get(session, is_accepted, end)
    if (last === undefined || last.latest_at_ms < since_ms) return end
    let from = 0
    let to = last.id
    while (from < to) {
      const middle = from + Math.floor((to - from) / 2)
      const next = statements.findNext.get(session, is_accepted, middle)!
      if (next.latest_at_ms >= since_ms) to = middle
      else from = next.id + 1
    }
    return from
  }
}

function newestEntries(statements: ReturnType<typeof prepareEntries>) {
  const newest = new Map<number, Entry>()
  /** No session after this one has a beacon; null until it is read. */
  let lastSession: number | null = null

  return { findNewest, clear }

  /** Returns the newest entry of a session, which is updated in place. */
  function findNewest(session: number, is_accepted: number): Entry {
    const key = 2 * session + is_accepted
    const cached = newest.get(key)
    if (cached !== undefined) return cached
    lastSession ??= statements.findLastSession.get() ?? 0
    const stored =
      session > lastSession ? undefined : statements.findLast.get(session, is_accepted, Number.MAX_SAFE_INTEGER)
    lastSession = Math.max(lastSession, session)
    const last = stored ?? { id: 0, latest_at_ms: 0 }
    cacheRow(newest, maxCachedSessions, key, last)
    return last
  }

  function clear(): void {
    newest.clear()
    lastSession = null
  }
}

/** Prepares a query of where a part starts that reads this many entries of each session. */
function prepareStart(db: Database.Database, entries: number) {
  return db
    .prepare<[number, number, number, string], number | null>(
      `SELECT max((SELECT id FROM session_beacon WHERE session = named.id AND is_accepted = ? AND id >= ? AND id < ?
         ORDER BY id DESC LIMIT 1 OFFSET ${entries - 1})) FROM (${sessionsNamed}) named`,
    )
    .pluck()
}

function prepareBetween(db: Database.Database) {
  return db
    .prepare<(string | number)[], number>(
      `SELECT id FROM session_beacon WHERE session IN (${sessionsNamed}) AND is_accepted = ? AND id >= ? AND id < ?
         AND received_at_ms >= ? AND received_at_ms < ? ORDER BY id DESC LIMIT ${maxFoundRows}`,
    )
    .pluck()
}

function prepareEntries(db: Database.Database) {
  return {
    insert: db.prepare(
      'INSERT INTO session_beacon (session, is_accepted, id, received_at_ms, latest_at_ms) VALUES (?, ?, ?, ?, ?)',
    ),
    findLast: db.prepare<[number, number, number], Entry>(
      'SELECT id, latest_at_ms FROM session_beacon WHERE session = ? AND is_accepted = ? AND id < ? ORDER BY id DESC LIMIT 1',
    ),
    raiseNewer: db.prepare(
      'UPDATE session_beacon SET latest_at_ms = max(latest_at_ms, ?) WHERE session = ? AND is_accepted = ? AND id > ?',
    ),
    findNext: db.prepare<[number, number, number], Entry>(
      'SELECT id, latest_at_ms FROM session_beacon WHERE session = ? AND is_accepted = ? AND id >= ? ORDER BY id LIMIT 1',
    ),
    findSessions: db.prepare<[string], number>(sessionsNamed).pluck(),
    findLastSession: db.prepare<[], number | null>('SELECT max(session) FROM session_beacon').pluck(),
  }
}
