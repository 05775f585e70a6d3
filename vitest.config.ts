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
          // Two pages that mostly wait; what they measure, they measure by their own clocks.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
