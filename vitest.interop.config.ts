/**
 * `npm run test:interop`: what others make of the OpenAPI document. Linters find nothing, generated clients work, and a
 * validating proxy agrees with the sandbox; the official inspector uses the tools for agents; the recipes for CI are linted. Apart from `npm test`, since the tools are installed from the registry.
 */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['tests/interop/**/*.test.ts'],
    // The first looks for the tools in the temporary folder of the system, before a run gets one of its own.
    globalSetup: ['tests/interop/tools.ts', 'tests/temporary-root.ts', 'tests/build-once.ts'],
    setupFiles: 'tests/setup.ts',
    // Each file mostly waits for the processes that it starts.
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
