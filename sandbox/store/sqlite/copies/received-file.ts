/** The file of a state, whatever its source: its header and the bytes that are accepted. Nothing in it is executed. */
import { closeSync, openSync, readSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { limits } from '#contract/limits.ts'
import { isJournaled } from '#contract/own-requests.ts'
import { ownerOnly } from '#foundation/permissions.ts'
import { SandboxError } from '#sandbox/sandbox-error.ts'
import type { Receiver } from '../../state-files.ts'
import { type ReceivedState, type Refusal, StorageError, type Store } from '../../store.ts'
import { isDamage } from '../file/explain.ts'
import { isStorageFailure } from '../file/failures.ts'
import { openDatabase } from '../file/open.ts'
import { type Check, checkFile, findRowProblem } from '../file-work.ts'
import { applicationId, migrations } from '../migrations.ts'
import { readSchema } from '../state.ts'
import { stateProblem } from './state-problem.ts'

interface FileReceiver extends Receiver {
  pid: number
  open(path: string): Store
}

/** Writes the bytes of a state to a file and opens it: nothing changes before it replaces the state. */
export async function receiveFile(
  bytes: AsyncIterable<Uint8Array>,
  receiver: FileReceiver,
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
    throw isDiskError(error) ? new StorageError(error) : error
  }
}

const remove = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true })

async function openReceived(path: string, receiver: FileReceiver): Promise<ReceivedState | Refusal> {
  const refusal = await findRefusal(path, 'integrity_check')
  if (refusal !== null) return refusal
  let store: Store
  try {
    const { db: migrated, close } = openDatabase(path, receiver.pid)
    const isSame = readSchema(migrated) === ownSchema(receiver.pid)
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
const journalRowsAtOnce = 2_000

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
    return readSchema(db)
  } finally {
    close()
  }
}

/** Whether a file could not be written: a full or read-only disk. */
function isDiskError(error: unknown): boolean {
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
export async function findRefusal(path: string, check: Check): Promise<Refusal | null> {
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
    const encoding = db.pragma('encoding', { simple: true })
    if (encoding !== 'UTF-8') return invalid(`its text is ${encoding}, and that of a sandbox is UTF-8`)
    const [damage = null] = await checkFile(path, check, 1)
    // A state of an older version has its check once it is migrated.
    const problem = damage ?? (version === migrations.length ? stateProblem(db, false) : null)
    return problem === null ? null : invalid(problem)
  } catch (error) {
    if (isStorageFailure(error) && !isDamage(error)) throw new StorageError(error, 'read')
    return invalid(error instanceof Error ? error.message : String(error))
  } finally {
    db?.close()
  }
}

export function invalid(problem: string): Refusal {
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
