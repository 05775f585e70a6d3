import { defineConfig } from '@playwright/test'

export default defineConfig({
  testDir: 'e2e',
  // Started with a free PORT and the SVC_* variables of its own sandbox.
  use: { sandboxApp: { command: 'node server.js' } },
})
