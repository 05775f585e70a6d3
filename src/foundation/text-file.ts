/** Text files that a user names or writes. Every command reads them here, so that each accepts the same encodings. */
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { decodeText } from './encoding.ts'

/** Resolves to the text of a file. @throws EncodingError, and the error of the file system */
export async function readTextFile(path: string): Promise<string> {
  return decodeText(await readFile(path))
}

/** Returns the text of a file. @throws EncodingError, and the error of the file system */
export function readTextFileSync(path: string): string {
  return decodeText(readFileSync(path))
}
