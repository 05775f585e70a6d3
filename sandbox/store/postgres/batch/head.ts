/**
 * The row `head`: the counters of the state, and the numbers of events and evidence, which are assigned in the order of
 * commits. Every transaction that adds any locks it last.
 */

import type { Link, Value } from '../servers/link.ts'
import type { Batch } from './batch.ts'
import { type JsonRow, toJson } from './json.ts'

/** The counters of the state, as of the last commit known to this node. */
export interface Head {
  last_seq: number
  events: number
  events_dropped: number
  last_dropped_seq: number
  exchanges: number
  exchanges_dropped: number
  changes: number
}

const headNames = [
  ...(['last_seq', 'events', 'events_dropped', 'last_dropped_seq'] as const),
  ...(['exchanges', 'exchanges_dropped', 'changes'] as const),
]
export const headColumns = headNames.join(', ')

/** Rows over a limit that may pile up before they are removed together. */
const eventSlack = 256
const exchangeSlack = 64

/**
 * Moves the head by the rows that a batch adds, and stores the rows that the head numbers, events and evidence, with the
 * heads of the chains. One statement, since each costs as much as its rows do. Nothing is awaited here.
 * @param exchanges how many the transaction has stored before
 * @returns the head; none when it has not moved
 */
export function moveHead(
  link: Link,
  batch: Batch,
  exchanges: number,
  { head: lastKnown, event_limit, journal_limit }: { head(): Head; event_limit: number; journal_limit: number },
): Promise<Head[]> {
  const { events, evidence, notices } = batch
  if (events.length + evidence.length + exchanges + notices.size === 0) return Promise.resolve([])
  const known = lastKnown()
  let head = addRows(link, batch, exchanges)
  if (events.length > 0 && known.events + events.length > event_limit + eventSlack) {
    head = prune(link, pruneEvents, head, event_limit)
  }
  if (exchanges > 0 && known.exchanges + exchanges > journal_limit + exchangeSlack) {
    head = prune(link, pruneExchanges, head, journal_limit)
  }
  return head
}

function addRows(link: Link, { events, evidence, notices, heads }: Batch, exchanges: number): Promise<Head[]> {
  const values: Value[] = [events.length, evidence.length, notices.size, exchanges]
  const parts = [
    `moved AS (UPDATE head SET last_seq = last_seq + $1, events = events + $1, last_evidence = last_evidence + $2,
     changes = changes + $3, exchanges = exchanges + $4 RETURNING ${headColumns}, last_evidence)`,
  ]
  const add = (part: (rows: string) => string, rows: readonly JsonRow[]) => {
    if (rows.length > 0) parts.push(part(`$${values.push(toJson(rows))}`))
  }
  add(insertEvidence, evidence)
  add(
    moveChains,
    [...heads].map(([project_id, { seq, hash }]) => ({ project_id, seq, hash: `\\x${hash}` })),
  )
  add(
    insertEvents,
    events.map((event, index) => ({ ...event, seq: index + 1 })),
  )
  return link.query<Head>(`WITH ${parts.join(', ')} SELECT ${headColumns} FROM moved`, values)
}

/** Stores the exchanges of the node, and resolves to how many are new. */
export async function storeExchanges(link: Link, exchanges: readonly JsonRow[]): Promise<number> {
  return exchanges.length === 0 ? 0 : (await link.run(insertExchanges, [toJson(exchanges)])).count
}

const insertExchanges = `INSERT INTO exchange
  (id, at_ms, method, path, status, error, reason_code, duration_us, project_id, session_id, slot_id,
   request_headers, request_body, response_headers, response_body, key_kind, key_id)
  SELECT new.id, at_ms, method, path, status, error, reason_code, duration_us, project.id, session_id, slot_id,
   request_headers, request_body, response_headers, response_body, key_kind, key_id
  FROM json_populate_recordset(NULL::exchange, $1) new
  -- A reset may have removed the project meanwhile.
  LEFT JOIN project ON project.id = new.project_id
  ON CONFLICT (id) DO NOTHING`

const insertEvidence = (rows: string) => `proven AS (
  INSERT INTO evidence (id, project_id, seq, kind, ref, slot_id, at_ms, entry, hash)
  SELECT moved.last_evidence - $2::bigint + new.id, new.project_id, new.seq, new.kind, new.ref, new.slot_id, new.at_ms,
   new.entry, new.hash
  FROM moved, json_populate_recordset(NULL::evidence, ${rows}) new)`

const moveChains = (rows: string) => `chained AS (UPDATE chain SET seq = new.seq, hash = new.hash
  FROM json_populate_recordset(NULL::chain, ${rows}) new WHERE chain.project_id = new.project_id)`

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

/** Removes rows over a limit, and resolves to the head after that. */
function prune(link: Link, text: string, before: Promise<Head[]>, limit: number): Promise<Head[]> {
  const pruned = link.query<Head>(text, [limit])
  return before.then(() => pruned)
}

/**
 * Notifies the other nodes, with the numbers of the head. Inside a transaction, these are its own new numbers, and are
 * sent with its commit.
 */
export function notifyNodes(link: Link, channel: string, notice: string, head?: Head): Promise<unknown> {
  if (head === undefined) return link.run(notifyOfHead, [channel, notice])
  const numbers = headNames.map((name) => head[name])
  return link.run('SELECT pg_notify($1, $2)', [channel, [notice, ...numbers].join(' ')])
}

const notifyOfHead = `SELECT pg_notify($1, $2 || ' ' || concat_ws(' ', ${headColumns})) FROM head`
