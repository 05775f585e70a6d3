/** Text files that a user names or writes. Everything reads them here, so that each accepts the same encodings. */
import { readFileSync, type Stats, statSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { decodeLoosely, decodeText, refuseLongText } from './encoding.ts'

/** Resolves to the text of a file. @throws TextError, and the error of the file system */
export async function readTextFile(path: string): Promise<string> {
  const info = await stat(path)
  return findKnown(info) ?? decodeFile(await readFile(path), info)
}

/** Returns the text of a file. @throws TextError, and the error of the file system */
export function readTextFileSync(path: string): string {
  const info = statSync(path)
  return findKnown(info) ?? decodeFile(readFileSync(path), info)
}

/** The texts of pipes, such as `--config <(...)`: each gives its bytes once, and a command may read a file twice. */
const pipes = new Map<string, string>()

/** Returns the text of a pipe that was read before. A file that no string can hold is not read at all. */
function findKnown({ dev, ino, size }: Stats): string | undefined {
  refuseLongText(size)
  return pipes.get(`${dev} ${ino}`)
}

function decodeFile(bytes: Buffer, info: Stats): string {
  const text = decodeText(bytes)
  if (info.isFIFO()) pipes.set(`${info.dev} ${info.ino}`, text)
  return text
}

/** Resolves to the text of a file for a search: bytes that are no character are replaced. @throws the error of the file system */
export async function readSearchedFile(path: string): Promise<string> {
  return decodeLoosely(await readFile(path))
}
