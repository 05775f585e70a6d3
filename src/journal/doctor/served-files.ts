/** Secret keys in what a browser can download. */
import { type Check, ok, problem, unknown } from './finding.ts'

export interface ServedPlace {
  /** The directory or address as it was given. */
  place: string
  files: number
  keys: readonly { file: string; line: number /** Without its secret. */; key: string }[]
  /** Why it could not be read, or not all of it; null when it was. */
  problem: string | null
}

export const servedFiles: Check<readonly ServedPlace[]> = {
  name: 'served files',
  find: (places) =>
    places.flatMap(({ place, files, keys, problem: why }) => [
      ...keys.map(({ file, line, key }) =>
        problem(
          `${file}:${line} holds the secret key ${key}.`,
          'Revoke that key, keep secret keys on the server, and give pages a publishable key.',
        ),
      ),
      ...(why === null ? [] : [unknown(`${place}: ${why}.`, 'Correct the path or address, and look again.')]),
      ...(keys.length === 0 && why === null
        ? [ok(`No secret key in ${files} ${files === 1 ? 'file' : 'files'} of ${place}.`)]
        : []),
    ]),
}
