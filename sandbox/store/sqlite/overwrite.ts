/**
 * Everything in a database file gives way to a small database that is made in memory: SQLite's backup copies its pages
 * over the file in one transaction, which cuts off the rest. What was there is neither read nor removed row by row, so
 * that this takes as long however much it was, and the file is small again after the next checkpoint.
 */
import type Database from 'better-sqlite3'
import { StorageError } from '../store.ts'
import { openDatabase } from './open.ts'

/** More pages than a new database has: all of them in one step. */
const allPages = 0x7fff_ffff

/**
 * `fill` puts the rows in. The transaction is that of a connection of its own: until this settles, nobody else may write.
 * When it fails, everything is as it was. @throws StorageError when the file refuses it
 */
export async function overwrite(
  db: Database.Database,
  { path, pid }: { path: string; pid: number },
  fill: (image: Database.Database) => void,
): Promise<void> {
  const page_bytes = db.pragma('page_size', { simple: true }) as number
  const { db: image, close } = openDatabase(':memory:', pid, page_bytes)
  const before = dataVersion(db)
  try {
    image.transaction(() => fill(image))()
    await image.backup(path, { progress: () => allPages })
  } catch (error) {
    throw new StorageError(error)
  } finally {
    close()
  }
  // The driver takes a file that is locked for one that is done.
  if (dataVersion(db) === before) throw new StorageError(new Error('another program has locked the file'))
}

/** Changes with every commit of another connection. */
function dataVersion(db: Database.Database): number {
  return db.pragma('data_version', { simple: true }) as number
}
