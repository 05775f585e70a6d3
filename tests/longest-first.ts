/** The order of test files: those that take long first, since one that started last would be waited for alone. */
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const root = join(import.meta.dirname, '..')

/** Seconds that each file took in a run of all suites, as `node tests/runner/record-seconds.ts` wrote them: of the longest. */
const seconds = JSON.parse(readFileSync(join(import.meta.dirname, 'seconds.json'), 'utf8')) as Record<string, number>

/** Sorts by the seconds of the last recorded run. What took no time worth mentioning, or is new, comes last. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => recordedSeconds(b) - recordedSeconds(a))
  }
}

function recordedSeconds({ moduleId }: TestSpecification): number {
  return seconds[relative(root, moduleId).replaceAll('\\', '/')] ?? 0
}
