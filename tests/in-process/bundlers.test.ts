/** `svc-sandbox/client` in bundles for Node, as modules and as CommonJS. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runNode, writeProject } from './project.ts'

const app = `
import { createClient, UnreachableError } from 'svc-sandbox/client'

createClient({ base_url: 'http://127.0.0.1:1' }).placements.list().catch((error) => {
  console.log(error instanceof UnreachableError ? 'loaded' : error)
})
`

const bundlers = {
  esbuild: (format: string, output: string) => `
import { build } from 'esbuild'
const format = '${format}'
await build({ entryPoints: ['app.js'], bundle: true, platform: 'node', format, outfile: '${output}', logLevel: 'error' })
`,
  webpack: (format: string, output: string) => `
import webpack from 'webpack'
const isModule = '${format}' === 'esm'
webpack({
  mode: 'production',
  optimization: { minimize: false },
  target: 'node22',
  entry: './app.js',
  experiments: { outputModule: isModule },
  output: { path: import.meta.dirname, filename: '${output}', module: isModule, library: { type: isModule ? 'module' : 'commonjs2' } },
}, (error, stats) => {
  if (error !== null || stats.hasErrors()) throw error ?? new Error(stats.toString())
})
`,
}

test.each([
  ['esbuild', 'esm', 'out.mjs'],
  ['esbuild', 'cjs', 'out.cjs'],
  ['webpack', 'esm', 'out.mjs'],
  ['webpack', 'cjs', 'out.cjs'],
] as const)('%s: the client loads and sends from a bundle in %s', async (bundler, format, output) => {
  const directory = writeProject(`${bundler}-${format}`, { 'app.js': app })
  writeFileSync(join(directory, 'bundle.js'), bundlers[bundler](format, output))
  expect(await runNode(directory, ['bundle.js'])).toMatchObject({ code: 0 })
  expect(await runNode(directory, [output])).toEqual({ code: 0, output: 'loaded\n' })
})

const nextProject = {
  'next.mjs': `process.env.NEXT_TELEMETRY_DISABLED = '1'\nawait import('next/dist/bin/next')\n`,
  'app/layout.js': 'export default ({ children }) => <html lang="en"><body>{children}</body></html>',
  'app/api/typed/route.js': `
import { createClient } from 'svc-sandbox/client'
export const dynamic = 'force-dynamic'
export async function GET() {
  const client = createClient({ base_url: 'http://127.0.0.1:1' })
  return Response.json(await client.placements.list().catch((error) => error.name))
}
`,
  'serve.js': `
import { createServer } from 'node:http'
import next from 'next'

const app = next({ dev: false, dir: import.meta.dirname })
await app.prepare()
const server = createServer(app.getRequestHandler()).listen(0, '127.0.0.1', async () => {
  const response = await fetch('http://127.0.0.1:' + server.address().port + '/api/typed')
  console.log(await response.text())
  process.exit()
})
`,
}

/** By webpack: Turbopack follows no link that leads out of its project, as the tools of these projects are. */
test('Next: the client loads and sends from a route', async () => {
  const directory = writeProject('next', nextProject)
  expect(await runNode(directory, ['next.mjs', 'build', '--webpack'])).toMatchObject({ code: 0 })
  expect(await runNode(directory, ['serve.js'])).toMatchObject({
    code: 0,
    output: expect.stringContaining('"UnreachableError"\n'),
  })
})
