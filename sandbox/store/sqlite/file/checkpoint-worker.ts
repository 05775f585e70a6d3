/** Copies the log into the database file on every `checkpoint` message, on its own thread and connection. */
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'

const { path } = workerData as { path: string }
const port = parentPort!
const db = new Database(path, { fileMustExist: true, timeout: 0 })
db.pragma('synchronous = NORMAL')
db.pragma('cache_size = -256')

port.on('message', (message: 'checkpoint' | 'close') => {
  if (message === 'close') {
    db.close()
    port.close()
    return
  }
  const [result] = db.pragma('wal_checkpoint(PASSIVE)') as [{ log: number }]
  port.postMessage(result.log)
})
