/**
 * Copies of the whole state, each a database file: named snapshots, exports on their way out, imports on their way in.
 *
 * They lie in a folder beside the database; those of a database in memory in a private temporary folder that is gone
 * when the sandbox stops. A copy is written under a passing name and moved into place when all of it is there, so that
 * whatever fails on the way leaves what was there before. A thread writes it from a reader's connection: it sees one
 * instant of the database, and requests go on meanwhile.
 */
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import type { Refusal, SnapshotRow } from '../store.ts'
import { applicationId, migrations } from './migrations.ts'

const workerUrl = new URL(import.meta.url.endsWith('.ts') ? './copy-worker.ts' : './copy-worker.js', import.meta.url)

const passing = '.passing-'
const snapshotFile = /^snapshot-(.+)\.db$/

export interface Copies {
  /** Writes what is committed now into a file of its own and answers its path. */
  write(): Promise<string>
  /** A folder of its own for a state on its way in. */
  folder(): string
  /** Removes a file or folder made by these. */
  remove(path: string): void
  /** Moves a copy to its name; false when there is one and it may not be replaced. */
  keep(path: string, name: string, mayReplace: boolean): boolean
  find(name: string): (SnapshotRow & { path: string }) | null
  list(): SnapshotRow[]
  delete(name: string): boolean
  close(): void
}

/** `runExclusive` runs work while no transaction is open. */
export function databaseCopies(
  db: Database.Database,
  path: string,
  runExclusive: <Result>(work: () => Result) => Result,
): Copies {
  const isInMemory = path === ':memory:'
  let root: string | null = isInMemory ? null : `${path}.snapshots`
  let count = 0
  if (root !== null) clearPassing(root)

  const ready = (): string => {
    root ??= mkdtempSync(join(tmpdir(), 'svc-sandbox-'))
    mkdirSync(root, { recursive: true, mode: 0o700 })
    return root
  }
  const next = () => join(ready(), `${passing}${++count}`)
  const pathOf = (name: string) => (root === null ? null : join(root, `snapshot-${name}.db`))

  const find = (name: string) => {
    const file = pathOf(name)
    if (file === null || !existsSync(file)) return null
    const { mtimeMs, size } = statSync(file)
    return {
      path: file,
      name,
      saved_at_ms: Math.floor(mtimeMs),
      size_bytes: size,
      schema_version: readHeader(file)?.version ?? 0,
    }
  }

  return {
    async write() {
      const to = next()
      try {
        if (isInMemory) runExclusive(() => db.prepare('VACUUM INTO ?').run(to))
        else {
          runExclusive(() => {})
          await onThread(path, to)
        }
        sync(to)
        return to
      } catch (error) {
        rmSync(to, { force: true })
        throw error
      }
    },
    folder() {
      const folder = next()
      mkdirSync(folder, { mode: 0o700 })
      return folder
    },
    remove: (file) => rmSync(file, { recursive: true, force: true }),
    keep(file, name, mayReplace) {
      const to = pathOf(name)!
      if (!mayReplace && existsSync(to)) return false
      renameSync(file, to)
      return true
    },
    find,
    list() {
      if (root === null || !existsSync(root)) return []
      return readdirSync(root)
        .flatMap((file) => find(snapshotFile.exec(file)?.[1] ?? '') ?? [])
        .map(({ path: _, ...row }) => row)
        .sort((a, b) => b.saved_at_ms - a.saved_at_ms || (a.name < b.name ? -1 : 1))
    },
    delete(name) {
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

/** What is wrong with a file that claims to be a state; null when it may be opened. Nothing in it is run. */
export function problemOf(path: string, check: 'quick_check' | 'integrity_check'): Refusal | null {
  const invalid = (problem: string): Refusal => ({ status: 'refused', reason: 'invalid', problem })
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
    const finding = db.pragma(`${check}(1)`, { simple: true }) as string
    return finding === 'ok' ? null : invalid(finding)
  } catch (error) {
    return invalid(error instanceof Error ? error.message : String(error))
  } finally {
    db?.close()
  }
}

/** A working copy of a snapshot, which a migration may change. */
export function workingCopy(copies: Copies, path: string): { path: string; remove(): void } {
  const folder = copies.folder()
  const file = join(folder, 'state.db')
  copyFileSync(path, file)
  return { path: file, remove: () => copies.remove(folder) }
}

/** From the head of the file, without opening it: null when it is not a SQLite database. */
function readHeader(path: string): { version: number; application_id: number } | null {
  const head = Buffer.alloc(100)
  const file = openSync(path, 'r')
  const length = readSync(file, head, 0, head.length, 0)
  closeSync(file)
  if (length < head.length || head.toString('latin1', 0, 15) !== 'SQLite format 3') return null
  return { version: head.readUInt32BE(60), application_id: head.readUInt32BE(68) }
}

function onThread(from: string, to: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(workerUrl, { workerData: { from, to } })
    thread.once('message', () => resolve())
    thread.once('error', reject)
    thread.once('exit', () => reject(new Error('the copy was not finished')))
  })
}

function sync(path: string): void {
  const file = openSync(path, 'r+')
  fsyncSync(file)
  closeSync(file)
}

/** What a killed sandbox left unfinished. */
function clearPassing(root: string): void {
  if (!existsSync(root)) return
  for (const file of readdirSync(root)) {
    if (file.startsWith(passing)) rmSync(join(root, file), { recursive: true, force: true })
  }
}
