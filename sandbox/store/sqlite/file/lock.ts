/**
 * The owner of a database file. Ownership is a second, tiny SQLite file whose write lock is held for as long as the
 * process lives. The operating system releases that lock however the process ends, so a crash never leaves a stale one;
 * others can still read who holds it. An owner that shuts down cleanly removes the file: if it is still there, the last
 * owner did not.
 */
import { existsSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import Database from 'better-sqlite3'
import { SandboxError } from '#sandbox/sandbox-error.ts'
import { explain, isBusy, isDamage } from './explain.ts'
import { fileAt } from './names.ts'
import { type LastOwner, type LeftBehind, leftBehind, losses, type UncleanEnd } from './unclean-end.ts'

interface Claim {
  left: LeftBehind | null
  /** Releases the database and removes the lock file, or keeps it as the sign of an unclean end. */
  release: (due?: UncleanEnd | null) => void
}

/** Claims the database for a process. */
export function claim(path: string, pid: number): Claim {
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
        const number = (pragma: string) => Number(lock.pragma(pragma, { simple: true }))
        const found = { pid: number('user_version'), lost: losses[number('application_id') - 1] ?? null }
        const last: LastOwner = found.pid === pid && replaced !== null ? replaced : found
        lock.exec(`PRAGMA user_version = ${pid}; PRAGMA application_id = 0; COMMIT; BEGIN IMMEDIATE`)
        if (isOurs()) return { lock, last }
        replaced = last
      }
    } catch (error) {
      if (isOurs() && !(isDamage(error) && emptyBlank(lockPath))) {
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

/**
 * Empties a lock file that has only zeros, and returns whether it was one. It is never flushed, so a power loss can leave
 * its size without its page. No owner has such a file: what it writes is seen by every process.
 */
function emptyBlank(lockPath: string): boolean {
  if (readFileSync(lockPath).some((byte) => byte !== 0)) return false
  truncateSync(lockPath)
  return true
}

/** A lock file is replaced only by an owner that ends at this moment: more than a few in a row have another cause. */
const maxAttemptsByBirth = 20
const maxLockAttempts = 200

function identifyFile(file: string): string | null {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? null : `${stat.dev} ${stat.ino} ${stat.birthtimeNs}`
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

/** On platforms that cannot remove an open file, it stays, which does no harm. */
function removeLock(lockPath: string): void {
  try {
    rmSync(lockPath, { force: true })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
  }
}

/**
 * Returns the statements that leave an unclean end in the lock file; a file that merely could not be removed reports
 * none.
 */
function uncleanSign(due: UncleanEnd | null): string {
  if (due === null) return 'PRAGMA user_version = 0; PRAGMA application_id = 0'
  return `PRAGMA application_id = ${losses.indexOf(due.lost) + 1}`
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
 * Returns the process that holds the lock; null while it cannot be read because that process is starting or stopping.
 */
function readOwner(lockPath: string): number | null {
  let reader: Database.Database | undefined
  try {
    reader = new Database(lockPath, { readonly: true, timeout: 200 })
    return Number(reader.pragma('user_version', { simple: true })) || null
  } catch (error) {
    if (error instanceof Database.SqliteError) return null
    throw error
  } finally {
    reader?.close()
  }
}
