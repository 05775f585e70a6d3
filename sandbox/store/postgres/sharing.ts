/**
 * Coordination between the nodes of a namespace: their addresses, rate buckets, tickets and the claims of callbacks, and
 * the namespaces of the database.
 */
import type { NodeRow, RateTaken, SharedStore } from '../nodes.ts'
import { StorageError } from '../store.ts'
import type { Run } from './access.ts'
import { expiry, type Nodes } from './nodes.ts'
import { type Database, identifier } from './servers/open.ts'

/** The namespace without a name. */
const defaultNamespace = 'default'

/** How often a read is tried while the server changes. */
const maxReads = 3

interface NodeAbout {
  url: string
  host: string
  version: string
  started_at_ms: number
  /** Absent in a node of an older version. */
  clock_ahead_ms?: number
}

interface SharingOptions {
  host: string
  started_at_ms: number
  canFlush: boolean
  /** The number of the last event that is known to be on disk. */
  lastSeq(): number
  untilDurable(): Promise<void>
}

export function sharingMethods(
  database: Database,
  run: Run,
  nodes: Nodes,
  { canFlush, lastSeq, untilDurable, ...about }: SharingOptions,
): SharedStore & { announce(): Promise<void> } {
  let own: NodeAbout | null = null
  let systemNow = () => 0

  return {
    namespace: parseNamespace(database.schema),
    isConnected: nodes.isLive,
    async readShowable(read) {
      for (let attempt = 1; attempt <= maxReads; attempt++) {
        const changes = database.changes()
        const found = await read()
        if (canFlush) {
          const [row] = await database.read<{ last_seq: number }>('SELECT last_seq FROM head')
          if (row!.last_seq > lastSeq()) await untilDurable()
        }
        if (database.changes() === changes) return found
      }
      throw new StorageError(new Error('its server has changed'), 'read', 1)
    },
    announce,
    async join({ url, version }, now) {
      systemNow = now
      own = { ...about, url, version }
      await announce()
    },
    nodes: () => listNodes(run),
    ...namespaceMethods(run),
    ...rateMethods(run, canFlush),
    ...ticketMethods(run),
    async claimCallback(slot_id, attempts, lease_ms) {
      const rows = await run(
        `INSERT INTO callback_claim AS claim (slot_id, attempts, claimed_until)
         VALUES ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
         ON CONFLICT (slot_id) DO UPDATE SET attempts = excluded.attempts, claimed_until = excluded.claimed_until
         WHERE claim.attempts < excluded.attempts OR claim.claimed_until < clock_timestamp() RETURNING slot_id`,
        [slot_id, attempts, lease_ms],
      )
      return rows.length > 0
    },
  }

  async function announce(): Promise<void> {
    if (own === null) return
    const text = JSON.stringify({ ...own, clock_ahead_ms: await clockAhead() })
    await run('UPDATE node SET about = $1 WHERE number = $2', [text, nodes.number()])
  }

  /** Compares the clock of this computer with that of the database, which all nodes share. */
  async function clockAhead(): Promise<number> {
    const before_ms = systemNow()
    const [row] = await run<{ now_ms: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms',
    )
    return Math.round((before_ms + systemNow()) / 2 - row!.now_ms)
  }
}

interface StoredNode {
  number: number
  pid: number
  about: string | null
  seen_at_ms: number
}

async function listNodes(run: Run): Promise<NodeRow[]> {
  const rows = await run<StoredNode>(
    `SELECT number, pid, about, (extract(epoch FROM seen_at) * 1000)::bigint AS seen_at_ms FROM node
     WHERE seen_at > now() - ${expiry} ORDER BY number`,
  )
  return rows.map(({ number, pid, about, seen_at_ms }): NodeRow => {
    const known: NodeAbout | null = about === null ? null : JSON.parse(about)
    const { url = '', host = '', version = '', started_at_ms = seen_at_ms, clock_ahead_ms = null } = known ?? {}
    return { number, url, host, pid, version, started_at_ms, heartbeat_at_ms: seen_at_ms, clock_ahead_ms }
  })
}

function namespaceMethods(run: Run): Pick<SharedStore, 'namespaces' | 'deleteNamespace'> {
  return {
    async namespaces() {
      const names = await listSchemas(run)
      const rows = await run<{ schema: string; nodes: number }>(names.map(countNodes).join(' UNION ALL '), names)
      return rows.map(({ schema, nodes }) => ({ name: parseNamespace(schema), nodes })).sort(byName)
    },
    async deleteNamespace(name) {
      const doomed = toSchema(name)
      if (!(await listSchemas(run)).includes(doomed)) return 'missing'
      const [alive] = await run<{ nodes: number }>(countNodes(doomed), [doomed])
      if (alive!.nodes > 0) return 'in_use'
      await run(`DROP SCHEMA IF EXISTS ${identifier(doomed)} CASCADE`)
      return 'deleted'
    },
  }
}

/** Returns a query of the live nodes of a namespace; its parameter of that index is the schema. */
function countNodes(schema: string, index = 0): string {
  return `SELECT $${index + 1}::text AS schema, count(*) AS nodes FROM ${identifier(schema)}.node WHERE seen_at > now() - ${expiry}`
}

/** The schemas of all namespaces of the database: of this role, and of our tables, since others may look alike. */
async function listSchemas(run: Run): Promise<string[]> {
  const rows = await run<{ name: string }>(
    `SELECT n.nspname AS name FROM pg_namespace n
     WHERE pg_has_role(current_user, n.nspowner, 'USAGE') AND 2 = (
       SELECT count(*) FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname IN ('svc_schema', 'node')
         AND c.relkind = 'r' AND pg_has_role(current_user, c.relowner, 'USAGE')
     ) AND EXISTS (
       SELECT FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'seen_at'
       WHERE c.relnamespace = n.oid AND c.relname = 'node' AND a.atttypid = 'timestamptz'::regtype
     ) ORDER BY 1`,
  )
  return rows.map(({ name }) => name).filter((name) => ownSchema.test(name))
}

/** The names that `--namespace` permits, and the default. */
const ownSchema = /^svc(?:_[a-z0-9_-]{1,63})?$/

function parseNamespace(schema: string): string {
  return schema === 'svc' ? defaultNamespace : schema.slice('svc_'.length)
}

function toSchema(namespace: string): string {
  return namespace === defaultNamespace ? 'svc' : `svc_${namespace}`
}

function byName(one: { name: string }, other: { name: string }): number {
  return one.name < other.name ? -1 : 1
}

/** The tokens of a bucket, including those added since the last request; a clock that was moved back adds none. */
const filled = `least(excluded.burst, bucket.tokens + greatest(0, excluded.at_ms - bucket.at_ms) * excluded.per_ms)`
const granted = `least(excluded.wanted, floor(${filled} + 1e-9))`
/** Nodes read the time some milliseconds apart, which must not refill twice. */
const later = `CASE WHEN excluded.at_ms < bucket.at_ms - 5000 THEN excluded.at_ms ELSE greatest(bucket.at_ms, excluded.at_ms) END`

const takeRates = `
  INSERT INTO rate_bucket AS bucket (name, wanted, per_ms, burst, at_ms, granted, tokens)
  SELECT name, wanted, per_ms, burst, at_ms, least(wanted, floor(burst)), burst - least(wanted, floor(burst))
  FROM unnest($1::text[], $2::float8[], $3::float8[], $4::float8[], $5::bigint[]) taken (name, wanted, per_ms, burst, at_ms)
  ORDER BY name
  ON CONFLICT (name) DO UPDATE SET wanted = excluded.wanted, per_ms = excluded.per_ms, burst = excluded.burst,
    at_ms = ${later}, granted = ${granted}, tokens = greatest(0, ${filled} - ${granted})
  RETURNING name, granted, tokens`
/** A crash may give tokens back: no request waits for the disk, and no node waits for the lock of a node that does. */
const takeRatesAtOnce = `${takeRates}, set_config('synchronous_commit', 'off', true)`

function rateMethods(run: Run, canFlush: boolean): Pick<SharedStore, 'takeRates' | 'clearRates'> {
  return {
    async takeRates(takes) {
      const column = (name: 'count' | 'per_ms' | 'burst' | 'now_ms') => takes.map((take) => take[name])
      const rows = await run<RateTaken & { name: string }>(canFlush ? takeRatesAtOnce : takeRates, [
        takes.map(({ bucket }) => bucket),
        ...[column('count'), column('per_ms'), column('burst'), column('now_ms')],
      ])
      const byBucket = new Map(rows.map((row) => [row.name, row]))
      return takes.map(({ bucket }) => byBucket.get(bucket)!)
    },
    async clearRates() {
      await run('DELETE FROM rate_bucket')
    },
  }
}

/** Tickets that are issued before expired ones are removed. */
const ticketsBetweenRemovals = 100

function ticketMethods(run: Run): Pick<SharedStore, 'issueTicket' | 'redeemTicket' | 'clearTickets'> {
  let sinceRemoval = 0
  return {
    async issueTicket({ hash, subject, holder, expires_at_ms }, now_ms) {
      const insert = 'INSERT INTO ticket (hash, subject, holder, expires_at_ms) VALUES ($1, $2, $3, $4)'
      await run(insert, [hash, subject, holder, expires_at_ms])
      if (++sinceRemoval % ticketsBetweenRemovals === 0) {
        await run('DELETE FROM ticket WHERE expires_at_ms <= $1', [now_ms])
      }
    },
    async redeemTicket(hash, subject, now_ms) {
      const text = 'DELETE FROM ticket WHERE hash = $1 AND subject = $2 AND expires_at_ms > $3 RETURNING holder'
      const [row] = await run<{ holder: string }>(text, [hash, subject, now_ms])
      return row?.holder ?? null
    },
    async clearTickets() {
      await run('DELETE FROM ticket')
    },
  }
}
