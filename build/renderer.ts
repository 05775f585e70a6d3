/**
 * Builds the browser scripts: render.js for the host page, mounts.js that it loads to show ads, judge.js that judges
 * whether they are seen where the browser does not say so, activation.js for pages without a backend, console.js that it loads when it is asked for, frame.js for the document inside the frame.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'
import { bundle } from './bundle.ts'

/** Gzipped sizes, bytes. The first part comes last: it has the hashes of those that it loads. */
const scripts = [
  { name: 'mounts.js', entry: 'host/mounts/mounts.ts', format: 'es', maxGzipBytes: 8_180 },
  { name: 'judge.js', entry: 'host/judge/main.ts', format: 'es', maxGzipBytes: 9_200 },
  { name: 'activation.js', entry: 'host/browser-activation.ts', format: 'es', maxGzipBytes: 1_100 },
  { name: 'console.js', entry: '../console/console.ts', format: 'es', maxGzipBytes: 40_000 },
  { name: 'frame.js', entry: 'frame/main.ts', format: 'iife', maxGzipBytes: 3_300 },
  { name: 'render.js', entry: 'host/main.ts', format: 'iife', maxGzipBytes: 7_500 },
] as const

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Writes render.js and frame.js to `outDir`; throws when one is too large. Tests may add plugins, and lines with them.
 */
export async function buildRenderer(outDir: string, plugins: readonly Plugin[] = []): Promise<void> {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  const hashes: Record<string, string> = {}
  for (const { name, entry, format, maxGzipBytes } of scripts) {
    await bundle({
      root,
      logLevel: 'warn',
      plugins: [...plugins],
      define: { __RENDERER_VERSION__: JSON.stringify(version), __PARTS__: JSON.stringify(hashes) },
      build: {
        outDir: resolve(outDir),
        emptyOutDir: false,
        target: 'es2020',
        minify: true,
        lib: {
          entry: join(root, 'sandbox/pages/renderer', entry),
          formats: [format],
          name: 'renderer',
          fileName: () => name,
        },
        // Constants stay constant, so the minifier inlines them.
        // The library mode of Vite leaves the whitespace of modules.
        rolldownOptions: { output: { topLevelVar: false, minify: true } },
      },
    })
    const script = await readFile(join(outDir, name))
    if (format === 'es') hashes[name.slice(0, -3)] = `sha256-${createHash('sha256').update(script).digest('base64')}`
    const size = gzipSync(script).length
    if (size > maxGzipBytes && plugins.length === 0)
      throw new Error(`${name} has ${size} bytes gzipped, ${maxGzipBytes} are allowed. Make it smaller.`)
  }
}
