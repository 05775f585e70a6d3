/** The SQLite adapter: the tables of each resource, composed into a store whose writes share a group commit. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { createFolder, flushToDisk, writePrivate } from '#foundation/file-system.ts'
import { ownerOnly, restrictToOwner } from '#foundation/permissions.ts'
import { unwritable } from '#sandbox/sandbox-error.ts'
import { billingReports } from '../billing.ts'
import { largestIdText } from '../rows.ts'
import type { OpenedStore, Store, StoreOptions } from '../store.ts'
import { writeMethods } from '../writes/index.ts'
import { accessFile } from './access/index.ts'
import { listSessions } from './billing.ts'
import { memoryState } from './copies/memory-state.ts'
import { snapshotMethods } from './copies/snapshots.ts'
import { stateProblem } from './copies/state-problem.ts'
import { damaged, explain } from './file/explain.ts'
import { makePrivate } from './file/names.ts'
import { type OpenDatabase, openDatabase } from './file/open.ts'
import { fileWarnings, removedWarning } from './file/warnings.ts'
import { backgroundCheckpoints } from './file/write-ahead-log.ts'
import { billingWork, checkFile } from './file-work.ts'
import { migrations } from './migrations.ts'
import { stateReplacement } from './replacement.ts'
import { openTables } from './tables.ts'

interface SqliteStoreOptions extends StoreOptions {
  /** A file, or `:memory:`. */
  path: string
  /** Whether it is only read and then closed: its journal, possibly its largest table, is not counted. */
  isReceived?: boolean
}

/** The most problems that an integrity check reports. */
const maxProblems = 20

/** Opens the store of a start, in a folder that is created, with its key next to it. @throws SandboxError */
export async function openFileStore(options: SqliteStoreOptions): Promise<OpenedStore> {
  const { path } = options
  const folder = dirname(path)
  try {
    if (path !== ':memory:') createFolder(folder, ownerOnly.folder)
  } catch (error) {
    throw unwritable(folder, error)
  }
  const store = openSqliteStore(options)
  try {
    // Created once the database has been accepted: a refused start leaves no key next to it.
    return { store, signing_key: installKey(path) }
  } catch (error) {
    await store.close()
    throw unwritable(`${path}.key`, error)
  }
}

const installKeyBytes = 32

/**
 * Reads or creates the key that asset tokens are derived from: a file next to the database that only its owner can
 * read. A database in memory gets a key that is never stored.
 */
function installKey(path: string): Uint8Array {
  if (path === ':memory:') return randomBytes(installKeyBytes)
  const keyPath = `${path}.key`
  if (existsSync(keyPath)) {
    // An earlier version may have made it for all.
    makePrivate(keyPath)
    restrictToOwner(keyPath, 'file')
    const key = Buffer.from(readFileSync(keyPath, 'utf8').trim(), 'base64url')
    if (key.length === installKeyBytes) return key
  }
  const key = randomBytes(installKeyBytes)
  writePrivate(keyPath, `${key.toString('base64url')}\n`)
  // Without it, a power loss would end every token that was issued.
  flushToDisk(keyPath)
  return key
}

/** Opens, migrates, checks and seeds. @throws SandboxError when the file cannot be used */
export function openSqliteStore(options: SqliteStoreOptions): Store {
  const { path } = options
  const opened = openDatabase(path, options.pid)
  try {
    const problem = path === ':memory:' ? null : stateProblem(opened.db, true)
    if (problem !== null) throw damaged(path, `it holds what no sandbox writes: ${problem}`)
    if (options.isReceived !== true) opened.markInUse()
    const store = composeStore(opened, options)
    // Read here, as a start does, so that damage is explained here.
    findLargestId(opened.db)
    opened.db.prepare('SELECT count(due_at_ms) FROM slot WHERE decided_at_ms IS NULL').get()
    if (options.isReceived !== true) store.journal()
    return store
  } catch (error) {
    opened.abandon()
    throw explain(error, path)
  }
}

function composeStore(opened: OpenDatabase, options: SqliteStoreOptions): Store {
  const { path, pid } = options
  const { db, isInPlace } = opened
  const { memory, replacement, warnings, checkpoints, tables, billing } = openState(opened, options)
  const { connection, transaction, methods, requests } = tables
  const snapshots = snapshotMethods(connection, {
    ...{ path, pid, memory, isInPlace },
    open: (other) => openSqliteStore({ ...options, path: other, isReceived: true }),
    replaceFile: (from, at_ms) => replacement.replaceAll(tables, from, at_ms),
    onReplaced: (at_ms, exchanges) => replacement.startMemory(tables, { type: 'sandbox.restored', at_ms, exchanges }),
  })
  const access = accessFile(path)
  let isClosed = false

  return {
    // Statements find whatever rows they need.
    ...writeMethods((_, run) => connection.write(() => run(transaction))),
    ...methods,
    ...billing,
    ...snapshots.methods,
    location: path,
    findFile: () => (memory === null && isInPlace() ? path : null),
    schema_version: migrations.length,
    access,
    shared: null,
    get catalogue_id() {
      return replacement.findCatalogue()
    },
    notes: opened.backup === null ? [] : [`the database was migrated; a copy of the old one is at ${opened.backup}`],
    // One process owns the file: there are no others.
    node: () => null,
    onChange: () => () => {},
    warnings: warnings.list,
    checkUncleanEnd: () => (isClosed ? Promise.resolve() : warnings.check()),
    stateGeneration: () => ({ ...replacement.generation }),
    replaceCatalogue: (catalogue) => replacement.replaceCatalogue(tables, catalogue),
    reset: (at_ms) =>
      memory === null ? replacement.resetFile(tables, at_ms) : replacement.resetMemory(tables, memory, at_ms),
    /** Finds broken pages, and rows that violate their table's constraints. In memory no file can be damaged. */
    async integrityProblems() {
      if (memory !== null) return []
      const problems = isInPlace() ? await checkFile(path, 'quick_check', maxProblems) : [removedWarning(path)]
      return [...problems, ...(await access.problems())]
    },
    sizeBytes: async () => connection.read(() => findSize(db)),
    largestId: async () => connection.read(() => findLargestId(db)),
    close,
  }

  async function close(): Promise<void> {
    if (isClosed) return
    isClosed = true
    requests.close()
    // A check reads the log, which is copied and removed below.
    const uncleanEnd = await warnings.endCheck()
    await connection.close()
    await checkpoints?.close()
    snapshots.close()
    access.close()
    if (!isInPlace()) warnings.reportFile(null)
    opened.close(uncleanEnd)
  }
}

/** Seeds the state, opens its tables, and watches over its file. */
function openState(opened: OpenDatabase, options: SqliteStoreOptions) {
  const { path } = options
  const { db, isInPlace } = opened
  const memory = path === ':memory:' ? memoryState(db) : null
  const replacement = stateReplacement(db, {
    ...options,
    isInPlace,
    onPages: (pages) => checkpoints?.committed(pages),
    onGeneration: () => warnings.clear(),
  })
  const { generation } = replacement
  const warnings = fileWarnings(opened, { path, generation: () => generation.count, report: options.report })
  const checkpoints = memory === null ? backgroundCheckpoints(db, path, warnings.reportFile) : null
  const tables = openTables(db, options, (writes) => checkpoints?.committed(writes))
  const { connection, methods } = tables
  const billing = billingReports({
    listProjects: methods.listProjects,
    listSessions: listSessions(connection),
    async generation() {
      // The rows are replaced before this node counts it.
      await connection.otherConnectionDone()
      return generation.count
    },
    goOn: billingWork(connection, memory === null ? path : null),
  })

  return { memory, replacement, warnings, checkpoints, tables, billing }
}

function findSize(db: OpenDatabase['db']): number {
  return db.prepare<[], number>('SELECT page_count * page_size FROM pragma_page_count, pragma_page_size').pluck().get()!
}

function findLargestId(db: OpenDatabase['db']): number {
  return db.prepare<[], number>(largestIdText).pluck().get() ?? 0
}
