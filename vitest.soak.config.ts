/** `npm run test:soak`: minutes of mixed load with kills. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['tests/soak/**/*.test.ts'],
    globalSetup: ['tests/temporary-root.ts', 'tests/build-once.ts'],
    setupFiles: 'tests/setup.ts',
    testTimeout: 300_000,
  },
})
