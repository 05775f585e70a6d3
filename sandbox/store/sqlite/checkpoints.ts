/**
 * Checkpoints away from the requests: copying the log into the file waits for the disk, so a thread does it while the
 * commits go on. The thread starts with the first log that is worth copying; a sandbox that is hardly used has none.
 *
 * Under steady load the log never comes to an end for the thread, since commits go on behind it. When it has grown long,
 * the short rest is copied here, so that the next commit starts the log over.
 */
import { Worker } from 'node:worker_threads'
import type Database from 'better-sqlite3'

export interface Checkpoints {
  /** After each commit, when no transaction is open, with the writes in it. */
  committed(writes: number): void
  /** Ends the thread. */
  close(): void
}

/** Writes between two checkpoints: a few megabytes. */
const writesBetween = 400
/** Pages from which the log is started over. */
const longLog = 6_000

const workerUrl = new URL(
  import.meta.url.endsWith('.ts') ? './checkpoint-worker.ts' : './checkpoint-worker.js',
  import.meta.url,
)

/** `report` is told when the thread fails; SQLite then copies the log itself, as it does by default. */
export function backgroundCheckpoints(
  db: Database.Database,
  path: string,
  report: (error: unknown) => void,
): Checkpoints {
  let worker: Worker | undefined
  let isUnderWay = false
  let isLong = false
  let isClosed = false
  let writes = 0

  const fallBack = (error: unknown) => {
    if (isClosed) return
    isClosed = true
    db.pragma('wal_autocheckpoint = 1000')
    report(error)
  }

  const startOver = () => {
    try {
      db.pragma('wal_checkpoint(PASSIVE)')
    } catch (error) {
      fallBack(error)
    }
  }

  const begin = () => {
    writes = 0
    isUnderWay = true
    worker ??= start()
    worker.postMessage('checkpoint')
  }

  const start = () => {
    const thread = new Worker(workerUrl, {
      workerData: { path },
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 },
    })
    thread.unref()
    thread.on('error', fallBack)
    thread.on('message', (log: number) => {
      isUnderWay = false
      if (isClosed) return
      // What came meanwhile may be a whole state: that rest is not short, and is for the thread as well.
      if (writes > longLog) begin()
      else isLong = log > longLog
    })
    return thread
  }

  db.pragma('wal_autocheckpoint = 0')
  return {
    committed(count) {
      if (isLong && !isClosed) {
        // Here and not when the thread says so: a transaction may be open then, and a checkpoint within one throws.
        isLong = false
        startOver()
      }
      writes += count
      if (isClosed || isUnderWay || writes < writesBetween) return
      begin()
    },
    close() {
      if (isClosed) return
      isClosed = true
      worker?.postMessage('close')
    },
  }
}
