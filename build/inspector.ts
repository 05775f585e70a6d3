/** Builds the inspector: its script, its style sheet and the chunks of its views, and the worker of the event stream, in dist/inspector. */
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Plugin, Rolldown } from 'vite'
import { reasonCodes } from '#contract/error-codes.ts'
import { contract } from '#contract/index.ts'
import { bundle } from './bundle.ts'

/** The size of the first page, gzip, bytes: the script and the chunks that it imports. */
const maxGzipBytes = 250_000

const root = fileURLToPath(new URL('..', import.meta.url))

/** Writes inspector.js, inspector.css and chunk-*.js to `outDir`; throws when the script is too large. */
export async function buildInspector(outDir: string): Promise<void> {
  const endpoints = Object.entries(contract).map(([id, { method, path }]) => [id, [method, path]])
  const { output } = await bundle({
    root,
    base: '/_sandbox/inspector/',
    logLevel: 'error',
    // From the contract, the page needs methods, paths and reason codes; the compiler checks its types.
    plugins: [englishNumbers, surfaceStyles],
    define: {
      __ENDPOINTS__: JSON.stringify(Object.fromEntries(endpoints)),
      __REASON_CODES__: JSON.stringify(Object.keys(reasonCodes)),
      // Test runners start builds too, and their NODE_ENV would choose the development forms of React and of JSX.
      'process.env.NODE_ENV': '"production"',
    },
    oxc: { jsx: { runtime: 'automatic', development: false } },
    build: {
      outDir: resolve(outDir),
      emptyOutDir: false,
      target: 'es2022',
      minify: true,
      cssCodeSplit: false,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      rolldownOptions: {
        input: { inspector: join(root, 'sandbox/pages/inspector/main.tsx') },
        output: {
          format: 'es',
          entryFileNames: '[name].js',
          chunkFileNames: 'chunk-[hash].js',
          assetFileNames: 'inspector[extname]',
        },
      },
    },
  })
  await buildWorker(outDir)
  const isDevelopment = output.some((file) => file.type === 'chunk' && file.code.includes('react-devtools'))
  if (isDevelopment) throw new Error('The inspector was built with the development form of React.')
  const size = initialSize(output)
  if (size > maxGzipBytes)
    throw new Error(`The inspector starts with ${size} bytes gzipped, ${maxGzipBytes} are allowed.`)
}

/** Writes events.js, the shared worker of the event stream. It is a classic script: it runs wherever shared workers do. */
async function buildWorker(outDir: string): Promise<void> {
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
        input: join(root, 'sandbox/pages/browser/worker.ts'),
        output: { format: 'iife', entryFileNames: 'events.js' },
      },
    },
  })
}

const browserLanguage = 'new Intl.NumberFormat(domEnv ? nav.language : '

/**
 * The chart library writes numbers in the language of the browser, and does not load where that is invalid: `C`,
 * `en@posix`.
 */
const englishNumbers: Plugin = {
  name: 'english-numbers',
  transform(code, id) {
    if (!id.endsWith('/uPlot.esm.js')) return null
    if (!code.includes(browserLanguage)) throw new Error('uPlot reads the language of the browser elsewhere now.')
    return code.replace(browserLanguage, 'new Intl.NumberFormat(')
  },
}

/** Returns the gzipped size of the entry and of every chunk that it imports before it runs. */
function initialSize(output: Rolldown.RolldownOutput['output']): number {
  const chunks = new Map(output.flatMap((file) => (file.type === 'chunk' ? [[file.fileName, file] as const] : [])))
  const initial = new Set<string>()
  const add = (name: string) => {
    if (initial.has(name)) return
    initial.add(name)
    for (const imported of chunks.get(name)?.imports ?? []) add(imported)
  }
  for (const { fileName, isEntry } of chunks.values()) if (isEntry) add(fileName)
  return [...initial].reduce((sum, name) => sum + gzipSync(chunks.get(name)?.code ?? '').length, 0)
}

/** The products of the demo are shown in the playground: their style sheet applies inside `.surface`. */
const surfaceStyles: Plugin = {
  name: 'surface-styles',
  enforce: 'pre',
  transform(code, id) {
    if (!id.endsWith('/demo/styles/product.css')) return null
    const keyframes: string[] = []
    // Keyframes are not valid inside a rule.
    const rules = code.replace(/@keyframes[^{]+\{(?:[^{}]*\{[^{}]*\})*\s*\}/g, (found) => {
      keyframes.push(found)
      return ''
    })
    return `${keyframes.join('\n')}\n.surface {\n${rules}\n}`
  },
}
