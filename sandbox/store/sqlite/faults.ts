/** Fault rules and the scenario in use, one row of `meta`: absent while there has been none. */
import type Database from 'better-sqlite3'
import type { FaultState } from '../store.ts'

export function faultStatements(db: Database.Database) {
  const find = db.prepare<[], string>("SELECT value FROM meta WHERE name = 'faults'").pluck()
  const save = db.prepare<[string]>("INSERT OR REPLACE INTO meta (name, value) VALUES ('faults', ?)")
  return {
    find(): FaultState | null {
      const value = find.get()
      return value === undefined ? null : (JSON.parse(value) as FaultState)
    },
    save: ({ scenario, added, rules }: FaultState): void => {
      save.run(JSON.stringify({ scenario, added, rules }))
    },
  }
}
