/** The code that runs under Node: three entries that share chunks, so that a command loads only what it needs. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Output in dist, and the source it is built from. */
export const entries: Record<string, string> = {
  'svc.js': 'src/main.ts',
  'sandbox.js': 'sandbox/index.ts',
  'client.js': 'src/client/index.ts',
  'checkpoint-worker.js': 'sandbox/store/sqlite/checkpoint-worker.ts',
  'copy-worker.js': 'sandbox/store/sqlite/copy-worker.ts',
}

const root = join(import.meta.dirname, '..')

/**
 * Builds into `outDir`. Output files lie flat, so `new URL('../', import.meta.url)` is the package root from any of
 * them, as it is from a source file directly under `sandbox/` or `src/`.
 */
export async function buildNode(outDir: string): Promise<void> {
  const { build } = await import('vite')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    publicDir: false,
    define: { __SVC_VERSION__: JSON.stringify(version), 'process.env.NODE_ENV': '"production"' },
    // Else NODE_ENV, which test runners set, chooses the development form of JSX, which the production React lacks.
    oxc: { jsx: { runtime: 'automatic', development: false } },
    ssr: { target: 'node', noExternal: true, external: ['better-sqlite3', 'playwright-core'] },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: false,
      target: 'node22',
      minify: false,
      reportCompressedSize: false,
      rolldownOptions: {
        input: Object.fromEntries(
          Object.entries(entries).map(([file, source]) => [file.replace(/\.js$/, ''), join(root, source)]),
        ),
        output: { format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
      },
    },
  })
}
