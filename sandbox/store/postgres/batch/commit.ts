/** Commits turns of writes, again where that may help, and reports each once it is on disk. */
import { StorageError } from '../../store.ts'
import { isConflict, isConnectionFailure, storageError } from '../failures.ts'
import type { Database } from '../servers/open.ts'
import { notifyNodes } from './head.ts'
import { type Attempt, type Committed, type Hooks, type Pending, type TakenExchanges, transact } from './transact.ts'
import { keepWriter, type Writer } from './writer.ts'

/** How often to try a transaction that loses to others. */
const maxAttempts = 6

export function createCommits(database: Database, hooks: Hooks, isClosed: () => boolean) {
  const { findWriter, end } = keepWriter(database, hooks.canFlush)
  const { finish, allFlushed } = acknowledgements(hooks)
  const { measured } = hooks
  const rivals = watchRivals()

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

  /**
   * Commits writes together, with those that `takeMore` returns while they wait for another node. Every write is resolved
   * or rejected once the commit is on disk.
   */
  async function commit(writes: readonly Pending[], takeMore: TakeMore = () => []): Promise<void> {
    const turn = { writes: [...writes], started: performance.now(), takeMore }
    for (let attempt = 1; ; attempt++) {
      const outcome = await tryCommit(turn, attempt)
      if (outcome === 'again') continue
      if (outcome === 'apart') for (const pending of turn.writes) await commit([pending])
      return
    }
  }

  async function tryCommit(turn: Turn, count: number): Promise<'done' | 'again' | 'apart'> {
    const { writes, started } = turn
    let used: Writer | null = null
    const attempt = startAttempt(turn)
    const { exchanges } = attempt
    try {
      used = await findWriter()
      const committed = await transact(used, attempt, hooks)
      rivals.see(committed)
      finish(used, turn, committed, exchanges)
      return 'done'
    } catch (error) {
      const failure = storageError(error, 'write')
      const isRefused = !(failure instanceof StorageError) && exchanges.rows.length > 0
      if (isRefused) exchanges.refused()
      else exchanges.putBack()
      const isLost = await rollBack(used, error)
      const isUnsent = isLost && !attempt.isSent
      if (mayRetry(error, count, isUnsent) && !isClosed()) return 'again'
      // The writes of the turn are tried again without the exchanges.
      if (isRefused && writes.length > 0) return 'again'
      if (!(failure instanceof StorageError) && writes.length > 1) return 'apart'
      for (const { reject } of writes) reject(failure)
      if (writes.length > 0) measured(secondsSince(started), false)
      return 'done'
    }
  }

  function startAttempt({ writes, takeMore }: Turn): Attempt {
    const projects = new Set(writes.flatMap(({ needs }) => needs.projects ?? []))
    const mayGrow = writes.every(({ runAlone }) => runAlone === null) && rivals.wroteTo(projects)
    return {
      writes,
      exchanges: writes.some(({ runAlone }) => runAlone !== null)
        ? noExchanges
        : hooks.takeExchanges(writes.length === 0),
      grow: mayGrow ? () => writes.push(...takeMore(projects, writes.length)) : null,
      isSent: false,
    }
  }

  async function close(): Promise<void> {
    await allFlushed()
    await end()
  }
}

/** Takes writes that need no other projects than those, as far as a transaction that has `count` may have more. */
type TakeMore = (projects: ReadonlySet<number>, count: number) => Pending[]

/** Writes that are committed together, and `performance.now()` of the first attempt. */
interface Turn {
  writes: Pending[]
  started: number
  takeMore: TakeMore
}

/** Of a write with its own transaction, which may replace those that are stored. */
const noExchanges: TakenExchanges = { rows: [], stored() {}, putBack() {}, refused() {} }

/**
 * Watches whether other nodes write to the projects of this one: a chain has moved since its last commit. Its writes then
 * wait for the project before they are loaded, so that those that come meanwhile are in the same transaction: two nodes
 * that take turns would otherwise have half of the writes in each.
 */
function watchRivals() {
  const known = new Map<number, number>()
  const contended = new Set<number>()

  return {
    wroteTo: (projects: ReadonlySet<number>) => [...projects].some((id) => contended.has(id)),
    see({ loaded, heads }: Committed): void {
      for (const [id, { seq }] of loaded) {
        if (seq === (known.get(id) ?? seq)) contended.delete(id)
        else contended.add(id)
      }
      for (const [id, { seq }] of heads) known.set(id, seq)
    },
  }
}

function secondsSince(started: number): number {
  return (performance.now() - started) / 1_000
}

/** Resolves writes that were committed, each once it is on disk. */
function acknowledgements(hooks: Hooks) {
  const unflushed = new Set<Promise<void>>()

  return { finish, allFlushed: () => Promise.all(unflushed) }

  /** Resolves the writes of a commit after a flush, which the next commit does not wait for. */
  function finish(used: Writer, turn: Turn, committed: Committed, exchanges: TakenExchanges): void {
    if (committed.isFlushed || used.flusher === null) {
      report(turn, committed, exchanges)
      return
    }
    const { flush } = used.flusher
    const done: Promise<void> = flush()
      .then(
        () => {
          report(turn, committed, exchanges)
          notify(used, committed)
        },
        (error: unknown) => {
          used.end()
          exchanges.putBack()
          for (const { reject } of turn.writes) reject(storageError(error, 'write'))
          if (turn.writes.length > 0) hooks.measured(secondsSince(turn.started), false)
        },
      )
      .finally(() => unflushed.delete(done))
    unflushed.add(done)
  }

  function report({ writes, started }: Turn, { resolves, head }: Committed, exchanges: TakenExchanges): void {
    if (writes.length > 0) hooks.measured(secondsSince(started), true)
    exchanges.stored()
    for (const resolve of resolves) resolve()
    if (head !== null) hooks.committed(head)
  }

  function notify({ flusher, end: endWriter }: Writer, { head, notice }: Committed): void {
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
