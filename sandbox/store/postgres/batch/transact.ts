/** One transaction: its writes run on the rows that they need, and what they added is stored with the commit. */
import type { Sha256Hex } from '#contract/resources/evidence.ts'
import { StorageError } from '../../store.ts'
import type { ChainHead } from '../../writes/evidence.ts'
import type { Needs } from '../../writes/transaction.ts'
import type { Link, Value } from '../servers/link.ts'
import { Batch, replaced } from './batch.ts'
import { type Head, moveHead, notifyNodes, storeExchanges } from './head.ts'
import { type Loaded, loadBatch, lockChains, lockState } from './load.ts'
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

/** One attempt to commit writes. */
export interface Attempt {
  writes: readonly Pending[]
  /** Stored with the commit. */
  exchanges: TakenExchanges
  /** Adds writes that came in the meantime, once the projects of the others are locked; null to lock and load at once. */
  grow: (() => void) | null
  /** Whether rows have been sent that a commit may have stored. */
  isSent: boolean
}

/** The notifications of a commit, due when it is on disk. */
export interface Committed {
  head: Head | null
  /** The heads of the chains that it locked, before and after. */
  loaded: ReadonlyMap<number, ChainHead>
  heads: ReadonlyMap<number, ChainHead>
  resolves: readonly (() => void)[]
  /** Whether it is on disk, and other nodes have been notified. */
  isFlushed: boolean
  /** Other notifications to nodes. */
  notice: string | null
}

/** Runs and stores writes, and those that come while they wait for their projects. */
export async function transact({ link, flusher }: Writer, attempt: Attempt, hooks: Hooks): Promise<Committed> {
  const { writes } = attempt
  const [first] = writes
  const isExclusive = first?.isExclusive === true
  const begun = await beginBatch(link, attempt, hooks.maxJudged, isExclusive)
  const { generation, loaded, stored } = begun
  if (generation !== hooks.generation()) hooks.generationChanged()
  const { batch, resolves } =
    first?.runAlone != null ? await runAlone(first, begun, link, hooks) : runAll(writes, begun, hooks)
  // Rare changes that every node must learn of are notified with their commit, and so once they are on disk.
  const isFlushed = flusher === null || isExclusive || batch.notices.size > 0
  const notice = hooks.renderNotice(batch)
  attempt.isSent = true
  const head = await commitBatch(link, { batch, exchanges: stored, notice, isFlushed }, hooks)
  return { head, loaded: loaded.heads, heads: new Map([...loaded.heads, ...batch.heads]), resolves, isFlushed, notice }
}

interface Begun {
  generation: number
  loaded: Loaded
  /** How many exchanges were stored. */
  stored: number
}

async function beginBatch(link: Link, attempt: Attempt, maxJudged: number, isExclusive: boolean): Promise<Begun> {
  const { writes, exchanges, grow } = attempt
  const listNeeds = () => writes.map(({ needs }) => needs)
  const begun = [link.run('BEGIN ISOLATION LEVEL READ COMMITTED')]
  if (isExclusive) begun.push(link.run('SET LOCAL statement_timeout = 0'), link.run('SELECT FROM state FOR UPDATE'))
  const locked = lockState(link)
  // Before the projects are locked: no other node waits while they are stored.
  const storing = storeExchanges(link, exchanges.rows)
  if (grow !== null) {
    await Promise.all([...begun, locked, storing, lockChains(link, listNeeds())])
    grow()
  }
  const loading = loadBatch(link, listNeeds(), maxJudged)
  const [generation, stored, loaded] = await Promise.all([locked, storing, loading, ...begun])
  return { generation, stored, loaded }
}

async function runAlone(pending: Pending, { generation, loaded }: Begun, link: Link, { sha256Hex, ownsId }: Hooks) {
  if (pending.generation !== generation) throw replaced()
  const batch = new Batch(loaded, sha256Hex, ownsId)
  const value = (await pending.runAlone?.(batch, link)) as never
  return { batch, resolves: [() => pending.resolve(value)] }
}

/** Runs each write on the loaded rows. A write that throws is rejected after the commit, and has added nothing. */
function runAll(turn: readonly Pending[], { generation, loaded }: Begun, { sha256Hex, ownsId }: Hooks) {
  const failures = new Map<Pending, unknown>()
  for (const pending of turn) if (pending.generation !== generation) failures.set(pending, replaced())
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
  /** How many are stored. */
  exchanges: number
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
  if (isFlushed) sent.push(link.run('SET LOCAL synchronous_commit TO DEFAULT'))
  const ended = link.run('COMMIT')
  const [{ command }, heads] = await Promise.all([ended, head, ...sent])
  if (command !== 'COMMIT') throw new StorageError(new Error('the transaction was rolled back'), 'write', 1)
  return heads[0] ?? null
}
