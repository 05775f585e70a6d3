/**
 * `npm run test:templates`: each template as a newcomer gets it, the package under each installer
 * and Node, inside test runners and bundles, and the single binary. Apart from `npm test`, since it installs from the registry.
 */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { slowestFirst } from '#tests/slowest-first.ts'

const slow = [
  'binary/binary',
  'templates/next-chat',
  'install/matrix',
  'templates/react-chat',
  'templates/browser-chat',
]

export default defineConfig({
  test: {
    include: ['tests/{binary,in-process,install,templates}/**/*.test.ts'],
    globalSetup: ['tests/install/tools.ts', 'tests/temporary-root.ts', 'tests/templates/installed.ts'],
    setupFiles: 'tests/setup.ts',
    testTimeout: 300_000,
    hookTimeout: 300_000,
    sequence: { sequencer: slowestFirst(slow) },
    // A file has one template: it installs and builds beside others, whose pages mostly wait.
    maxWorkers: availableParallelism() + 1,
  },
})
