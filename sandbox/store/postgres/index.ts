/** The PostgreSQL adapter: the tables of each resource, composed into a store that any number of nodes share. */
import { hostname } from 'node:os'
import { maxJudged } from '#contract/beacon-verdict.ts'
import { largestIdText } from '../rows.ts'
import type { StateFiles } from '../state-files.ts'
import type { OpenedStore, Seed, Store, StoreChange, StoreOptions } from '../store.ts'
import { writeMethods } from '../writes/index.ts'
import { accessTable, createTeamTables, statements } from './access.ts'
import { type Head, headColumns } from './batch/head.ts'
import { snapshotMethods } from './copies/snapshots.ts'
import { copyFromFile } from './copies/state-copy.ts'
import { counterProblems } from './evidence.ts'
import { explain } from './failures.ts'
import { type Connection, groupCommit } from './group-commit.ts'
import { migrateSchema, migrations } from './migrations.ts'
import { joinNodes, maxNodes } from './nodes.ts'
import type { Link } from './servers/link.ts'
import { checkServer, connectDatabase, type Database } from './servers/open.ts'
import { sharingMethods } from './sharing.ts'
import {
  applySeed,
  clearAll,
  type Generation,
  lossWarning,
  readGeneration,
  startAfterLoss,
  startGeneration,
} from './state.ts'
import { openTables } from './tables.ts'

interface PostgresStoreOptions extends StoreOptions {
  url: string
  /** The files of exports, imports and snapshots. */
  files: StateFiles
  /** One schema each; null for the shared one. */
  namespace: string | null
  /** Whether identifiers are the same in every run, so no other node may be present. */
  isSeeded: boolean
}

/** Connects, migrates, seeds and joins the other nodes. @throws SandboxError when the database cannot be used */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<OpenedStore> {
  const { url, namespace, report, seed, now_ms } = options
  const database = await connectDatabase({ url, namespace, report })
  let link: Link | null = null
  try {
    link = await database.connect()
    const { canFlush } = await checkServer(database, link)
    const { version, signing_key } = await migrateSchema(database, link)
    await createTeamTables(link)
    await link.script('BEGIN')
    await link.query('SELECT FROM chain WHERE project_id = 0 FOR UPDATE')
    const catalogue_id = await applySeed(link, seed, now_ms)
    await link.script('COMMIT')
    const isMigrated = version > 0 && version < migrations.length
    const notes = isMigrated
      ? [`the schema ${database.schema} was migrated from ${version} to ${migrations.length}`]
      : []
    const [state] = await link.query<Head & { generation: number; generation_seq: number }>(
      `SELECT generation, generation_seq, ${headColumns} FROM state, head`,
    )
    return {
      store: await composeStore(database, link, options, { canFlush, catalogue_id, notes, state: state! }),
      signing_key,
    }
  } catch (error) {
    link?.end()
    await database.close()
    throw explain(error, database.location)
  }
}

/**
 * Creates or migrates the schema of a namespace without serving it, as a deployment does before its nodes start.
 * @throws SandboxError
 */
export async function migrateDatabase(
  options: Pick<PostgresStoreOptions, 'url' | 'namespace' | 'report'>,
): Promise<{ database: string; schema: string; from_version: number; to_version: number }> {
  const database = await connectDatabase(options)
  const { location, schema } = database
  try {
    const link = await database.connect()
    await checkServer(database, link)
    const { version } = await migrateSchema(database, link)
    await createTeamTables(link)
    return { database: location, schema, from_version: version, to_version: migrations.length }
  } catch (error) {
    throw explain(error, location)
  } finally {
    await database.close()
  }
}

interface Opened {
  canFlush: boolean
  catalogue_id: number
  notes: readonly string[]
  state: Head & { generation: number; generation_seq: number }
}

async function composeStore(
  database: Database,
  first: Link,
  options: PostgresStoreOptions,
  opened: Opened,
): Promise<Store> {
  const joined = await joinTables(database, first, options, opened)
  const { connection, nodes, present, shared, team, tables } = joined
  const { projects, requests, methods } = tables
  const replace = stateReplacement(joined, options.seed)
  const snapshots = snapshotMethods(database, connection, {
    files: options.files,
    replaceAll: (db, at_ms) =>
      replace({ type: 'sandbox.restored', at_ms }, (link) => copyFromFile(link, db, options.files)),
  })
  const writes = writeMethods(connection.write)
  let isClosed = false

  return {
    ...writes,
    ...projects.clearAfter(writes),
    ...methods,
    ...snapshots,
    location: database.location,
    findFile: () => null,
    schema_version: migrations.length,
    access: accessTable(team.run),
    shared,
    get catalogue_id() {
      return present.catalogue_id
    },
    notes: opened.notes,
    node: nodes.number,
    stateGeneration: () => ({ ...present.generation }),
    onChange(listener) {
      joined.listeners.add(listener)
      return () => joined.listeners.delete(listener)
    },
    // The database recovers from an unclean shutdown automatically, and checks its pages as it reads them.
    checkUncleanEnd: async () => {},
    warnings: () => [],
    integrityProblems: () => counterProblems(connection),
    async replaceCatalogue(catalogue) {
      options.seed.catalogue = catalogue
      present.catalogue_id = await connection.change([0], (_, link) => applySeed(link, options.seed, options.now_ms))
    },
    reset: (at_ms) => replace({ type: 'sandbox.reset', at_ms }, async () => {}),
    async sizeBytes() {
      const [row] = await connection.read<{ bytes: number }>(sizeText, [database.schema])
      return row!.bytes
    },
    async largestId() {
      const [row] = await connection.read<{ id: number }>(largestIdText)
      return row!.id
    },
    close,
  }

  async function close(): Promise<void> {
    if (isClosed) return
    isClosed = true
    requests.close()
    team.close()
    await connection.close()
    await nodes.close()
    await database.close()
  }
}

/** The tables of a schema with their indexes, in bytes. A double: a bigint would be read as text. */
const sizeText = `SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::float8 AS bytes
  FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1 AND relkind = 'r'`

interface ReplacementEvent {
  type: 'sandbox.reset' | 'sandbox.restored'
  at_ms: number
}

/** Returns a function that replaces every row in one transaction, while no other node writes. */
function stateReplacement({ connection, present, tables }: Awaited<ReturnType<typeof joinTables>>, seed: Seed) {
  const { projects, requests, events } = tables

  return async ({ type, at_ms }: ReplacementEvent, fill: (link: Link) => Promise<void>): Promise<void> => {
    present.catalogue_id = await connection.replace(async (batch, link) => {
      await clearAll(link, present.head.events + present.head.exchanges, type === 'sandbox.reset')
      await fill(link)
      const fresh_id = await applySeed(link, seed, at_ms)
      await startGeneration(batch, link, type, at_ms)
      requests.clear()
      return fresh_id
    })
    projects.clear()
    present.generation = await readGeneration(connection)
    events.announce()
  }
}

/** What this node knows of the state: the counters of the last commit, and which rows are in force. */
interface Present {
  head: Head
  generation: Generation
  catalogue_id: number
}

/** Joins the other nodes, and opens the tables, whose caches follow the changes of all nodes. */
async function joinTables(database: Database, first: Link, options: PostgresStoreOptions, opened: Opened) {
  const { pid, isSeeded, now_ms, report, sha256Hex, event_limit, journal_limit, onTransaction = () => {} } = options
  const { canFlush, catalogue_id } = opened
  const { generation: count, generation_seq: event_seq, ...firstHead } = opened.state
  const present: Present = { head: firstHead, generation: { count, event_seq }, catalogue_id }
  const head = () => present.head
  const listeners = new Set<(change: StoreChange) => void>()
  const node = { pid, isSeeded, canFlush, report }
  const events = { head, onHead, onGeneration, onChange, onLoss, onRenewed: announce }
  const nodes = await joinNodes(database, first, node, events)
  const connection: Connection = groupCommit(database, {
    ...{ sha256Hex, maxJudged, event_limit, journal_limit, canFlush, head },
    channel: database.schema,
    generation: () => present.generation.count,
    // A sandbox with a seed is alone, and counts.
    ownsId: (id) => isSeeded || nodes.holds(id % maxNodes),
    takeExchanges: (isAlone) => tables.requests.take(isAlone),
    hasSuspects: () => tables.requests.hasSuspects(),
    renderNotice: nodes.renderNotice,
    committed: onHead,
    measured: onTransaction,
    generationChanged: () => void readGeneration(connection).then(onGeneration).catch(report),
  })
  const tables = openTables(connection, options, { head, mayCache: nodes.isLive })
  const team = statements(database)
  const shared = sharingMethods(database, team.run, nodes, {
    ...{ host: hostname(), started_at_ms: now_ms, canFlush },
    lastSeq: () => present.head.last_seq,
    untilDurable: connection.untilDurable,
  })

  return { connection, nodes, present, shared, team, tables, listeners }

  /** Stores the counters after a commit. Those of another node may arrive after later ones of this node. */
  function onHead(next: Head): void {
    if (next.last_seq < present.head.last_seq) return
    const hasEvents = next.last_seq > present.head.last_seq
    present.head = next
    if (hasEvents) tables.events.announce()
  }

  /** Another node has replaced every row: none of the old ones stay in memory. */
  function onGeneration(next: Generation): void {
    if (next.count <= present.generation.count) return
    present.generation = next
    tables.projects.clear()
    tables.requests.clear()
    connection
      .change([0], (_, link) => applySeed(link, options.seed, now_ms))
      .then((catalogue_id) => {
        present.catalogue_id = catalogue_id
      }, report)
    emit({ kind: 'generation' })
  }

  /** After a failover without some commits: what is in memory is of another state. */
  async function onLoss(): Promise<void> {
    const { last_seq } = present.head
    await replaceLostState(connection, present, options)
    tables.projects.clear()
    tables.requests.clear()
    emit({ kind: 'generation' })
    report(lossWarning(database.location, last_seq))
  }

  function onChange(change: StoreChange): void {
    if (change.kind === 'projects' || change.kind === 'resumed') tables.projects.clear()
    // Its number may differ from before.
    if (change.kind === 'resumed') announce()
    emit(change)
  }

  function announce(): void {
    shared.announce().catch(() => {})
  }

  function emit(change: StoreChange): void {
    for (const listener of listeners) listener(change)
  }
}

async function replaceLostState(
  connection: Connection,
  present: Present,
  { seed, now_ms }: Pick<PostgresStoreOptions, 'seed' | 'now_ms'>,
): Promise<void> {
  const { last_seq } = present.head
  // It may have been of a lost commit: every write would be refused.
  present.generation = await readGeneration(connection)
  present.catalogue_id = await connection.replace((batch, link) =>
    startAfterLoss(batch, link, { last_seq, seed, now_ms }),
  )
  present.generation = await readGeneration(connection)
}
