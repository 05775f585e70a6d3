/**
 * Group commit: everything that arrives in the same turn of the event loop shares one transaction. Reads open it, since
 * a read outside a transaction pays for its own lock; writes run at the end of the turn. After a turn of several
 * writes, the next one takes more than one round of the event loop. When one of them throws, the turn is rolled back
 * and run again with a savepoint around each write, so one failure affects no other: a write must change nothing but
 * rows, and caches that `afterRollback` clears. A write's promise resolves only after the commit, so a response is
 * never sent before the data it acknowledges is in the file.
 */
import type Database from 'better-sqlite3'
import { StorageError } from '../store.ts'

interface Pending {
  run: () => unknown
  resolve: (value: never) => void
  reject: (error: unknown) => void
}

export interface Connection {
  readonly db: Database.Database
  /** Runs `work` in the next transaction and resolves after its commit. */
  write<Result>(work: () => Result): Promise<Result>
  /**
   * Runs `query` on the committed rows, in the transaction of this turn. Every read of a request goes through it,
   * including the decoding of its rows, so that damage to the file is explained.
   * @throws StorageError when they cannot be read
   */
  read<Result>(query: () => Result): Result
  /** Schedules a commit for buffered rows that no request waits for. */
  nudge(): void
  /** Commits queued writes now. */
  flush(): void
  /** Commits queued writes, then runs `work` while no transaction is open. */
  runExclusive<Result>(work: () => Result): Result
  /** Commits queued writes, then delays others while another connection writes. Reads go on. */
  withOtherConnection<Result>(work: () => Promise<Result>): Promise<Result>
  /** Resolves when no other connection writes. */
  otherConnectionDone(): Promise<void>
  /** Commits queued writes, and refuses later ones. */
  close(): Promise<void>
}

/** The number of writes from which a turn waits for no more. */
const maxGatheredWrites = 64

/** No queued write is lost silently: a failed commit rejects every write of its turn with a StorageError. */
export function groupCommit(
  db: Database.Database,
  hooks: { beforeCommit: () => void; afterCommit: (writes: number) => void; afterRollback: () => void },
): Connection {
  const begin = db.prepare('BEGIN')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  const savepoint = db.prepare('SAVEPOINT one')
  const release = db.prepare('RELEASE one')
  const rollbackTo = db.prepare('ROLLBACK TO one')

  let queue: Pending[] = []
  let isScheduled = false
  /** Writes of the last turn. */
  let lastTurn = 0
  /** Writes that were queued when this turn last let the event loop go round. */
  let gathered = 0
  let isOpen = false
  let isClosed = false
  /** Resolves when the other connection is done; null while there is none. */
  let other: Promise<unknown> | null = null
  let idleTimer: NodeJS.Timeout | undefined

  const schedule = () => {
    if (isScheduled) return
    isScheduled = true
    gathered = 0
    setImmediate(lastTurn > 1 ? gather : flush)
  }

  /** Under load, a turn grows as long as each round of the event loop brings more: a commit costs as much for fewer. */
  const gather = () => {
    if (queue.length <= gathered || queue.length >= maxGatheredWrites) return flush()
    gathered = queue.length
    setImmediate(gather)
  }

  const open = () => {
    if (isClosed) throw new StorageError(new Error('the sandbox has been stopped'))
    if (isOpen || other !== null) return
    begin.run()
    isOpen = true
  }

  /** Returns false when a write has thrown. */
  const runAll = (turn: readonly Pending[], resolves: (() => void)[]): boolean => {
    try {
      for (const { run, resolve } of turn) {
        const value = run() as never
        resolves.push(() => resolve(value))
      }
      return true
    } catch (error) {
      if (isStorageFailure(error)) throw error
      return false
    }
  }

  const runOne = ({ run, resolve, reject }: Pending): (() => void) => {
    savepoint.run()
    try {
      const value = run() as never
      release.run()
      return () => resolve(value)
    } catch (error) {
      if (isStorageFailure(error)) throw error
      rollbackTo.run()
      release.run()
      hooks.afterRollback()
      return () => reject(error)
    }
  }

  /** Undoes a turn, and returns why it failed. */
  const failed = (error: unknown): unknown => {
    isOpen = false
    if (!db.open) return new StorageError(new Error('it is closed'))
    if (db.inTransaction) rollback.run()
    hooks.afterRollback()
    return isStorageFailure(error) ? new StorageError(error) : error
  }

  const flush = () => {
    if (isClosed || other !== null) return
    isScheduled = false
    clearTimeout(idleTimer)
    idleTimer = undefined
    const turn = queue
    queue = []
    lastTurn = turn.length
    const resolves: (() => void)[] = []
    try {
      open()
      if (!runAll(turn, resolves)) {
        rollback.run()
        begin.run()
        hooks.afterRollback()
        resolves.length = 0
        for (const pending of turn) resolves.push(runOne(pending))
      }
      hooks.beforeCommit()
      commit.run()
      isOpen = false
    } catch (error) {
      const failure = failed(error)
      for (const { reject } of turn) reject(failure)
      return
    }
    for (const resolve of resolves) resolve()
    hooks.afterCommit(turn.length)
  }

  const otherConnectionDone = async () => {
    while (other !== null) await other
  }

  return {
    db,
    write(work) {
      return new Promise((resolve, reject) => {
        if (isClosed) return reject(new StorageError(new Error('the sandbox has been stopped')))
        queue.push({ run: work, resolve: resolve as (value: never) => void, reject })
        schedule()
      })
    },
    read(query) {
      try {
        open()
        schedule()
        return query()
      } catch (error) {
        throw readFailure(error)
      }
    },
    nudge() {
      if (isClosed || isScheduled || idleTimer !== undefined) return
      idleTimer = setTimeout(flush, 15)
    },
    flush,
    runExclusive(work) {
      flush()
      if (isClosed) throw new StorageError(new Error('the sandbox has been stopped'))
      try {
        return work()
      } catch (error) {
        throw isStorageFailure(error) ? new StorageError(error) : error
      }
    },
    otherConnectionDone,
    async withOtherConnection(work) {
      await otherConnectionDone()
      flush()
      if (isClosed) throw new StorageError(new Error('the sandbox has been stopped'))
      const working = work()
      other = working.catch(() => {})
      try {
        return await working
      } finally {
        other = null
        flush()
      }
    },
    async close() {
      await otherConnectionDone()
      flush()
      isClosed = true
      clearTimeout(idleTimer)
    },
  }
}

const storageCodes = /^SQLITE_(FULL|READONLY|BUSY|LOCKED|IOERR|CANTOPEN|CORRUPT|NOTADB|NOMEM|PROTOCOL)/

/** Whether the database refuses everything, not this statement alone. */
export function isStorageFailure(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && storageCodes.test(error.code)
}

/** SQLite's own functions refuse a text that is not the JSON that was written. */
function isMalformedJson(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && error.code === 'SQLITE_ERROR' && error.message === 'malformed JSON'
  )
}

/**
 * Returns why rows cannot be read, as a StorageError; other errors unchanged. An error from a thread has lost its class
 * on the way, but kept its name.
 */
export function readFailure(error: unknown): unknown {
  if (error instanceof StorageError || !(error instanceof Error)) return error
  if (error.name === 'StorageError') return new StorageError(error.cause ?? error, 'read')
  return isStorageFailure(error) || isMalformedJson(error) ? new StorageError(error, 'read') : error
}
