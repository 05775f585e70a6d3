/** Verifies long chains on a thread, from its own connection to the database file, while requests go on. */
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Services } from '#operations/context.ts'
import type { Verdict } from '#operations/evidence/verify-rows.ts'
import { readFailure } from '#store/sqlite/file/failures.ts'

const workerFile = import.meta.url.endsWith('.ts') ? 'verification-worker.ts' : 'verification-worker.js'
/** A path: the single binary finds its own files by path only. */
const workerPath = join(import.meta.dirname, workerFile)

/** Returns a function that verifies one chain at a time: requests must keep most of the processors. */
export function createVerificationThread(): Services['verifyOnThread'] {
  let last: Promise<unknown> = Promise.resolve()

  return (work) => {
    const verdict = last.then(() => run(work))
    last = verdict.catch(() => {})
    return verdict
  }
}

/** @throws StorageError when the file cannot be opened */
async function run(work: Parameters<Services['verifyOnThread']>[0]): Promise<Verdict> {
  const { promise, resolve, reject } = Promise.withResolvers<Verdict>()
  const thread = new Worker(workerPath, { workerData: work, execArgv: [] })
  thread.once('message', resolve)
  thread.once('error', reject)
  thread.once('exit', () => reject(new Error('the thread ended before its chain was verified')))
  return promise.catch((error: unknown) => {
    throw readFailure(error)
  })
}
