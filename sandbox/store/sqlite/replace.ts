/**
 * Replaces everything in the database by what another file holds, in one transaction: whoever reads sees all of the old
 * or all of the new. Tables are emptied whole and filled from tables of the very same definition, which SQLite does
 * page by page without looking into the rows.
 */
import type Database from 'better-sqlite3'

/** Pages that are written once stay in memory until the commit, instead of going to the log and back. */
const roomKib = 65_536

/** The file must have the present schema. `within` runs at the end of the transaction. */
export function replaceAll(db: Database.Database, path: string, within: () => void): void {
  db.prepare('ATTACH ? AS copy').run(path)
  const small = db.pragma('main.cache_size', { simple: true }) as number
  db.pragma(`main.cache_size = ${-roomKib}`)
  try {
    db.transaction(() => {
      for (const table of tablesOf(db)) {
        db.exec(`DELETE FROM main."${table}"`)
        db.exec(`INSERT INTO main."${table}" SELECT * FROM copy."${table}"`)
      }
      within()
    })()
  } finally {
    db.pragma(`main.cache_size = ${small}`)
    db.pragma('shrink_memory')
    db.exec('DETACH copy')
  }
}

/** Every table and index, as it was declared: the same for all databases that have had the same migrations. */
export function schemaOf(db: Database.Database): string {
  return JSON.stringify(
    db.prepare('SELECT type, name, tbl_name, sql FROM main.sqlite_schema ORDER BY type, name').all(),
  )
}

function tablesOf(db: Database.Database): string[] {
  return db
    .prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all() as string[]
}
