/** The PostgreSQL adapter: the tables of each resource, composed into a store that any number of nodes share. */
import { hostname } from 'node:os'
import { maxJudged } from '#contract/beacon-verdict.ts'
import { largestIdText } from '../rows.ts'
import type { StateFiles } from '../state-files.ts'
import type { ClockRow, FaultState, OpenedStore, Store, StoreChange, StoreOptions } from '../store.ts'
import { writeMethods } from '../writes/index.ts'
import { accessTable, createTeamTables, statements } from './access.ts'
import { type Head, headColumns } from './batch/head.ts'
import { beaconTable } from './beacons.ts'
import { billingTable } from './billing.ts'
import { callbackTable } from './callbacks.ts'
import { consentTable } from './consent.ts'
import { eventTable } from './events.ts'
import { counterProblems, evidenceTable } from './evidence.ts'
import { type Connection, groupCommit } from './group-commit.ts'
import { migrateSchema, migrations } from './migrations.ts'
import { joinNodes, type Nodes } from './nodes.ts'
import { checkServer, connectDatabase, explain, type Link } from './open.ts'
import { placementTable } from './placements.ts'
import { projectTable } from './projects.ts'
import { requestTable } from './requests.ts'
import { findMeta } from './rows.ts'
import { sharingMethods } from './sharing.ts'
import { applySeed, clearAll, copyFromFile, snapshotMethods, startGeneration } from './snapshots.ts'

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
  database: Awaited<ReturnType<typeof connectDatabase>>,
  first: Link,
  options: PostgresStoreOptions,
  opened: Opened,
): Promise<Store> {
  const { pid, seed, report, isSeeded } = options
  const { canFlush } = opened
  const { generation: count, generation_seq: event_seq, ...firstHead } = opened.state
  let { catalogue_id } = opened
  let head: Head = firstHead
  let generation = { count, event_seq }
  let isClosed = false
  const listeners = new Set<(change: StoreChange) => void>()

  const emit = (change: StoreChange) => {
    for (const listener of listeners) listener(change)
  }

  /** The counters after a commit. Those of another node may arrive after later ones of this node. */
  const onHead = (next: Head) => {
    if (next.last_seq < head.last_seq) return
    const hasEvents = next.last_seq > head.last_seq
    head = next
    if (hasEvents) events.announce()
  }

  /** Another node has replaced every row: none of the old ones stay in memory. */
  const onGeneration = (next: { count: number; event_seq: number }) => {
    if (next.count <= generation.count) return
    generation = next
    projects.clear()
    requests.clear()
    seedAgain().catch(report)
    emit({ kind: 'generation' })
  }

  const seedAgain = async () => {
    catalogue_id = await connection.change([0], (_, link) => applySeed(link, seed, options.now_ms))
  }

  const nodes: Nodes = await joinNodes(
    database,
    first,
    { pid, isSeeded, canFlush, report },
    {
      head: () => head,
      onHead,
      onGeneration,
      onChange(change) {
        if (change.kind === 'projects' || change.kind === 'resumed') projects.clear()
        // Its number may differ from before.
        if (change.kind === 'resumed') shared.announce().catch(() => {})
        emit(change)
      },
      onRenewed: () => void shared.announce().catch(() => {}),
    },
  )
  const connection: Connection = groupCommit(database, {
    sha256Hex: options.sha256Hex,
    maxJudged,
    event_limit: options.event_limit,
    journal_limit: options.journal_limit,
    channel: database.schema,
    generation: () => generation.count,
    head: () => head,
    takeExchanges: (isAlone) => requests.take(isAlone),
    hasSuspects: () => requests.hasSuspects(),
    renderNotice: nodes.renderNotice,
    committed: onHead,
    canFlush,
    generationChanged() {
      readGeneration().catch(report)
    },
  })
  const readGeneration = async () => {
    const [row] = await connection.read<{ count: number; event_seq: number }>(
      'SELECT generation AS count, generation_seq AS event_seq FROM state',
    )
    onGeneration(row!)
  }
  const team = statements(database)
  const shared = sharingMethods(database, team.run, nodes, {
    host: hostname(),
    started_at_ms: options.now_ms,
    canFlush,
  })
  const events = eventTable(connection, options.event_limit, () => head)
  const projects = projectTable(connection, nodes.isLive)
  const placements = placementTable(connection, projects)
  const requests = requestTable(connection, options.journal_limit, () => head)
  const snapshots = snapshotMethods(database, connection, {
    files: options.files,
    replaceAll: (db, at_ms) => replace('sandbox.restored', at_ms, (link) => copyFromFile(link, db)),
  })

  /** Replaces every row in one transaction, while no other node writes. */
  const replace = async (
    type: 'sandbox.reset' | 'sandbox.restored',
    at_ms: number,
    fill: (link: Link) => Promise<void>,
  ): Promise<void> => {
    const next = await connection.replace(async (batch, link) => {
      await clearAll(link, head.events + head.exchanges, type === 'sandbox.reset')
      await fill(link)
      const fresh = await applySeed(link, seed, at_ms)
      await startGeneration(batch, link, type, at_ms)
      requests.clear()
      return fresh
    })
    catalogue_id = next
    projects.clear()
    const [row] = await connection.read<{ count: number; event_seq: number }>(
      'SELECT generation AS count, generation_seq AS event_seq FROM state',
    )
    generation = row!
    events.announce()
  }

  const writes = writeMethods(connection.write)
  return {
    ...writes,
    ...projects.clearAfter(writes),
    ...projects.methods,
    ...consentTable(connection),
    ...placements.methods,
    ...callbackTable(connection),
    ...beaconTable(connection, placements),
    ...billingTable(connection, projects),
    ...evidenceTable(connection),
    ...requests.methods,
    ...events.methods,
    findClock: () => findMeta<ClockRow>(connection, 'clock'),
    findFaults: () => findMeta<FaultState>(connection, 'faults'),
    ...snapshots,
    location: database.location,
    schema_version: migrations.length,
    access: accessTable(team.run),
    shared,
    get catalogue_id() {
      return catalogue_id
    },
    notes: opened.notes,
    node: nodes.number,
    stateGeneration: () => ({ ...generation }),
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    // The database recovers from an unclean shutdown automatically, and checks its pages as it reads them.
    checkUncleanEnd: async () => {},
    warnings: () => [],
    integrityProblems: () => counterProblems(connection),
    reset: (at_ms) => replace('sandbox.reset', at_ms, async () => {}),
    async largestId() {
      const [row] = await connection.read<{ id: number }>(largestIdText)
      return row!.id
    },
    async close() {
      if (isClosed) return
      isClosed = true
      requests.close()
      team.close()
      await connection.close()
      await nodes.close()
      await database.close()
    },
  }
}
