/**
 * Runs a part of the tests of a file: `npm test` has one of each kind, and those with the tag `depth` are left to a suite in depth.
 * The part is in the environment of the project; without it a file has all of its tests.
 */
import { type RunnerTask, type RunnerTestFile, type RunnerTestSuite, TestRunner } from 'vitest'

export default class PartRunner extends TestRunner {
  onCollected(files: RunnerTestFile[]): void {
    const part = process.env.SVC_TESTS_PART
    if (part !== undefined) for (const file of files) keepPart(file, part === 'depth')
  }
}

function keepPart(suite: RunnerTestSuite, isInDepth: boolean): void {
  suite.tasks = suite.tasks.filter((task: RunnerTask) => {
    if (task.type !== 'suite') return (task.tags?.includes('depth') ?? false) === isInDepth
    keepPart(task, isInDepth)
    return task.tasks.length > 0
  })
}
