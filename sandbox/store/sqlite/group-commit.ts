/**
 * Group commit: writes that arrive in the same turn of the event loop share one transaction, each under a savepoint of
 * its own, so that one failure harms no other. A write's promise settles only after the commit, hence a response never
 * leaves before what it acknowledges is in the file.
 */
import type Database from 'better-sqlite3'
import { StorageError } from '../store.ts'

interface Pending {
  run: () => unknown
  resolve: (value: never) => void
  reject: (error: unknown) => void
}

export interface GroupCommit {
  /** Runs `work` in the next transaction and settles after its commit. */
  write<Result>(work: () => Result): Promise<Result>
  /** Makes sure that a commit happens soon, for buffered rows that nobody waits for. */
  nudge(): void
  /** Commits what is queued, now. */
  flush(): void
}

/** Queued work is dropped nowhere: a failed commit rejects every write of its turn with a StorageError. */
export function groupCommit(
  db: Database.Database,
  hooks: { beforeCommit: () => void; afterCommit: () => void; afterRollback: () => void },
): GroupCommit {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  const savepoint = db.prepare('SAVEPOINT one')
  const release = db.prepare('RELEASE one')
  const rollbackTo = db.prepare('ROLLBACK TO one')

  let queue: Pending[] = []
  let scheduled = false
  let idleTimer: NodeJS.Timeout | undefined

  const flush = () => {
    scheduled = false
    clearTimeout(idleTimer)
    idleTimer = undefined
    const turn = queue
    queue = []
    const settled: (() => void)[] = []
    try {
      begin.run()
      for (const { run, resolve, reject } of turn) {
        savepoint.run()
        try {
          const value = run() as never
          settled.push(() => resolve(value))
        } catch (error) {
          if (isStorageFailure(error)) throw error
          rollbackTo.run()
          hooks.afterRollback()
          settled.push(() => reject(error))
        }
        release.run()
      }
      hooks.beforeCommit()
      commit.run()
    } catch (error) {
      if (db.inTransaction) rollback.run()
      hooks.afterRollback()
      const failure = isStorageFailure(error) ? new StorageError(error) : error
      for (const { reject } of turn) reject(failure)
      return
    }
    for (const settle of settled) settle()
    hooks.afterCommit()
  }

  return {
    write(work) {
      return new Promise((resolve, reject) => {
        queue.push({ run: work, resolve: resolve as (value: never) => void, reject })
        if (!scheduled) {
          scheduled = true
          setImmediate(flush)
        }
      })
    },
    nudge() {
      if (scheduled || idleTimer !== undefined) return
      idleTimer = setTimeout(flush, 15)
    },
    flush,
  }
}

const storageCodes = /^SQLITE_(FULL|READONLY|BUSY|LOCKED|IOERR|CANTOPEN|CORRUPT|NOTADB|NOMEM|PROTOCOL)/

function isStorageFailure(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && storageCodes.test(error.code)
}
