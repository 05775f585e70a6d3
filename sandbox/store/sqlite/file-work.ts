/**
 * Long work on a whole database file: copies, checks and reports. A thread does it from its own connection, which sees
 * the database at one point in time, while requests go on.
 */
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type BillingProgress, type BillingReport, isOfAllTime, noProgress } from '../billing.ts'
import { type Seed, StorageError } from '../store.ts'
import { countBilling } from './billing.ts'
import { readFailure } from './file/failures.ts'
import type { Connection } from './group-commit.ts'

export type FileWork =
  | { kind: 'copy'; path: string; to: string }
  | ({ kind: 'replace'; path: string } & Replacement)
  | { kind: 'check'; path: string; pragma: Check; limit: number }
  | { kind: 'rows'; path: string }
  | ({ kind: 'billing'; path: string } & BillingReport)

/** `quick_check` reads every page; `integrity_check` also compares each index with its table. */
export type Check = 'quick_check' | 'integrity_check'

/** A path: the single binary finds its own files by path only. */
const workerPath = join(import.meta.dirname, import.meta.url.endsWith('.ts') ? 'file-worker.ts' : 'file-worker.js')

/** Writes one consistent copy of the database into a new file. */
export async function copyFile(path: string, to: string): Promise<void> {
  await run({ kind: 'copy', path, to })
}

export interface Replacement {
  /** The file that replaces it, of the same schema: a copy, which the work changes. */
  from: string
  seed: Seed
  at_ms: number
  /** The event that reports the replacement has a larger number. */
  last_event_seq: number
}

/** Caches of the replaced rows. */
export interface Replaced {
  catalogue_id: number
  event_seq: number
  events: number
  exchanges: number
}

/**
 * Replaces a database file in one transaction of the thread: until this resolves, nothing else may write. A failure
 * changes nothing.
 * @throws StorageError
 */
export async function replaceFile(path: string, replacement: Replacement): Promise<Replaced> {
  try {
    return await run<Replaced>({ kind: 'replace', path, ...replacement })
  } catch (error) {
    throw new StorageError(error)
  }
}

/** Resolves to the problems that SQLite finds in the file, at most `limit` lines; none when it is intact. */
export function checkFile(path: string, pragma: Check, limit: number): Promise<string[]> {
  return run({ kind: 'check', path, pragma, limit })
}

/**
 * Resolves to the first row of a state whose values no sandbox writes, as `table row: problem`.
 * @throws StorageError when they cannot be read
 */
export async function findRowProblem(path: string): Promise<string | null> {
  const [problem = null] = await runReading({ kind: 'rows', path })
  return problem
}

/** Pieces after which a report moves to the thread; its start costs about as much. */
const maxPieces = 20
/** Rows that an index may find in one go. */
const maxSelectedRows = 1_000
/** How long a report of a database in memory waits after each piece, as a multiple of the time that the piece took. */
const rest = 1

/**
 * Returns a function that continues a billing report alongside the requests: a little work in pieces between them, a
 * lot of work on a thread, one report at a time.
 * @param path the file; null for a database in memory, which no other thread can read
 */
export function billingWork({ db, read }: Connection, path: string | null) {
  let last: Promise<unknown> = Promise.resolve()

  const onThread = (work: FileWork): Promise<BillingProgress> => {
    const result = last.then(() => runReading<BillingProgress>(work))
    last = result.catch(() => {})
    return result
  }

  return async (report: BillingReport): Promise<BillingProgress> => {
    const { scope, progress } = report
    const pieces = countBilling(db, report, maxSelectedRows)
    for (let piece = 0; ; piece++) {
      const started = performance.now()
      if (read(() => pieces.next()).done === true) return progress
      if (piece < maxPieces) await yieldToEventLoop()
      else if (path === null) await sleep(rest * (performance.now() - started))
      else {
        pieces.return()
        const base = isOfAllTime(scope) ? progress : noProgress(progress.counts.most_latest)
        return onThread({ kind: 'billing', path, ...report, progress: base })
      }
    }
  }
}

function runReading<Result = string[]>(work: FileWork): Promise<Result> {
  return run<Result>(work).catch((error: unknown) => {
    throw readFailure(error)
  })
}

function run<Result = string[]>(work: FileWork): Promise<Result> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(workerPath, { workerData: work, execArgv: [] })
    thread.once('message', resolve)
    thread.once('error', reject)
    thread.once('exit', () => reject(new Error('the thread ended before its work was done')))
  })
}
