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

interface Hooks {
  beforeCommit(): void
  afterCommit(writes: number): void
  afterRollback(): void
}

/** No queued write is lost silently: a failed commit rejects every write of its turn with a StorageError. */
export function groupCommit(db: Database.Database, hooks: Hooks): Connection {
  const turns = createTurns(db, hooks)
  /** Resolves when the other connection is done; null while there is none. */
  let other: Promise<unknown> | null = null

  const { write, read, nudge, flush } = turns
  return { db, write, read, nudge, flush, runExclusive, otherConnectionDone, withOtherConnection, close }

  function runExclusive<Result>(work: () => Result): Result {
    flush()
    turns.refuseClosed()
    try {
      return work()
    } catch (error) {
      throw isStorageFailure(error) ? new StorageError(error) : error
    }
  }

  async function withOtherConnection<Result>(work: () => Promise<Result>): Promise<Result> {
    await otherConnectionDone()
    flush()
    turns.refuseClosed()
    const working = work()
    other = working.catch(() => {})
    turns.hold(true)
    try {
      return await working
    } finally {
      other = null
      turns.hold(false)
    }
  }

  async function otherConnectionDone(): Promise<void> {
    while (other !== null) await other
  }

  async function close(): Promise<void> {
    await otherConnectionDone()
    turns.close()
  }
}

/** The number of writes from which a turn waits for no more. */
const maxGatheredWrites = 64

/** Queues writes, and commits those of a turn together. */
function createTurns(db: Database.Database, hooks: Hooks) {
  const transaction = turnTransaction(db, hooks)
  let queue: Pending[] = []
  let isScheduled = false
  /** Writes of the last turn. */
  let lastTurn = 0
  /** Writes that were queued when this turn last let the event loop go round. */
  let gathered = 0
  /** Whether another connection writes. */
  let isHeld = false
  let isClosed = false
  let idleTimer: NodeJS.Timeout | undefined

  return { write, read, nudge, flush, refuseClosed, hold, close }

  function write<Result>(work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (isClosed) return reject(stopped())
      queue.push({ run: work, resolve: resolve as (value: never) => void, reject })
      schedule()
    })
  }

  function read<Result>(query: () => Result): Result {
    try {
      refuseClosed()
      if (!isHeld) transaction.begin()
      schedule()
      return query()
    } catch (error) {
      throw readFailure(error)
    }
  }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    gathered = 0
    setImmediate(lastTurn > 1 ? gather : flush)
  }

  /** Under load, a turn grows as long as each round of the event loop brings more: a commit costs as much for fewer. */
  function gather(): void {
    const isGrowing = queue.length > gathered && queue.length < maxGatheredWrites
    gathered = queue.length
    if (isGrowing) setImmediate(gather)
    else flush()
  }

  function flush(): void {
    if (isClosed || isHeld) return
    isScheduled = false
    clearTimeout(idleTimer)
    idleTimer = undefined
    const turn = queue
    queue = []
    lastTurn = turn.length
    transaction.commit(turn)
  }

  function nudge(): void {
    if (isClosed || isScheduled || idleTimer !== undefined) return
    idleTimer = setTimeout(flush, 15)
  }

  function refuseClosed(): void {
    if (isClosed) throw stopped()
  }

  function hold(isOther: boolean): void {
    isHeld = isOther
    flush()
  }

  function close(): void {
    flush()
    isClosed = true
    clearTimeout(idleTimer)
  }
}

function stopped(): StorageError {
  return new StorageError(new Error('the sandbox has been stopped'))
}

/** The transaction of a turn: its reads open it, and its writes run at the end. */
function turnTransaction(db: Database.Database, hooks: Hooks) {
  const statements = prepareTransaction(db)
  let isOpen = false

  return { begin, commit }

  function begin(): void {
    if (isOpen) return
    statements.begin.run()
    isOpen = true
  }

  /** Runs and commits the writes of a turn, and resolves or rejects each. */
  function commit(turn: readonly Pending[]): void {
    const resolves: (() => void)[] = []
    try {
      begin()
      if (!runAll(turn, resolves)) {
        statements.rollback.run()
        statements.begin.run()
        hooks.afterRollback()
        resolves.length = 0
        for (const pending of turn) resolves.push(runOne(pending))
      }
      hooks.beforeCommit()
      statements.commit.run()
      isOpen = false
    } catch (error) {
      const failure = undo(error)
      for (const { reject } of turn) reject(failure)
      return
    }
    for (const resolve of resolves) resolve()
    hooks.afterCommit(turn.length)
  }

  /** Returns false when a write has thrown. */
  function runAll(turn: readonly Pending[], resolves: (() => void)[]): boolean {
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

  function runOne({ run, resolve, reject }: Pending): () => void {
    statements.savepoint.run()
    try {
      const value = run() as never
      statements.release.run()
      return () => resolve(value)
    } catch (error) {
      if (isStorageFailure(error)) throw error
      statements.rollbackTo.run()
      statements.release.run()
      hooks.afterRollback()
      return () => reject(error)
    }
  }

  /** Undoes a turn, and returns why it failed. */
  function undo(error: unknown): unknown {
    isOpen = false
    if (!db.open) return new StorageError(new Error('it is closed'))
    if (db.inTransaction) statements.rollback.run()
    hooks.afterRollback()
    return isStorageFailure(error) ? new StorageError(error) : error
  }
}

function prepareTransaction(db: Database.Database) {
  return {
    begin: db.prepare('BEGIN'),
    commit: db.prepare('COMMIT'),
    rollback: db.prepare('ROLLBACK'),
    savepoint: db.prepare('SAVEPOINT one'),
    release: db.prepare('RELEASE one'),
    rollbackTo: db.prepare('ROLLBACK TO one'),
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
