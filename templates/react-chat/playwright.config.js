import { defineConfig } from '@playwright/test'

export default defineConfig({
  testDir: 'e2e',
  // Started with a free PORT and the SVC_* variables of a sandbox of its own. In development StrictMode mounts twice.
  use: { sandboxApp: { command: 'npx vite' } },
})
