/**
 * Events: an ever-growing sequence in the database, so a tail can resume. The table is bounded and drops its oldest
 * rows; how many were dropped, and up to which number, is stored, so a tail that resumes too late is notified.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type Database from 'better-sqlite3'
import type { EventRow, EventStore, NewEvent } from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import { isStorageFailure } from './file/failures.ts'
import type { Connection } from './group-commit.ts'
import { metaValue } from './rows.ts'

/** Rows over the limit that may pile up before they are removed together. */
const slack = 256

/** Rows that are searched for a time before other requests get a turn. */
const searchedAtOnce = 10_000

/** Events that the limit dropped: their count, and the number of the last. */
interface Dropped {
  count: number
  last_seq: number
}

const noneDropped: Dropped = { count: 0, last_seq: 0 }

export function eventTable({ db, read }: Connection, limit: number) {
  const statements = prepareEvents(db)
  const { lastSeq, counts, ...log } = boundedLog(db, statements, limit)
  const listeners = new Set<() => void>()
  let announced = lastSeq()

  const methods: Omit<EventStore, keyof WriteMethods> = {
    events: async (after_seq, most) => read(() => statements.listAfter.all(after_seq, most)),
    lastEventSeq: () => announced,
    /** By number, not by time: when the clock was moved back, older events have later times. */
    async eventSeqBefore(at_ms) {
      for (let end = Number.MAX_SAFE_INTEGER; ; await yieldToEventLoop()) {
        const start = read(() => statements.findPartStart.get(end)) ?? 0
        const found = read(() => statements.findLastBefore.get(start, end, at_ms))
        if (found !== undefined || start === 0) return found ?? 0
        end = start
      }
    },
    eventLog: counts,
    onEvents(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }

  return { ...log, announce, methods }

  /** After a commit: notifies the listeners when there are new events. */
  function announce(): void {
    const seq = log.countedSeq()
    // Of counts that could not be read, the next commit announces.
    if (seq === null || seq === announced) return
    announced = seq
    for (const listener of listeners) listener()
  }
}

interface Counted {
  lastSeq: number
  size: number
  dropped: Dropped
}

/** The rows of the table, of which the oldest are dropped, and their counts. */
function boundedLog(db: Database.Database, statements: ReturnType<typeof prepareEvents>, limit: number) {
  const insert = prepareEvent(db)
  const stored = metaValue<Dropped>(db, 'events_dropped')
  /** Null when it could not be read after a rollback or a replacement: what needs it reads it again. */
  let counted: Counted | null = count()

  return {
    lastSeq: () => current().lastSeq,
    countedSeq: () => counted?.lastSeq ?? null,
    ...{ counts, append, prune, reload, continueAfter },
  }

  function current(): Counted {
    counted ??= count()
    return counted
  }

  function count(rows?: number): Counted {
    return {
      lastSeq: statements.findLastSeq.get()!,
      size: rows ?? statements.count.get()!,
      dropped: stored.find() ?? noneDropped,
    }
  }

  function counts() {
    const { size, dropped } = current()
    return { limit, size, dropped: dropped.count, last_dropped_seq: dropped.last_seq }
  }

  /** Appends an event inside the running transaction and returns its number. */
  function append(event: NewEvent): number {
    const log = current()
    insert(++log.lastSeq, event)
    log.size++
    return log.lastSeq
  }

  /** Removes rows over the limit, inside the running transaction. */
  function prune(): void {
    const log = current()
    if (log.size <= limit + slack) return
    const last_seq = statements.findNth.get(log.size - limit - 1)!
    const { changes } = statements.prune.run(last_seq)
    log.size -= changes
    log.dropped = { count: log.dropped.count + changes, last_seq }
    stored.save(log.dropped)
  }

  /** Reads the counts again: after a rollback, or when every row was replaced by `rows` new ones. Never fails for the disk. */
  function reload(rows?: number): void {
    counted = null
    try {
      counted = count(rows)
    } catch (error) {
      if (!isStorageFailure(error)) throw error
    }
  }

  /** When every row was replaced: continues after the largest number of this table or the one before it. */
  function continueAfter(seq: number): void {
    reload()
    const log = current()
    log.lastSeq = Math.max(log.lastSeq, seq)
  }
}

function prepareEvents(db: Database.Database) {
  return {
    findLastSeq: db.prepare<[], number>('SELECT coalesce(max(seq), 0) FROM event').pluck(),
    count: db.prepare<[], number>('SELECT count(*) FROM event').pluck(),
    listAfter: db.prepare<[number, number], EventRow>(
      'SELECT seq, type, at_ms, project_id, slot_id, ref FROM event WHERE seq > ? ORDER BY seq LIMIT ?',
    ),
    findPartStart: db
      .prepare<[number], number>(
        `SELECT seq FROM event WHERE seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ${searchedAtOnce - 1}`,
      )
      .pluck(),
    findLastBefore: db
      .prepare<[number, number, number], number>(
        'SELECT seq FROM event WHERE seq >= ? AND seq < ? AND at_ms < ? ORDER BY seq DESC LIMIT 1',
      )
      .pluck(),
    findNth: db.prepare<[number], number>('SELECT seq FROM event ORDER BY seq LIMIT 1 OFFSET ?').pluck(),
    prune: db.prepare('DELETE FROM event WHERE seq <= ?'),
  }
}

/** Returns a function that inserts an event. */
export function prepareEvent(db: Database.Database) {
  const insert = db.prepare('INSERT INTO event (seq, type, at_ms, project_id, slot_id, ref) VALUES (?, ?, ?, ?, ?, ?)')
  return (seq: number, { type, at_ms, project_id, slot_id, ref }: NewEvent): void => {
    insert.run(seq, type, at_ms, project_id, slot_id, ref)
  }
}
