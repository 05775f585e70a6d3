/** Reads what a browser could download: the files of a directory, or a page with its own scripts and styles. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import type { ServedPlace } from '../doctor/served-files.ts'
import { secretKeysIn } from '../served-keys.ts'

const mostFiles = 2_000
const largestFile = 10 * 1024 * 1024
const answerWithinMs = 5_000
const skipped = new Set(['node_modules', '.git'])

export async function gatherServed(place: string, cwd: string): Promise<ServedPlace> {
  const found: ServedPlace & { keys: ServedPlace['keys'][number][] } = { place, files: 0, keys: [], problem: null }
  const look = (file: string, text: string) => {
    found.files++
    found.keys.push(...secretKeysIn(text).map((key) => ({ file, ...key })))
  }
  const read = /^https?:\/\//.test(place) ? readPage(place, look) : readDirectory(resolve(cwd, place), look)
  const problem = await read.catch((error: Error) => error.message)
  return { ...found, problem }
}

/** Answers what kept it from reading everything; null when nothing did. */
async function readDirectory(root: string, look: (file: string, text: string) => void): Promise<string | null> {
  const entries = (await stat(root)).isFile() ? [root] : await filesWithin(root)
  for (const file of entries.slice(0, mostFiles)) {
    if ((await stat(file)).size > largestFile) return `${file} is larger than ${largestFile} bytes`
    look(relative(root, file) || file, await readFile(file, 'utf8'))
  }
  return entries.length > mostFiles ? `only the first ${mostFiles} of ${entries.length} files were read` : null
}

async function filesWithin(root: string): Promise<string[]> {
  const entries = await readdir(root, { withFileTypes: true })
  const within = await Promise.all(
    entries
      .filter(({ name }) => !skipped.has(name))
      .map((entry) => {
        const path = join(root, entry.name)
        if (entry.isDirectory()) return filesWithin(path)
        return entry.isFile() ? [path] : []
      }),
  )
  return within.flat().sort()
}

async function readPage(address: string, look: (file: string, text: string) => void): Promise<string | null> {
  const page = await readAddress(address)
  look(address, page)
  const links = [...page.matchAll(/\b(?:src|href)\s*=\s*["']?([^"'\s>]+)/gi)]
    .map((match) => URL.parse(match[1] as string, address))
    .filter((url) => url !== null && url.origin === new URL(address).origin && /\.(m?js|css|json)$/.test(url.pathname))
  for (const url of new Set(links.map((url) => (url as URL).href))) look(url, await readAddress(url))
  return null
}

async function readAddress(address: string): Promise<string> {
  const response = await fetch(address, { signal: AbortSignal.timeout(answerWithinMs) })
  if (!response.ok) throw new Error(`${address} answered ${response.status}`)
  return response.text()
}
