import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{src,sandbox,tests}/**/*.test.{ts,tsx}'],
    // `npm run test:templates`: they install from the registry.
    exclude: ['tests/templates/**'],
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
})
