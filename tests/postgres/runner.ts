/** Runs every test of the emulator on PostgreSQL but those about files of SQLite, which are named with the reason. */
import { type RunnerTask, type RunnerTestFile, type RunnerTestSuite, TestRunner } from 'vitest'
import { filesOnly } from './files-only.ts'

export default class PostgresRunner extends TestRunner {
  onCollected(files: RunnerTestFile[]): void {
    for (const file of files) removeFrom(file, '')
  }
}

function removeFrom(suite: RunnerTestSuite, path: string): void {
  suite.tasks = suite.tasks.filter((task: RunnerTask) => {
    const name = `${path}${task.name}`
    if (filesOnly.some(({ tests }) => tests.some((text) => name.includes(text)))) return false
    if (task.type !== 'suite') return true
    removeFrom(task, `${name} > `)
    return task.tasks.length > 0
  })
}
