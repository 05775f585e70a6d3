/**
 * Checkpoints of the write-ahead log, in the background: copying the log into the file waits for the disk, so a thread does it while commits go
 * on. The thread starts with the first log that is worth copying; a sandbox that is little used never starts it.
 *
 * Under steady load the thread never reaches the end of the log, since commits go on behind it. When the log has grown
 * long, the short rest is copied here, so the next commit starts the log over.
 */
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type Database from 'better-sqlite3'
import { StorageError } from '../../store.ts'
import { isStorageFailure } from './failures.ts'

interface Checkpoints {
  /** Called after each commit, when no transaction is open, with its number of writes. */
  committed(writes: number): void
  /** Resolves when the thread has ended: a process that exits while its driver is loaded, or closed, aborts. */
  close(): Promise<void>
}

/** Writes between two checkpoints: a few megabytes. */
const writesBetween = 400
/** Pages from which the log is started over. */
const longLog = 6_000

const workerFile = import.meta.url.endsWith('.ts') ? 'checkpoint-worker.ts' : 'checkpoint-worker.js'
/** A path: the single binary finds its own files by path only. */
const workerPath = join(import.meta.dirname, workerFile)

/** When the thread fails, `report` is called, and SQLite copies the log itself as it does by default. */
export function backgroundCheckpoints(
  db: Database.Database,
  path: string,
  report: (error: unknown) => void,
): Checkpoints {
  const thread = checkpointThread(path, onCopied, fallBack)
  let isLong = false
  let isClosed = false
  let writes = 0

  db.pragma('wal_autocheckpoint = 0')
  return {
    committed(count) {
      writes += count
      if (isLong && !isClosed) {
        // Here and not on its message: a transaction may be open then, and a checkpoint inside one throws.
        isLong = false
        // A whole state that was just written is not a short rest: the thread copies it.
        if (writes <= longLog) startOver()
      }
      if (isClosed || thread.isRunning() || writes < writesBetween) return
      run()
    },
    async close() {
      if (isClosed) return
      isClosed = true
      await thread.close()
    },
  }

  function fallBack(error: unknown): void {
    if (isClosed) return
    isClosed = true
    db.pragma('wal_autocheckpoint = 1000')
    report(isStorageFailure(error) ? new StorageError(error) : error)
  }

  function startOver(): void {
    try {
      db.pragma('wal_checkpoint(PASSIVE)')
    } catch (error) {
      fallBack(error)
    }
  }

  function run(): void {
    writes = 0
    thread.run()
  }

  /** @param log the pages that are in the log now */
  function onCopied(log: number): void {
    if (isClosed) return
    // A whole state may have been written in the meantime: that rest is not short, so the thread copies it too.
    if (writes > longLog) run()
    else isLong = log > longLog
  }
}

/** The thread, which starts with the first checkpoint. */
function checkpointThread(path: string, onCopied: (log: number) => void, onError: (error: unknown) => void) {
  let worker: Worker | undefined
  let isRunning = false

  return { isRunning: () => isRunning, run, close }

  function run(): void {
    isRunning = true
    worker ??= start()
    worker.postMessage('checkpoint')
  }

  function start(): Worker {
    const thread = new Worker(workerPath, {
      workerData: { path },
      // Not the flags of the process: some, such as the --input-type of a script on the command line, forbid a file.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 },
    })
    thread.unref()
    thread.on('error', onError)
    thread.on('message', (log: number) => {
      isRunning = false
      onCopied(log)
    })
    return thread
  }

  async function close(): Promise<void> {
    if (worker === undefined) return
    const thread = worker
    const ended = new Promise((resolve) => thread.once('exit', resolve))
    thread.ref()
    thread.postMessage('close')
    await ended
  }
}

/*
 * The files that a killed sandbox leaves next to its database: its lock file, the log, and the index of the log. The
 * index is memory that its processes share, backed by a file, so a kill leaves it intact, and reading the size of the
 * log from it costs nothing. After a power loss it may be older, and then counts less.
 */
