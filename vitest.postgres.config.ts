/**
 * `npm run test:postgres`: the whole HTTP suite on a PostgreSQL that the run starts, each sandbox in a namespace of its own,
 * the mutations of the store, and what only several nodes and both adapters together can show.
 */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { slowestFirst } from './tests/slowest-first.ts'

/** Files of more than 10 seconds. */
const slow = [
  'postgres/suites',
  'postgres/three-nodes',
  'postgres/adapters',
  'http/fault-state',
  'http/control',
  'http/events-since',
  'http/faults',
  'http/push',
  'http/evidence',
  'http/callbacks',
  'postgres/nodes',
  'http/requests',
  'http/privacy',
]

export default defineConfig({
  test: {
    include: ['tests/http/**/*.test.ts', 'tests/postgres/**/*.test.ts', 'tests/mutations/store.test.ts'],
    // Versions of SQLite files, and the plans of its queries.
    exclude: ['tests/http/{query-plans,schema-versions}.test.ts'],
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
