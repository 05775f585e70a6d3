/**
 * The file of a state, from wherever it comes: its header, the bytes that are taken, and what it must be before anything
 * reads its rows. Nothing in it is executed.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { limits } from '../../../../src/contract/limits.ts'
import { SandboxError } from '../../../sandbox-error.ts'
import { type ReceivedState, type Refusal, StorageError, type Store } from '../../store.ts'
import { type Check, checkFile, findRowProblem } from '../file-work.ts'
import { applicationId, migrations } from '../migrations.ts'
import { openDatabase } from '../open.ts'
import { schemaOf, stateProblem } from '../state.ts'

interface Receiver {
  /** An empty folder for it, which is removed with it. */
  folder: string
  pid: number
  /** Opens the file as a store. */
  open(path: string): Store
  /** Replaces the whole state with the file. */
  replace(path: string, at_ms: number): Promise<void>
}

/** Writes the bytes of a state to a file and opens it: nothing changes before `replace`. */
export async function receiveFile(
  bytes: AsyncIterable<Uint8Array>,
  receiver: Receiver,
): Promise<ReceivedState | Refusal> {
  const { folder } = receiver
  try {
    const path = join(folder, 'state.db')
    // Flushed here and not by its opening, for which the event loop would wait.
    await writeFile(path, stateBytes(bytes), { mode: 0o600, flush: true })
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
    const problem = isSame ? stateProblem(migrated, false) : 'its tables are not those of a sandbox'
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
    async replace(at_ms) {
      await store.close()
      await receiver.replace(path, at_ms)
    },
    async discard() {
      await store.close()
      await remove(receiver.folder)
    },
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

/** Bytes that are received are no state. */
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
    if (foreign.length > 0) return invalid(`it has a part that no sandbox makes: ${foreign[0]}`)
    const [problem] = await checkFile(path, check, 1)
    return problem === undefined ? null : invalid(problem)
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
export function readHeader(path: string): Header | null {
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
