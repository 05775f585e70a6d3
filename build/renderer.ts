/** Builds the two browser scripts: render.js for the host page, frame.js for the document inside the frame. */
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'
import { bundle } from './bundle.ts'

/** Gzipped sizes, bytes. */
const scripts = [
  { name: 'render.js', entry: 'sandbox/renderer/host/main.ts', most: 8_000 },
  { name: 'frame.js', entry: 'sandbox/renderer/frame/main.ts', most: 3_000 },
]

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Writes render.js and frame.js to `outDir`; throws when one is too large. Tests may add plugins, and lines with them.
 */
export async function buildRenderer(outDir: string, plugins: readonly Plugin[] = []): Promise<void> {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  for (const { name, entry, most } of scripts) {
    await bundle({
      root,
      logLevel: 'warn',
      plugins: [...plugins],
      define: { __RENDERER_VERSION__: JSON.stringify(version) },
      build: {
        outDir: resolve(outDir),
        emptyOutDir: false,
        target: 'es2022',
        minify: true,
        lib: { entry: join(root, entry), formats: ['iife'], name: 'renderer', fileName: () => name },
        // Constants stay constant, so the minifier inlines them.
        rolldownOptions: { output: { topLevelVar: false } },
      },
    })
    const size = gzipSync(await readFile(join(outDir, name))).length
    if (size > most && plugins.length === 0)
      throw new Error(`${name} has ${size} bytes gzipped, ${most} are allowed. Make it smaller.`)
  }
}
