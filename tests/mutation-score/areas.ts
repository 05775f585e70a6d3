/** What `npm run mutation-score` changes, by area, with the tests beside it that must notice, and how many they notice at least. */
import { globSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

export interface Area {
  name: string
  /** Files that are changed, relative to the repository. */
  files: readonly string[]
  tests: readonly string[]
  /** Percent of the changes: what was measured, rounded down. It may only rise. */
  least: number
  /** Whether each change that no test notices must be explained in explained.ts. */
  isExplained: boolean
}

/** The variable with the names of the areas that a run is about, separated by commas. */
export const areasVariable = 'MUTATION_AREAS'

const demand = 'sandbox/rules/domain/{auction,bids,catalogue,market*,offers,partners}.*'

export const areas: readonly Area[] = [
  {
    name: 'rules',
    // transaction.ts has types alone.
    ...list(['sandbox/rules/domain/*.ts', 'sandbox/store/writes/*.ts'], ['**/transaction.ts', demand]),
    ...{ least: 97, isExplained: true },
  },
  // Schemas with their descriptions, and order that only saves time.
  { name: 'demand', ...list([demand]), least: 88, isExplained: false },
  {
    // What is kept and what is not. How it passes needs servers: recorder.test.ts, whose failures end a process.
    name: 'recordings',
    ...list(['src/judge/recordings/{recorded,secret}-*.ts', 'src/core/contract/recordings/*.ts']),
    ...{ least: 60, isExplained: false },
  },
  { name: 'reconciliation', ...list(['src/judge/reconciliation/**/*.ts']), least: 60, isExplained: false },
  { name: 'game days', ...list(['src/judge/gameday/*.ts'], ['**/page-*.ts']), least: 46, isExplained: false },
  {
    name: "the console's numbers",
    ...list(['sandbox/pages/console/{meter,timeline}*.ts']),
    least: 81,
    isExplained: false,
  },
  { name: 'CORS', ...list(['sandbox/server/pipeline/cors*.ts']), least: 90, isExplained: false },
]

/** @throws Error where a pattern fits no file, as after a folder has moved */
function list(patterns: readonly string[], exclude: readonly string[] = []): Pick<Area, 'files' | 'tests'> {
  const found = patterns.flatMap((pattern) => {
    const files = globSync(pattern, { cwd: root, exclude })
    if (files.length === 0) throw new Error(`areas.ts: no file fits ${pattern}`)
    return files.map((file) => file.replaceAll('\\', '/'))
  })
  const isTest = (file: string) => file.endsWith('.test.ts')
  return {
    files: found.filter((file) => !isTest(file)).sort(),
    tests: found.filter(isTest).sort(),
  }
}
