/** `npm run test:templates`: each template as a newcomer gets it. Apart from `npm test`, since it installs from the registry. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['tests/templates/**/*.test.ts'],
    globalSetup: ['tests/temporary-root.ts', 'tests/templates/installed.ts'],
    setupFiles: 'tests/setup.ts',
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // A file has one template: it installs and builds beside another, whose pages mostly wait.
    maxWorkers: 2,
  },
})
