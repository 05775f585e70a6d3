/** Which files have tests for a suite in depth: some of their tests have the tag `depth`. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const checkout = join(import.meta.dirname, '../..')

/** The files whose tests in depth a suite runs, by its name. */
export const inDepth = {
  pages: 'tests/browser/*.test.ts',
  processes: '{src,sandbox,tests/{architecture,cli,docs,http,package,reliability,runner}}/**/*.test.{ts,tsx}',
}

/** Returns the paths of the files that match a pattern and have such tests. */
export function findFilesInDepth(pattern: string): string[] {
  return globSync(pattern, { cwd: checkout }).filter((file) =>
    readFileSync(join(checkout, file), 'utf8').includes("tags: 'depth'"),
  )
}
