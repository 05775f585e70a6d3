/** Where the secret keys that a page received or sent stand in the source files of the project. */
import { stat } from 'node:fs/promises'
import { basename, relative } from 'node:path'
import type { SourceLocation } from '#foundation/finding.ts'
import { readSearchedFile } from '#foundation/text-file.ts'
import type { PageSeen } from './page.ts'
import { type FoundKey, filesWithin, secretKeysIn } from './served-files.ts'

/** Folders of packages, of history, and of what a build writes: their files are no sources. */
const leftOut: ReadonlySet<string> = new Set([
  'node_modules',
  '.git',
  'dist',
  'build',
  'out',
  'coverage',
  '.next',
  '.nuxt',
  '.output',
  '.svelte-kit',
  '.vite',
  'vendor',
  '.venv',
])
const maxFiles = 20_000
const maxBytes = 1024 * 1024
/** Names by which bundlers take a variable of the environment into what browsers load. */
const publicVariable = /^\s*(?:export\s+)?(?:VITE_|NEXT_PUBLIC_|PUBLIC_|NUXT_PUBLIC_|REACT_APP_|EXPO_PUBLIC_|GATSBY_)/

/**
 * Adds to the keys of a page where they stand below a folder. A line of an `.env` file is a place only if its variable is
 * public by its name: a key belongs there otherwise.
 */
export async function locateKeys(page: PageSeen, root: string): Promise<PageSeen> {
  const sought = new Set([...page.keys, ...page.key_requests.map(({ key }) => key)].map(({ hash }) => hash))
  if (sought.size === 0) return page
  const places = await findKeys(root, sought)
  const located = <Key extends FoundKey>(key: Key): Key => {
    const source = places.get(key.hash)
    return source === undefined ? key : { ...key, source }
  }
  return {
    ...page,
    keys: page.keys.map(located),
    key_requests: page.key_requests.map((request) => ({ ...request, key: located(request.key) })),
  }
}

/** Resolves to the first place of each key. */
async function findKeys(root: string, sought: ReadonlySet<string>): Promise<Map<string, SourceLocation>> {
  const places = new Map<string, SourceLocation>()
  // A folder or file that cannot be read cannot be searched: its keys have no place then.
  const paths = await filesWithin(root, leftOut).catch(() => [])
  for (const path of paths.slice(0, maxFiles)) {
    if (places.size === sought.size) break
    const isSmall = await stat(path).then(
      ({ size }) => size <= maxBytes,
      () => false,
    )
    const text = isSmall ? await readSearchedFile(path).catch(() => '') : ''
    const isEnvironment = basename(path).startsWith('.env')
    for (const { hash, line, column } of text.includes('sk_') ? secretKeysIn(text) : []) {
      if (!sought.has(hash) || places.has(hash)) continue
      if (isEnvironment && !publicVariable.test(text.split('\n')[line - 1] ?? '')) continue
      places.set(hash, { file: relative(root, path), line, column })
    }
  }
  return places
}
