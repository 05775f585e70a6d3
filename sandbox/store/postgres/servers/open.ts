/**
 * Connections to PostgreSQL, each on the schema of one namespace, and each to the server that takes writes. A connection
 * that breaks is dropped and replaced by the next statement; a statement that has been sent is never resent
 * automatically, since it may have taken effect.
 */
import type { ClientConfig } from 'pg'
import { SandboxError } from '#sandbox/sandbox-error.ts'
import { StorageError } from '../../store.ts'
import { isConnectionFailure, isTlsRefusal, ServerProblem, versionProblem } from '../failures.ts'
import { parseStoreUrl } from './address.ts'
import { type Link, openLink, type Value } from './link.ts'
import { refusePooling } from './pooler.ts'
import { primaryFinder } from './primary.ts'
import { pooledReads } from './readers.ts'
import { statementTimeoutMs } from './session.ts'

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

export interface Database {
  /** The URL without its password. */
  readonly location: string
  /** The schema of the namespace: also the name of its notifications. */
  readonly schema: string
  /** Whether changes of others are announced by LISTEN; otherwise this node polls for them. */
  readonly wantsListen: boolean
  /** Runs a read-only statement on the connection with the fewest statements under way. */
  read<Row>(text: string, values?: readonly Value[]): Promise<Row[]>
  /** How often the server has changed, or all connections were lost: what was read before may not be there any more. */
  changes(): number
  /** Opens a connection that nothing else uses. */
  connect(): Promise<Link>
  /** Takes back a connection that nothing uses any more, for the next `connect`. */
  keep(link: Link): void
  /** Ends every connection over which nothing has come for that long, milliseconds: it may be dead without an end. */
  cutSilent(ms: number): void
  close(): Promise<void>
}

const connectTimeoutMs = 5_000

/**
 * The order of identifiers, for few rows that another index finds: without the sum, a plan made while the table was
 * small may walk through the index of identifiers instead, and keeps doing so when the table is large.
 */
export const byId = 'ORDER BY id + 0'

const namespacePattern = /^[a-z0-9](?:[a-z0-9_-]{0,38}[a-z0-9])?$/

/** @throws SandboxError when the URL or the namespace cannot be used, or the driver is not installed */
export async function connectDatabase({ url, namespace, report }: DatabaseOptions): Promise<Database> {
  const { location, servers, wantsListen } = parseStoreUrl(url)
  if (namespace !== null && !namespacePattern.test(namespace)) {
    throw new SandboxError(
      'option_invalid',
      `The namespace ${JSON.stringify(namespace)} cannot be used.`,
      'Use 1 to 40 lower-case letters, digits, - and _, with a letter or digit first and last.',
    )
  }
  const schema = namespace === null ? 'svc' : `svc_${namespace}`
  const { default: pg } = await loadDriver()
  const configs = new Map(servers.map((server) => [server, createConfig(server, pg.types)]))
  const openWith = (config: ClientConfig | undefined, label: string): Promise<Link> =>
    openLink(new pg.Client(config), { label, searchPath: identifier(schema), report })
  const open = (server: URL): Promise<Link> => {
    const opening = openWith(configs.get(server), server.host)
    if (server.searchParams.get('sslmode') !== 'prefer') return opening
    // As psql does. The driver gives up on a server without TLS.
    return opening.catch((error: unknown) => {
      if (!isTlsRefusal(error)) throw error
      return openWith(createConfig(withoutTls(server), pg.types), server.host)
    })
  }
  const primary = primaryFinder(servers, open)
  const links = openLinks(() => primary.forget())
  let isClosed = false
  let spare: Link | null = null
  const read = pooledReads(connect, () => isClosed)
  const keep = (link: Link) => {
    spare = link
  }

  const { changes, cutSilent } = links
  return { location, schema, wantsListen, changes, connect, keep, read, cutSilent, close }

  async function connect(): Promise<Link> {
    if (isClosed) throw new StorageError(new Error('the sandbox has been stopped'))
    const kept = spare
    spare = null
    if (kept?.isBroken() === false) return kept
    const server = await primary.find()
    try {
      const link = await open(server)
      links.add(link, server.host)
      return link
    } catch (error) {
      primary.forget()
      throw error
    }
  }

  async function close(): Promise<void> {
    isClosed = true
    await links.close()
  }
}

/** The open connections: all of them to servers of the newest timeline that one of them has seen. */
function openLinks(onEnd: () => void) {
  const open = new Set<Link>()
  let newest = 0
  let changes = 0

  return {
    changes: () => changes,
    /** @throws ServerProblem when the server is of an older timeline */
    add(link: Link, label: string): void {
      const { timeline } = link.server
      if (timeline !== null && timeline < newest) {
        link.end()
        throw oldPrimary(label)
      }
      open.add(link)
      void link.ended.then(() => {
        open.delete(link)
        if (open.size === 0) changes++
        onEnd()
      })
      if (timeline === null || timeline === newest) return
      newest = timeline
      changes++
      for (const other of open) if (other !== link) other.cut()
    },
    cutSilent(ms: number): void {
      const since = performance.now() - ms
      for (const link of open) if (link.heardAt() < since) link.cut()
    },
    async close() {
      await Promise.allSettled([...open].map(({ client }) => client.end()))
      open.clear()
    },
  }
}

function oldPrimary(label: string): ServerProblem {
  return new ServerProblem(
    `${label} is an old primary: another server has been promoted since`,
    'Stop it, or make it a standby of the new primary.',
  )
}

function createConfig(address: URL, types: Types): ClientConfig {
  // As in libpq, which the URL was written for: otherwise `require` is verify-full, after a warning of twelve lines.
  if (address.searchParams.has('sslmode')) address.searchParams.set('uselibpqcompat', 'true')
  return {
    connectionString: address.href,
    pipeline: true,
    keepAlive: true,
    application_name: 'svc',
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: statementTimeoutMs + 5_000,
    types: { getTypeParser: (oid: number, format?: 'text' | 'binary') => findParser(types, oid, format) },
  }
}

function withoutTls(server: URL): URL {
  const plain = new URL(server)
  plain.searchParams.set('sslmode', 'disable')
  return plain
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

/**
 * A separate transaction that waits for the disk, and for the replicas that the server waits for, and so for everything
 * committed before it. It writes a message to the log that nobody reads: a transaction that writes nothing does not
 * wait.
 */
export const flushText = "SELECT pg_logical_emit_message(true, 'svc', '')"

interface ServerFeatures {
  /** Whether it runs `flushText`, on connections that end with the server: without LISTEN, what is between is unknown. */
  canFlush: boolean
}

/** @throws SandboxError when the server is too old, or behind a pooler that shares its sessions */
export async function checkServer(database: Database, link: Link): Promise<ServerFeatures> {
  const { location, wantsListen } = database
  await checkSession(database, link)
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

/** @throws SandboxError when the connection does not have a session of its own */
export async function checkSession(database: Database, link: Link): Promise<void> {
  const other = await database.connect()
  await refusePooling(database.location, link, other)
  database.keep(other)
}

type Types = typeof import('pg').types

/** 64-bit integers are read as numbers: every stored one is below 2^53. */
function findParser(types: Types, oid: number, format: 'text' | 'binary' | undefined) {
  if (oid === types.builtins.INT8) return Number
  return types.getTypeParser(oid, format ?? 'text')
}
