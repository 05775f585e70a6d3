/**
 * `npm test`: everything side by side, then the pages that measure time by their own clocks, so that nothing heavy runs
 * beside them. What takes minutes by its nature has a script of its
 * own: `npm run test:mutations` (suites, mutations, fuzzing, kills) and `npm run test:templates` (installs from the registry).
 */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { slowestFirst } from '#tests/slowest-first.ts'
import { inspectorTests } from './vitest.inspector.config.ts'
import { matrices } from './vitest.mutations.config.ts'

const processors = availableParallelism()

/** Pages that measure: a page that waits for a processor sees its own time pass. */
const timed = ['clicks', 'clips', 'frames', 'qa-observe', 'viewability'].map((name) => `tests/browser/${name}.test.ts`)

/**
 * Files of more than 5 seconds. Those that compute, as pages do, stand between those that mostly wait for a process: side
 * by side they would wait for each other.
 */
const slow = [
  'cli/exec',
  'browser/pages',
  'browser/demo',
  'cli/streams',
  'cli/detach',
  'browser/label',
  'reliability/lifecycle',
  'docs/blocks',
  'cli/beacons-tail',
  'browser/isolation',
  'package/package',
  'cli/npm-start',
  'browser/outcomes',
  'cli/scaffold',
  'browser/lifecycle',
  'browser/qa-steps',
  'browser/qa-report',
  'browser/lifecycle-page',
  'browser/codes',
  'browser/consent',
  'cli/sandboxes',
  'http/fault-state',
  'cli/commands',
  'http/snapshots',
  'browser/react',
  'cli/contract-check',
  'browser/docs',
  'cli/exit-codes',
  'cli/qa',
  'http/schema-versions',
  'browser/flow',
  'cli/completion',
  'cli/usage',
  'surface/surface',
  'cli/tables',
  'browser/inspector',
  'cli/refusals',
  'cli/callbacks',
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
          // A test of processes uses a third of a processor, and waits for the rest of its time.
          maxWorkers: processors + 2,
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
