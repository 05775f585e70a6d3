/** Opens the database file: one owner at a time, the right schema, the right pragmas. */
import { accessSync, constants, existsSync, rmSync, statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { createPrivate, renameOver } from '#foundation/file-system.ts'
import { readErrorCode } from '#foundation/system-error.ts'
import { SandboxError } from '#sandbox/sandbox-error.ts'
import { applicationId, migrations } from '../migrations.ts'
import { explain, unfinished } from './explain.ts'
import { isMarkedInUse, markInUse, removeInUseMark } from './in-use.ts'
import { claim } from './lock.ts'
import { fileAt, makePrivate } from './names.ts'
import type { LeftBehind, Lost, UncleanEnd } from './unclean-end.ts'

export interface OpenDatabase {
  db: Database.Database
  /** Where the database was copied before it was migrated; null when it was not. */
  backup: string | null
  /** How the last owner ended, when it did not shut down cleanly; null when it did. */
  unclean: UncleanEnd | null
  /** Marks the file as in use, until it is closed. */
  markInUse(): void
  /** Whether the file still has its name: no other program has removed or replaced it. */
  isInPlace(): boolean
  /**
   * @param due an unclean end that still has to be examined: the next start finds it again
   * @throws SandboxError when the log could not be copied into the file. Both are closed, and contain everything.
   */
  close(due?: UncleanEnd | null): void
  /** Closes a database that could not be used, and leaves its file as it is. */
  abandon(): void
}

/** Rows of the journal are a few kilobytes: larger pages hold several, so a commit writes fewer. */
const filePageBytes = 8_192

/** A reset in memory visits every page, and nothing is written to a disk: half as many pages take two thirds of the time. */
const memoryPageBytes = 16_384

/** The log is cut to this when it starts over, however long it grew while a reader prevented that. */
const maxLogBytes = 64 * 1_048_576

/** Opens or creates the database at `path` (`:memory:` for none), claims it for process `pid`, migrates it. */
export function openDatabase(
  path: string,
  pid: number,
  page_bytes = path === ':memory:' ? memoryPageBytes : filePageBytes,
): OpenDatabase {
  const isInMemory = path === ':memory:'
  const { left, release } = isInMemory ? { left: null, release: () => {} } : claimFile(path, pid)
  let unclean: UncleanEnd | null = left === null ? null : { lost: left.lost ?? 'no' }
  let db: Database.Database | undefined
  let isCreated = false
  try {
    isCreated = !isInMemory && createPrivate(path)
    // SQLite would open it for reading, and create a log and an index next to it that cannot be written.
    if (!isInMemory) accessSync(path, constants.W_OK)
    db = planOnce(new Database(path, { timeout: 2000 }))
    const version = Number(db.pragma('user_version', { simple: true }))
    refuseForeign(db, path, version)
    if (left !== null) unclean = { lost: left.lost ?? findLoss(db, left) }
    configure(db, version, page_bytes)
    const backup = migrate(db, path, version)
    if (!isInMemory) {
      if (left === null && isMarkedInUse(db)) unclean = { lost: 'alone' }
      shortenLog(db, path)
      for (const ending of ['', '-wal', '-shm', '.lock']) makePrivate(`${path}${ending}`)
    }
    return { db, backup, unclean, ...ends(db, { path, isInMemory, unclean, release }) }
  } catch (error) {
    db?.close()
    if (isCreated && statSync(path, { throwIfNoEntry: false })?.size === 0) rmSync(path, { force: true })
    release(unclean)
    throw explain(error, path)
  }
}

function configure(db: Database.Database, version: number, page_bytes: number): void {
  if (version === 0) db.pragma(`page_size = ${page_bytes}`)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  db.pragma(`journal_size_limit = ${maxLogBytes}`)
  db.pragma('temp_store = MEMORY')
  db.pragma('cache_size = -2000')
  db.pragma('foreign_keys = OFF')
}

/** The ways in which an open database ends, and the mark that it has until then. */
function ends(
  db: Database.Database,
  { path, isInMemory, unclean, release }: Ends,
): Pick<OpenDatabase, 'markInUse' | 'isInPlace' | 'close' | 'abandon'> {
  const file = fileAt(path)
  return {
    markInUse() {
      if (!isInMemory) markInUse(db)
    },
    isInPlace: () => fileAt(path) === file,
    close(due = null) {
      let failure: unknown = null
      try {
        if (!isInMemory) {
          removeInUseMark(db)
          db.pragma('wal_checkpoint(TRUNCATE)')
        }
      } catch (error) {
        failure = error
      }
      db.close()
      // Its mark may still be in the file: the lock then says that it was not copied.
      release(failure === null ? due : (due ?? { lost: 'no' }))
      if (failure !== null) throw unfinished(failure, path)
    },
    abandon() {
      const isUnmarked = isInMemory || unmarkAbandoned(db)
      db.close()
      release(unclean ?? (isUnmarked ? null : { lost: 'no' }))
    },
  }
}

interface Ends {
  path: string
  isInMemory: boolean
  unclean: UncleanEnd | null
  release: (due?: UncleanEnd | null) => void
}

/** Removes the mark of a database that could not be used, and returns whether it is gone. */
function unmarkAbandoned(db: Database.Database): boolean {
  try {
    if (db.inTransaction) db.exec('ROLLBACK')
    if (isMarkedInUse(db)) removeInUseMark(db)
    return true
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error
    return false
  }
}

/**
 * Lets a connection plan each query once, whatever its values are, and returns it. SQLite looks at the value of `= ?`
 * where a whole unique key is not compared, and at the value of `LIMIT ?`. It plans the query again when such a value
 * changes. The driver clears all values after each run, which is a change, and then compiles the function that makes
 * the rows again: 5 to 30 times the cost of the query. SQLite does not look at `+?`, which has the same value. Its own
 * switch for this, SQLITE_DBCONFIG_ENABLE_QPSG, is neither a pragma nor in the driver.
 */
export function planOnce(db: Database.Database): Database.Database {
  const prepare = (sql: string) => Database.prototype.prepare.call(db, sql.replaceAll(/(?<= = | LIMIT )\?/g, '+?'))
  return Object.assign(db, { prepare })
}

/** Claims a file. The driver is loaded here first, and may be refused. */
function claimFile(path: string, pid: number): ReturnType<typeof claim> {
  try {
    return claim(path, pid)
  } catch (error) {
    throw readErrorCode(error) === 'ERR_DLOPEN_DISABLED' ? explain(error, path) : error
  }
}

/** Compares the frames that SQLite has found in the log with those that were committed. */
function findLoss(db: Database.Database, { frames: { committed, copied } }: LeftBehind): Lost {
  const [{ log }] = db.pragma('wal_checkpoint(NOOP)') as [{ log: number }]
  // The rest of a truncated log undoes pages that were copied from beyond it.
  return log < committed && (log > 0 || copied < committed) ? 'yes' : 'no'
}

function refuseForeign(db: Database.Database, path: string, version: number): void {
  const id = Number(db.pragma('application_id', { simple: true }))
  const tables = db.prepare("SELECT count(*) FROM sqlite_schema WHERE type = 'table'").pluck().get() as number
  if (id !== applicationId && tables > 0) {
    throw new SandboxError(
      'database_corrupt',
      `${path} is a SQLite database, but not one of a sandbox.`,
      'Give --db another file; this one is left untouched.',
    )
  }
  if (version > migrations.length) {
    throw new SandboxError(
      'database_newer',
      `${path} was made by a newer version (schema ${version}, this one knows ${migrations.length}).`,
      'Update svc, or give --db another file; this one is left untouched.',
    )
  }
}

/**
 * Copies a long log into the file. A process that was killed leaves its log behind, and the next one only adds to it:
 * after many kills, each too early for a checkpoint to reach the end, it would grow every time.
 */
function shortenLog(db: Database.Database, path: string): void {
  const size = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (size > maxLogBytes / 4) db.pragma('wal_checkpoint(TRUNCATE)')
}

function migrate(db: Database.Database, path: string, version: number): string | null {
  if (version === migrations.length) return null
  const backup = version > 0 && path !== ':memory:' ? backUp(db, path, version) : null
  db.transaction(() => {
    for (const step of migrations.slice(version)) db.exec(step)
    db.pragma(`application_id = ${applicationId}`)
    db.pragma(`user_version = ${migrations.length}`)
  })()
  return backup
}

/** Copies the database before its migration, under a separate name that only a complete copy gets. */
function backUp(db: Database.Database, path: string, version: number): string {
  const unfinished = `${path}.backup.new`
  rmSync(unfinished, { force: true })
  createPrivate(unfinished)
  db.prepare('VACUUM INTO ?').run(unfinished)
  for (let count = 1; ; count++) {
    const name = `${path}.schema-${version}${count === 1 ? '' : `-${count}`}.bak`
    if (existsSync(name)) continue
    renameOver(unfinished, name)
    return name
  }
}
