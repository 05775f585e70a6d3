/** Builds the demo host: one script and one style sheet, in dist/demo. */
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { bundle } from './bundle.ts'

/** Both files together, gzipped, bytes. */
const maxGzipBytes = 60_000

const root = fileURLToPath(new URL('..', import.meta.url))

/** Writes demo.js and demo.css to `outDir`; throws when they are too large. */
export async function buildDemo(outDir: string): Promise<void> {
  const entries = { 'demo.js': 'sandbox/pages/demo/main.ts', 'demo.css': 'sandbox/pages/demo/styles/demo.css' }
  for (const [name, entry] of Object.entries(entries)) {
    await bundle({
      root,
      logLevel: 'error',
      build: {
        outDir: resolve(outDir),
        emptyOutDir: false,
        target: 'es2022',
        minify: true,
        reportCompressedSize: false,
        rolldownOptions: {
          input: join(root, entry),
          output: { format: 'es', entryFileNames: name, assetFileNames: name },
        },
      },
    })
  }
  const files = await Promise.all(Object.keys(entries).map((name) => readFile(join(outDir, name))))
  const size = files.reduce((sum, file) => sum + gzipSync(file).length, 0)
  if (size > maxGzipBytes)
    throw new Error(`The demo has ${size} bytes gzipped, ${maxGzipBytes} are allowed. Make it smaller.`)
}
