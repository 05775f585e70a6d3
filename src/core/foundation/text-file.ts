/** Text files that a user names or writes. Everything reads them here, so that each accepts the same encodings. */
import { readFileSync, statSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { decodeLoosely, decodeText, refuseLongText } from './encoding.ts'

/** Resolves to the text of a file. @throws TextError, and the error of the file system */
export async function readTextFile(path: string): Promise<string> {
  // A file that no string can hold is not read at all.
  refuseLongText((await stat(path)).size)
  return decodeText(await readFile(path))
}

/** Returns the text of a file. @throws TextError, and the error of the file system */
export function readTextFileSync(path: string): string {
  refuseLongText(statSync(path).size)
  return decodeText(readFileSync(path))
}

/** Resolves to the text of a file for a search: bytes that are no character are replaced. @throws the error of the file system */
export async function readSearchedFile(path: string): Promise<string> {
  return decodeLoosely(await readFile(path))
}
