/** Does one piece of long work on a database file (see file-work.ts), on a thread and a connection of its own. */
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import type { FileWork } from './file-work.ts'
import { rowProblem } from './row-check.ts'

const work = workerData as FileWork
const db = new Database(work.path, { readonly: true, timeout: 2000 })
try {
  parentPort!.postMessage(done(work))
} finally {
  db.close()
}

function done(work: FileWork): string[] {
  if (work.kind === 'copy') return copy(work.to)
  if (work.kind === 'check') return check(work.pragma, work.limit)
  const problem = rowProblem(db, work.latest_ms)
  return problem === null ? [] : [problem]
}

function copy(to: string): string[] {
  db.prepare('VACUUM INTO ?').run(to)
  return []
}

function check(pragma: string, limit: number): string[] {
  try {
    const lines = db.prepare(`PRAGMA ${pragma}(${limit})`).pluck().all() as string[]
    return lines.filter((line) => line !== 'ok')
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error
    return [error.message]
  }
}
