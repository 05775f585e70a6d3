/** `npm run test:mutations`: the built-in suites as a whole, and what they notice when the emulator is broken on purpose. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['tests/mutations/**/*.test.ts'],
    globalSetup: 'tests/build-once.ts',
    testTimeout: 60_000,
    hookTimeout: 30_000,
    // A file uses every processor by itself.
    fileParallelism: false,
  },
})
