/**
 * What a sandbox that was killed leaves beside its database: its lock file, the log, and the index of the log. The index is
 * memory that its processes share, backed by a file, so that a kill leaves it as it was: it costs nothing to read from it how much
 * the log held. After a loss of power it may be older, and then counts less.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs'

/** An end without an orderly stop, as by a kill. */
export interface UncleanEnd {
  /** Whether commits are missing that the log beside the file held: `maybe` when it is unknown how many there were. */
  lost: Lost
}

/** In the order of their numbers in the lock file, from 1. */
export const losses = ['no', 'maybe', 'yes'] as const
export type Lost = (typeof losses)[number]

/** The last owner in the lock file: pid 0 when it stopped in order or there was none. */
export interface LastOwner {
  pid: number
  /** What an owner found of an unclean end before its own that it did not get to look into. */
  lost: Lost | null
}

/** What an unclean end left beside the database. */
export interface LeftBehind {
  /** Null: it follows from the log that SQLite finds, compared with `frames`. */
  lost: Lost | null
  /** Frames that the log held, and how many of them the file has as well. */
  frames: { committed: number; copied: number }
}

/** Looks at the files beside a database before SQLite opens it, which starts a new index. Null after an orderly stop. */
export function leftBehind(path: string, last: LastOwner): LeftBehind | null {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
  const frames = indexedFrames(`${path}-shm`)
  const database = statSync(path, { throwIfNoEntry: false })
  if (database === undefined || database.size === 0) return null
  const isMissing = frames !== null && frames.committed > frames.copied && (log?.size ?? 0) === 0
  if (last.pid === 0 && (log?.size ?? 0) === 0 && !isMissing) return null
  if (last.lost !== null) return { lost: last.lost, frames: { committed: 0, copied: 0 } }
  // An owner has a log for as long as it lives; without index it may have been copied by another program, or removed.
  if (frames === null) {
    return { lost: log === undefined ? 'maybe' : 'no', frames: { committed: 0, copied: 0 } }
  }
  // To see who else has a file with several names, SQLite may already have copied the log.
  return { lost: database.nlink > 1 ? 'no' : null, frames }
}

const indexVersion = 3_007_000

/**
 * Reads from the index of the log, which a kill leaves as it was, how many frames were committed and copied: two equal
 * headers of 48 bytes, then the number of copied frames (WAL-mode file format, 2.1 and 2.2). Null when it cannot be read.
 */
function indexedFrames(indexPath: string): LeftBehind['frames'] | null {
  let file: number | undefined
  try {
    file = openSync(indexPath, 'r')
    const words = new Uint32Array(25)
    if (readSync(file, words, 0, words.byteLength, 0) < words.byteLength) return null
    // A header has its own checksum in its last two words. Its numbers are in the order of the host, as those of the array.
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
