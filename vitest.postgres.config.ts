/**
 * `npm run test:postgres`: the HTTP suite on a PostgreSQL that the run starts, each sandbox in a namespace of its own,
 * the mutations of the store, and what only several nodes and both adapters together can show.
 */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { slowestFirst } from '#tests/slowest-first.ts'

/**
 * Files about what comes before the store or after it: addresses, credentials and bodies that are refused, headers, fault rules
 * of each scenario. By the engine's coverage none of them reaches a function or a branch of sandbox/store/postgres that the
 * remaining files do not, all seven together neither. A file that does, or whose subject is stored, is not listed here;
 * `replay-import` edits the file of a SQLite database.
 */
const besideTheStore = ['addresses', 'config', 'cors', 'errors', 'mcp', 'playground', 'replay-import', 'scenarios']

/** Files of more than 10 seconds. */
const slow = [
  'postgres/nodes',
  'postgres/suites',
  'postgres/adapters',
  'postgres/three-nodes',
  'postgres/start',
  'http/placements',
  'http/billing',
  'http/beacons',
  'http/compat',
  'http/control',
  'http/privacy',
  'http/rate',
  'http/evidence',
  'http/consent',
  'http/render',
  'http/activation',
  'http/jobs',
  'http/faults',
  'http/replay',
  'http/fault-state',
  'http/followers',
  'http/clock',
  'http/callbacks',
]

export default defineConfig({
  test: {
    include: ['tests/http/**/*.test.ts', 'tests/postgres/**/*.test.ts', 'tests/mutations/store.test.ts'],
    exclude: [
      // Versions of SQLite files, and the plans of its queries.
      'tests/http/{query-plans,schema-versions}.test.ts',
      ...besideTheStore.map((name) => `tests/http/${name}.test.ts`),
    ],
    sequence: { sequencer: slowestFirst(slow) },
    runner: 'tests/postgres/runner.ts',
    globalSetup: ['tests/temporary-root.ts', 'tests/build-once.ts', 'tests/postgres/global-setup.ts'],
    setupFiles: 'tests/setup.ts',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    isolate: false,
    // They wait for the database more than for a processor.
    maxWorkers: availableParallelism() + 2,
  },
})
