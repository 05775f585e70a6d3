/**
 * Group commit: writes that arrive while a transaction is on its way share the next one. A transaction takes two round
 * trips: the first locks and loads what all of its writes need, then each write runs on these rows in memory, and the
 * second stores what they added, with COMMIT. A write's promise resolves after the commit. While other nodes write to the
 * same projects, a trip before these waits for the projects, and the writes that come meanwhile join.
 *
 * A write that throws is left out and the others run again, so a write must change nothing but its batch. When the
 * database refuses a statement because of its values, the batch is tried without rows of the journal, which are then
 * stored one by one, and then each write of it in its own transaction. A deadlock, a serialization failure, and a
 * connection that breaks before anything was stored, are tried again. A connection that breaks during the commit leaves
 * its outcome unknown: the write is refused, and the client that sends it again finds it, or not.
 *
 * Numbers of events and of evidence are assigned under the lock of the row `head`, the last lock that a transaction
 * takes and keeps until its commit: a follower that sees a number sees all before it, although commits of several nodes
 * overtake each other.
 *
 * No lock is held while the disk writes. A transaction commits without waiting for it, which gives its locks to other
 * nodes, and its writes are acknowledged, its events emitted, and other nodes notified, after a flush on a second
 * connection: one for everything committed in the meantime. Both connections are opened before the commit, so a server
 * that has crashed since then, and lost it, cannot report a flush.
 */
import { StorageError } from '../store.ts'
import type { Needs } from '../writes/transaction.ts'
import type { Batch } from './batch/batch.ts'
import { createCommits } from './batch/commit.ts'
import type { Hooks, Pending } from './batch/transact.ts'
import type { Link, Value } from './servers/link.ts'
import type { Database } from './servers/open.ts'

export interface Connection {
  /** Runs a statement on committed rows. @throws StorageError when they cannot be read */
  read<Row>(text: string, values?: readonly Value[]): Promise<Row[]>
  /** Runs `run` in the next transaction, on the rows it needs, and resolves after the commit. */
  write<Result>(needs: Needs, run: (batch: Batch) => Result): Promise<Result>
  /** Runs statements in their own transaction, with projects locked; 0 is the lock for everything outside projects. */
  change<Result>(projects: readonly number[], run: (batch: Batch, link: Link) => Promise<Result>): Promise<Result>
  /** The same while no other node writes, to replace the whole state. */
  replace<Result>(run: (batch: Batch, link: Link) => Promise<Result>): Promise<Result>
  /** Schedules a commit for buffered rows that no request waits for, in some milliseconds. */
  nudge(wait_ms?: number): void
  /** Resolves when everything queued and buffered so far is committed, or has failed. */
  flush(): Promise<void>
  /** Resolves when every commit so far, of whatever node, is on disk. */
  untilDurable(): Promise<void>
  /** Commits queued writes, and refuses later ones. */
  close(): Promise<void>
}

/** Writes of one transaction at most. */
const maxWritesTogether = 256
const nudgeMs = 15

export function groupCommit(database: Database, hooks: Hooks): Connection {
  const turns = commitTurns(database, hooks)
  let later: NodeJS.Timeout | undefined

  return {
    read: database.read,
    write: <Result>(needs: Needs, run: (batch: Batch) => Result) => turns.push<Result>({ needs, run }),
    change: <Result>(projects: readonly number[], run: (batch: Batch, used: Link) => Promise<Result>) =>
      turns.push<Result>({ needs: { projects }, runAlone: run }),
    replace: <Result>(run: (batch: Batch, used: Link) => Promise<Result>) =>
      turns.push<Result>({ needs: {}, runAlone: run, isExclusive: true }),
    nudge(wait_ms) {
      if (wait_ms === undefined) nudgeNow()
      else later ??= setTimeout(nudgeNow, wait_ms)
    },
    flush,
    untilDurable: turns.untilDurable,
    async close() {
      await flush()
      clearTimeout(later)
      await turns.close()
    },
  }

  function nudgeNow(): void {
    clearTimeout(later)
    later = undefined
    turns.nudge()
  }

  function flush(): Promise<void> {
    if (later !== undefined) nudgeNow()
    return turns.flush()
  }
}

/** Queues writes, and commits those that arrive while a transaction is on its way together. */
function commitTurns(database: Database, hooks: Hooks) {
  const { commit, flush: untilDurable, close: closeCommits } = createCommits(database, hooks, () => isClosed)
  let queue: Pending[] = []
  const timer = turnTimer(commitAll, () => queue.length > 0 || hasBuffered)
  let isClosed = false
  let hasBuffered = false

  return { push, nudge, flush, untilDurable, close }

  function push<Result>(pending: Pick<Pending, 'needs'> & Partial<Pending>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      if (isClosed) return reject(new StorageError(new Error('the sandbox has been stopped')))
      queue.push({
        run: null,
        runAlone: null,
        isExclusive: false,
        generation: hooks.generation(),
        ...pending,
        resolve: resolve as (value: never) => void,
        reject,
      })
      timer.schedule()
    })
  }

  async function commitAll(): Promise<void> {
    while (queue.length > 0 || hasBuffered) {
      hasBuffered = false
      timer.cancelIdle()
      const isAlone = queue[0]?.runAlone != null
      await commit(isAlone ? queue.splice(0, 1) : takeShared(() => true, 0), (projects, count) =>
        takeShared(({ needs }) => isWithin(needs, projects), count),
      )
      // A write with its own transaction stores none.
      if (isAlone) hasBuffered = true
      while (hooks.hasSuspects() && !isClosed) await commit([])
      // Clients that have their response send more: they belong to the next transaction.
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
  }

  /** Takes the writes at the start of the queue that may share a transaction which has `count` already. */
  function takeShared(isFit: (pending: Pending) => boolean, count: number): Pending[] {
    const end = queue.findIndex((pending) => pending.runAlone !== null || !isFit(pending))
    return queue.splice(0, Math.min(end === -1 ? queue.length : end, maxWritesTogether - count))
  }

  /** Schedules a commit for buffered rows. */
  function nudge(): void {
    hasBuffered = true
    if (!isClosed) timer.nudge()
  }

  async function flush(): Promise<void> {
    if (queue.length > 0 || hasBuffered) timer.schedule()
    await timer.untilIdle()
  }

  async function close(): Promise<void> {
    isClosed = true
    timer.cancelIdle()
    queue = []
    await closeCommits()
  }
}

/** Whether a write locks no other projects than those: it names the project of each slot. */
function isWithin({ projects = [], slots = [] }: Needs, locked: ReadonlySet<number>): boolean {
  return projects.every((id) => locked.has(id)) && (slots.length === 0 || projects.length > 0)
}

/** Runs `commitAll` with this round of the event loop or a little later, once at a time. */
function turnTimer(commitAll: () => Promise<void>, hasMore: () => boolean) {
  let isScheduled = false
  let running: Promise<void> | null = null
  let idleTimer: NodeJS.Timeout | undefined

  return { schedule, nudge, cancelIdle, untilIdle }

  function schedule(): void {
    if (isScheduled || running !== null) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      running ??= commitAll().finally(() => {
        running = null
        if (hasMore()) schedule()
      })
    })
  }

  function nudge(): void {
    if (isScheduled || running !== null || idleTimer !== undefined) return
    idleTimer = setTimeout(schedule, nudgeMs)
  }

  function cancelIdle(): void {
    clearTimeout(idleTimer)
    idleTimer = undefined
  }

  async function untilIdle(): Promise<void> {
    while (isScheduled || running !== null) {
      await (running ?? new Promise<void>((resolve) => setImmediate(resolve)))
    }
  }
}
