/** One transaction: its writes run on the rows that they need, and what they added is stored with the commit. */
import type { Sha256Hex } from '#contract/resources/evidence.ts'
import { StorageError } from '../../store.ts'
import type { Needs } from '../../writes/transaction.ts'
import type { Link, Value } from '../servers/link.ts'
import { Batch, replaced } from './batch.ts'
import { type Head, moveHead, notifyNodes } from './head.ts'
import { type Loaded, loadBatch } from './load.ts'
import { storeRows } from './store.ts'
import type { Writer } from './writer.ts'

export interface Pending {
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

/** Exchanges that a transaction stores. One of the two functions is called when its outcome is known. */
export interface TakenExchanges {
  rows: Record<string, Value>[]
  stored(): void
  /** Buffers them again, up to a limit, and counts what is lost. */
  putBack(): void
  /** The database refused a transaction because of a value: of one of them, or of another row. */
  refused(): void
}

export interface Hooks {
  sha256Hex: Sha256Hex
  /** The most beacons of a slot that are judged together. */
  maxJudged: number
  event_limit: number
  journal_limit: number
  /** The generation known to this node. */
  generation(): number
  head(): Head
  /** Whether a new row may have this identifier: its number is that of this node. */
  ownsId(id: number): boolean
  /**
   * Returns exchanges to be stored with a batch; none while one of them may be refused, so that it costs no write. Alone,
   * those are stored one by one.
   */
  takeExchanges(isAlone: boolean): TakenExchanges
  /** Whether exchanges wait to be stored one by one. */
  hasSuspects(): boolean
  /** Called with the counters of a commit that is on disk. */
  committed(head: Head): void
  /** Called after a turn with writes: its duration in seconds until it is on disk, and whether it is. */
  measured(duration_s: number, isStored: boolean): void
  /** Whether the database can flush earlier commits. Otherwise each commit waits for the disk itself. */
  canFlush: boolean
  /** Returns the notification for other nodes; null when there is nothing to notify. */
  renderNotice(batch: Batch): string | null
  channel: string
  /** Called when the database has a generation unknown to this node. */
  generationChanged(): void
}

/** The notifications of a commit, due when it is on disk. */
export interface Committed {
  head: Head | null
  resolves: readonly (() => void)[]
  exchanges: TakenExchanges
  /** Whether it is on disk, and other nodes have been notified. */
  isFlushed: boolean
  /** Other notifications to nodes. */
  notice: string | null
}

/** @param taken receives the exchanges that are stored with the commit, once rows are sent */
export async function transact(
  { link, flusher }: Writer,
  turn: readonly Pending[],
  taken: TakenExchanges[],
  hooks: Hooks,
): Promise<Committed> {
  const [first] = turn
  const isExclusive = first?.isExclusive === true
  const loaded = await beginBatch(link, turn, hooks.maxJudged, isExclusive)
  if (loaded.generation !== hooks.generation()) hooks.generationChanged()
  const { batch, resolves } =
    first?.runAlone != null ? await runAlone(first, loaded, link, hooks) : runAll(turn, loaded, hooks)
  const exchanges = hooks.takeExchanges(turn.length === 0)
  taken.push(exchanges)
  // Rare changes that every node must learn of are notified with their commit, and so once they are on disk.
  const isFlushed = flusher === null || isExclusive || batch.notices.size > 0
  const notice = hooks.renderNotice(batch)
  const head = await commitBatch(link, { batch, exchanges: exchanges.rows, notice, isFlushed }, hooks)
  return { head, resolves, exchanges, isFlushed, notice }
}

async function beginBatch(
  link: Link,
  turn: readonly Pending[],
  maxJudged: number,
  isExclusive: boolean,
): Promise<Loaded> {
  const started = link.run('BEGIN ISOLATION LEVEL READ COMMITTED')
  const locked = isExclusive
    ? [link.script('SET LOCAL statement_timeout = 0'), link.run('SELECT FROM state FOR UPDATE')]
    : []
  const loading = loadBatch(
    link,
    turn.map(({ needs }) => needs),
    maxJudged,
  )
  const [, loaded] = await Promise.all([started, loading, ...locked])
  return loaded
}

async function runAlone(pending: Pending, loaded: Loaded, link: Link, { sha256Hex, ownsId }: Hooks) {
  if (pending.generation !== loaded.generation) throw replaced()
  const batch = new Batch(loaded, sha256Hex, ownsId)
  const value = (await pending.runAlone?.(batch, link)) as never
  return { batch, resolves: [() => pending.resolve(value)] }
}

/** Runs each write on the loaded rows. A write that throws is rejected after the commit, and has added nothing. */
function runAll(turn: readonly Pending[], loaded: Loaded, { sha256Hex, ownsId }: Hooks) {
  const failures = new Map<Pending, unknown>()
  for (const pending of turn) if (pending.generation !== loaded.generation) failures.set(pending, replaced())
  for (;;) {
    const batch = new Batch(loaded, sha256Hex, ownsId)
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

interface Sent {
  batch: Batch
  exchanges: TakenExchanges['rows']
  notice: string | null
  /** Whether the commit itself waits for the disk, and notifies other nodes. */
  isFlushed: boolean
}

/** Sends rows, numbers, notification and commit in one go. Resolves to the head when it has moved. */
async function commitBatch(
  link: Link,
  { batch, exchanges, notice, isFlushed }: Sent,
  hooks: Hooks,
): Promise<Head | null> {
  const sent = storeRows(link, batch)
  const head = moveHead(link, batch, exchanges, hooks)
  if (isFlushed && notice !== null) sent.push(notifyNodes(link, hooks.channel, notice))
  if (!isFlushed) sent.push(link.run('SET LOCAL synchronous_commit = off'))
  const ended = link.run('COMMIT')
  const [{ command }, heads] = await Promise.all([ended, head, ...sent])
  if (command !== 'COMMIT') throw new StorageError(new Error('the transaction was rolled back'), 'write', 1)
  return heads[0] ?? null
}
