/**
 * `npm run test:mutations`: everything that goes through a large matrix. The built-in suites as a whole, what they notice
 * when the emulator is broken on purpose, malformed requests by the thousand, damaged files, hostile exports, kills, resets
 * and restores under load, every command with hostile text and answers, a million rows, and hundreds of random sequences
 * of exposure.
 */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { slowestFirst } from '#tests/slowest-first.ts'

export const matrices: readonly string[] = [
  'tests/mutations/**/*.test.ts',
  'tests/http/query-plans.test.ts',
  'tests/reliability/{billing,export,reset,unclean-end,damaged-files,fuzz,hostile-exports,hostile-output,key-destinations,odd-answers,kill,kill-reset,log-size,pauses,redaction}.test.ts',
  'tests/browser/{lifecycle-leaks,viewability-cross-check}.test.ts',
  'tests/docs/programs.test.ts',
]

const slow = [
  'reliability/pauses',
  'browser/viewability-cross-check',
  'reliability/hostile-output',
  'reliability/hostile-exports',
  'mutations/mutations',
  'reliability/fuzz',
  'reliability/damaged-files',
  'reliability/odd-answers',
  'reliability/kill',
  'mutations/builtin-suites',
  'reliability/redaction',
]

export default defineConfig({
  test: {
    include: [...matrices],
    globalSetup: ['tests/temporary-root.ts', 'tests/build-once.ts'],
    setupFiles: 'tests/setup.ts',
    sequence: { sequencer: slowestFirst(slow) },
    testTimeout: 400_000,
    hookTimeout: 400_000,
    expect: { poll: { timeout: 30_000 } },
    // One more than processors: kills and commands that follow something are waited for, and pauses are measured in
    // processor time, beside what else slows the processor down.
    maxWorkers: availableParallelism() + 1,
  },
})
