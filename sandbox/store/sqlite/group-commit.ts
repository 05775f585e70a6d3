/**
 * Group commit: everything that arrives in the same turn of the event loop shares one transaction. Reads open it, since
 * a read outside a transaction pays for its own lock; writes run at the end of the turn. After a turn of several
 * writes, the next one takes more than one round of the event loop. When one of them throws, the turn is rolled back
 * and run again with a savepoint around each write, so one failure affects no other: a write must change nothing but
 * rows, and caches that `afterRollback` clears. While another program holds the file, a turn is rolled back and run
 * again a little later: SQLite itself does not wait once a transaction has read. A write's promise resolves only after the commit, so a response is
 * never sent before the data it acknowledges is in the file.
 */
import type Database from 'better-sqlite3'
import { StorageError } from '../store.ts'
import { isBusy } from './file/explain.ts'
import { isStorageFailure, readFailure } from './file/failures.ts'

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
  /** Called after a turn with writes: its duration in seconds, and whether it was committed. */
  measured(duration_s: number, isCommitted: boolean): void
}

/** No queued write is lost silently: a failed commit rejects every write of its turn with a StorageError. */
export function groupCommit(db: Database.Database, hooks: Hooks): Connection {
  const turns = createTurns(db, hooks)
  /** Resolves when the other connection is done; null while there is none. */
  let other: Promise<unknown> | null = null

  const { write, read, nudge, flush } = turns
  return { db, write, read, nudge, flush, runExclusive, otherConnectionDone, withOtherConnection, close }

  function runExclusive<Result>(work: () => Result): Result {
    turns.flushAlone()
    turns.refuseClosed()
    try {
      return work()
    } catch (error) {
      throw isStorageFailure(error) ? new StorageError(error) : error
    }
  }

  async function withOtherConnection<Result>(work: () => Promise<Result>): Promise<Result> {
    await otherConnectionDone()
    turns.flushAlone()
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

/** How long writes wait for another program that holds the file, and how often they try, real milliseconds. */
const maxHeldMs = 2_000
const heldRetryMs = 20

/** Queues writes, and commits those of a turn together. */
function createTurns(db: Database.Database, hooks: Hooks) {
  const transaction = turnTransaction(db, hooks)
  let queue: Pending[] = []
  const timer = turnTimer(() => queue.length, flush)
  /** Whether another connection writes. */
  let isHeld = false
  let isClosed = false

  return { write, read, nudge, flush, flushAlone, refuseClosed, hold, close }

  function write<Result>(work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (isClosed) return reject(stopped())
      queue.push({ run: work, resolve: resolve as (value: never) => void, reject })
      timer.schedule()
    })
  }

  function read<Result>(query: () => Result): Result {
    try {
      refuseClosed()
      if (!isHeld) transaction.begin()
      timer.schedule()
      return query()
    } catch (error) {
      throw readFailure(error)
    }
  }

  function flush(): void {
    if (!isHeld) endTurn(true)
  }

  function endTurn(mayWait: boolean): void {
    if (isClosed) return
    const turn = queue
    queue = []
    timer.startNext(turn.length)
    if (transaction.commit(turn, mayWait && turn.length > 0)) return
    queue = [...turn, ...queue]
    timer.retry()
  }

  /**
   * Commits queued writes, and leaves no transaction open: followers that are notified of the commit read at once, which
   * would begin the next one. SQLite neither attaches, detaches nor copies a database inside a transaction.
   */
  function flushAlone(): void {
    if (isHeld) return
    isHeld = true
    try {
      endTurn(false)
    } finally {
      isHeld = false
    }
  }

  function nudge(): void {
    if (!isClosed) timer.nudge()
  }

  function refuseClosed(): void {
    if (isClosed) throw stopped()
  }

  function hold(isOther: boolean): void {
    isHeld = isOther
    flush()
  }

  function close(): void {
    if (!isHeld) endTurn(false)
    isClosed = true
    timer.startNext(0)
  }
}

/** Decides when a turn ends: with this round of the event loop, or a few rounds later under load. */
function turnTimer(countQueued: () => number, endTurn: () => void) {
  let isScheduled = false
  let lastTurn = 0
  /** Writes that were queued when this turn last let the event loop go round. */
  let gathered = 0
  let idleTimer: NodeJS.Timeout | undefined

  return { schedule, nudge, retry, startNext }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    gathered = 0
    setImmediate(lastTurn > 1 ? gather : endTurn)
  }

  /** Under load, a turn grows as long as each round of the event loop brings more: a commit costs as much for fewer. */
  function gather(): void {
    const queued = countQueued()
    const isGrowing = queued > gathered && queued < maxGatheredWrites
    gathered = queued
    if (isGrowing) setImmediate(gather)
    else endTurn()
  }

  function nudge(): void {
    if (isScheduled || idleTimer !== undefined) return
    idleTimer = setTimeout(endTurn, 15)
  }

  function retry(): void {
    isScheduled = true
    idleTimer = setTimeout(endTurn, heldRetryMs)
  }

  function startNext(writes: number): void {
    lastTurn = writes
    isScheduled = false
    clearTimeout(idleTimer)
    idleTimer = undefined
  }
}

function stopped(): StorageError {
  return new StorageError(new Error('the sandbox has been stopped'))
}

/** The transaction of a turn: its reads open it, and its writes run at the end. */
function turnTransaction(db: Database.Database, hooks: Hooks) {
  const statements = prepareTransaction(db)
  let isOpen = false
  /** Since when writes wait for another program; null when they do not. */
  let waitsSince: number | null = null

  return { begin, commit }

  function begin(): void {
    if (isOpen) return
    statements.begin.run()
    isOpen = true
  }

  /**
   * Runs and commits the writes of a turn, and resolves or rejects each. Returns false when nothing was done because
   * another program holds the file, if they may wait.
   */
  function commit(turn: readonly Pending[], mayWait: boolean): boolean {
    const resolves: (() => void)[] = []
    const started = performance.now()
    try {
      begin()
      if (!runAll(turn, resolves)) {
        statements.rollback.run()
        statements.begin.run()
        hooks.afterRollback()
        resolves.length = 0
        for (const pending of turn) resolves.push(runOne(pending, statements, hooks))
      }
      hooks.beforeCommit()
      statements.commit.run()
      isOpen = false
    } catch (error) {
      const failure = undo(error)
      if (mayWait && isBusy(error) && performance.now() - (waitsSince ?? started) < maxHeldMs) {
        waitsSince ??= started
        return false
      }
      waitsSince = null
      for (const { reject } of turn) reject(failure)
      if (turn.length > 0) hooks.measured((performance.now() - started) / 1_000, false)
      return true
    }
    waitsSince = null
    if (turn.length > 0) hooks.measured((performance.now() - started) / 1_000, true)
    for (const resolve of resolves) resolve()
    hooks.afterCommit(turn.length)
    return true
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

/** Returns false when a write has thrown. */
function runAll(turn: readonly Pending[], resolves: (() => void)[]): boolean {
  try {
    for (const pending of turn) resolves.push(runWrite(pending))
    return true
  } catch (error) {
    if (isStorageFailure(error)) throw error
    return false
  }
}

function runOne(pending: Pending, statements: Statements, hooks: Hooks): () => void {
  statements.savepoint.run()
  try {
    const resolve = runWrite(pending)
    statements.release.run()
    return resolve
  } catch (error) {
    if (isStorageFailure(error)) throw error
    statements.rollbackTo.run()
    statements.release.run()
    hooks.afterRollback()
    return () => pending.reject(error)
  }
}

function runWrite({ run, resolve }: Pending): () => void {
  const value = run() as never
  return () => resolve(value)
}

type Statements = ReturnType<typeof prepareTransaction>

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
