/**
 * The disk of a simulated process: a folder of real files. Its commits can fail as on a full disk, and a crash can come just
 * before or after one of them. What a crash leaves is a copy of the files as they were at that moment: SQLite's log is
 * there as far as it was written, and the next start has to recover from it.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type Database from 'better-sqlite3'

/** What happens at one of the next commits. */
export interface CommitFault {
  /** 1 is the next one. */
  commit: number
  kind: 'full' | 'crash_before' | 'crash_after'
}

export interface Disk {
  readonly database: string
  /** The fault that waits for its commit; null when there is none, or it has happened. */
  fault: CommitFault | null
  /** Keeps the files as they are now: what the process still writes is lost. */
  keep(): void
  /** Closes what a process left open, and puts back the files that were kept. */
  restoreKept(): void
  remove(): void
}

/** Memory, where there is a disk of it: what is lost is decided by the history, not by the computer. */
const root = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
const base = join(root, `svc-simulation-${process.pid}`)

let current: OpenDisk
let SqliteError: typeof Database.SqliteError

interface OpenDisk extends Disk {
  open: Set<Database.Database>
  atCommit(run: () => unknown): unknown
}

/** Lets every connection of this process run its commits through the disk in use. Called once. */
export function replaceCommits(): void {
  // Only here: it takes what it needs of Node when it is loaded, and that is replaced by now.
  const Driver = createRequire(import.meta.url)('better-sqlite3') as typeof Database
  const { prepare, exec, pragma } = Driver.prototype
  SqliteError = Driver.SqliteError
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
    pragma(this: Database.Database, ...args: Parameters<typeof pragma>) {
      note(this)
      return pragma.apply(this, args)
    },
  })
}

/** @param onCrash called in the middle of a commit: nothing of the process may be seen from then on */
export function createDisk(onCrash: () => void): Disk {
  mkdirSync(base, { recursive: true })
  const folder = mkdtempSync(join(base, 'disk-'))
  // Names of the product must not depend on the folder: the same history has the same path.
  const files = join(folder, 'files')
  const kept = join(folder, 'kept')
  mkdirSync(files)
  const disk: OpenDisk = {
    database: join(files, 'sandbox.db'),
    open: new Set(),
    fault: null,
    atCommit(run) {
      const { fault } = disk
      if (fault === null || --fault.commit > 0) return run()
      disk.fault = null
      if (fault.kind === 'full') throw new SqliteError('database or disk is full', 'SQLITE_FULL')
      if (fault.kind === 'crash_before') onCrash()
      const result = run()
      if (fault.kind === 'crash_after') onCrash()
      return result
    },
    keep() {
      if (!existsSync(kept)) cpSync(files, kept, { recursive: true })
    },
    restoreKept() {
      for (const db of disk.open) db.close()
      disk.open.clear()
      if (!existsSync(kept)) return
      rmSync(files, { recursive: true })
      renameSync(kept, files)
    },
    remove() {
      for (const db of disk.open) db.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  current = disk
  return disk
}

/** Removes the disks of this process. */
export function removeDisks(): void {
  rmSync(base, { recursive: true, force: true })
}
