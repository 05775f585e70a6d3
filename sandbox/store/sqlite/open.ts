/**
 * Opens the database file: one owner at a time, the right schema, the right pragmas.
 *
 * Ownership is a second, tiny SQLite file whose write lock is held for as long as the process lives. The operating
 * system releases that lock however the process ends, so a crash never leaves a stale one; others can still read who
 * holds it. An owner that shuts down cleanly removes the file: if it is still there, the last owner did not.
 *
 * One file of more than 400 lines, since owner, rights and schema are checked in one order, and a failure closes what
 * was opened.
 */
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { devNull } from 'node:os'
import { basename, dirname, resolve } from 'node:path'
import Database from 'better-sqlite3'
import { createPrivate, renameOver } from '#foundation/file-system.ts'
import { type SystemError, systemErrorBehind } from '#foundation/system-error.ts'
import { refusedFile, SandboxError } from '#sandbox/sandbox-error.ts'
import { StorageError } from '../store.ts'
import { applicationId, migrations } from './migrations.ts'
import { type LastOwner, type LeftBehind, type Lost, leftBehind, losses, type UncleanEnd } from './unclean-end.ts'

export interface OpenDatabase {
  db: Database.Database
  /** Where the database was copied before it was migrated; null when it was not. */
  backup: string | null
  /** How the last owner ended, when it did not shut down cleanly; null when it did. */
  unclean: UncleanEnd | null
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
  const { left, release } = isInMemory ? { left: null, release: () => {} } : claim(path, pid)
  let unclean: UncleanEnd | null = left === null ? null : { lost: left.lost ?? 'no' }
  let db: Database.Database | undefined
  let isCreated = false
  try {
    isCreated = !isInMemory && createPrivate(path)
    // SQLite would open it for reading, and create a log and an index next to it that cannot be written.
    if (!isInMemory) accessSync(path, constants.W_OK)
    db = planOnce(new Database(path, { timeout: 2000 }))
    const version = db.pragma('user_version', { simple: true }) as number
    refuseForeign(db, path, version)
    if (left !== null) unclean = { lost: left.lost ?? findLoss(db, left) }
    if (version === 0) db.pragma(`page_size = ${page_bytes}`)
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = NORMAL')
    db.pragma(`journal_size_limit = ${maxLogBytes}`)
    db.pragma('temp_store = MEMORY')
    db.pragma('cache_size = -2000')
    db.pragma('foreign_keys = OFF')
    const backup = migrate(db, path, version)
    if (!isInMemory) shortenLog(db, path)
    for (const file of isInMemory ? [] : [path, `${path}-wal`, `${path}-shm`, `${path}.lock`]) makePrivate(file)
    const opened = db
    const file = fileAt(path)
    return {
      db,
      backup,
      unclean,
      isInPlace: () => fileAt(path) === file,
      close(due = null) {
        let failure: unknown = null
        try {
          if (!isInMemory) opened.pragma('wal_checkpoint(TRUNCATE)')
        } catch (error) {
          failure = error
        }
        opened.close()
        release(due)
        if (failure !== null) throw unfinished(failure, path)
      },
      abandon() {
        opened.close()
        release(unclean)
      },
    }
  } catch (error) {
    db?.close()
    if (isCreated && statSync(path, { throwIfNoEntry: false })?.size === 0) rmSync(path, { force: true })
    release(unclean)
    throw explain(error, path)
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

interface Claim {
  left: LeftBehind | null
  /** Releases the database and removes the lock file, or keeps it as the sign of an unclean end. */
  release: (due?: UncleanEnd | null) => void
}

/** Claims the database for a process. */
function claim(path: string, pid: number): Claim {
  const lockPath = `${path}.lock`
  let release: Claim['release'] = () => {}
  try {
    const { lock: held, last } = lockFile(lockPath, pid)
    const file = fileAt(lockPath)
    const left = leftBehind(path, last)
    release = (due = null) => {
      // Another program may have removed it, and another sandbox may have one of that name now.
      if (due === null && fileAt(lockPath) === file) removeLock(lockPath)
      try {
        held.exec(existsSync(lockPath) ? `${uncleanSign(due)}; COMMIT` : 'ROLLBACK')
      } catch (error) {
        // The file then says that it was held, and the next start makes the same check.
        if (!(error instanceof Database.SqliteError)) throw error
      } finally {
        held.close()
      }
    }
    refuseOtherName(path)
    return { left, release }
  } catch (error) {
    const isOtherName = error instanceof OtherName
    const owner = isOtherName ? null : readOwner(lockPath)
    release()
    if (isDamage(error)) {
      const message = `${lockPath} is damaged, as by a power loss: ${error.message}.`
      throw new SandboxError('database_corrupt', message, 'Remove it if no sandbox runs: it holds no data.')
    }
    if (!isOtherName && !isBusy(error)) throw explain(error, path)
    const name = isOtherName ? ', under another name of the same file' : owner === null ? '' : ` (pid ${owner})`
    throw new SandboxError(
      'database_in_use',
      `${path} is in use by another sandbox${name}.`,
      'Stop that sandbox, or start this one with --db and another file, or with --ephemeral.',
    )
  }
}

/** The database is open under another name. */
class OtherName extends Error {}

/**
 * Hard links give one file several names, and each name its own lock. SQLite's own lock is on device and inode: every
 * sandbox shares it for as long as it runs, so nobody can hold it exclusively.
 */
function refuseOtherName(path: string): void {
  if ((statSync(path, { throwIfNoEntry: false })?.nlink ?? 1) < 2) return
  let probe: Database.Database | undefined
  try {
    probe = new Database(path, { timeout: 0 })
    probe.pragma('locking_mode = EXCLUSIVE')
    probe.exec('BEGIN EXCLUSIVE; ROLLBACK')
  } catch (error) {
    if (isBusy(error)) throw new OtherName()
    // Any other problem with the file is explained when it is opened.
    if (!(error instanceof Database.SqliteError)) throw error
  } finally {
    probe?.close()
  }
}

/**
 * Returns the lock file with its write lock held. An owner removes the file while it still holds the lock: a process
 * that has opened the removed file owns nothing. So the file counts only if it has that name both before it is opened
 * and when it is held. Its identity is read by name, never through a descriptor of our own: closing one would release
 * every lock of this process. It contains only numbers, in its first page: one write, which needs no journal file.
 */
function lockFile(lockPath: string, pid: number): { lock: Database.Database; last: LastOwner } {
  // The owner before this process, when an attempt that did not count has written over it.
  let replaced: LastOwner | null = null
  for (let attempt = 1; attempt <= maxLockAttempts; attempt++) {
    // Where a file system keeps no time of birth, the time of the last change stands for it, and our own write moves it.
    const identify = attempt <= maxAttemptsByBirth ? identifyFile : fileAt
    const before = identify(lockPath)
    const isOurs = () => before !== null && identify(lockPath) === before
    const lock = new Database(lockPath, { timeout: 0 })
    try {
      lock.exec('PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE')
      if (isOurs()) {
        const number = (pragma: string) => lock.pragma(pragma, { simple: true }) as number
        const found = { pid: number('user_version'), lost: losses[number('application_id') - 1] ?? null }
        const last: LastOwner = found.pid === pid && replaced !== null ? replaced : found
        lock.exec(`PRAGMA user_version = ${pid}; PRAGMA application_id = 0; COMMIT; BEGIN IMMEDIATE`)
        if (isOurs()) return { lock, last }
        replaced = last
      }
    } catch (error) {
      if (isOurs()) {
        abandon(lock, lockPath, error)
        throw error
      }
    }
    lock.close()
  }
  throw new SandboxError(
    'database_in_use',
    `${lockPath} cannot be held: something replaces it again and again.`,
    'Does a program that synchronizes or cleans up files watch its folder? Give --db a file elsewhere.',
  )
}

/** A lock file is replaced only by an owner that ends at this moment: more than a few in a row have another cause. */
const maxAttemptsByBirth = 20
const maxLockAttempts = 200

/**
 * Returns the statements that leave an unclean end in the lock file; a file that merely could not be removed reports
 * none.
 */
function uncleanSign(due: UncleanEnd | null): string {
  if (due === null) return 'PRAGMA user_version = 0; PRAGMA application_id = 0'
  return `PRAGMA application_id = ${losses.indexOf(due.lost) + 1}`
}

/** Compares the frames that SQLite has found in the log with those that were committed. */
function findLoss(db: Database.Database, { frames: { committed, copied } }: LeftBehind): Lost {
  const [{ log }] = db.pragma('wal_checkpoint(NOOP)') as [{ log: number }]
  // The rest of a truncated log undoes pages that were copied from beyond it.
  return log < committed && (log > 0 || copied < committed) ? 'yes' : 'no'
}

/** Closes a lock that could not be taken. A file that is incomplete, as on a full disk, is removed. */
function abandon(lock: Database.Database, lockPath: string, error: unknown): void {
  try {
    if (isBusy(error)) return
    if (!lock.inTransaction) lock.exec('BEGIN IMMEDIATE')
    removeLock(lockPath)
  } catch (second) {
    if (!(second instanceof Database.SqliteError)) throw second
  } finally {
    lock.close()
  }
}

/** Returns the number of a file, which no other file gets while this one is open; null when there is none. */
function fileAt(path: string): string | null {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? null : `${stat.dev} ${stat.ino}`
}

function identifyFile(file: string): string | null {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? null : `${stat.dev} ${stat.ino} ${stat.birthtimeNs}`
}

/** On platforms that cannot remove an open file, it stays, which does no harm. */
function removeLock(lockPath: string): void {
  try {
    rmSync(lockPath, { force: true })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
  }
}

/**
 * Returns the process that holds the lock; null while it cannot be read because that process is starting or stopping.
 */
function readOwner(lockPath: string): number | null {
  let reader: Database.Database | undefined
  try {
    reader = new Database(lockPath, { readonly: true, timeout: 200 })
    return (reader.pragma('user_version', { simple: true }) as number) || null
  } catch (error) {
    if (error instanceof Database.SqliteError) return null
    throw error
  } finally {
    reader?.close()
  }
}

function refuseForeign(db: Database.Database, path: string, version: number): void {
  const id = db.pragma('application_id', { simple: true }) as number
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

/** Returns the error for a log that could not be copied at the end. */
function unfinished(error: unknown, path: string): SandboxError {
  return new SandboxError(
    'database_unwritable',
    `${path} could not take in its log: ${error instanceof Error ? error.message : String(error)}.`,
    `Nothing is lost: keep ${path}-wal next to it. The next start copies it once there is space.`,
  )
}

/** Returns the error for a file whose content cannot be used. */
export function damaged(path: string, problem: string): SandboxError {
  return new SandboxError(
    'database_corrupt',
    `${path} is damaged or was made by something else: ${problem}.`,
    'Move it away, or give --db another file.',
  )
}

/**
 * Returns why a database cannot be opened or used, as a SandboxError; other errors unchanged. Only what SQLite itself
 * calls damage, and content that this version cannot read, counts as damage: the cause of anything else is elsewhere,
 * and the file must be kept.
 */
export function explain(error: unknown, path: string): unknown {
  if (error instanceof SandboxError) return error
  if (error instanceof StorageError) {
    const explained = explain(error.cause, path)
    return explained instanceof SandboxError ? explained : damaged(path, error.message)
  }
  const system = systemErrorBehind(error)
  if (system !== null) return refusedFile(system.path ?? path, system.syscall === 'read' ? 'read' : 'opened', system)
  if (!(error instanceof Database.SqliteError)) return error
  if (isBusy(error)) {
    return new SandboxError(
      'database_unwritable',
      `${path} is in use by another program: ${error.message}.`,
      'Close the program that has it open, such as a database browser, or give --db another file.',
    )
  }
  if (isContent.test(error.code)) return damaged(path, error.message)
  const cause = /^SQLITE_(CANTOPEN|IOERR)/.test(error.code) ? whyUnopened(path) : null
  if (cause !== null) return refusedFile(cause.path ?? path, 'opened', cause)
  const [, code, done] = refusals.find(([codes]) => codes.test(error.code)) ?? []
  if (code !== undefined && done !== undefined) return refusedFile(path, done, { code, message: error.message })
  return new SandboxError(
    'database_unwritable',
    `${path} cannot be used: ${error.message} (${error.code}).`,
    'Check the directory, its permissions and the free space, or start with --ephemeral.',
    { cause: error },
  )
}

/** Codes of a file that is damaged, or whose tables and rows are not those of a sandbox. */
const isContent =
  /^SQLITE_(NOTADB|CORRUPT|ERROR|SCHEMA|CONSTRAINT|MISMATCH|TOOBIG|RANGE|FORMAT|EMPTY|NOTFOUND|IOERR_(SHORT_READ|DATA|CORRUPTFS))/

/** The refusal of the system behind a code of SQLite, and what could not be done. */
const refusals: readonly (readonly [RegExp, string, 'opened' | 'read' | 'written'])[] = [
  [/^SQLITE_IOERR_NOMEM|^SQLITE_NOMEM/, 'ENOMEM', 'opened'],
  [/^SQLITE_IOERR_(READ|FSTAT|SEEK|ACCESS|SHMMAP|MMAP|GETTEMPPATH)/, 'EIO', 'read'],
  [/^SQLITE_IOERR/, 'EIO', 'written'],
  [/^SQLITE_FULL/, 'ENOSPC', 'written'],
  [/^SQLITE_(PERM|AUTH)/, 'EACCES', 'opened'],
]

/** Returns what the system refuses for a file that SQLite cannot open, which names no reason; null when nothing is found. */
function whyUnopened(path: string): SystemError | null {
  const files = [path, `${path}.lock`, `${path}-wal`, `${path}-shm`]
  const opened: number[] = []
  try {
    for (const file of files) {
      if (statSync(file, { throwIfNoEntry: false })?.isDirectory() !== true) continue
      return Object.assign(new Error('it is a folder'), { code: 'EISDIR', path: file })
    }
    accessSync(dirname(path), constants.W_OK | constants.X_OK)
    // Any file: it fails when this process has no descriptors left for all of them.
    for (const _ of files) opened.push(openSync(devNull, 'r'))
    return null
  } catch (error) {
    const system = systemErrorBehind(error)
    return system === null ? null : Object.assign(system, { path })
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
}

function isDamage(error: unknown): error is Error {
  return error instanceof Database.SqliteError && /^SQLITE_(NOTADB|CORRUPT)/.test(error.code)
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')
}

/* Files of a database: one name for each, and readable by their owner alone. SQLite gives the log the mode of its database. */

/** The same number as Linux follows. */
const maxLinks = 40

/**
 * Returns the name of a file behind its symbolic links, whether or not it exists: lock, log, key and snapshots are next
 * to that file, so two names of one database cannot have two of each.
 */
export function realPath(path: string, links = 0): string {
  const absolute = resolve(path)
  if (existsSync(absolute)) return realpathSync(absolute)
  const isDangling = lstatSync(absolute, { throwIfNoEntry: false })?.isSymbolicLink() === true
  if (isDangling && links < maxLinks) return realPath(resolve(dirname(absolute), readlinkSync(absolute)), links + 1)
  const folder = dirname(absolute)
  return folder === absolute ? absolute : resolve(realPath(folder, links), basename(absolute))
}

/**
 * Removes the permissions of group and others from a file. A file of another owner, or on a disk without modes, is left
 * unchanged.
 */
export function makePrivate(path: string): void {
  try {
    const { mode } = statSync(path)
    if ((mode & 0o077) !== 0) chmodSync(path, mode & 0o700)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
  }
}
