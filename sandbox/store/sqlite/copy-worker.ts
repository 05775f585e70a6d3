/** Writes one consistent copy of a database into a new file, on a thread and a connection of its own. */
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'

const { from, to } = workerData as { from: string; to: string }
const db = new Database(from, { readonly: true, timeout: 2000 })
try {
  db.prepare('VACUUM INTO ?').run(to)
} finally {
  db.close()
}
parentPort!.postMessage('written')
