/**
 * `npm run test:engines`: the renderer in each engine that is installed: Chromium, Firefox and WebKit. `.ci/install-browsers`
 * installs the last two. Which engines were left out is printed, and no test stands for them.
 */
import { defineConfig } from 'vitest/config'
import { engines } from '#qa/browser/engines.ts'
import { installedEngines } from '#tests/engines/engines.ts'

const installed = await installedEngines()
for (const engine of engines) {
  if (!installed.includes(engine)) console.log(`${engine} is not installed: its tests are left out`)
}

export default defineConfig({
  test: {
    globalSetup: ['tests/temporary-root.ts', 'tests/build-once.ts'],
    setupFiles: 'tests/setup.ts',
    testTimeout: 90_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 30_000 } },
    isolate: false,
    maxWorkers: 2,
    projects: installed.map((engine) => ({
      extends: true as const,
      test: {
        name: engine,
        env: { SVC_ENGINE: engine },
        include: ['tests/engines/**/*.test.ts'],
        // `npm test` has run them in Chromium.
        exclude: engine === 'chromium' ? ['tests/engines/pages.test.ts', 'tests/engines/qa.test.ts'] : [],
      },
    })),
  },
})
