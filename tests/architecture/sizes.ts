/** How many lines the parts of the project have, and what they may have: a new maintainer has to read them. */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** What the product stands on: docs/architecture.md. */
const shelves = [
  'src/core',
  'src/cli',
  'src/judge',
  'sandbox/server',
  'sandbox/rules',
  'sandbox/store',
  'sandbox/pages',
]

export interface Size {
  what: string
  lines: number
  /** Null for a part of a part. */
  goal: number | null
  /** Whether it had reached its goal when this was written: from then on, more is a failure. */
  is_reached: boolean
}

/** Counts the parts, and all text where the folder is a repository: what is no part is known by git alone. */
export function countSizes(): Size[] {
  const parts = ['src', 'sandbox', 'tests', 'build'].flatMap((folder) => globSync(`${folder}/**/*`, { cwd: root }))
  const code = parts.filter((path) => /\.(ts|tsx|mjs|cjs)$/.test(path))
  const isTest = (path: string) => path.startsWith('tests/') || /\.test\.tsx?$/.test(path)
  const isBuild = (path: string) => path.startsWith('build/')
  const tracked = listTracked().filter((path) => !/\.(png|webp|mp4|ico|woff2|jar|bin|gz)$/.test(path))
  const product = code.filter((path) => !isTest(path) && !isBuild(path))
  const sizes = [
    { what: 'product', lines: countLines(product), goal: 100_000, is_reached: false },
    ...shelves.map((shelf) => ({
      what: `  ${shelf}`,
      lines: countLines(product.filter((path) => path.startsWith(`${shelf}/`))),
      goal: null,
      is_reached: false,
    })),
    { what: 'tests', lines: countLines(code.filter(isTest)), goal: 80_000, is_reached: false },
    { what: 'build', lines: countLines(code.filter(isBuild)), goal: 5_000, is_reached: true },
    { what: 'all tracked text', lines: countLines(tracked), goal: 255_000, is_reached: false },
  ]
  return tracked.length === 0 ? sizes.slice(0, -1) : sizes
}

function listTracked(): string[] {
  const { status, stdout } = spawnSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  return status === 0 ? stdout.split('\0').filter((path) => path !== '' && existsSync(join(root, path))) : []
}

function countLines(paths: readonly string[]): number {
  return paths.reduce((sum, path) => sum + readFileSync(join(root, path), 'utf8').split('\n').length - 1, 0)
}
