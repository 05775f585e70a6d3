/**
 * The nodes that share a database: the number of this one, and the commits of others. A node keeps its number for as
 * long as it renews it every two seconds. Changes arrive by LISTEN on a separate connection; where the engine does not
 * support it, or the URL ends with `svc_listen=off`, the counters of the row `head` are read twenty times a second.
 */
import { randomBytes } from 'node:crypto'
import { SandboxError } from '#sandbox/sandbox-error.ts'
import type { StoreChange } from '../store.ts'
import type { Batch } from './batch/batch.ts'
import { type Head, headColumns } from './batch/head.ts'
import type { Link } from './servers/link.ts'
import { type Database, flushText, identifier } from './servers/open.ts'

export interface Nodes {
  /** The number of this node, from 0. */
  number(): number
  /** Whether this node may create identifiers that end with that number: another node may have what was not renewed. */
  holds(number: number): boolean
  /**
   * Whether the database responds, and changes of others arrive within moments: while they do not, nothing may be
   * cached. False half a second after the second heartbeat in a row without a response.
   */
  isLive(): boolean
  /** Returns the notification for others at the commit of a batch; null when there is nothing to notify. */
  renderNotice(batch: Batch): string | null
  count(): Promise<number>
  close(): Promise<void>
}

interface NodeEvents {
  /** Called with the counters after a commit of another node. */
  onHead(head: Head): void
  onChange(change: StoreChange): void
  /** Called with the current generation when it may have changed. */
  onGeneration(generation: { count: number; event_seq: number }): void
  head(): Head
  /** Called when the database has lost commits that are known here. */
  onLoss(): Promise<void>
  /** Called now and then while the database responds. */
  onRenewed(): void
}

const heartbeatMs = 2_000
/** Heartbeats that a connection may miss until it is given up. */
const maxMissedBeats = 2
/** A database that has not responded for this long has missed two heartbeats. */
const silentMs = 2 * heartbeatMs + 500
/** Heartbeats from one call of `onRenewed` to the next. */
const renewedEvery = 15
/** How long a node counts as alive after its last heartbeat, and how long it relies on its number: less, by its own clock. */
export const expiry = "interval '10 seconds'"
const heldMs = 8_000
const pollMs = 50
const maxBackoffMs = 1_000
/** Numbers below this fit an identifier; sandbox/rules/platform has the same limit. */
export const maxNodes = 64
/** Slots that one notification names. A longer list is read from the events. */
const maxNamedSlots = 300

interface NodeOptions {
  pid: number
  isSeeded: boolean
  /** Whether commits may be visible before they are on disk, and the database can flush them. */
  canFlush: boolean
  report: (error: unknown) => void
}

/** This node, with the connection over which it follows the others. */
interface Follower {
  readonly database: Database
  readonly options: NodeOptions
  readonly events: NodeEvents
  readonly token: string
  link: Link
  number: number
  /** Whether changes of others arrive. */
  isLive: boolean
  isClosed: boolean
  /** When the database last responded, on the monotonic clock. */
  answered_at: number
  /** When the last heartbeat that renewed the number was sent, on the monotonic clock. */
  renewed_at: number
  timer: NodeJS.Timeout | undefined
  beats: number
}

/** Takes over the connection `first`. */
export async function joinNodes(
  database: Database,
  first: Link,
  options: NodeOptions,
  events: NodeEvents,
): Promise<Nodes> {
  const { pid, isSeeded, report } = options
  const token = randomBytes(6).toString('hex')
  const renewed_at = performance.now()
  const node: Follower = {
    ...{ database, options, events, token, link: first, isLive: false, isClosed: false, timer: undefined, beats: 0 },
    number: await claimNumber(database, first, { token, pid, isSeeded }),
    ...{ answered_at: performance.now(), renewed_at },
  }
  const heartbeat = startHeartbeat(node)
  void follow(node).catch(report)

  return {
    number: () => node.number,
    holds: (number) => number === node.number && performance.now() - node.renewed_at < heldMs,
    isLive: () => node.isLive && isAnswering(node),
    renderNotice: (batch) => renderNotice(token, batch),
    async count() {
      const rows = await database.read<{ number: number }>(`SELECT number FROM node WHERE seen_at > now() - ${expiry}`)
      return rows.length
    },
    async close() {
      node.isClosed = true
      clearInterval(heartbeat)
      clearTimeout(node.timer)
      const { link, number } = node
      if (!link.isBroken()) {
        await link.run('DELETE FROM node WHERE number = $1 AND token = $2', [number, token]).catch(() => {})
      }
      link.end()
    },
  }
}

function startHeartbeat(node: Follower): NodeJS.Timeout {
  /** How many heartbeats have been due since one was sent that has no response; null without one. */
  let missed: number | null = null
  const heartbeat = setInterval(() => {
    if (!node.isLive) {
      if (performance.now() - node.link.heardAt() > silentMs) node.link.cut()
      return
    }
    if (missed !== null) {
      // Connections may be dead without an end, each of them: others are opened. The misses are counted, since a process that
      // was stopped has measured its own silence.
      if (++missed >= maxMissedBeats) node.database.cutSilent((maxMissedBeats - 0.5) * heartbeatMs)
      return
    }
    missed = 0
    beat(node)
      .then(() => catchUp(node))
      .catch(() => node.link.cut())
      .finally(() => {
        missed = null
      })
  }, heartbeatMs)
  heartbeat.unref()
  return heartbeat
}

function isAnswering({ answered_at }: Follower): boolean {
  return performance.now() - answered_at < silentMs
}

/** Renews the number of this node, or takes another one. */
async function beat(node: Follower): Promise<void> {
  const { database, link, token, number, options } = node
  const sent_at = performance.now()
  const text = 'UPDATE node SET seen_at = clock_timestamp() WHERE number = $1 AND token = $2'
  const { count } = await link.run(text, [number, token])
  node.answered_at = performance.now()
  const { pid, isSeeded } = options
  if (count === 0) node.number = await claimNumber(database, link, { token, pid, isSeeded })
  node.renewed_at = sent_at
  if (++node.beats % renewedEvery === 0) node.events.onRenewed()
}

/** Emits events of a node that died after its commit and before its notification. */
async function catchUp(node: Follower): Promise<void> {
  const head = await readState(node)
  if (head.last_seq <= node.events.head().last_seq) return
  await flush(node)
  node.events.onHead(head)
}

async function readState(node: Follower): Promise<Head> {
  const [row] = await node.link.query<Head & { generation: number; generation_seq: number }>(
    `SELECT generation, generation_seq, ${headColumns} FROM state, head`,
  )
  node.answered_at = performance.now()
  const { generation, generation_seq, ...head } = row!
  node.events.onGeneration({ count: generation, event_seq: generation_seq })
  return head
}

/** Waits until everything read is on disk: nothing is emitted that a crash could undo. */
async function flush({ options, link }: Follower): Promise<void> {
  if (options.canFlush) await link.run(flushText)
}

/** Follows the other nodes for as long as this one runs, over as many connections as it takes. */
async function follow(node: Follower): Promise<void> {
  let mayListen = node.database.wantsListen
  let backoff_ms = 50
  while (!node.isClosed) {
    try {
      if (node.link.isBroken()) {
        node.link = await node.database.connect()
        await beat(node)
      }
      backoff_ms = 50
      await (mayListen ? listen(node) : poll(node))
    } catch (error) {
      if (node.isClosed) return
      // Engines without LISTEN report it as unsupported, or as a syntax error.
      if (mayListen && isUnsupported(error)) mayListen = false
      else node.link.cut()
    }
    node.isLive = false
    if (node.isClosed) return
    await pause(node, backoff_ms)
    backoff_ms = Math.min(backoff_ms * 2, maxBackoffMs)
  }
}

async function listen(node: Follower): Promise<void> {
  const { database, link } = node
  link.client.on('notification', ({ payload = '' }) => onNotice(node, payload))
  await link.script(`LISTEN ${identifier(database.schema)}`)
  await goLive(node)
  await link.ended
}

function onNotice(node: Follower, payload: string): void {
  const { token, events } = node
  const [source = '', generation = '', kinds = '', slots = '', ...numbers] = payload.split(' ')
  if (source === token) return
  const [last_seq, stored, events_dropped, last_dropped_seq, exchanges, exchanges_dropped, changes] =
    numbers.map(Number)
  const head = { last_seq, events: stored, events_dropped, last_dropped_seq, exchanges, exchanges_dropped, changes }
  if (generation !== '-') void readState(node).catch(() => node.link.cut())
  events.onHead(head as Head)
  for (const kind of kinds.split(',')) if (isNotice(kind)) events.onChange({ kind })
  if (slots === '*') events.onChange({ kind: 'resumed' })
  else if (slots !== '-') events.onChange({ kind: 'decided', slot_ids: slots.split(',').map(Number) })
}

/** Reads the state, which is followed from here on. */
async function goLive(node: Follower): Promise<Head> {
  const known = node.events.head().last_seq
  let head = await readState(node)
  await flush(node)
  if (head.last_seq < known) {
    await node.events.onLoss()
    head = await readState(node)
  }
  node.isLive = true
  node.events.onHead(head)
  node.events.onChange({ kind: 'resumed' })
  return head
}

async function poll(node: Follower): Promise<void> {
  const { events } = node
  let seen = await goLive(node)
  for (;;) {
    await pause(node, pollMs)
    if (node.isClosed) return
    const head = await readState(node)
    if (head.last_seq > seen.last_seq || head.changes > seen.changes) await flush(node)
    // Compared with the last poll: the counters that a commit of this node returns already include the changes of
    // others.
    if (head.last_seq > seen.last_seq) {
      const rows = await node.link.query<{ slot_id: number }>(
        "SELECT slot_id FROM event WHERE seq > $1 AND seq <= $2 AND type = 'placement.decided' AND slot_id IS NOT NULL LIMIT 5000",
        [seen.last_seq, head.last_seq],
      )
      if (rows.length > 0) events.onChange({ kind: 'decided', slot_ids: rows.map(({ slot_id }) => slot_id) })
    }
    if (head.changes > seen.changes) {
      for (const kind of ['projects', 'clock', 'faults'] as const) events.onChange({ kind })
    }
    if (head.last_seq > events.head().last_seq) events.onHead(head)
    seen = head
  }
}

function pause(node: Follower, ms: number): Promise<void> {
  return new Promise<void>((resolve) => {
    node.timer = setTimeout(resolve, ms)
    node.timer.unref()
  })
}

function renderNotice(token: string, { events, notices, decided }: Batch): string | null {
  if (events.length === 0 && notices.size === 0) return null
  const kinds = notices.size === 0 ? '-' : [...notices].join(',')
  const slots = decided.length === 0 ? '-' : decided.length > maxNamedSlots ? '*' : decided.join(',')
  const generation = events.find(({ type }) => type === 'sandbox.reset' || type === 'sandbox.restored')
  return `${token} ${generation === undefined ? '-' : 'new'} ${kinds} ${slots}`
}

function isNotice(kind: string): kind is 'projects' | 'clock' | 'faults' {
  return kind === 'projects' || kind === 'clock' || kind === 'faults'
}

function isUnsupported(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(0A000|42601|42501)$/.test(String(error.code))
}

/**
 * Takes the smallest number that no other node has. A sandbox with a seed creates the same identifiers in every run, so
 * it waits until it is alone.
 * @throws SandboxError when all are taken, or a node with a seed is not alone
 */
async function claimNumber(
  { location, schema }: Database,
  link: Link,
  { token, pid, isSeeded }: { token: string; pid: number; isSeeded: boolean },
): Promise<number> {
  for (let waited_ms = 0; ; waited_ms += 500) {
    await link.script('BEGIN')
    try {
      await link.query('SELECT FROM chain WHERE project_id = 0 FOR UPDATE')
      await link.run(`DELETE FROM node WHERE seen_at < clock_timestamp() - ${expiry} OR token = $1`, [token])
      const nodes = await link.query<{ number: number; is_seeded: boolean }>('SELECT number, is_seeded FROM node')
      const isInTheWay = nodes.length > 0 && (isSeeded || nodes.some(({ is_seeded }) => is_seeded))
      if (!isInTheWay) {
        const taken = new Set(nodes.map((node) => node.number))
        const number = Array.from({ length: maxNodes }, (_, index) => index).find((index) => !taken.has(index))
        if (number === undefined) {
          throw new SandboxError('database_in_use', `${maxNodes} nodes share ${location} already.`, 'Stop one of them.')
        }
        await link.run('INSERT INTO node VALUES ($1, $2, $3, $4, clock_timestamp())', [number, token, pid, isSeeded])
        await link.script('COMMIT')
        return number
      }
      await link.script('ROLLBACK')
    } catch (error) {
      await link.script('ROLLBACK').catch(() => {})
      throw error
    }
    if (waited_ms >= 12_000) {
      throw new SandboxError(
        'database_in_use',
        `Another node uses ${location} (schema ${schema}), and a sandbox with a seed must be alone: it gives the same identifiers in every run.`,
        'Start it without --seed, or with its own --namespace.',
      )
    }
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
