/**
 * `npm test`: three groups that run side by side, on as many workers as the machine has processors and one more, since
 * pages and processes mostly wait. What takes minutes by its nature has a script of its own: `npm run test:mutations`
 * (matrices of suites and mutations) and `npm run test:templates` (installs from the registry).
 */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** One more than there are processors. */
const maxWorkers = availableParallelism()

export default defineConfig({
  test: {
    testTimeout: 20_000,
    hookTimeout: 30_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'browser',
          include: ['tests/browser/**/*.test.{ts,tsx}'],
          globalSetup: 'tests/build-once.ts',
          // One Chromium a worker, for all of its files.
          isolate: false,
          maxWorkers,
        },
      },
      {
        extends: true,
        test: {
          name: 'process',
          include: ['tests/{cli,docs,package,reliability,surface}/**/*.test.ts'],
          globalSetup: 'tests/build-once.ts',
          isolate: false,
          maxWorkers,
        },
      },
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{src,sandbox}/**/*.test.{ts,tsx}', 'tests/{architecture,contract,http,qa-report}/**/*.test.ts'],
          // They share nothing but what they import, which is loaded once a worker.
          isolate: false,
          maxWorkers,
        },
      },
    ],
  },
})
