import { defineConfig } from '@playwright/test'

export default defineConfig({
  testDir: 'e2e',
  // Started with a free PORT and the SVC_* variables of its own sandbox. In development StrictMode mounts twice.
  use: { sandboxApp: { command: 'npx vite' } },
})
