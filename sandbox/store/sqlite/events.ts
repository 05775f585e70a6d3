/**
 * Events: an always growing sequence in the database, so that a tail can resume. The table is bounded, the oldest go
 * first; how many went and how far they reached is kept, so that a tail which comes too late can be told.
 */
import type Database from 'better-sqlite3'
import type { EventRow } from '../store.ts'

/** Rows over the limit that may pile up before they are removed together. */
const slack = 256

/** Of the events that went for the limit: how many, and the number of the last. */
interface Dropped {
  count: number
  last_seq: number
}

export function eventStatements(db: Database.Database, limit: number) {
  const insert = db.prepare('INSERT INTO event (seq, type, at_ms, project_id, slot_id, ref) VALUES (?, ?, ?, ?, ?, ?)')
  const max = db.prepare('SELECT coalesce(max(seq), 0) FROM event').pluck()
  const count = db.prepare('SELECT count(*) FROM event').pluck()
  const after = db.prepare<[number, number], EventRow>(
    'SELECT seq, type, at_ms, project_id, slot_id, ref FROM event WHERE seq > ? ORDER BY seq LIMIT ?',
  )
  const firstSince = db.prepare<[number], number | null>('SELECT min(seq) FROM event WHERE at_ms >= ?').pluck()
  const lastBefore = db.prepare<[number], number>('SELECT coalesce(max(seq), 0) FROM event WHERE seq < ?').pluck()
  const nth = db.prepare<[number], number>('SELECT seq FROM event ORDER BY seq LIMIT 1 OFFSET ?').pluck()
  const prune = db.prepare('DELETE FROM event WHERE seq <= ?')
  const readDropped = db.prepare<[], string>("SELECT value FROM meta WHERE name = 'events_dropped'").pluck()
  const saveDropped = db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('events_dropped', ?)")
  const listeners = new Set<() => void>()
  let lastSeq = max.get() as number
  let announced = lastSeq
  let size = count.get() as number
  let dropped = keptDropped()

  return {
    /** Appends within the running transaction; answers its number. */
    append(event: Omit<EventRow, 'seq'>): number {
      insert.run(++lastSeq, event.type, event.at_ms, event.project_id, event.slot_id, event.ref)
      size++
      return lastSeq
    },
    /** Removes what is over the limit, within the running transaction. */
    prune(): void {
      if (size <= limit + slack) return
      const last_seq = nth.get(size - limit - 1)!
      const { changes } = prune.run(last_seq)
      size -= changes
      dropped = { count: dropped.count + changes, last_seq }
      saveDropped.run(JSON.stringify(dropped))
    },
    /** After a rollback, or when every row has been replaced. */
    forget(): void {
      lastSeq = max.get() as number
      size = count.get() as number
      dropped = keptDropped()
    },
    /** When every row has been replaced: goes on after the largest number of this table or the one before it. */
    catchUp(seq: number): void {
      this.forget()
      lastSeq = Math.max(lastSeq, seq)
    },
    /** After a commit: tells the listeners when there is something new. */
    announce(): void {
      if (lastSeq === announced) return
      announced = lastSeq
      for (const listener of listeners) listener()
    },
    after: (seq: number, most: number) => after.all(seq, most),
    lastSeq: () => announced,
    /** Reads every row: times need not grow, for the clock can be set back. */
    seqBefore(at_ms: number): number {
      const first = firstSince.get(at_ms) ?? null
      return first === null ? announced : lastBefore.get(first)!
    },
    status: () => ({ limit, size, dropped: dropped.count, last_dropped_seq: dropped.last_seq }),
    listen(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }

  function keptDropped(): Dropped {
    const value = readDropped.get()
    return value === undefined ? { count: 0, last_seq: 0 } : (JSON.parse(value) as Dropped)
  }
}
