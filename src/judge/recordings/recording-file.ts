/**
 * A HAR file that is complete at every moment, so that one whose writer was killed can be read: each entry is written over
 * the end of the file, together with the new end, by one call.
 */
import { closeSync, fstatSync, ftruncateSync, lstatSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { type HarEntry, openHar } from '#contract/recordings/har.ts'
import { renameOver } from '#foundation/file-system.ts'

export interface RecordingFile {
  readonly path: string
  readonly entries: number
  /** Appends an entry. @throws SystemError, after which the file is as before */
  append(entry: HarEntry): void
  /** Counts what the file does not have, by reason: the last line of the file has the counts. @throws SystemError */
  leaveOut(reason: string): void
  close(): void
}

const comment =
  'Recorded by svc record. Keys, tokens, prompt texts and personal data are redacted. _left_out counts bodies and exchanges that are not in the file, by reason.'

/** Another program has put its own file in place of the recording. */
export class ReplacedFileError extends Error {
  override readonly name = 'ReplacedFileError'
}

/**
 * Creates the file. With `overwrite` it takes the place of one that exists: neither what a link leads to nor the file that another
 * recording writes is changed.
 * @throws SystemError; EEXIST where it exists and may not be replaced, or is no file
 */
export function createRecordingFile(
  path: string,
  { version, overwrite }: { version: string; overwrite: boolean },
): RecordingFile {
  const fd = overwrite ? openInPlace(path) : openSync(path, 'wx')
  const own = fstatSync(fd)
  const left_out: Record<string, number> = {}
  let entries = 0
  /** Where the end of the file begins, bytes. */
  let end = 0
  const write = (text: string) => {
    const bytes = Buffer.from(`${text}\n],"_left_out":${JSON.stringify(left_out)}}}\n`)
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, end + at)
    end += Buffer.byteLength(text)
  }
  const writeOrRestore = (text: string) => {
    const present = statSync(path, { throwIfNoEntry: false })
    if (present?.ino !== own.ino || present.dev !== own.dev) throw new ReplacedFileError(path)
    try {
      write(text)
    } catch (error) {
      restore(error)
    }
  }
  /** A disk that is full took a part: the file ends before it. */
  const restore = (error: unknown) => {
    try {
      write('')
      ftruncateSync(fd, end + Buffer.byteLength(`\n],"_left_out":${JSON.stringify(left_out)}}}\n`))
    } catch {
      // The first failure is the one to report.
    }
    throw error
  }
  write(openHar(version, comment))
  return {
    path,
    get entries() {
      return entries
    },
    append(entry) {
      writeOrRestore(`${entries === 0 ? '\n' : ',\n'}${JSON.stringify(entry)}`)
      entries++
    },
    leaveOut(reason) {
      left_out[reason] = (left_out[reason] ?? 0) + 1
      writeOrRestore('')
    },
    close: () => closeSync(fd),
  }
}

/** Opens a new file in place of the one that is there. */
function openInPlace(path: string): number {
  const present = lstatSync(path, { throwIfNoEntry: false })
  if (present !== undefined && !present.isFile() && !present.isSymbolicLink()) {
    throw Object.assign(new Error(`EEXIST: not a file, open '${path}'`), { code: 'EEXIST', syscall: 'open', path })
  }
  const partial = `${path}.${process.pid}.new`
  rmSync(partial, { force: true })
  const fd = openSync(partial, 'wx')
  try {
    renameOver(partial, path)
    return fd
  } catch (error) {
    closeSync(fd)
    rmSync(partial, { force: true })
    throw error
  }
}
