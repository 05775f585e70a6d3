/**
 * `npm test`: unit tests and processes side by side, then pages, whose own clocks measure what they show, so that nothing
 * heavy runs beside them. What takes minutes by its nature has a script of its
 * own: `npm run test:mutations` (suites, mutations, fuzzing, kills) and `npm run test:templates` (installs from the registry).
 */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { matrices } from './vitest.mutations.config.ts'

const processors = availableParallelism()

/** Pages keep processors busy; on one processor a second worker still has time. */
const browserWorkers = Math.max(2, processors)

/** A test of processes often waits for one. */
const processWorkers = processors + 1

/** Files of more than 15 seconds, the slowest first: one that started last would be waited for alone. */
const slow = [
  'browser/qa-report',
  'browser/viewability',
  'browser/qa-observe',
  'browser/demo',
  'cli/exec',
  'cli/streams',
  'browser/label',
  'browser/frames',
  'reliability/lifecycle',
  'cli/npm-start',
  'cli/qa-observe',
  'cli/detach',
  'cli/contract-check',
  'browser/lifecycle',
  'browser/clicks',
]

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = slow.findIndex((name) => moduleId.includes(`/tests/${name}.test.`))
      return index === -1 ? slow.length : index
    }
    return files.toSorted((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    // Generous, since a busy machine is no failure.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    globalSetup: 'tests/temporary-root.ts',
    setupFiles: 'tests/setup.ts',
    sequence: { sequencer: SlowestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'browser',
          include: ['tests/browser/**/*.test.{ts,tsx}'],
          exclude: [...matrices],
          globalSetup: 'tests/build-once.ts',
          // One Chromium a worker, for all of its files.
          isolate: false,
          maxWorkers: browserWorkers,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'process',
          include: ['tests/{cli,docs,package,reliability,surface}/**/*.test.ts'],
          exclude: [...matrices],
          globalSetup: 'tests/build-once.ts',
          isolate: false,
          maxWorkers: processWorkers,
        },
      },
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{src,sandbox}/**/*.test.{ts,tsx}', 'tests/{architecture,contract,http,qa-report}/**/*.test.ts'],
          exclude: [...matrices],
          // They share nothing but what they import, which is loaded once a worker.
          isolate: false,
          maxWorkers: processWorkers,
        },
      },
    ],
  },
})
