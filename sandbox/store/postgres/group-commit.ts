/**
 * Group commit: writes that arrive while a transaction is on its way share the next one. A transaction takes two round
 * trips: the first locks and loads what all of its writes need, then each write runs on these rows in memory, and the second
 * stores what they have added, with COMMIT and the notification of other nodes. A write's promise resolves after the commit.
 *
 * A write that throws is left out and the others run again, so a write must change nothing but its batch. When the database
 * refuses a statement because of its values, each write of the batch gets a transaction of its own. A deadlock, a
 * serialization failure, and a connection that breaks before anything was stored, are tried again. A connection that breaks
 * during the commit leaves its outcome unknown: the write is refused, and the client that sends it again finds it, or not.
 *
 * Numbers of events and of evidence are given under the lock of the row `head`, the last that a transaction takes and holds
 * until its commit: a follower that sees a number sees all before it, although commits of several nodes overtake each other.
 */
import type { Sha256Hex } from '../../../src/contract/control/evidence.ts'
import { StorageError } from '../store.ts'
import { Batch, jsonOf, type Loaded, loadBatch, type Needs, replaced, storeRows } from './batch.ts'
import { type Database, isConflict, isConnectionFailure, type Link, storageError, type Value } from './open.ts'

/** The counters of the state, as of the last commit that this node knows. */
export interface Head {
  last_seq: number
  events: number
  events_dropped: number
  last_dropped_seq: number
  exchanges: number
  exchanges_dropped: number
  changes: number
}

export const headColumns = 'last_seq, events, events_dropped, last_dropped_seq, exchanges, exchanges_dropped, changes'

interface Pending {
  needs: Needs
  /** In a transaction that is shared; null for one that has its own. */
  run: ((batch: Batch) => unknown) | null
  runAlone: ((batch: Batch, link: Link) => Promise<unknown>) | null
  /** Whether it replaces the whole state: then nothing else writes meanwhile. */
  isExclusive: boolean
  /** The generation on which it began. */
  generation: number
  resolve: (value: never) => void
  reject: (error: unknown) => void
}

export interface Connection {
  /** Runs a statement on committed rows. @throws StorageError when they cannot be read */
  read<Row>(text: string, values?: readonly Value[]): Promise<Row[]>
  /** Runs `run` in the next transaction, on the rows that it needs, and resolves after the commit. */
  write<Result>(needs: Needs, run: (batch: Batch) => Result): Promise<Result>
  /** Runs statements in a transaction of their own, with projects locked; 0 is the lock of what belongs to none. */
  change<Result>(projects: readonly number[], run: (batch: Batch, link: Link) => Promise<Result>): Promise<Result>
  /** The same while no other node writes, to replace the whole state. */
  replace<Result>(run: (batch: Batch, link: Link) => Promise<Result>): Promise<Result>
  /** Schedules a commit for buffered rows that no request waits for. */
  nudge(): void
  /** Resolves when what is queued and buffered now is committed, or has failed. */
  flush(): Promise<void>
  /** Commits queued writes, and refuses later ones. */
  close(): Promise<void>
}

export interface Hooks {
  sha256Hex: Sha256Hex
  /** The most beacons of a slot that are judged together. */
  maxJudged: number
  event_limit: number
  journal_limit: number
  /** The generation that this node knows. */
  generation(): number
  head(): Head
  /** Returns exchanges to be stored with a batch. */
  takeExchanges(): Record<string, Value>[]
  /** Called after the commit. */
  committed(head: Head | null, batch: Batch): void
  /** Called when exchanges that were taken are not stored. */
  putBack(): void
  /** Returns what others are notified of; null when there is nothing. */
  noticeOf(batch: Batch): string | null
  channel: string
  /** Called when the database has another generation than this node knows. */
  generationChanged(): void
}

/** Writes of one transaction at most. */
const mostTogether = 256
/** How often a transaction is tried that loses against others. */
const mostAttempts = 6
/** Rows over a limit that may pile up before they are removed together. */
export const eventSlack = 256
export const exchangeSlack = 64
const nudge_ms = 15

export function groupCommit(database: Database, hooks: Hooks): Connection {
  let queue: Pending[] = []
  let link: Promise<Link> | null = null
  let isScheduled = false
  let running: Promise<void> | null = null
  let isClosed = false
  let hasBuffered = false
  let idleTimer: NodeJS.Timeout | undefined

  const writer = async (): Promise<Link> => {
    const present = await link?.catch(() => null)
    if (present !== undefined && present !== null && !present.isBroken()) return present
    link = database.connect()
    return link
  }

  const schedule = () => {
    if (isScheduled || running !== null) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      running ??= commitAll().finally(() => {
        running = null
        if (queue.length > 0) schedule()
      })
    })
  }

  const commitAll = async () => {
    while (queue.length > 0 || hasBuffered) {
      hasBuffered = false
      clearTimeout(idleTimer)
      idleTimer = undefined
      const alone = queue.findIndex(({ runAlone }) => runAlone !== null)
      const count = alone === 0 ? 1 : Math.min(alone === -1 ? queue.length : alone, mostTogether)
      await commit(queue.splice(0, count))
      // Clients that have their response send more: they belong to the next transaction.
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
  }

  /** Commits writes together. Every one of them is resolved or rejected. */
  const commit = async (turn: readonly Pending[]): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      let used: Link | null = null
      let isStoring = false
      try {
        used = await writer()
        await transact(used, turn, () => {
          isStoring = true
        })
        return
      } catch (error) {
        hooks.putBack()
        const isLost = used === null || used.isBroken() || isConnectionFailure(error)
        if (isLost) used?.end()
        else if (used !== null) await used.script('ROLLBACK').catch(() => used?.end())
        const mayRetry = isConflict(error) || (isLost && !isStoring && attempt === 1)
        if (mayRetry && attempt < mostAttempts && !isClosed) continue
        const failure = storageError(error, 'write')
        if (failure instanceof StorageError || turn.length <= 1) {
          for (const { reject } of turn) reject(failure)
          return
        }
        for (const pending of turn) await commit([pending])
        return
      }
    }
  }

  const transact = async (used: Link, turn: readonly Pending[], onStoring: () => void): Promise<void> => {
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
    onStoring()
    const head = await store(used, batch)
    for (const resolve of resolves) resolve()
    hooks.committed(head, batch)
  }

  const runAlone = async (pending: Pending, loaded: Loaded, used: Link) => {
    if (pending.generation !== loaded.generation) throw replaced()
    const batch = new Batch(loaded, hooks.sha256Hex)
    const value = (await pending.runAlone?.(batch, used)) as never
    return { batch, resolves: [() => pending.resolve(value)] }
  }

  /** Runs each write on the loaded rows. One that throws is rejected after the commit, and has added nothing. */
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
  const store = async (used: Link, batch: Batch): Promise<Head | null> => {
    const sent = storeRows(used, batch)
    const exchanges = hooks.takeExchanges()
    const { events, evidence } = batch
    let head: Promise<Head[]> = Promise.resolve([])
    const changes = batch.notices.size
    if (events.length + evidence.length + exchanges.length + changes > 0) {
      head = moveHead(used, batch, exchanges)
      const known = hooks.head()
      if (events.length > 0 && known.events + events.length > hooks.event_limit + eventSlack) {
        head = prune(used, pruneEvents, head, hooks.event_limit)
      }
      if (exchanges.length > 0 && known.exchanges + exchanges.length > hooks.journal_limit + exchangeSlack) {
        head = prune(used, pruneExchanges, head, hooks.journal_limit)
      }
    }
    const notice = hooks.noticeOf(batch)
    if (notice !== null) sent.push(used.run(notify, [hooks.channel, notice]))
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

  const flush = async () => {
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
    nudge() {
      hasBuffered = true
      if (isClosed || isScheduled || running !== null || idleTimer !== undefined) return
      idleTimer = setTimeout(schedule, nudge_ms)
    },
    flush,
    async close() {
      await flush()
      isClosed = true
      clearTimeout(idleTimer)
      queue = []
      await link?.then(
        (used) => used.end(),
        () => {},
      )
    },
  }
}

/** With the numbers of the head, which only this statement knows. */
const notify = `SELECT pg_notify($1, $2 || ' ' || concat_ws(' ', ${headColumns})) FROM head`

/**
 * Moves the head by what a batch adds, and stores what the head gives numbers to: events, evidence, and the exchanges of the
 * node, of which one that was stored already counts once. One statement, since each costs as much as its rows do.
 */
function moveHead(
  link: Link,
  { events, evidence, notices }: Batch,
  exchanges: readonly Record<string, Value>[],
): Promise<Head[]> {
  const values: Value[] = [events.length, evidence.length, notices.size]
  const parts: string[] = []
  const add = (part: (rows: string) => string, rows: readonly Record<string, Value>[]) => {
    if (rows.length > 0) parts.push(part(`$${values.push(jsonOf(rows))}`))
  }
  add(insertExchanges, exchanges)
  const stored = exchanges.length === 0 ? '' : ', exchanges = exchanges + (SELECT count(*) FROM stored)'
  parts.push(`moved AS (UPDATE head SET last_seq = last_seq + $1, events = events + $1,
    last_evidence = last_evidence + $2, changes = changes + $3${stored} RETURNING ${headColumns}, last_evidence)`)
  add(insertEvidence, evidence)
  add(
    insertEvents,
    events.map((event, index) => ({ ...event, seq: index + 1 })),
  )
  return link.query<Head>(`WITH ${parts.join(', ')} SELECT ${headColumns} FROM moved`, values)
}

const insertExchanges = (rows: string) => `stored AS (INSERT INTO exchange
  (id, at_ms, method, path, status, error, reason_code, duration_us, project_id, session_id, slot_id,
   request_headers, request_body, response_headers, response_body, key_kind, key_id)
  SELECT new.id, at_ms, method, path, status, error, reason_code, duration_us, project.id, session_id, slot_id,
   request_headers, request_body, response_headers, response_body, key_kind, key_id
  FROM json_populate_recordset(NULL::exchange, ${rows}) new
  -- A reset may have removed the project meanwhile.
  LEFT JOIN project ON project.id = new.project_id
  ON CONFLICT (id) DO NOTHING RETURNING 1)`

const insertEvidence = (rows: string) => `proven AS (
  INSERT INTO evidence (id, project_id, seq, kind, ref, slot_id, at_ms, entry, hash)
  SELECT moved.last_evidence - $2::bigint + new.id, new.project_id, new.seq, new.kind, new.ref, new.slot_id, new.at_ms,
   new.entry, new.hash
  FROM moved, json_populate_recordset(NULL::evidence, ${rows}) new)`

const insertEvents = (rows: string) => `emitted AS (INSERT INTO event (seq, type, at_ms, project_id, slot_id, ref)
  SELECT moved.last_seq - $1::bigint + new.seq, new.type, new.at_ms, new.project_id, new.slot_id, new.ref
  FROM moved, json_populate_recordset(NULL::event, ${rows}) new)`

const pruneEvents = `
  WITH gone AS (DELETE FROM event WHERE seq <=
    (SELECT seq FROM event ORDER BY seq LIMIT 1 OFFSET (SELECT greatest(events - $1::bigint - 1, 0) FROM head))
    AND (SELECT events > $1::bigint FROM head) RETURNING seq)
  UPDATE head SET events = events - (SELECT count(*) FROM gone), events_dropped = events_dropped + (SELECT count(*) FROM gone),
    last_dropped_seq = greatest(last_dropped_seq, (SELECT max(seq) FROM gone)) RETURNING ${headColumns}`

const pruneExchanges = `
  WITH gone AS (DELETE FROM exchange WHERE id IN
    (SELECT id FROM exchange ORDER BY id LIMIT (SELECT greatest(exchanges - $1::bigint, 0) FROM head)) RETURNING 1)
  UPDATE head SET exchanges = exchanges - (SELECT count(*) FROM gone),
    exchanges_dropped = exchanges_dropped + (SELECT count(*) FROM gone) RETURNING ${headColumns}`

/** Removes what is over a limit, and resolves to the head after that. */
function prune(link: Link, text: string, before: Promise<Head[]>, limit: number): Promise<Head[]> {
  const pruned = link.query<Head>(text, [limit])
  return before.then(() => pruned)
}
