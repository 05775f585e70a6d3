/**
 * Files that a browser could download, searched for secret keys: the files of a directory, or a page with its scripts
 * and styles.
 */
import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { fetchText } from '#client/node-fetch.ts'
import type { SourceLocation } from '#foundation/finding.ts'
import { readErrorCode, systemReason } from '#foundation/system-error.ts'
import { readSearchedFile } from '#foundation/text-file.ts'
import { hasStub, type RendererUse, unguardedUses } from './renderer-use.ts'

export interface ServedFiles {
  /** The directory or address as given. */
  place: string
  /** How many files were read. */
  files: number
  keys: readonly ServedKey[]
  /** Why it could not be read, or not all of it; null when it was. */
  problem: string | null
}

/** How the files use render.js. */
export interface RendererSource {
  /** Lines that use it as if it were always there. */
  renderer_uses: readonly RendererUse[]
  /** Whether one of them has the stub that works without it. */
  has_stub: boolean
}

/** A secret key in a text. */
export interface FoundKey {
  /** From 1. */
  line: number
  column: number
  /** Without its secret: `sk_test_…`. */
  key: string
  /** SHA-256 of the whole key, by which it is found in source files. */
  hash: string
  /** Where it stands in a source file of the project; without one it was not found, or not looked for. */
  source?: SourceLocation
}

export interface ServedKey extends FoundKey {
  file: string
}

const maxFiles = 2_000
export const maxFileBytes = 10 * 1024 * 1024
const respondWithinMs = 5_000
const skipped: ReadonlySet<string> = new Set(['node_modules', '.git'])

export async function gatherServed(place: string, cwd: string): Promise<ServedFiles & RendererSource> {
  const keys: ServedKey[] = []
  const renderer_uses: RendererUse[] = []
  let has_stub = false
  let files = 0
  const add = (file: string, text: string) => {
    // A picture or a program: nothing in it was looked at.
    if (text.includes('\0')) return
    files++
    keys.push(...secretKeysIn(text).map((key) => ({ file, ...key })))
    // Not in documents about it.
    if (!/\.(html?|m?js|jsx)$|^https?:/.test(file)) return
    renderer_uses.push(...unguardedUses(text).map((use) => ({ file, ...use })))
    has_stub ||= hasStub(text)
  }
  const reading = /^https?:\/\//.test(place) ? readPage(place, add) : readDirectory(resolve(cwd, place), add)
  const problem = await reading.catch((error: Error) =>
    readErrorCode(error) === undefined ? error.message : systemReason(error),
  )
  return { place, files, keys, problem, renderer_uses, has_stub }
}

const secretKey = /\b(sk_(?:test|live)_)(?!redacted\b)[A-Za-z0-9_-]{6,}/g

/** Returns the secret keys in a text, with the place of each and without their secret. */
export function secretKeysIn(text: string): FoundKey[] {
  return [...text.matchAll(secretKey)].map((match) => {
    const before = text.slice(0, match.index)
    return {
      line: before.split('\n').length,
      column: match.index - before.lastIndexOf('\n'),
      key: `${match[1]}…`,
      hash: createHash('sha256').update(match[0]).digest('hex'),
    }
  })
}

/** Resolves to why not everything was read, or null when it was. */
async function readDirectory(root: string, add: (file: string, text: string) => void): Promise<string | null> {
  const entries = (await stat(root)).isFile() ? [root] : await filesWithin(root)
  for (const file of entries.slice(0, maxFiles)) {
    if ((await stat(file)).size > maxFileBytes) return `${file} is larger than ${maxFileBytes} bytes`
    add(relative(root, file) || file, await readSearchedFile(file))
  }
  return entries.length > maxFiles ? `only the first ${maxFiles} of ${entries.length} files were read` : null
}

/** Returns the files in a folder and those below it, in order, without packages and the history of git. */
export async function filesWithin(root: string, left_out: ReadonlySet<string> = skipped): Promise<string[]> {
  const entries = await readdir(root, { withFileTypes: true })
  const within = await Promise.all(
    entries
      .filter(({ name }) => !left_out.has(name))
      .map((entry) => {
        const path = join(root, entry.name)
        if (entry.isDirectory()) return filesWithin(path, left_out)
        return entry.isFile() ? [path] : []
      }),
  )
  return within.flat().sort()
}

async function readPage(address: string, add: (file: string, text: string) => void): Promise<string | null> {
  const page = await readAddress(address)
  add(address, page)
  const links = [...page.matchAll(/\b(?:src|href)\s*=\s*["']?([^"'\s>]+)/gi)]
    .flatMap(([, link = '']) => URL.parse(link, address) ?? [])
    .filter((url) => url.origin === new URL(address).origin && /\.(m?js|css|json)$/.test(url.pathname))
  for (const url of new Set(links.map(({ href }) => href))) add(url, await readAddress(url))
  return null
}

async function readAddress(address: string): Promise<string> {
  const response = await fetchText(address, { signal: AbortSignal.timeout(respondWithinMs) })
  if (!response.ok) throw new Error(`${address} responded with ${response.status}`)
  return response.text
}
