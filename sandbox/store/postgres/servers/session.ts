/** What every connection begins with: its settings, and what is known of the server that it is to. */
import type { Client } from 'pg'
import { isConnectionFailure, ServerProblem } from '../failures.ts'

/** Identifies a server of one history: each promotion of a standby starts a new timeline. */
export interface Server {
  /** Null on an engine that has none. */
  timeline: number | null
  /** When it was started, as the server writes it; empty on an engine that does not say. */
  started: string
}

/** How long a statement may take, milliseconds. The client gives up a little later, in case the server is gone. */
export const statementTimeoutMs = 20_000
const lockTimeoutMs = 10_000
/** How long the first statements may take: behind a pooler they wait until it has a connection. */
const openTimeoutMs = 10_000

/** The longest that a node that stops in the middle of a transaction keeps its locks. */
const idleInTransactionTimeoutMs = 5_000

/**
 * Sets what is of the connection by statements: poolers know few parameters of a start, and refuse or ignore the others.
 * Each setting is applied where it exists.
 *
 * Statements are planned once, and by index. A prepared statement keeps a plan made while a table was nearly empty. A plan
 * that reads the whole table then does so for a minute of load, until the server has analyzed it; planning each use
 * instead costs as much as running it. Servers before 18 would compile a statement that has no index.
 */
const settingsText = `SELECT set_config(name, value, false) FROM (VALUES
  ('search_path', $1), ('statement_timeout', '${statementTimeoutMs}'), ('lock_timeout', '${lockTimeoutMs}'),
  ('idle_in_transaction_session_timeout', '${idleInTransactionTimeoutMs}'), ('client_min_messages', 'warning'),
  ('plan_cache_mode', 'force_generic_plan'), ('enable_seqscan', 'off'), ('enable_hashjoin', 'off'),
  ('enable_mergejoin', 'off'), ('jit', 'off')) wanted (name, value) WHERE current_setting(name, true) IS NOT NULL`

const writableText = `SELECT current_setting('transaction_read_only', true) AS read_only,
  current_setting('in_hot_standby', true) AS standby`

/** Not every engine has each of these functions. */
const serverText = `SELECT pg_is_in_recovery() AS is_standby, pg_postmaster_start_time()::text AS started,
  CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_lsn()) END AS segment`

const timed = { query_timeout: openTimeoutMs }

interface Writable {
  read_only: string | null
  standby: string | null
}

interface Found {
  is_standby: boolean
  started: string
  segment: string | null
}

/**
 * Sets up a connection that has just been opened, in one round trip.
 * @param searchPath as SQL has it
 * @throws ServerProblem when the server takes no writes
 */
export async function openSession(client: Client, label: string, searchPath: string): Promise<Server> {
  const [, writable, found] = await Promise.all([
    client.query({ text: settingsText, values: [searchPath], ...timed }),
    client.query<Writable>({ text: writableText, ...timed }),
    client.query<Found>({ text: serverText, ...timed }).then(
      ({ rows }) => rows[0] ?? null,
      (error: unknown) => {
        if (isConnectionFailure(error)) throw error
        return null
      },
    ),
  ])
  const { read_only, standby } = writable.rows[0]!
  if (found?.is_standby === true || standby === 'on') throw isStandby(label)
  if (read_only === 'on') throw isReadOnly(label)
  const segment = found?.segment ?? null
  return { timeline: segment === null ? null : Number.parseInt(segment.slice(0, 8), 16), started: found?.started ?? '' }
}

function isStandby(label: string): ServerProblem {
  return new ServerProblem(
    `${label} is a standby, which takes no writes`,
    'Name its primary in the URL, or all servers of it: postgres://USER:PASSWORD@HOST1,HOST2/DATABASE.',
  )
}

function isReadOnly(label: string): ServerProblem {
  return new ServerProblem(
    `${label} takes no writes: default_transaction_read_only is on`,
    'Name the server that takes writes, or set it to off for the user of the sandbox.',
  )
}
