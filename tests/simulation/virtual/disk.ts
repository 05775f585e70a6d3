/**
 * The disk of a simulated process: a folder of real files. Its commits can fail as on a full disk, and a crash can come just
 * before or after one of them. What a crash leaves is a copy of the files as they were at that moment: SQLite's log is
 * there as far as it was written, and the next start has to recover from it. A power loss leaves less: see flushes.ts.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type Database from 'better-sqlite3'
import type { Dice } from '#tests/reliability/dice.ts'
import { createFlushes, type Flushes } from './flushes.ts'

/** What happens at one of the next commits. */
export interface CommitFault {
  /** 1 is the next one. */
  commit: number
  kind: 'full' | 'crash_before' | 'crash_after' | 'power_after'
}

/** How a process ends: by itself, or with its computer. */
export type End = 'crash' | 'power loss'

export interface Disk {
  readonly database: string
  /** The fault that waits for its commit; null when there is none, or it has happened. */
  fault: CommitFault | null
  /** Keeps the files as they are now, or as a power loss leaves them: what the process still writes is lost. */
  keep(end: End, dice: Dice): void
  /** Closes what a process left open, and puts back the files that were kept. */
  restoreKept(): void
  /**
   * Copies the log into the database file, as the thread of the store does.
   * @param isWhole false: the power is lost in the middle of it
   */
  checkpoint(isWhole: boolean): void
  /** A file or a folder was flushed, by its inode. */
  flush(inode: number): void
  /** Removes the lock file of a sandbox that does not run. */
  removeLock(): void
  remove(): void
}

/** Memory, where there is a disk of it: what is lost is decided by the history, not by the computer. */
const root = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
const base = join(root, `svc-simulation-${process.pid}`)

let current: OpenDisk
let Driver: typeof Database
let originals: Pick<Database.Database, 'prepare' | 'exec' | 'pragma' | 'close'>

interface OpenDisk extends Disk {
  open: Set<Database.Database>
  readonly folder: string
  flushes: Flushes
  /** What was flushed when the files were kept; null: all that is in them. */
  keptFlushes: ReadonlyMap<string, Buffer> | null
  onFlush(): void
  atCommit(run: () => unknown): unknown
}

/** Lets every connection of this process run its commits and flushes through the disk in use. Called once. */
export function replaceCommits(): void {
  // Only here: it takes what it needs of Node when it is loaded, and that is replaced by now.
  Driver = createRequire(import.meta.url)('better-sqlite3') as typeof Database
  const { prepare, exec, pragma, close } = Driver.prototype
  originals = { prepare, exec, pragma, close }
  const note = (db: Database.Database) => current.open.add(db)
  Object.assign(Driver.prototype, {
    prepare(this: Database.Database, sql: string) {
      note(this)
      const statement = prepare.call(this, sql) as Database.Statement<[]>
      if (sql !== 'COMMIT') return statement
      const disk = current
      const changes = (prepare.call(this, 'SELECT total_changes()') as Database.Statement<[], number>).pluck()
      let before = changes.get()
      return {
        run() {
          const now = changes.get()
          const isRead = now === before
          before = now
          return isRead ? statement.run() : disk.atCommit(() => statement.run())
        },
      }
    },
    exec(this: Database.Database, sql: string) {
      note(this)
      return exec.call(this, sql)
    },
    pragma(this: Database.Database, source: string, options?: Database.PragmaOptions) {
      note(this)
      return flushing(this, source, () => pragma.call(this, source, options))
    },
    close(this: Database.Database) {
      return flushing(this, 'close', () => close.call(this))
    },
  })
}

/**
 * Runs what flushes, and notes that it has, as SQLite documents it for WAL with synchronous=NORMAL: a checkpoint flushes
 * the log before it copies it, and the file after that.
 */
function flushing<Result>(db: Database.Database, what: string, run: () => Result): Result {
  const { flushes, folder } = current
  const path = db.name
  if (!path.startsWith(folder)) return run()
  const isCheckpoint = what === 'close' || /^wal_checkpoint\((PASSIVE|TRUNCATE)\)$/.test(what)
  if (isCheckpoint) flushLog(path)
  const result = run()
  const [row] = (Array.isArray(result) ? result : []) as { busy?: number; log?: number; checkpointed?: number }[]
  const isCopied = isCheckpoint && row?.busy === 0 && row.log === row.checkpointed
  const isWhole = what === 'close' ? !existsSync(`${path}-wal`) : isCopied
  // The first page of a new file is written with a journal, which flushes both and their names.
  const isCreated = what === 'journal_mode = WAL' && !flushes.isFlushed(path)
  if (isWhole || isCreated) flushes.file(path)
  if (isCreated) flushes.names(dirname(path))
  return result
}

function flushLog(path: string): void {
  const { flushes, database } = current
  if (!existsSync(`${path}-wal`)) return
  flushes.file(`${path}-wal`)
  flushes.names(dirname(path))
  if (path === database) current.onFlush()
}

/**
 * @param onEnd called in the middle of a commit: nothing of the process may be seen from then on
 * @param onFlush called when all that has been committed is on the disk
 */
export function createDisk(onEnd: (end: End) => void, onFlush: () => void): Disk {
  mkdirSync(base, { recursive: true })
  const folder = mkdtempSync(join(base, 'disk-'))
  // Names of the product must not depend on the folder: the same history has the same path.
  const files = join(folder, 'files')
  const kept = join(folder, 'kept')
  mkdirSync(files)
  // Of a database in memory, which has its snapshots there.
  process.env.TMPDIR = folder
  const disk: OpenDisk = {
    database: join(files, 'sandbox.db'),
    folder: files,
    open: new Set(),
    flushes: createFlushes(files, new Map()),
    keptFlushes: null,
    onFlush,
    fault: null,
    atCommit(run) {
      const { fault } = disk
      if (fault === null || --fault.commit > 0) return run()
      disk.fault = null
      if (fault.kind === 'full') throw new Driver.SqliteError('database or disk is full', 'SQLITE_FULL')
      if (fault.kind === 'crash_before') onEnd('crash')
      const result = run()
      if (fault.kind === 'crash_after') onEnd('crash')
      if (fault.kind === 'power_after') onEnd('power loss')
      return result
    },
    keep(end, dice) {
      if (existsSync(kept)) return
      disk.keptFlushes = end === 'crash' ? disk.flushes.kept() : null
      if (end === 'crash') cpSync(files, kept, { recursive: true })
      else disk.flushes.losePower(kept, dice)
    },
    restoreKept() {
      closeAll(disk)
      if (!existsSync(kept)) return
      rmSync(files, { recursive: true })
      renameSync(kept, files)
      disk.flushes = createFlushes(files, disk.keptFlushes)
    },
    checkpoint(isWhole) {
      if (!existsSync(`${disk.database}-wal`)) return
      const db = new Driver(disk.database, { timeout: 0 })
      try {
        if (isWhole) db.pragma('wal_checkpoint(PASSIVE)')
        else {
          flushLog(disk.database)
          originals.pragma.call(db, 'wal_checkpoint(PASSIVE)')
        }
      } finally {
        originals.close.call(db)
        disk.open.delete(db)
      }
    },
    flush: (inode) => disk.flushes.file(inode),
    removeLock: () => rmSync(`${disk.database}.lock`),
    remove() {
      closeAll(disk)
      rmSync(folder, { recursive: true, force: true })
    },
  }
  current = disk
  return disk
}

function closeAll(disk: OpenDisk): void {
  for (const db of disk.open) originals.close.call(db)
  disk.open.clear()
}

/** Notes on the disk in use that a file or a folder was flushed, by its inode. */
export function noteFlush(inode: number): void {
  current.flush(inode)
}

/** Removes the disks of this process. */
export function removeDisks(): void {
  rmSync(base, { recursive: true, force: true })
}
