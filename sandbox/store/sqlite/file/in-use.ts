/**
 * The mark of a database that a sandbox has open. It is in the file itself, not only in the log next to it, so a copy of
 * the file alone has it too, and a file of a sandbox that has stopped has not.
 */
import Database from 'better-sqlite3'
import type { MetaName } from '../copies/state-problem.ts'

const name: MetaName = 'in_use'

export function isMarkedInUse(db: Database.Database): boolean {
  return db.prepare<[string], number>('SELECT 1 FROM meta WHERE name = ?').pluck().get(name) === 1
}

/** Sets the mark, and copies it from the log into the file. */
export function markInUse(db: Database.Database): void {
  setInUseMark(db)
  db.pragma('wal_checkpoint(PASSIVE)')
}

/** Sets the mark in a state that replaces the one in the file. */
export function setInUseMark(db: Database.Database): void {
  db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, 'true')").run(name)
}

/** Writes a copy of the whole database, as a sandbox that has stopped leaves it. */
export function copyInto(db: Database.Database, to: string): void {
  db.prepare('VACUUM INTO ?').run(to)
  const copy = new Database(to, { fileMustExist: true })
  try {
    copy.pragma('journal_mode = MEMORY')
    copy.pragma('synchronous = OFF')
    removeInUseMark(copy)
  } finally {
    copy.close()
  }
}

export function removeInUseMark(db: Database.Database): void {
  db.prepare('DELETE FROM meta WHERE name = ?').run(name)
}
