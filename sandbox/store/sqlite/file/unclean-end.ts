/** What a start finds of a sandbox that did not end by itself: its log, and whether acknowledged writes may be missing. */
import { closeSync, openSync, readSync, statSync } from 'node:fs'

/** An end without a clean shutdown, such as a kill. */
export interface UncleanEnd {
  /**
   * Whether commits from the log next to the file are missing: `maybe` when their number is unknown, `alone` when the
   * file was copied or moved while it was in use, without the log.
   */
  lost: Lost
}

/** In the order of their numbers in the lock file, from 1. */
export const losses = ['no', 'maybe', 'yes', 'alone'] as const
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
