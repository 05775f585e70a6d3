import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    testTimeout: 20_000,
    hookTimeout: 30_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'code',
          include: ['{src,sandbox,tests}/**/*.test.{ts,tsx}'],
          // `npm run test:templates`: they install from the registry.
          exclude: ['tests/browser/**', 'tests/templates/**'],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: ['tests/browser/**/*.test.{ts,tsx}'],
          // What a browser measures is time: nothing else runs beside it.
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
