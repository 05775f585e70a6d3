import { defineConfig } from '@playwright/test'

export default defineConfig({
  testDir: 'e2e',
  // Started with a free PORT and the SVC_* variables of its own sandbox. Playwright has set another NODE_ENV.
  use: { sandboxApp: { command: 'node next.mjs start', env: { NODE_ENV: 'production' } } },
})
