/**
 * Connections to PostgreSQL, each on the schema of one namespace. A connection that breaks is dropped and replaced by
 * the next statement; a statement that has been sent is never resent automatically, since it may have taken effect.
 *
 * Statements are prepared by name on each connection, and pipelined: several are on their way without waiting.
 */
import { createHash } from 'node:crypto'
import type { Client, ClientConfig, QueryResult } from 'pg'
import { SandboxError } from '#sandbox/sandbox-error.ts'
import { StorageError } from '../store.ts'
import { invalidUrl, isConnectionFailure, storageError, versionProblem } from './failures.ts'

interface DatabaseOptions {
  url: string
  /** One schema each; null for the shared one. */
  namespace: string | null
  report: (error: unknown) => void
}

/** Returns a name as SQL has it, whatever characters it has: the only way to put a name into a statement. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

export type Value = string | number | boolean | null | Uint8Array | readonly number[] | readonly string[]

/** One connection, whose statements are pipelined. */
export interface Link {
  query<Row = Record<string, never>>(text: string, values?: readonly Value[]): Promise<Row[]>
  /** Runs a statement and resolves to its command, such as COMMIT, and its number of rows. */
  run(text: string, values?: readonly Value[]): Promise<{ command: string; count: number }>
  /** Several statements without values. */
  script(text: string): Promise<void>
  readonly client: Client
  isBroken(): boolean
  end(): void
}

export interface Database {
  /** The URL without its password. */
  readonly location: string
  /** The schema of the namespace: also the name of its notifications. */
  readonly schema: string
  /** Whether changes of others are announced by LISTEN; otherwise this node polls for them. */
  readonly wantsListen: boolean
  /** Runs a read-only statement on the connection with the fewest statements under way. */
  read<Row>(text: string, values?: readonly Value[]): Promise<Row[]>
  /** Opens a connection that nothing else uses. */
  connect(): Promise<Link>
  close(): Promise<void>
}

/** Connections for reading. Their statements are pipelined, so a few serve many requests. */
const maxReaders = 6

/** Statements under way on a reader before another one is opened. */
const busyReader = 4

/** How long a statement may take, milliseconds. The client gives up a little later, in case the server is gone. */
const statementTimeoutMs = 20_000
const lockTimeoutMs = 10_000

/** The longest that a node that stops in the middle of a transaction keeps its locks. */
const idleInTransactionTimeoutMs = 5_000
const connectTimeoutMs = 5_000

/**
 * Plans statements once, and by index. A prepared statement keeps a plan made while a table was nearly empty. A plan
 * that reads the whole table then does so for a minute of load, until the server has analyzed it; planning each use
 * instead costs as much as running it. Servers before 18 would compile a statement that has no index. Each setting is
 * applied where it exists.
 */
const planByIndex = `SELECT set_config(name, value, false) FROM (VALUES
  ('plan_cache_mode', 'force_generic_plan'), ('enable_seqscan', 'off'), ('enable_hashjoin', 'off'),
  ('enable_mergejoin', 'off'), ('jit', 'off')) wanted (name, value) WHERE current_setting(name, true) IS NOT NULL`

/**
 * The order of identifiers, for few rows that another index finds: without the sum, a plan made while the table was
 * small may walk through the index of identifiers instead, and keeps doing so when the table is large.
 */
export const byId = 'ORDER BY id + 0'

const names = new Map<string, string>()

function nameStatement(text: string): string {
  let name = names.get(text)
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('hex').slice(0, 16)
    names.set(text, name)
  }
  return name
}

const namespacePattern = /^[a-z0-9](?:[a-z0-9_-]{0,38}[a-z0-9])?$/

/** @throws SandboxError when the URL or the namespace cannot be used, or the driver is not installed */
export async function connectDatabase({ url, namespace, report }: DatabaseOptions): Promise<Database> {
  const address = parseUrl(url)
  if (namespace !== null && !namespacePattern.test(namespace)) {
    throw new SandboxError(
      'option_invalid',
      `The namespace ${JSON.stringify(namespace)} cannot be used.`,
      'Use 1 to 40 lower-case letters, digits, - and _, with a letter or digit first and last.',
    )
  }
  const schema = namespace === null ? 'svc' : `svc_${namespace}`
  const { default: pg } = await loadDriver()
  const wantsListen = address.searchParams.get('svc_listen') !== 'off'
  address.searchParams.delete('svc_listen')
  const config = createConfig(address, schema, pg.types)
  const open = new Set<Link>()
  let isClosed = false
  const read = pooledReads(connect, () => isClosed)

  return { location: toLocation(address), schema, wantsListen, connect, read, close }

  async function connect(): Promise<Link> {
    if (isClosed) throw new StorageError(new Error('the sandbox has been stopped'))
    const client = new pg.Client(config)
    const link = createLink(client, { report, onEnd: () => open.delete(link) })
    await client.connect()
    await client.query(planByIndex)
    open.add(link)
    return link
  }

  async function close(): Promise<void> {
    isClosed = true
    await Promise.allSettled([...open].map(({ client }) => client.end()))
    open.clear()
  }
}

function createConfig(address: URL, schema: string, types: Types): ClientConfig {
  // An option in the URL replaces the whole option of the driver, and would take the namespace with it.
  const ownOptions = address.searchParams.get('options') ?? ''
  address.searchParams.delete('options')
  // As in libpq, which the URL was written for: otherwise `require` is verify-full, after a warning of twelve lines.
  if (address.searchParams.has('sslmode')) address.searchParams.set('uselibpqcompat', 'true')
  return {
    connectionString: address.href,
    pipeline: true,
    keepAlive: true,
    application_name: 'svc',
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: statementTimeoutMs + 5_000,
    options: `${ownOptions} -c search_path=${identifier(schema)} -c statement_timeout=${statementTimeoutMs} -c lock_timeout=${lockTimeoutMs} -c idle_in_transaction_session_timeout=${idleInTransactionTimeoutMs} -c client_min_messages=warning`,
    types: { getTypeParser: (oid: number, format?: 'text' | 'binary') => findParser(types, oid, format) },
  }
}

/** @param onEnd called when the connection is lost or ended */
function createLink(client: Client, { report, onEnd }: { report: (error: unknown) => void; onEnd: () => void }): Link {
  let isBroken = false
  let isHeld = false
  // Without a listener the end of an idle connection would end the process.
  client.on('error', drop)
  client.on('end', drop)

  return {
    client,
    isBroken: () => isBroken,
    async query<Row>(text: string, values: readonly Value[] = []) {
      hold()
      const result = await client.query({ name: nameStatement(text), text, values: values as unknown[] })
      return (result as QueryResult).rows as Row[]
    },
    async run(text, values = []) {
      hold()
      const { command, rowCount } = await client.query({
        name: nameStatement(text),
        text,
        values: values as unknown[],
      })
      return { command, count: rowCount ?? 0 }
    },
    async script(text) {
      await client.query({ text, query_timeout: 0 } as { text: string })
    },
    end() {
      drop()
      client.end().catch(report)
    },
  }

  function drop(): void {
    isBroken = true
    onEnd()
  }

  /** Statements sent without waiting for each other leave in one packet: a system call for each costs more. */
  function hold(): void {
    const { stream } = client.connection
    if (isHeld) return
    isHeld = true
    stream.cork()
    queueMicrotask(() => {
      isHeld = false
      stream.uncork()
    })
  }
}

interface Reader {
  link: Promise<Link>
  /** Statements under way. */
  busy: number
  isBroken(): boolean
}

/** Returns a function that runs a statement on the connection with the fewest statements under way. */
function pooledReads(connect: () => Promise<Link>, isClosed: () => boolean): Database['read'] {
  const readers: Reader[] = []

  return async <Row>(text: string, values: readonly Value[] = []): Promise<Row[]> => {
    for (let attempt = 1; ; attempt++) {
      const used = findReader()
      used.busy++
      try {
        return await (await used.link).query<Row>(text, values)
      } catch (error) {
        // A read changes nothing, so a broken connection is worth a second attempt.
        if (attempt < 2 && !isClosed() && isConnectionFailure(error)) continue
        throw storageError(error, 'read')
      } finally {
        used.busy--
      }
    }
  }

  function findReader(): Reader {
    for (let index = readers.length - 1; index >= 0; index--) if (readers[index]!.isBroken()) readers.splice(index, 1)
    let best = readers[0]
    for (const other of readers) if (best === undefined || other.busy < best.busy) best = other
    if (best !== undefined && (best.busy < busyReader || readers.length >= maxReaders)) return best
    const added = openReader(connect)
    readers.push(added)
    return added
  }
}

function openReader(connect: () => Promise<Link>): Reader {
  let connected: Link | null = null
  let hasFailed = false
  const link = connect()
  link.then(
    (made) => {
      connected = made
    },
    () => {
      hasFailed = true
    },
  )
  return { link, busy: 0, isBroken: () => hasFailed || connected?.isBroken() === true }
}

async function loadDriver(): Promise<typeof import('pg')> {
  try {
    return await import('pg')
  } catch (error) {
    throw new SandboxError(
      'option_invalid',
      'A store on PostgreSQL needs the package pg, which is not installed.',
      'Install it alongside svc: npm install pg',
      { cause: error },
    )
  }
}

function parseUrl(url: string): URL {
  const address = /^postgres(ql)?:\/\//i.test(url) ? URL.parse(url) : null
  if (address === null || isCutShort(address)) throw invalidUrl()
  return address
}

/**
 * Whether a part other than the password may contain the rest of one: a `/`, `?` or `#` in a password ends it, so its
 * `@` comes later, and an encoded colon makes it a part of the user. Such a URL names another database, in messages
 * too.
 */
function isCutShort({ username, pathname, search, hash }: URL): boolean {
  return hash !== '' || `${pathname}${search}`.includes('@') || /%3A/i.test(username)
}

/** Returns a URL without its password, and without its parameters: one may be the password. */
function toLocation(address: URL): string {
  const shown = new URL(address)
  shown.password = ''
  shown.search = ''
  return shown.href
}

/**
 * A separate transaction that waits for the disk, and for the replicas that the server waits for, and so for everything
 * committed before it. It writes a message to the log that nobody reads: a transaction that writes nothing does not
 * wait.
 */
export const flushText = "SELECT pg_logical_emit_message(true, 'svc', '')"

interface ServerFeatures {
  /** Whether it runs `flushText` on connections that end with it: poolers keep theirs while the server crashes. */
  canFlush: boolean
}

/** @throws SandboxError when the server is too old */
export async function checkServer({ location, wantsListen }: Database, link: Link): Promise<ServerFeatures> {
  const [{ server_version_num: version } = { server_version_num: '' }] = await link.query<{
    server_version_num: string
  }>('SHOW server_version_num')
  const problem = versionProblem(location, Number(version))
  if (problem !== null) throw problem
  if (!wantsListen) return { canFlush: false }
  try {
    await link.run(flushText)
    return { canFlush: true }
  } catch (error) {
    if (isConnectionFailure(error)) throw error
    return { canFlush: false }
  }
}

type Types = typeof import('pg').types

/** 64-bit integers are read as numbers: every stored one is below 2^53. */
function findParser(types: Types, oid: number, format: 'text' | 'binary' | undefined) {
  if (oid === types.builtins.INT8) return Number
  return types.getTypeParser(oid, format ?? 'text')
}
