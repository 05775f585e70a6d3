/**
 * Long work on a whole database file: copies and checks. A thread does it from a connection of its own, which sees the
 * database at one point in time, so that requests go on meanwhile.
 */
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { latest_ms } from '../../../src/contract/control/clock.ts'

export type FileWork =
  | { kind: 'copy'; path: string; to: string }
  | { kind: 'check'; path: string; pragma: Check; limit: number }
  | { kind: 'rows'; path: string; latest_ms: number }

/** `quick_check` reads every page; `integrity_check` also compares each index with its table. */
export type Check = 'quick_check' | 'integrity_check'

/** A path: the single binary finds its own files by path only. */
const workerPath = join(import.meta.dirname, import.meta.url.endsWith('.ts') ? 'file-worker.ts' : 'file-worker.js')

/** Writes one consistent copy of the database into a new file. */
export async function copyFile(path: string, to: string): Promise<void> {
  await run({ kind: 'copy', path, to })
}

/** Resolves to what SQLite finds wrong in the file, at most `limit` lines; none when it is intact. */
export function checkFile(path: string, pragma: Check, limit: number): Promise<string[]> {
  return run({ kind: 'check', path, pragma, limit })
}

/** Resolves to the first row of a state whose values no sandbox writes, as `table row: problem`. */
export async function findRowProblem(path: string): Promise<string | null> {
  return (await run({ kind: 'rows', path, latest_ms }))[0] ?? null
}

function run(work: FileWork): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(workerPath, { workerData: work })
    thread.once('message', resolve)
    thread.once('error', reject)
    thread.once('exit', () => reject(new Error('the thread ended before its work was done')))
  })
}
