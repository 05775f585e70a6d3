/** The state of the sandbox clock, one row of `meta`: absent while nobody has steered it. */
import type Database from 'better-sqlite3'
import type { ClockRow } from '../store.ts'

export function clockStatements(db: Database.Database) {
  const find = db.prepare<[], string>("SELECT value FROM meta WHERE name = 'clock'").pluck()
  const save = db.prepare<[string]>("INSERT OR REPLACE INTO meta (name, value) VALUES ('clock', ?)")
  return {
    find(): ClockRow | null {
      const value = find.get()
      return value === undefined ? null : (JSON.parse(value) as ClockRow)
    },
    save: ({ offset_ms, frozen_at_ms }: ClockRow): void => {
      save.run(JSON.stringify({ offset_ms, frozen_at_ms }))
    },
  }
}
