/** How many lines the parts of the project have, and what they may have: whoever takes it over has to read them. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

export interface Size {
  what: string
  lines: number
  goal: number
  /** Whether it had reached its goal when this was written: from then on, more is a failure. */
  is_reached: boolean
}

const isTest = (path: string) => path.startsWith('tests/') || /\.test\.tsx?$/.test(path)
const isCode = (path: string) => /\.(ts|tsx|mjs|cjs)$/.test(path)
const isBinary = (path: string) => /\.(png|webp|mp4|ico|woff2|jar|bin|gz)$/.test(path)

/** Counts what git tracks, as it is in the folder. */
export function countSizes(): Size[] {
  const paths = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0')
  const counts = paths
    .filter((path) => path !== '' && !isBinary(path))
    .map((path) => ({ path, lines: countLines(path) }))
  const sum = (isWanted: (path: string) => boolean) =>
    counts.reduce((total, { path, lines }) => total + (isWanted(path) ? lines : 0), 0)
  return [
    {
      what: 'product',
      lines: sum((path) => /^(src|sandbox)\//.test(path) && isCode(path) && !isTest(path)),
      goal: 100_000,
      is_reached: false,
    },
    { what: 'tests', lines: sum((path) => isTest(path) && isCode(path)), goal: 80_000, is_reached: false },
    { what: 'build', lines: sum((path) => path.startsWith('build/') && isCode(path)), goal: 5_000, is_reached: true },
    { what: 'all tracked text', lines: sum(() => true), goal: 255_000, is_reached: false },
  ]
}

/** A file that was removed, but not yet for git, has none. */
function countLines(path: string): number {
  try {
    return readFileSync(join(root, path), 'utf8').split('\n').length - 1
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}
