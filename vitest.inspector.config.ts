/**
 * `npm run test:inspector`: the inspector in a real Chromium, view by view: every action, axe, keys, hostile text and other
 * origins. A short selection of it is in `npm test`.
 */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export const inspectorTests = 'tests/browser/inspector/**/*.test.ts'

export default defineConfig({
  test: {
    include: [inspectorTests],
    globalSetup: ['tests/temporary-root.ts', 'tests/build-once.ts'],
    setupFiles: 'tests/setup.ts',
    // One Chromium a worker, for all of its files.
    isolate: false,
    // Each expectation waits for a page.
    maxWorkers: availableParallelism() + 1,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
  },
})
