/**
 * Builds dist/: `node build.ts`, or `node build.ts --if-stale` to skip when nothing changed since the last build.
 *
 * Everything is written into a temporary directory and moved into place when it is complete: chunks first, then the
 * entries that import them; then unused chunks are deleted. A failed build does not change dist, and a command that
 * starts meanwhile finds a complete one.
 */
import { existsSync, globSync, mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { buildDemo } from './build/demo.ts'
import { buildNode, entries } from './build/node.ts'

const root = import.meta.dirname
const dist = join(root, 'dist')
const stamp = join(dist, '.built')
const openapi = 'openapi.json'

if (!process.argv.includes('--if-stale') || isStale()) {
  process.exitCode = await build()
}

async function build(): Promise<number> {
  const started = new Date()
  const next = join(dist, `.next-${process.pid}`)
  try {
    const results = await Promise.allSettled([
      buildNode(next),
      buildBrowserCode(join(next, 'renderer')),
      buildDemo(join(next, 'demo')),
      buildPageClient(next),
      writeOpenapi(join(next, openapi)),
      writeDocs(join(next, 'docs')),
    ])
    for (const result of results) if (result.status === 'rejected') throw result.reason
    install(next)
    writeFileSync(stamp, '')
    utimesSync(stamp, started, started)
    return 0
  } catch (error) {
    process.stderr.write(
      `Build failed; dist is unchanged.\n${error instanceof Error ? error.message : String(error)}\n`,
    )
    return 1
  } finally {
    rmSync(next, { recursive: true, force: true })
  }
}

/** Loads the builder only here: it loads Vite, which `--if-stale` does not need. */
async function buildBrowserCode(outDir: string): Promise<void> {
  const { buildRenderer } = await import('./build/renderer.ts')
  await buildRenderer(outDir)
}

/** The same: it loads the contract. */
async function buildPageClient(outDir: string): Promise<void> {
  const { buildBrowserClient } = await import('./build/client.ts')
  await buildBrowserClient(outDir)
}

/** Writes the OpenAPI document of the contract, as `svc openapi` prints it for a sandbox on its default port. */
async function writeOpenapi(file: string): Promise<void> {
  const { openapiDocument } = await import('./src/contract/openapi.ts')
  const document = openapiDocument({ server_url: 'http://127.0.0.1:4010' })
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`)
}

/** Writes the documentation as pages and as text. Loads its builder only here, as above. */
async function writeDocs(outDir: string): Promise<void> {
  const { buildDocs } = await import('./build/docs.ts')
  await buildDocs(outDir)
}

/** Moves a finished build into dist. Keeps `dist/types`, which the compiler writes. */
function install(next: string): void {
  const built = files(next)
  for (const file of [...built.filter((file) => !isEntry(file)), ...built.filter(isEntry)]) {
    mkdirSync(dirname(join(dist, file)), { recursive: true })
    renameSync(join(next, file), join(dist, file))
  }
  const current = new Set(built)
  for (const file of files(dist)) {
    if (!current.has(file) && !file.startsWith('types/')) rmSync(join(dist, file), { force: true })
  }
}

function isEntry(file: string): boolean {
  return file in entries
}

/** Returns the files of a directory, relative, with forward slashes. Hidden ones are other builds and the stamp. */
function files(directory: string): string[] {
  return globSync('**/*', { cwd: directory, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((file) => !file.split('/').some((part) => part.startsWith('.')))
}

/** Whether any source is newer than the last build, or an output is missing. The stamp has the time of its start. */
function isStale(): boolean {
  if (!existsSync(stamp)) return true
  if (
    [...Object.keys(entries), openapi, 'client.browser.js', 'docs/index.json'].some(
      (file) => !existsSync(join(dist, file)),
    )
  )
    return true
  const built = statSync(stamp).mtimeMs
  return globSync(['src/**', 'sandbox/**', 'build/**', 'fixtures/**', 'docs/**', 'build.ts', 'package.json'], {
    cwd: root,
  }).some((file) => !file.includes('.test.') && statSync(join(root, file)).mtimeMs > built)
}
