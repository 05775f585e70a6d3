/** Goes through a recording: the files, what was acknowledged, and how many commits were written and flushed by then. */
import { createKnown, type Known } from './known.ts'
import { createRecordedFiles } from './recorded-files.ts'
import type { Recording } from './recording.ts'
import type { TraceRecord } from './trace.ts'

export interface Cursor {
  readonly files: ReturnType<typeof createRecordedFiles>
  /** Records that were applied. */
  readonly place: number
  /** Commits that are whole in the log of the database, of all times that it was started over. */
  readonly commits: number
  /** Those of them that were flushed. */
  readonly durable: number
  known(): Known
  /** Applies the next record. */
  next(): void
}

export const log = 'sandbox.db-wal'
const logHeadBytes = 32
const frameHeadBytes = 24

/** @param ignoredFlush the file whose flushes the disk ignores; null: it ignores none */
export function createCursor({ records, acknowledged }: Recording, ignoredFlush: string | null): Cursor {
  const files = createRecordedFiles()
  const known = createKnown()
  let [place, commits, durable] = [0, 0, 0]
  let isCommit = false

  return {
    files,
    get place() {
      return place
    },
    get commits() {
      return commits
    },
    get durable() {
      return durable
    },
    known: known.known,
    next() {
      const record = records[place]!
      const learned = acknowledged.get(place)
      place++
      if (record.kind !== 'flush' || record.name !== ignoredFlush) files.apply(record)
      if (learned !== undefined) known.learn(learned)
      if (record.name === log) followLog(record)
    },
  }

  /** A commit is whole with the page of a frame whose head has the size of the database (WAL-mode file format, 4.1). */
  function followLog({ kind, offset, bytes }: TraceRecord): void {
    if (kind === 'flush') durable = commits
    if (kind !== 'write' || offset < logHeadBytes) return
    if (bytes.length !== frameHeadBytes) {
      if (isCommit) commits++
      isCommit = false
    } else isCommit = bytes.readUInt32BE(4) > 0
  }
}
