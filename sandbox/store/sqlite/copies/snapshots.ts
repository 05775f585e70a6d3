/**
 * Copies of the whole state, each a database file: named snapshots, exports, and imports, with the checks of a file
 * before anything reads its rows.
 *
 * They are in a folder next to the database; for a database in memory, in a private temporary folder that is removed
 * when the sandbox stops. A copy is written under a temporary name and moved into place when it is complete, so that a
 * failure leaves what was there before.
 */

import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs'
import { copyFile as copyBytes, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import Database from 'better-sqlite3'
import { limits } from '#contract/limits.ts'
import { isJournaled } from '#contract/own-requests.ts'
import { createFolder, createPrivate, renameOver } from '#foundation/file-system.ts'
import { ownerOnly } from '#foundation/permissions.ts'
import { SandboxError } from '#sandbox/sandbox-error.ts'
import {
  type PreparedState,
  type ReceivedState,
  type Refusal,
  type SnapshotRow,
  type SnapshotStore,
  StorageError,
  type Store,
} from '../../store.ts'
import { type Check, checkFile, copyFile, findRowProblem } from '../file-work.ts'
import type { Connection } from '../group-commit.ts'
import { applicationId, migrations } from '../migrations.ts'
import { openDatabase } from '../open.ts'
import { changed, type MemoryState, schemaOf, stateProblem } from '../state.ts'

interface SnapshotOptions {
  path: string
  pid: number
  /** The state of a database in memory; null for a file. */
  memory: MemoryState | null
  /** Whether the file still has its name. */
  isInPlace(): boolean
  /** Opens another database with the same options. */
  open(path: string): Store
  /** Replaces every row of the file with the rows of another. */
  replaceFile(from: string, at_ms: number): Promise<void>
  /** Called when another state in memory, with this many exchanges in its journal, has replaced the previous one. */
  onReplaced(at_ms: number, exchanges: number): void
}

export function snapshotMethods(
  connection: Connection,
  options: SnapshotOptions,
): { methods: SnapshotStore; close(): void } {
  const { memory } = options
  const copies = snapshotFolder(connection, options)

  const prepare = async (path: string): Promise<PreparedState> => {
    if (memory === null) return { replace: (at_ms) => options.replaceFile(path, at_ms), discard: async () => {} }
    const next = await memory.prepare(connection, path)
    return {
      replace: async (at_ms) => next.replace((exchanges) => options.onReplaced(at_ms, exchanges)),
      discard: async () => next.discard(),
    }
  }

  return {
    close: copies.close,
    methods: {
      async saveSnapshot(name, mayReplace) {
        if (!mayReplace && copies.find(name) !== null) return null
        const written = await copies.write()
        if (!copies.moveTo(name, written, mayReplace)) {
          await copies.remove(written)
          return null
        }
        const { path: _, ...row } = copies.find(name)!
        return row
      },
      listSnapshots: async () => copies.list(),
      deleteSnapshot: async (name) => copies.delete(name),

      async prepareSnapshot(name) {
        const found = copies.find(name)
        if (found === null) return 'missing'
        const refusal = await refusalOf(found.path, 'quick_check')
        if (refusal !== null) return refusal
        const { path, ...snapshot } = found
        if (snapshot.schema_version === migrations.length) {
          const { replace, discard } = await prepare(path)
          const replaceUnchanged = async (at_ms: number) => {
            if (!isDeepStrictEqual(copies.find(name), found)) throw changed('the snapshot')
            await replace(at_ms)
          }
          return { status: 'prepared', snapshot, replace: replaceUnchanged, discard }
        }
        // A copy is migrated, not the snapshot itself.
        const folder = copies.folder()
        const working = join(folder, 'state.db')
        try {
          await copyBytes(path, working)
          const { db, close } = openDatabase(working, options.pid)
          const problem = stateProblem(db, false)
          close()
          if (problem !== null) {
            await copies.remove(folder)
            return invalid(problem)
          }
          const { replace, discard } = await prepare(working)
          const discardAll = async () => {
            await discard()
            await copies.remove(folder)
          }
          return { status: 'prepared', snapshot, replace, discard: discardAll }
        } catch (error) {
          await copies.remove(folder)
          throw error
        }
      },

      async exportState() {
        const path = await copies.write()
        return { path, remove: () => copies.remove(path) }
      },

      async receiveState(bytes) {
        return receiveFile(bytes, { folder: copies.folder(), pid: options.pid, open: options.open, prepare })
      },
    },
  }
}

const temporary = '.passing-'
const snapshotFile = /^snapshot-(.+)\.db$/

/** The files of snapshots, and of copies in progress. */
function snapshotFolder(
  { db, runExclusive, withOtherConnection }: Connection,
  { path, memory, isInPlace }: SnapshotOptions,
) {
  const isInMemory = memory !== null
  let root: string | null = isInMemory ? null : `${path}.snapshots`
  let count = 0
  if (root !== null) removeTemporary(root)

  const temporaryPath = () => {
    root ??= mkdtempSync(join(tmpdir(), 'svc-sandbox-'))
    createFolder(root, ownerOnly.folder)
    return join(root, `${temporary}${++count}`)
  }
  const pathOf = (name: string) => (root === null ? null : join(root, `snapshot-${name}.db`))

  const find = (name: string): (SnapshotRow & { path: string }) | null => {
    const file = pathOf(name)
    if (file === null || !existsSync(file)) return null
    const { mtimeMs, size } = statSync(file)
    const schema_version = readHeader(file)?.version ?? 0
    return { path: file, name, saved_at_ms: Math.floor(mtimeMs), size_bytes: size, schema_version }
  }

  return {
    find,
    /** Writes everything committed so far to its own file and resolves to its path. */
    async write(): Promise<string> {
      const to = temporaryPath()
      try {
        createPrivate(to)
        if (memory !== null) await withOtherConnection(() => memory.copyTo(to))
        else if (isInPlace()) {
          runExclusive(() => {})
          await copyFile(path, to)
        } else {
          // Only this connection can still read it: requests wait.
          runExclusive(() => db.prepare('VACUUM INTO ?').run(to))
        }
        return to
      } catch (error) {
        rmSync(to, { force: true })
        // Only the disk can make a copy fail.
        throw error instanceof StorageError ? error : new StorageError(error)
      }
    },
    /** Creates an empty folder for one state. */
    folder(): string {
      const folder = temporaryPath()
      mkdirSync(folder, { mode: ownerOnly.folder })
      return folder
    },
    remove: (file: string): Promise<void> => rm(file, { recursive: true, force: true }),
    /** Moves a copy to its name; false when the name is taken and may not be replaced. */
    moveTo(name: string, file: string, mayReplace: boolean): boolean {
      const to = pathOf(name)!
      if (!mayReplace && existsSync(to)) return false
      renameOver(file, to)
      return true
    },
    list(): SnapshotRow[] {
      if (root === null || !existsSync(root)) return []
      return readdirSync(root)
        .flatMap((file) => find(snapshotFile.exec(file)?.[1] ?? '') ?? [])
        .map(({ path: _, ...row }) => row)
        .sort((a, b) => b.saved_at_ms - a.saved_at_ms || (a.name < b.name ? -1 : 1))
    },
    delete(name: string): boolean {
      const file = pathOf(name)
      if (file === null || !existsSync(file)) return false
      rmSync(file)
      return true
    },
    close() {
      if (isInMemory && root !== null) rmSync(root, { recursive: true, force: true })
    },
  }
}

/** Removes unfinished files of a killed sandbox. */
function removeTemporary(root: string): void {
  if (!existsSync(root)) return
  for (const file of readdirSync(root)) {
    if (file.startsWith(temporary)) rmSync(join(root, file), { recursive: true, force: true })
  }
}

/* The file of a state, whatever its source: its header and the bytes that are accepted. Nothing in it is executed. */

interface Receiver {
  /** An empty folder for the file, removed with it. */
  folder: string
  pid: number
  /** Opens the file as a store. */
  open(path: string): Store
  /** Prepares the file to replace the whole state. */
  prepare(path: string): Promise<PreparedState>
}

/** Writes the bytes of a state to a file and opens it: nothing changes before it replaces the state. */
export async function receiveFile(
  bytes: AsyncIterable<Uint8Array>,
  receiver: Receiver,
): Promise<ReceivedState | Refusal> {
  const { folder } = receiver
  try {
    const path = join(folder, 'state.db')
    // Flushed here and not when it is opened, which would block the event loop.
    await writeFile(path, stateBytes(bytes), { mode: ownerOnly.file, flush: true })
    const received = await openReceived(path, receiver)
    if (received.status === 'refused') await remove(folder)
    return received
  } catch (error) {
    await remove(folder)
    if (error instanceof NoState) return invalid(error.message)
    throw isOfDisk(error) ? new StorageError(error) : error
  }
}

const remove = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true })

async function openReceived(path: string, receiver: Receiver): Promise<ReceivedState | Refusal> {
  const refusal = await refusalOf(path, 'integrity_check')
  if (refusal !== null) return refusal
  let store: Store
  try {
    const { db: migrated, close } = openDatabase(path, receiver.pid)
    const isSame = schemaOf(migrated) === ownSchema(receiver.pid)
    const problem = isSame ? stateProblem(migrated, false) : 'it has other tables than a sandbox'
    if (problem === null) await removeOtherRequests(migrated)
    close()
    const rowProblem = problem ?? (await findRowProblem(path))
    if (rowProblem !== null) return invalid(rowProblem)
    store = receiver.open(path)
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error
    if (error.code === 'database_unwritable') throw new StorageError(error)
    return invalid(error.message)
  }
  return {
    status: 'received',
    store,
    async prepare() {
      await store.close()
      return receiver.prepare(path)
    },
    async discard() {
      await store.close()
      await remove(receiver.folder)
    },
  }
}

/** Rows of the journal that are read before other requests get a turn. */
const journalRowsAtOnce = 20_000

/** Removes the journal rows that no sandbox writes: they could be sent again. */
async function removeOtherRequests(db: Database.Database): Promise<void> {
  db.function('is_journaled', { deterministic: true, directOnly: true }, (path: unknown, status: unknown) =>
    Number(isJournaled(String(path), Number(status))),
  )
  const findLast = db.prepare<[number], { last: number | null }>(
    `SELECT max(id) AS last FROM (SELECT id FROM exchange WHERE id > ? ORDER BY id LIMIT ${journalRowsAtOnce})`,
  )
  // Nearly all rows are requests to the API: those need no function.
  const removeBetween = db.prepare<[number, number]>(
    `DELETE FROM exchange WHERE id > ? AND id <= ?
    AND NOT (path GLOB '/v1/*' OR path GLOB '/public/*') AND NOT is_journaled(path, status)`,
  )
  for (let read = -1; ; ) {
    const last = findLast.get(read)?.last ?? null
    if (last === null) return
    removeBetween.run(read, last)
    read = last
    await setImmediate()
  }
}

/** The declarations that a database of this version has. */
function ownSchema(pid: number): string {
  const { db, close } = openDatabase(':memory:', pid)
  try {
    return schemaOf(db)
  } finally {
    close()
  }
}

/** Whether a file could not be written: a full or read-only disk. */
function isOfDisk(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^E(NOSPC|DQUOT|FBIG|IO|ROFS|ACCES)$/.test(String(error.code))
}

/** The received bytes are not a state. */
class NoState extends Error {}

/**
 * Passes on the bytes of a state. The header comes first and says how many there are: anything else is noticed before it
 * is written, and more than that is never written.
 * @throws NoState
 */
async function* stateBytes(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head = Buffer.alloc(0)
  let size = 0
  let left = Number.POSITIVE_INFINITY
  for await (const chunk of bytes) {
    size += chunk.length
    if (size > left) throw new NoState('it is longer than its header says')
    if (head.length >= headerBytes) {
      yield chunk
      continue
    }
    head = Buffer.concat([head, chunk])
    if (head.length < headerBytes) continue
    const header = parseHeader(head)
    if (header === null || header.application_id !== applicationId) throw new NoState('it is not a state of a sandbox')
    if (header.size_bytes > limits.import_unpacked_bytes) {
      throw new NoState(
        `its header says ${header.size_bytes} bytes, and at most ${limits.import_unpacked_bytes} are taken`,
      )
    }
    left = header.size_bytes
    if (size > left) throw new NoState('it is longer than its header says')
    yield head
  }
  if (head.length < headerBytes) throw new NoState('it is not a state of a sandbox')
}

/** Returns why a file cannot be used as a state; null when it may be opened. Nothing in it is executed. */
export async function refusalOf(path: string, check: Check): Promise<Refusal | null> {
  const header = readHeader(path)
  if (header === null || header.application_id !== applicationId) return invalid('it is not a state of a sandbox')
  const { version } = header
  if (version < 1) return invalid('it has no schema')
  if (version > migrations.length) {
    const problem = `it has schema ${version}, and this version knows ${migrations.length}`
    return { status: 'refused', reason: 'newer', problem }
  }
  let db: Database.Database | undefined
  try {
    db = new Database(path, { readonly: true })
    const foreign = db.prepare("SELECT name FROM sqlite_schema WHERE type NOT IN ('table', 'index')").pluck().all()
    if (foreign.length > 0) return invalid(`it has a part that no sandbox creates: ${foreign[0]}`)
    const [damage = null] = await checkFile(path, check, 1)
    // A state of an older version has its check once it is migrated.
    const problem = damage ?? (version === migrations.length ? stateProblem(db, false) : null)
    return problem === null ? null : invalid(problem)
  } catch (error) {
    return invalid(error instanceof Error ? error.message : String(error))
  } finally {
    db?.close()
  }
}

function invalid(problem: string): Refusal {
  return { status: 'refused', reason: 'invalid', problem }
}

const headerBytes = 100

interface Header {
  version: number
  application_id: number
  size_bytes: number
}

/** Reads the file header without opening the database; null when it is not SQLite. */
function readHeader(path: string): Header | null {
  const head = Buffer.alloc(headerBytes)
  const file = openSync(path, 'r')
  const length = readSync(file, head, 0, head.length, 0)
  closeSync(file)
  return length < headerBytes ? null : parseHeader(head)
}

function parseHeader(head: Buffer): Header | null {
  if (head.toString('latin1', 0, 15) !== 'SQLite format 3') return null
  const page_bytes = head.readUInt16BE(16) === 1 ? 65_536 : head.readUInt16BE(16)
  return {
    version: head.readUInt32BE(60),
    application_id: head.readUInt32BE(68),
    size_bytes: head.readUInt32BE(28) * page_bytes,
  }
}
