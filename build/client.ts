/**
 * Builds the two modules that also run in pages: the client, without imports, in dist/client.browser.js, and the contract,
 * which imports only zod, in dist/contract.js.
 */
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'
import { browserEndpoints } from '#client/browser-endpoints.ts'
import { errorCodes, reasonCodes } from '#contract/error-codes.ts'
import { bundle } from './bundle.ts'

export const browserClient = 'client.browser.js'
export const contractModule = 'contract.js'

/** Gzipped, bytes: 5 KiB. */ const maxGzipBytes = 5_120

const root = fileURLToPath(new URL('..', import.meta.url))

/** Writes the module to `outDir`; throws when it imports something, or is too large. */
export async function buildBrowserClient(outDir: string): Promise<void> {
  await bundle({
    root,
    logLevel: 'error',
    plugins: [evaluatedTables],
    build: {
      outDir: resolve(outDir),
      emptyOutDir: false,
      target: 'es2022',
      minify: true,
      reportCompressedSize: false,
      lib: { entry: join(root, 'src/core/client/browser.ts'), formats: ['es'], fileName: () => browserClient },
      // Library modules would otherwise keep their white space.
      rolldownOptions: { output: { minify: true } },
    },
  })
  const code = await readFile(join(outDir, browserClient), 'utf8')
  if (/\bimport\b/.test(code)) throw new Error(`${browserClient} imports something.`)
  const size = gzipSync(code).length
  if (size > maxGzipBytes)
    throw new Error(`${browserClient} has ${size} bytes gzipped, ${maxGzipBytes} are allowed. Make it smaller.`)
}

/**
 * Writes the contract as a separate module to `outDir`. It imports the package's zod, or the same one as its user, so
 * the schemas of both fit together.
 */
export async function buildContract(outDir: string): Promise<void> {
  await bundle({
    root,
    logLevel: 'error',
    build: {
      outDir: resolve(outDir),
      emptyOutDir: false,
      target: 'es2022',
      minify: false,
      reportCompressedSize: false,
      lib: { entry: join(root, 'src/core/contract/exports.ts'), formats: ['es'], fileName: () => contractModule },
      rolldownOptions: { external: ['zod'], output: { comments: false } },
    },
  })
}

/** The client names one cause of failure itself, before it sends; the service explains all others. */
const named = 'test_outcome_requires_test_key'

/** A browser has one sentence for every failure of a connection. */
const pageConnection = `
export const neverArrived = () => false
export const describeConnection = (error) => ({ reason: error?.message ?? String(error), hint: null })`

/** Replaces the contract, and what only Node reports about its connections, with the few facts that a page needs. */
const evaluatedTables: Plugin = {
  name: 'evaluated-tables',
  load(id) {
    if (id.endsWith('/src/core/client/browser-endpoints.ts')) return endpointTable()
    if (id.endsWith('/src/core/client/connection.ts')) return pageConnection
    if (!id.endsWith('/src/core/contract/error-codes.ts')) return null
    const statuses = Object.entries(errorCodes).map(([code, { status }]) => [code, { status }])
    return [
      constant('errorCodes', Object.fromEntries(statuses)),
      constant('reasonCodes', { [named]: reasonCodes[named] }),
    ].join('\n')
  },
}

/** Returns the endpoints as rows, which are shorter than objects: one of each with the same properties. */
function endpointTable(): string {
  const rows = Object.values(browserEndpoints).map(({ id, method, path, credentials, status }) => {
    return [id, method, path, credentials, status]
  })
  return `export const browserEndpoints = Object.fromEntries(
    ${JSON.stringify(rows)}.map(([id, method, path, credentials, status]) =>
      [id, { id, method, path, credentials, status, response: {} }]))`
}

function constant(name: string, value: unknown): string {
  return `export const ${name} = ${JSON.stringify(value)}`
}
