/**
 * Builds dist/: `node build.ts`, or `node build.ts --if-stale` to skip when nothing changed since the last build.
 *
 * Everything is written into a directory aside and moved into place only when all of it is there: chunks first, then the
 * entries that name them, then the chunks nobody names any more go. A failed build leaves the old dist as it was, and a
 * command started meanwhile finds a whole one.
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
  const aside = join(dist, `.next-${process.pid}`)
  try {
    const results = await Promise.allSettled([
      buildNode(aside),
      buildBrowserCode(join(aside, 'renderer')),
      buildDemo(join(aside, 'demo')),
      writeOpenapi(join(aside, openapi)),
    ])
    for (const result of results) if (result.status === 'rejected') throw result.reason
    install(aside)
    writeFileSync(stamp, '')
    utimesSync(stamp, started, started)
    return 0
  } catch (error) {
    process.stderr.write(
      `Build failed; dist is as it was.\n${error instanceof Error ? error.message : String(error)}\n`,
    )
    return 1
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

async function buildBrowserCode(outDir: string): Promise<void> {
  const builder = join(root, 'build/renderer.ts')
  if (!existsSync(builder)) return
  const { buildRenderer } = (await import(builder)) as { buildRenderer(outDir: string): Promise<unknown> }
  await buildRenderer(outDir)
}

/** Writes the OpenAPI document of the contract, as `svc openapi` prints it for a sandbox on its default port. */
async function writeOpenapi(file: string): Promise<void> {
  const { openapiDocument } = await import('./src/contract/openapi.ts')
  const document = openapiDocument({ server_url: 'http://127.0.0.1:4010' })
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`)
}

/** Moves a finished build into dist. `dist/types` is the compiler's and stays. */
function install(aside: string): void {
  const built = files(aside)
  for (const file of [...built.filter((file) => !isEntry(file)), ...built.filter(isEntry)]) {
    mkdirSync(dirname(join(dist, file)), { recursive: true })
    renameSync(join(aside, file), join(dist, file))
  }
  const kept = new Set(built)
  for (const file of files(dist)) {
    if (!kept.has(file) && !file.startsWith('types/')) rmSync(join(dist, file), { force: true })
  }
}

function isEntry(file: string): boolean {
  return file in entries
}

/** Files of a directory, relative, with forward slashes; hidden ones are other builds and the stamp. */
function files(directory: string): string[] {
  return globSync('**/*', { cwd: directory, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((file) => !file.split('/').some((part) => part.startsWith('.')))
}

/** Whether any source is newer than the last build, or an output is gone. The stamp carries the time it began. */
function isStale(): boolean {
  if (!existsSync(stamp)) return true
  if ([...Object.keys(entries), openapi].some((file) => !existsSync(join(dist, file)))) return true
  const built = statSync(stamp).mtimeMs
  return globSync(['src/**', 'sandbox/**', 'build/**', 'fixtures/**', 'build.ts', 'package.json'], { cwd: root }).some(
    (file) => !file.includes('.test.') && statSync(join(root, file)).mtimeMs > built,
  )
}
