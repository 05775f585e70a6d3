/** The entries of the build for Node, separate from its builder: `--if-stale` reads them and loads nothing else. */

/** Output in dist, and the source it is built from. */
export const entries: Record<string, string> = {
  'svc.js': 'src/main.ts',
  'sandbox.js': 'sandbox/index.ts',
  'client.js': 'src/core/client/index.ts',
  'vitest.js': 'src/judge/testing/vitest.ts',
  'playwright.js': 'src/judge/testing/playwright.ts',
  'testcontainers.js': 'src/judge/testing/testcontainers.ts',
  'checkpoint-worker.js': 'sandbox/store/sqlite/file/checkpoint-worker.ts',
  'file-worker.js': 'sandbox/store/sqlite/file-worker.ts',
  'verification-worker.js': 'sandbox/verification-worker.ts',
  'lint-worker.js': 'src/cli/mcp/lint-worker.ts',
}
