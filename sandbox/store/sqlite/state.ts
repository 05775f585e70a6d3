/**
 * The whole state: the seeded rows of a fresh one, and how one state replaces another in a file, in a single
 * transaction.
 */
import type Database from 'better-sqlite3'
import { type Seed, StorageError } from '../store.ts'
import { seedRows } from '../writes/state.ts'
import { isStorageFailure } from './file/failures.ts'

/** Inserts missing seeded rows, inside a transaction, and returns the catalogue in force: the newest. */
export function applySeed(db: Database.Database, seed: Seed, at_ms: number): number {
  const insertProject = db.prepare(
    'INSERT INTO project (id, client_id, tenant_id, config_revision, settings) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const insertKey = db.prepare(
    'INSERT INTO api_key (id, project_id, class, mode, hash, created_at_ms) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const { projects, keys } = seedRows(seed, at_ms)
  for (const { id, client_id, tenant_id, config_revision, settings } of projects) {
    insertProject.run(id, client_id, tenant_id, config_revision, settings)
  }
  for (const key of keys) insertKey.run(key.id, key.project_id, key.class, key.mode, key.hash, key.created_at_ms)
  const { sha256, demand } = seed.catalogue
  db.prepare('INSERT INTO catalogue (sha256, demand) VALUES (?, ?) ON CONFLICT (sha256) DO NOTHING').run(sha256, demand)
  return db.prepare<[string], number>('SELECT id FROM catalogue WHERE sha256 = ?').pluck().get(sha256)!
}

/** More pages than a database has, so all of them are copied in one step. */
const allPages = 0x7fff_ffff

/**
 * Replaces everything in a database file with another database: SQLite's backup copies its pages over the file in one
 * transaction and cuts off the rest. Rows are neither read nor removed one by one, so the time depends on the size of
 * the new state alone, and the file is small again after the next checkpoint.
 *
 * The transaction belongs to another connection: until this resolves, nothing else may write. A failure changes nothing.
 * @param db a connection to the file
 * @param image has the same page size
 * @throws StorageError when the file cannot be written
 */
export async function overwriteFile(db: Database.Database, path: string, image: Database.Database): Promise<void> {
  const before = dataVersion(db)
  try {
    await image.backup(path, { progress: () => allPages })
  } catch (error) {
    throw new StorageError(error)
  }
  // The driver reports success for a file that is locked.
  if (!hasChanged(db, before)) throw new StorageError(new Error('another program has locked the file'))
}

/** A version that cannot be read says nothing: the backup has succeeded, and its caller must know. */
function hasChanged(db: Database.Database, before: number): boolean {
  try {
    return dataVersion(db) !== before
  } catch (error) {
    if (!isStorageFailure(error)) throw error
    return true
  }
}

/** Gives a copy of a state the page size of the file that it will replace; other programs may have chosen another. */
export function adoptPageSize(image: Database.Database, db: Database.Database): void {
  if (pageBytes(image) === pageBytes(db)) return
  image.pragma(`page_size = ${pageBytes(db)}`)
  image.exec('VACUUM')
}

export function pageBytes(db: Database.Database): number {
  return Number(db.pragma('page_size', { simple: true }))
}

/** Changes with every commit of another connection. */
function dataVersion(db: Database.Database): number {
  return Number(db.pragma('data_version', { simple: true }))
}

/** Returns the tables of a schema of the connection, in order of creation. */
export function listTables(db: Database.Database, schema = 'main'): string[] {
  return db
    .prepare<[], string>(`SELECT name FROM ${schema}.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
    .pluck()
    .all()
}

/** Returns the declarations of every table and index; equal for databases with the same migrations. */
export function readSchema(db: Database.Database): string {
  const rows = db.prepare('SELECT type, name, tbl_name, sql FROM main.sqlite_schema ORDER BY type, name').all()
  return JSON.stringify(rows)
}
