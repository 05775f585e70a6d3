/** The SQLite adapter: the tables of each resource, composed into a store whose writes share a group commit. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { createFolder, writePrivate } from '#foundation/file-system.ts'
import { ownerOnly, restrictToOwner } from '#foundation/permissions.ts'
import { unwritable } from '#sandbox/sandbox-error.ts'
import { billingReports } from '../billing.ts'
import { largestIdText } from '../rows.ts'
import {
  type ClockAndFaultStore,
  type ClockRow,
  DamageWarning,
  type FaultState,
  type OpenedStore,
  StorageError,
  type Store,
  type StoreOptions,
} from '../store.ts'
import { type WriteMethods, writeMethods } from '../writes/index.ts'
import { stateEvent } from '../writes/state.ts'
import type { Transaction } from '../writes/transaction.ts'
import { accessFile } from './access/index.ts'
import { beaconTable } from './beacons.ts'
import { callbackTable } from './callbacks.ts'
import { consentTable } from './consent.ts'
import { type MemoryState, memoryState } from './copies/memory-state.ts'
import { snapshotMethods } from './copies/snapshots.ts'
import { stateProblem } from './copies/state-problem.ts'
import { eventTable, prepareEvent } from './events.ts'
import { evidenceTable } from './evidence.ts'
import { damaged, explain } from './file/explain.ts'
import { makePrivate } from './file/names.ts'
import { type OpenDatabase, openDatabase } from './file/open.ts'
import type { Lost } from './file/unclean-end.ts'
import { billingWork, checkFile, replaceFile } from './file-work.ts'
import { type Connection, groupCommit } from './group-commit.ts'
import { migrations } from './migrations.ts'
import { placementTable } from './placements.ts'
import { projectTable } from './projects.ts'
import { requestTable } from './requests.ts'
import { metaValue } from './rows.ts'
import { applySeed, overwriteFile, pageBytes } from './state.ts'
import { backgroundCheckpoints } from './write-ahead-log.ts'

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

const installKey_bytes = 32

/**
 * Reads or creates the key that asset tokens are derived from: a file next to the database that only its owner can
 * read. A database in memory gets a key that is never stored.
 */
function installKey(path: string): Uint8Array {
  if (path === ':memory:') return randomBytes(installKey_bytes)
  const keyPath = `${path}.key`
  if (existsSync(keyPath)) {
    // An earlier version may have made it for all.
    makePrivate(keyPath)
    restrictToOwner(keyPath, 'file')
    const key = Buffer.from(readFileSync(keyPath, 'utf8').trim(), 'base64url')
    if (key.length === installKey_bytes) return key
  }
  const key = randomBytes(installKey_bytes)
  writePrivate(keyPath, `${key.toString('base64url')}\n`)
  return key
}

/** Opens, migrates, checks and seeds. @throws SandboxError when the file cannot be used */
export function openSqliteStore(options: SqliteStoreOptions): Store {
  const { path } = options
  const opened = openDatabase(path, options.pid)
  try {
    const problem = path === ':memory:' ? null : stateProblem(opened.db, true)
    if (problem !== null) throw damaged(path, `it holds what no sandbox writes: ${problem}`)
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
  const { path, pid, seed } = options
  const isInMemory = path === ':memory:'
  const { db } = opened
  const memory = isInMemory ? memoryState(db) : null
  let catalogue_id = db.transaction(() => applySeed(db, seed, options.now_ms))()

  const checkpoints = isInMemory ? null : backgroundCheckpoints(db, path, reportFile)
  const connection = groupCommit(db, {
    beforeCommit() {
      requests.write()
      events.prune()
    },
    afterCommit(writes) {
      requests.committed()
      checkpoints?.committed(writes)
      events.announce()
    },
    afterRollback() {
      clearCaches()
      events.reload()
      requests.rolledBack()
    },
  })
  const events = eventTable(connection, options.event_limit)
  const evidence = evidenceTable(connection, options.sha256Hex)
  const consent = consentTable(connection)
  const projects = projectTable(connection, () => placements.clear())
  const callbacks = callbackTable(connection)
  const placements = placementTable(connection, { projects, consent })
  const beacons = beaconTable(connection, { placements, consent })
  const values = valueTable(connection)
  const transaction: Transaction = {
    ...projects.transaction,
    ...consent.transaction,
    ...placements.transaction,
    ...callbacks.transaction,
    ...beacons.transaction,
    ...evidence.transaction,
    ...values.transaction,
    appendEvent: events.append,
  }
  const requests = requestTable(connection, projects, options.journal_limit)
  const snapshots = snapshotMethods(connection, {
    path,
    pid,
    memory,
    isInPlace: opened.isInPlace,
    open: (other) => openSqliteStore({ ...options, path: other, isReceived: true }),
    replaceFile: replaceAll,
    onReplaced: (at_ms, exchanges) => startMemory('sandbox.restored', at_ms, exchanges),
  })
  const access = accessFile(path)
  const billing = billingReports({
    listProjects: projects.methods.listProjects,
    async generation() {
      // The rows are replaced before this node counts it.
      await connection.otherConnectionDone()
      return generation.count
    },
    goOn: billingWork(connection, isInMemory ? null : path),
  })
  const { lastEventSeq } = events.methods
  const generation = { count: 0, event_seq: 0 }
  let isClosed = false
  let uncleanEnd = opened.unclean
  let checking: Promise<void> | null = null
  let warnings = lossWarnings(path, uncleanEnd?.lost ?? 'no')

  return {
    // Statements find whatever rows they need.
    ...writeMethods((_, run) => connection.write(() => run(transaction))),
    ...projects.methods,
    ...consent.methods,
    ...placements.methods,
    ...callbacks.methods,
    ...beacons.methods,
    ...billing,
    ...evidence.methods,
    ...requests.methods,
    ...events.methods,
    ...values.methods,
    ...snapshots.methods,
    location: path,
    schema_version: migrations.length,
    access,
    shared: null,
    get catalogue_id() {
      return catalogue_id
    },
    notes: opened.backup === null ? [] : [`the database was migrated; a copy of the old one is at ${opened.backup}`],
    // One process owns the file: there are no others.
    node: () => null,
    onChange: () => () => {},
    warnings: () => (opened.isInPlace() ? [...warnings] : [...warnings, removedWarning(path)]),
    checkUncleanEnd() {
      checking ??= uncleanEnd === null || isClosed ? Promise.resolve() : checkFileNow()
      return checking
    },
    stateGeneration: () => ({ ...generation }),
    reset: (at_ms) => (memory === null ? resetFile(at_ms) : resetMemory(memory, at_ms)),
    /**
     * Broken pages, and rows that violate their table's constraints. In memory there is no file that could be damaged.
     */
    async integrityProblems() {
      if (isInMemory) return []
      const problems = opened.isInPlace() ? await checkFile(path, 'quick_check', maxProblems) : [removedWarning(path)]
      return [...problems, ...(await access.problems())]
    },
    largestId: async () => connection.read(() => findLargestId(db)),
    async close() {
      if (isClosed) return
      isClosed = true
      requests.close()
      // A check reads the log, which is copied and removed below.
      await checking
      await connection.close()
      await checkpoints?.close()
      snapshots.close()
      access.close()
      if (!opened.isInPlace()) reportFile(null)
      opened.close(uncleanEnd)
    },
  }

  async function checkFileNow(): Promise<void> {
    const checked = { ...generation }
    try {
      const [problem] = await checkFile(path, 'quick_check', 1)
      uncleanEnd = null
      if (problem === undefined || generation.count !== checked.count) return
      const warning = damageWarning(path, problem)
      warnings.push(warning)
      options.report(new DamageWarning(warning))
    } catch (error) {
      options.report(error)
    }
  }

  async function resetMemory(state: MemoryState, at_ms: number): Promise<void> {
    connection.runExclusive(() => {
      state.clear()
      startMemory('sandbox.reset', at_ms, 0)
    })
  }

  /** Seeds the state that was just attached, and announces it. */
  function startMemory(type: 'sandbox.reset' | 'sandbox.restored', at_ms: number, exchanges: number): void {
    db.transaction(() => {
      catalogue_id = applySeed(db, seed, at_ms)
      events.continueAfter(lastEventSeq())
      startGeneration(events.append(stateEvent(type, at_ms)), exchanges)
    })()
    events.announce()
  }

  function resetFile(at_ms: number): Promise<void> {
    return connection.withOtherConnection(async () => {
      requireFile()
      const pages = pageCount()
      const fresh = { catalogue_id, event_seq: lastEventSeq() + 1 }
      const { db: image, close } = openDatabase(':memory:', pid, pageBytes(db))
      try {
        fresh.catalogue_id = image.transaction(() => applySeed(image, seed, at_ms))()
        prepareEvent(image)(fresh.event_seq, stateEvent('sandbox.reset', at_ms))
        await overwriteFile(db, path, image)
      } finally {
        close()
      }
      catalogue_id = fresh.catalogue_id
      events.reload()
      startGeneration(fresh.event_seq, 0)
      afterReplacement(pages)
    })
  }

  /** On a thread: copying takes as long as there are pages. */
  function replaceAll(from: string, at_ms: number): Promise<void> {
    return connection.withOtherConnection(async () => {
      requireFile()
      const replaced = await replaceFile(path, { from, seed, at_ms, last_event_seq: lastEventSeq() })
      catalogue_id = replaced.catalogue_id
      events.reload(replaced.events)
      startGeneration(replaced.event_seq, replaced.exchanges)
      afterReplacement(pageCount())
    })
  }

  /** A file that is no longer there explains any failure. */
  function reportFile(error: unknown): void {
    options.report(opened.isInPlace() ? error : new DamageWarning(removedWarning(path)))
  }

  /** Another connection would open or create another file of this name. */
  function requireFile(): void {
    if (!opened.isInPlace()) throw new StorageError(new Error(removedWarning(path)))
  }

  function pageCount(): number {
    return db.pragma('page_count', { simple: true }) as number
  }

  /** Every page was written, which is worth a checkpoint; until then the file keeps its size. */
  function afterReplacement(pages: number): void {
    checkpoints?.committed(pages)
    events.announce()
  }

  /** Every row was replaced, as the event of that number announces: none of the old rows stay in memory. */
  function startGeneration(event_seq: number, exchanges: number): void {
    clearCaches()
    warnings = []
    requests.clear(exchanges)
    generation.count++
    generation.event_seq = event_seq
  }

  function clearCaches(): void {
    for (const table of [projects, consent, placements, beacons, evidence]) table.clear()
  }
}

function findLargestId(db: OpenDatabase['db']): number {
  return db.prepare<[], number>(largestIdText).pluck().get() ?? 0
}

function lossWarnings(path: string, lost: Lost): string[] {
  const log = `${path}-wal, the log of a sandbox that was killed,`
  if (lost === 'yes') return [`${log} was cut or removed: the last of what it had acknowledged is missing`]
  if (lost === 'no') return []
  return [`${log} is gone: unless another program copied it, the last of what it had acknowledged is missing`]
}

function removedWarning(path: string): string {
  return `${path} was removed or replaced while in use: its data is lost when this sandbox stops, unless you export it: svc sandbox export`
}

function damageWarning(path: string, problem: string): string {
  const what = problem.replaceAll(/\s+/g, ' ').replace('*** in database main *** ', '')
  return `${path} is damaged, as found after an unclean end: ${what}. Restore a snapshot, or: svc sandbox reset`
}

/** The clock and the fault rules: each is one value of the table `meta`, missing until the first change. */
function valueTable({ db, read }: Connection) {
  const clock = metaValue<ClockRow>(db, 'clock')
  const faults = metaValue<FaultState>(db, 'faults')
  const transaction = {
    findClock: clock.find,
    saveClock: clock.save,
    findFaults: faults.find,
    saveFaults: faults.save,
  } satisfies Partial<Transaction>
  const methods: Omit<ClockAndFaultStore, keyof WriteMethods> = {
    findClock: async () => read(clock.find),
    findFaults: async () => read(faults.find),
  }
  return { transaction, methods }
}
