/**
 * Group commit: writes that arrive while a transaction is on its way share the next one. A transaction takes two round
 * trips: the first locks and loads what all of its writes need, then each write runs on these rows in memory, and the
 * second stores what they added, with COMMIT and the notification of other nodes. A write's promise resolves after the
 * commit.
 *
 * A write that throws is left out and the others run again, so a write must change nothing but its batch. When the
 * database refuses a statement because of its values, the batch is tried without rows of the journal, which are then
 * stored one by one, and then each write of it in its own transaction. A deadlock, a serialization failure, and a connection that breaks before anything was stored, are tried again. A connection that
 * breaks during the commit leaves its outcome unknown: the write is refused, and the client that sends it again finds
 * it, or not.
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
import type { Sha256Hex } from '#contract/resources/evidence.ts'
import { StorageError } from '../store.ts'
import type { Needs } from '../writes/transaction.ts'
import { Batch, replaced } from './batch/batch.ts'
import { type Head, moveHead, notifyNodes } from './batch/head.ts'
import { type Loaded, loadBatch } from './batch/load.ts'
import { storeRows } from './batch/store.ts'
import {
  type Database,
  flushText,
  isConflict,
  isConnectionFailure,
  type Link,
  storageError,
  type Value,
} from './open.ts'

interface Pending {
  needs: Needs
  /** For a write in a shared transaction; null for a write with its own. */
  run: ((batch: Batch) => unknown) | null
  runAlone: ((batch: Batch, link: Link) => Promise<unknown>) | null
  /** Whether it replaces the whole state: then nothing else writes at the same time. */
  isExclusive: boolean
  /** The generation on which it began. */
  generation: number
  resolve: (value: never) => void
  reject: (error: unknown) => void
}

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
  /** Commits queued writes, and refuses later ones. */
  close(): Promise<void>
}

/** Exchanges that a transaction stores. One of the two functions is called when its outcome is known. */
export interface TakenExchanges {
  rows: Record<string, Value>[]
  stored(): void
  /** Buffers them again, up to a limit, and counts what is lost. */
  putBack(): void
  /** The database refused a transaction because of a value: of one of them, or of another row. */
  refused(): void
}

interface Hooks {
  sha256Hex: Sha256Hex
  /** The most beacons of a slot that are judged together. */
  maxJudged: number
  event_limit: number
  journal_limit: number
  /** The generation known to this node. */
  generation(): number
  head(): Head
  /**
   * Returns exchanges to be stored with a batch; none while one of them may be refused, so that it costs no write. Alone,
   * those are stored one by one.
   */
  takeExchanges(isAlone: boolean): TakenExchanges
  /** Whether exchanges wait to be stored one by one. */
  hasSuspects(): boolean
  /** Called with the counters of a commit that is on disk. */
  committed(head: Head): void
  /** Whether the database can flush earlier commits. Otherwise each commit waits for the disk itself. */
  canFlush: boolean
  /** Returns the notification for other nodes; null when there is nothing to notify. */
  renderNotice(batch: Batch): string | null
  channel: string
  /** Called when the database has a generation unknown to this node. */
  generationChanged(): void
}

/** The connection of transactions, and the one that flushes; null when each commit waits for the disk itself. */
interface Writer {
  link: Link
  flusher: { link: Link; flush: () => Promise<unknown> } | null
  isBroken(): boolean
  end(): void
}

/** The notifications of a commit, due when it is on disk. */
interface Committed {
  head: Head | null
  resolves: readonly (() => void)[]
  exchanges: TakenExchanges
  /** Whether it is on disk, and other nodes have been notified. */
  isFlushed: boolean
  /** Other notifications to nodes. */
  notice: string | null
}

/** Writes of one transaction at most. */
const maxWritesTogether = 256
/** How often to try a transaction that loses to others. */
const maxAttempts = 6
const nudge_ms = 15

export function groupCommit(database: Database, hooks: Hooks): Connection {
  let queue: Pending[] = []
  let pair: Promise<Writer> | null = null
  const unflushed = new Set<Promise<void>>()
  let isScheduled = false
  let running: Promise<void> | null = null
  let isClosed = false
  let hasBuffered = false
  let idleTimer: NodeJS.Timeout | undefined
  let later: NodeJS.Timeout | undefined

  const writer = async (): Promise<Writer> => {
    const present = await pair?.catch(() => null)
    if (present?.isBroken() === false) return present
    present?.end()
    pair = openWriter(database, hooks.canFlush)
    return pair
  }

  const schedule = () => {
    if (isScheduled || running !== null) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      running ??= commitAll().finally(() => {
        running = null
        if (queue.length > 0 || hasBuffered) schedule()
      })
    })
  }

  const commitAll = async () => {
    while (queue.length > 0 || hasBuffered) {
      hasBuffered = false
      clearTimeout(idleTimer)
      idleTimer = undefined
      const alone = queue.findIndex(({ runAlone }) => runAlone !== null)
      const count = alone === 0 ? 1 : Math.min(alone === -1 ? queue.length : alone, maxWritesTogether)
      await commit(queue.splice(0, count))
      while (hooks.hasSuspects() && !isClosed) await commit([])
      // Clients that have their response send more: they belong to the next transaction.
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
  }

  /** Commits writes together. Every write is resolved or rejected once the commit is on disk. */
  const commit = async (turn: readonly Pending[]): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      let used: Writer | null = null
      /** Of this attempt, once it stores rows. */
      const taken: TakenExchanges[] = []
      try {
        used = await writer()
        finish(used, turn, await transact(used, turn, taken))
        return
      } catch (error) {
        const failure = storageError(error, 'write')
        const isRefused = !(failure instanceof StorageError) && taken.some(({ rows }) => rows.length > 0)
        for (const exchanges of taken) isRefused ? exchanges.refused() : exchanges.putBack()
        const isLost = used === null || used.isBroken() || isConnectionFailure(error)
        if (isLost) used?.end()
        else if (used !== null) await used.link.script('ROLLBACK').catch(() => used?.end())
        const mayRetry = isConflict(error) || (isLost && taken.length === 0 && attempt === 1)
        if (mayRetry && attempt < maxAttempts && !isClosed) continue
        // The writes of the turn are tried again without the exchanges.
        if (isRefused && turn.length > 0) continue
        if (failure instanceof StorageError || turn.length <= 1) {
          for (const { reject } of turn) reject(failure)
          return
        }
        for (const pending of turn) await commit([pending])
        return
      }
    }
  }

  /** Resolves the writes of a commit after a flush, which the next commit does not wait for. */
  const finish = (used: Writer, turn: readonly Pending[], committed: Committed) => {
    const { head, resolves, exchanges, isFlushed, notice } = committed
    const report = () => {
      exchanges.stored()
      for (const resolve of resolves) resolve()
      if (head !== null) hooks.committed(head)
    }
    if (isFlushed || used.flusher === null) return report()
    const { link, flush } = used.flusher
    const reportAndNotify = () => {
      report()
      // Without it other nodes find events by their heartbeat, and decided slots that they wait for by their sweep.
      if (head !== null && notice !== null) notifyNodes(link, hooks.channel, notice, head).catch(() => used.end())
    }
    const done: Promise<void> = flush()
      .then(reportAndNotify, (error: unknown) => {
        used.end()
        exchanges.putBack()
        for (const { reject } of turn) reject(storageError(error, 'write'))
      })
      .finally(() => unflushed.delete(done))
    unflushed.add(done)
  }

  const transact = async (
    { link: used, flusher }: Writer,
    turn: readonly Pending[],
    taken: TakenExchanges[],
  ): Promise<Committed> => {
    const [first] = turn
    const started = used.run('BEGIN ISOLATION LEVEL READ COMMITTED')
    const locked =
      first?.isExclusive === true
        ? [used.script('SET LOCAL statement_timeout = 0'), used.run('SELECT FROM state FOR UPDATE')]
        : []
    const loading = loadBatch(
      used,
      turn.map(({ needs }) => needs),
      hooks.maxJudged,
    )
    const [, loaded] = await Promise.all([started, loading, ...locked])
    if (loaded.generation !== hooks.generation()) hooks.generationChanged()
    const { batch, resolves } = first?.runAlone != null ? await runAlone(first, loaded, used) : runAll(turn, loaded)
    const exchanges = hooks.takeExchanges(turn.length === 0)
    taken.push(exchanges)
    // Rare changes that every node must learn of are notified with their commit, and so once they are on disk.
    const isFlushed = flusher === null || first?.isExclusive === true || batch.notices.size > 0
    const notice = hooks.renderNotice(batch)
    const head = await store(used, batch, exchanges.rows, isFlushed ? notice : null, isFlushed)
    return { head, resolves, exchanges, isFlushed, notice }
  }

  const runAlone = async (pending: Pending, loaded: Loaded, used: Link) => {
    if (pending.generation !== loaded.generation) throw replaced()
    const batch = new Batch(loaded, hooks.sha256Hex)
    const value = (await pending.runAlone?.(batch, used)) as never
    return { batch, resolves: [() => pending.resolve(value)] }
  }

  /** Runs each write on the loaded rows. A write that throws is rejected after the commit, and has added nothing. */
  const runAll = (turn: readonly Pending[], loaded: Loaded) => {
    const failures = new Map<Pending, unknown>()
    for (const pending of turn) if (pending.generation !== loaded.generation) failures.set(pending, replaced())
    for (;;) {
      const batch = new Batch(loaded, hooks.sha256Hex)
      const resolves: (() => void)[] = []
      const failed = turn.find((pending) => {
        if (failures.has(pending)) {
          resolves.push(() => pending.reject(failures.get(pending)))
          return false
        }
        try {
          const value = pending.run?.(batch) as never
          resolves.push(() => pending.resolve(value))
          return false
        } catch (error) {
          failures.set(pending, error)
          return true
        }
      })
      if (failed === undefined) return { batch, resolves }
    }
  }

  /** Sends rows, numbers, notification and commit in one go. Resolves to the head when it has moved. */
  const store = async (
    used: Link,
    batch: Batch,
    exchanges: TakenExchanges['rows'],
    notice: string | null,
    waitsForDisk: boolean,
  ): Promise<Head | null> => {
    const sent = storeRows(used, batch)
    const head = moveHead(used, batch, exchanges, hooks)
    if (notice !== null) sent.push(notifyNodes(used, hooks.channel, notice))
    if (!waitsForDisk) sent.push(used.run('SET LOCAL synchronous_commit = off'))
    const ended = used.run('COMMIT')
    const [{ command }, heads] = await Promise.all([ended, head, ...sent])
    if (command !== 'COMMIT') throw new StorageError(new Error('the transaction was rolled back'), 'write', 1)
    return heads[0] ?? null
  }

  const push = <Result>(pending: Pick<Pending, 'needs'> & Partial<Pending>): Promise<Result> =>
    new Promise<Result>((resolve, reject) => {
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
      schedule()
    })

  const buffered = () => {
    clearTimeout(later)
    later = undefined
    hasBuffered = true
    if (isClosed || isScheduled || running !== null || idleTimer !== undefined) return
    idleTimer = setTimeout(schedule, nudge_ms)
  }

  const flush = async () => {
    if (later !== undefined) buffered()
    if (queue.length > 0 || hasBuffered) schedule()
    while (isScheduled || running !== null) {
      await (running ?? new Promise<void>((resolve) => setImmediate(resolve)))
    }
  }

  return {
    read: database.read,
    write: <Result>(needs: Needs, run: (batch: Batch) => Result) => push<Result>({ needs, run }),
    change: <Result>(projects: readonly number[], run: (batch: Batch, used: Link) => Promise<Result>) =>
      push<Result>({ needs: { projects }, runAlone: run }),
    replace: <Result>(run: (batch: Batch, used: Link) => Promise<Result>) =>
      push<Result>({ needs: {}, runAlone: run, isExclusive: true }),
    nudge(wait_ms) {
      if (wait_ms !== undefined) {
        later ??= setTimeout(buffered, wait_ms)
        return
      }
      buffered()
    },
    flush,
    async close() {
      await flush()
      isClosed = true
      clearTimeout(idleTimer)
      clearTimeout(later)
      queue = []
      await Promise.all(unflushed)
      await pair?.then(
        (used) => used.end(),
        () => {},
      )
    },
  }
}

async function openWriter(database: Database, canFlush: boolean): Promise<Writer> {
  const flusher = canFlush ? await database.connect() : null
  try {
    const link = await database.connect()
    return {
      link,
      flusher: flusher === null ? null : { link: flusher, flush: shareFlushes(flusher) },
      isBroken: () => link.isBroken() || flusher?.isBroken() === true,
      end() {
        link.end()
        flusher?.end()
      },
    }
  } catch (error) {
    flusher?.end()
    throw error
  }
}

/**
 * Returns a function that resolves after a flush that began later than its call: calls during a flush share the next
 * one.
 */
function shareFlushes(link: Link): () => Promise<unknown> {
  let running: Promise<unknown> = Promise.resolve()
  let next: Promise<unknown> | null = null
  return () => {
    next ??= running.then(() => {
      next = null
      running = link.run(flushText)
      return running
    })
    return next
  }
}
