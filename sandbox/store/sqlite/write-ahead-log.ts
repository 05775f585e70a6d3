/**
 * The write-ahead log of a database file: its checkpoints, and what a killed sandbox left of it.
 *
 * Checkpoints in the background: copying the log into the file waits for the disk, so a thread does it while commits go
 * on. The thread starts with the first log that is worth copying; a sandbox that is little used never starts it.
 *
 * Under steady load the thread never reaches the end of the log, since commits go on behind it. When the log has grown
 * long, the short rest is copied here, so the next commit starts the log over.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type Database from 'better-sqlite3'

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
  let worker: Worker | undefined
  let isRunning = false
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

  const run = () => {
    writes = 0
    isRunning = true
    worker ??= start()
    worker.postMessage('checkpoint')
  }

  const start = () => {
    const thread = new Worker(workerPath, {
      workerData: { path },
      // Not the flags of the process: some, such as the --input-type of a script on the command line, forbid a file.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 },
    })
    thread.unref()
    thread.on('error', fallBack)
    thread.on('message', (log: number) => {
      isRunning = false
      if (isClosed) return
      // A whole state may have been written in the meantime: that rest is not short, so the thread copies it too.
      if (writes > longLog) run()
      else isLong = log > longLog
    })
    return thread
  }

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
      if (isClosed || isRunning || writes < writesBetween) return
      run()
    },
    async close() {
      if (isClosed) return
      isClosed = true
      if (worker === undefined) return
      const thread = worker
      const ended = new Promise((resolve) => thread.once('exit', resolve))
      thread.ref()
      thread.postMessage('close')
      await ended
    },
  }
}

/*
 * The files that a killed sandbox leaves next to its database: its lock file, the log, and the index of the log. The
 * index is memory that its processes share, backed by a file, so a kill leaves it intact, and reading the size of the
 * log from it costs nothing. After a power loss it may be older, and then counts less.
 */

/** An end without a clean shutdown, such as a kill. */
export interface UncleanEnd {
  /** Whether commits from the log next to the file are missing: `maybe` when their number is unknown. */
  lost: Lost
}

/** In the order of their numbers in the lock file, from 1. */
export const losses = ['no', 'maybe', 'yes'] as const
export type Lost = (typeof losses)[number]

/** The last owner in the lock file: pid 0 when it shut down cleanly or there was none. */
export interface LastOwner {
  pid: number
  /** The traces of an earlier unclean end that this owner has not checked. */
  lost: Lost | null
}

/** The traces of an unclean end next to the database. */
export interface LeftBehind {
  /** Null: it follows from the log that SQLite finds, compared with `frames`. */
  lost: Lost | null
  /** Frames in the log, and how many of them are also in the file. */
  frames: { committed: number; copied: number }
}

/**
 * Looks at the files next to a database before SQLite opens it, which starts a new index. Null after a clean shutdown.
 */
export function leftBehind(path: string, last: LastOwner): LeftBehind | null {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
  const frames = indexedFrames(`${path}-shm`)
  const database = statSync(path, { throwIfNoEntry: false })
  if (database === undefined || database.size === 0) return null
  const isMissing = frames !== null && frames.committed > frames.copied && (log?.size ?? 0) === 0
  if (last.pid === 0 && (log?.size ?? 0) === 0 && !isMissing) return null
  if (last.lost !== null) return { lost: last.lost, frames: { committed: 0, copied: 0 } }
  // An owner has a log for as long as it lives; without an index, it may have been copied by another program, or
  // removed.
  if (frames === null) {
    return { lost: log === undefined ? 'maybe' : 'no', frames: { committed: 0, copied: 0 } }
  }
  // To see who else has a file with several names, SQLite may already have copied the log.
  return { lost: database.nlink > 1 ? 'no' : null, frames }
}

const indexVersion = 3_007_000

/**
 * Reads from the index of the log, which a kill leaves intact, how many frames were committed and copied: two equal
 * headers of 48 bytes, then the number of copied frames (WAL-mode file format, 2.1 and 2.2). Null when it cannot be
 * read.
 */
function indexedFrames(indexPath: string): LeftBehind['frames'] | null {
  let file: number | undefined
  try {
    file = openSync(indexPath, 'r')
    const words = new Uint32Array(25)
    if (readSync(file, words, 0, words.byteLength, 0) < words.byteLength) return null
    // A header has its own checksum in its last two words. Its numbers are in the host's byte order, like the array's.
    let [first, second] = [0, 0]
    for (let word = 0; word < 10; word += 2) {
      first = (first + words[word]! + second) >>> 0
      second = (second + words[word + 1]! + first) >>> 0
    }
    const isWhole = words[0] === indexVersion && words[10] === first && words[11] === second
    return isWhole ? { committed: words[4]!, copied: words[24]! } : null
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    return null
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
