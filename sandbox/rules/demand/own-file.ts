/** The files beside a file of demand: inside its folder, no links, of a stated size. */
import { lstatSync, readFileSync, realpathSync } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { isAbsolute, join, posix, relative, sep } from 'node:path'
import { decodeText } from '#foundation/encoding.ts'
import { readErrorCode, systemErrorBehind, systemReason } from '#foundation/system-error.ts'
import { readTextFileSync } from '#foundation/text-file.ts'

/** Something wrong with a file, and the fix. `at` is a place inside it, for text. */
export class FileProblem extends Error {
  override readonly name = 'FileProblem'
  readonly hint: string
  readonly at: { line: number; column: number } | null

  constructor(message: string, hint: string, at: FileProblem['at'] = null) {
    super(message)
    this.hint = hint
    this.at = at
  }
}

/** Returns a text that is another once a file or folder has changed. */
export async function readStamp(path: string): Promise<string> {
  try {
    const { mtimeNs, ctimeNs, size, ino } = await lstat(path, { bigint: true })
    return [mtimeNs, ctimeNs, size, ino].join()
  } catch (error) {
    return String(readErrorCode(error))
  }
}

/** Where the files of demand, and those that they name, are read from. */
export interface DemandSource {
  /** Size of a file of demand, bytes. @throws the error of the file system */
  size(file: string): number
  /** @throws TextError, and the error of the file system */
  text(file: string): string
  /** Returns the bytes of a file below a folder. @throws FileProblem */
  bytes(folder: string, name: string, most_bytes: number): Buffer
}

export const onDisk: DemandSource = {
  size: (file) => lstatSync(file).size,
  text: readTextFileSync,
  bytes: readOwnFile,
}

/** Files that were sent here, by their names. Nothing else is read. */
export function amongSent(files: ReadonlyMap<string, Buffer>): DemandSource {
  return {
    size: (file) => files.get(file)?.length ?? 0,
    text: (file) => decodeText(files.get(file) ?? Buffer.alloc(0)),
    bytes(folder, name, most_bytes) {
      checkName('/', name)
      const bytes = files.get(posix.join(folder, name))
      if (bytes === undefined) {
        throw new FileProblem(`${name} is not among the files.`, 'Drop it together with the file of demand.')
      }
      checkSize(name, bytes.length, most_bytes)
      return bytes
    },
  }
}

const inside = 'Put it beside the file of demand, and name it from there: banner.png'

/** @throws FileProblem for a name that is no path below the folder */
function checkName(folder: string, name: string): void {
  if (isAbsolute(name) || /^[A-Za-z]:/.test(name)) throw refuseAbsolute(folder, name)
  if (name.split(/[\\/]/).includes('..'))
    throw new FileProblem(`${name} leaves the folder of the file of demand.`, inside)
  // It is a separator on Windows alone: the same file must be found everywhere.
  if (name.includes('\\'))
    throw new FileProblem(`${name} has a backslash.`, `Name it with slashes: ${name.replaceAll('\\', '/')}`)
}

/** @throws FileProblem for an empty file, and for a large one */
function checkSize(name: string, bytes: number, most_bytes: number): void {
  if (bytes === 0) throw new FileProblem(`${name} is empty.`, 'Export it again.')
  if (bytes <= most_bytes) return
  const message = `${name} has ${bytes} bytes, and at most ${most_bytes} are taken.`
  throw new FileProblem(message, 'Export it smaller: an ad that is large is late.')
}

function readOwnFile(folder: string, name: string, most_bytes: number): Buffer {
  checkName(folder, name)
  const path = join(folder, name)
  try {
    const real = realpathSync(folder)
    const stats = lstatSync(path)
    if (stats.isSymbolicLink() || relative(real, realpathSync(path)) !== name.split('/').filter(isStep).join(sep))
      throw new FileProblem(`${name} is a link, or is reached by one.`, 'Put a copy of the file there.')
    if (!stats.isFile()) throw new FileProblem(`${name} is no file.`, 'Name a picture or a clip.')
    checkSize(name, stats.size, most_bytes)
    return readFileSync(path)
  } catch (error) {
    const system = systemErrorBehind(error)
    if (system === null) throw error
    throw new FileProblem(`${name} cannot be read: ${systemReason(system)}.`, inside)
  }
}

function refuseAbsolute(folder: string, name: string): FileProblem {
  const inner = relative(folder, name).split(sep).join('/')
  const isInside = isAbsolute(name) && inner !== '' && inner.split('/')[0] !== '..' && !isAbsolute(inner)
  const base = name.split(/[\\/]/).at(-1)
  const hint = isInside
    ? `Name it from the folder of the file of demand: ${inner}`
    : `Put it beside the file of demand, and name it from there: ${base}`
  return new FileProblem(`${name} is an absolute path, and none is taken.`, hint)
}

function isStep(step: string): boolean {
  return step !== '' && step !== '.'
}
