/**
 * `npm test`: everything side by side, then the pages that measure time by their own clocks, so that nothing heavy runs
 * beside them. What takes minutes by its nature has a script of its
 * own: `npm run test:mutations` (suites, mutations, fuzzing, kills) and `npm run test:templates` (installs from the registry).
 */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { slowestFirst } from './tests/slowest-first.ts'
import { inspectorTests } from './vitest.inspector.config.ts'
import { matrices } from './vitest.mutations.config.ts'

const processors = availableParallelism()

/** Pages that measure: a page that waits for a processor sees its own time pass. */
const timed = ['clicks', 'clips', 'frames', 'qa-observe', 'viewability'].map((name) => `tests/browser/${name}.test.ts`)

/** Files of more than 10 seconds. */
const slow = [
  'cli/exec',
  'browser/demo',
  'cli/streams',
  'browser/label',
  'reliability/lifecycle',
  'cli/npm-start',
  'docs/blocks',
  'browser/qa-report',
  'cli/detach',
  'browser/isolation',
  'cli/scaffold',
  'browser/lifecycle',
  'browser/qa-steps',
  'cli/beacons-tail',
  'browser/outcomes',
  'package/package',
  'browser/lifecycle-page',
  'cli/sandboxes',
  'browser/codes',
  'http/fault-state',
  'cli/commands',
  'http/snapshots',
  'browser/viewability',
  'browser/qa-observe',
]

export default defineConfig({
  test: {
    // Generous, since a busy machine is no failure.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    globalSetup: 'tests/temporary-root.ts',
    setupFiles: 'tests/setup.ts',
    sequence: { sequencer: slowestFirst(slow) },
    // They share nothing but what they import, which is loaded once a worker, and one Chromium a worker.
    isolate: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'parallel',
          include: [
            '{src,sandbox}/**/*.test.{ts,tsx}',
            'tests/{architecture,browser,cli,contract,docs,http,package,qa-report,reliability,surface}/**/*.test.{ts,tsx}',
          ],
          exclude: [...matrices, ...timed, inspectorTests],
          globalSetup: 'tests/build-once.ts',
          // A test of processes often waits for one.
          maxWorkers: processors + 1,
        },
      },
      {
        extends: true,
        test: {
          name: 'timed',
          include: timed,
          globalSetup: 'tests/build-once.ts',
          // On one processor a second worker still has time: pages wait for their dwell.
          maxWorkers: Math.max(2, processors),
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
