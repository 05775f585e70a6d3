/** Commits turns of writes, again where that may help, and reports each once it is on disk. */
import { StorageError } from '../../store.ts'
import { isConflict, isConnectionFailure, storageError } from '../failures.ts'
import type { Database } from '../servers/open.ts'
import { notifyNodes } from './head.ts'
import { type Committed, type Hooks, type Pending, type TakenExchanges, transact } from './transact.ts'
import { keepWriter, type Writer } from './writer.ts'

/** How often to try a transaction that loses to others. */
const maxAttempts = 6

export function createCommits(database: Database, hooks: Hooks, isClosed: () => boolean) {
  const { findWriter, end } = keepWriter(database, hooks.canFlush)
  const { finish, allFlushed } = acknowledgements(hooks)
  const { measured } = hooks

  return { commit, flush, close }

  /** Resolves when everything that is committed is on disk, on the standbys too that the server waits for. */
  async function flush(): Promise<void> {
    try {
      const { flusher } = await findWriter()
      await flusher?.flush()
    } catch (error) {
      throw storageError(error, 'read')
    }
  }

  /** Commits writes together. Every write is resolved or rejected once the commit is on disk. */
  async function commit(turn: readonly Pending[]): Promise<void> {
    const started = performance.now()
    for (let attempt = 1; ; attempt++) {
      const outcome = await tryCommit({ turn, started }, attempt)
      if (outcome === 'again') continue
      if (outcome === 'apart') for (const pending of turn) await commit([pending])
      return
    }
  }

  async function tryCommit(timed: TimedTurn, attempt: number): Promise<'done' | 'again' | 'apart'> {
    const { turn, started } = timed
    let used: Writer | null = null
    /** Of this attempt, once it stores rows. */
    const taken: TakenExchanges[] = []
    try {
      used = await findWriter()
      finish(used, timed, await transact(used, turn, taken, hooks))
      return 'done'
    } catch (error) {
      const failure = storageError(error, 'write')
      const isRefused = !(failure instanceof StorageError) && taken.some(({ rows }) => rows.length > 0)
      for (const exchanges of taken) isRefused ? exchanges.refused() : exchanges.putBack()
      const isLost = await rollBack(used, error)
      const isUnsent = isLost && taken.length === 0
      if (mayRetry(error, attempt, isUnsent) && !isClosed()) return 'again'
      // The writes of the turn are tried again without the exchanges.
      if (isRefused && turn.length > 0) return 'again'
      if (!(failure instanceof StorageError) && turn.length > 1) return 'apart'
      for (const { reject } of turn) reject(failure)
      if (turn.length > 0) measured(secondsSince(started), false)
      return 'done'
    }
  }

  async function close(): Promise<void> {
    await allFlushed()
    await end()
  }
}

/** Writes that are committed together, and `performance.now()` of the first attempt. */
interface TimedTurn {
  turn: readonly Pending[]
  started: number
}

function secondsSince(started: number): number {
  return (performance.now() - started) / 1_000
}

/** Resolves writes that were committed, each once it is on disk. */
function acknowledgements(hooks: Hooks) {
  const unflushed = new Set<Promise<void>>()

  return { finish, allFlushed: () => Promise.all(unflushed) }

  /** Resolves the writes of a commit after a flush, which the next commit does not wait for. */
  function finish(used: Writer, timed: TimedTurn, committed: Committed): void {
    const { exchanges, isFlushed } = committed
    if (isFlushed || used.flusher === null) {
      report(timed, committed)
      return
    }
    const { flush } = used.flusher
    const done: Promise<void> = flush()
      .then(
        () => reportAndNotify(used, timed, committed),
        (error: unknown) => {
          used.end()
          exchanges.putBack()
          for (const { reject } of timed.turn) reject(storageError(error, 'write'))
          if (timed.turn.length > 0) hooks.measured(secondsSince(timed.started), false)
        },
      )
      .finally(() => unflushed.delete(done))
    unflushed.add(done)
  }

  function report({ turn, started }: TimedTurn, { exchanges, resolves, head }: Committed): void {
    if (turn.length > 0) hooks.measured(secondsSince(started), true)
    exchanges.stored()
    for (const resolve of resolves) resolve()
    if (head !== null) hooks.committed(head)
  }

  function reportAndNotify({ flusher, end: endWriter }: Writer, timed: TimedTurn, committed: Committed): void {
    const { head, notice } = committed
    report(timed, committed)
    if (flusher === null || head === null || notice === null) return
    // Without it other nodes find events by their heartbeat, and decided slots that they wait for by their sweep.
    notifyNodes(flusher.link, hooks.channel, notice, head).catch(endWriter)
  }
}

function mayRetry(error: unknown, attempt: number, isUnsent: boolean): boolean {
  return attempt < maxAttempts && (isConflict(error) || (isUnsent && attempt === 1))
}

/** Ends a connection that is lost, and rolls back on another one. Resolves to whether it is lost. */
async function rollBack(used: Writer | null, error: unknown): Promise<boolean> {
  if (used === null) return true
  const isLost = used.isBroken() || isConnectionFailure(error)
  if (isLost) used.end()
  else await used.link.script('ROLLBACK').catch(() => used.end())
  return isLost
}
