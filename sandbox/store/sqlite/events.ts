/** Events: an always growing sequence in the database, so that a tail can resume. */
import type Database from 'better-sqlite3'
import type { EventRow } from '../store.ts'

export function eventStatements(db: Database.Database) {
  const insert = db.prepare('INSERT INTO event (seq, type, at_ms, project_id, slot_id, ref) VALUES (?, ?, ?, ?, ?, ?)')
  const max = db.prepare('SELECT coalesce(max(seq), 0) FROM event').pluck()
  const after = db.prepare<[number, number], EventRow>(
    'SELECT seq, type, at_ms, project_id, slot_id, ref FROM event WHERE seq > ? ORDER BY seq LIMIT ?',
  )
  const listeners = new Set<() => void>()
  let lastSeq = max.get() as number
  let announced = lastSeq

  return {
    /** Appends within the running transaction; answers its number. */
    append(event: Omit<EventRow, 'seq'>): number {
      insert.run(++lastSeq, event.type, event.at_ms, event.project_id, event.slot_id, event.ref)
      return lastSeq
    },
    forget(): void {
      lastSeq = max.get() as number
    },
    /** Goes on after the largest number there is, of this table or of the one before it. */
    catchUp(): void {
      lastSeq = Math.max(lastSeq, max.get() as number)
    },
    /** After a commit: tells the listeners when there is something new. */
    announce(): void {
      if (lastSeq === announced) return
      announced = lastSeq
      for (const listener of listeners) listener()
    },
    after: (seq: number, limit: number) => after.all(seq, limit),
    lastSeq: () => announced,
    listen(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
