/**
 * Builds dist/: `node build/dist.ts`, or `node build/dist.ts --if-stale` to skip when nothing changed since the last build. With
 * `--types`, also builds the declarations in dist/types, in parallel.
 *
 * Everything is written into a temporary directory and moved into place when it is complete: chunks first, then the
 * entries that import them; then unused chunks are deleted. A failed build does not change dist, and a command that
 * starts in the meantime finds a complete one.
 */
import { spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { entries } from './entries.ts'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const stampName = '.built'
const stamp = join(dist, stampName)
const openapi = 'openapi.json'
const notices = 'THIRD-PARTY-NOTICES.txt'

const ifStale = process.argv.includes('--if-stale')
const types = process.argv.includes('--types') && !(ifStale && hasFreshTypes()) ? declareTypes() : null
if (!ifStale || isStale()) process.exitCode = await build()
// A program with type errors still starts.
if ((await types) === false && !ifStale) process.exitCode = 1

async function build(): Promise<number> {
  const started = new Date()
  const next = join(dist, `.next-${process.pid}`)
  try {
    // Loaded only here: the builders load every command, the contract and Vite, which `--if-stale` does not need.
    const results = await Promise.allSettled([
      import('./node.ts').then(({ buildNode }) => buildNode(next)),
      import('./renderer.ts').then(({ buildRenderer }) => buildRenderer(join(next, 'renderer'))),
      import('./demo.ts').then(({ buildDemo }) => buildDemo(join(next, 'demo'))),
      import('./inspector.ts').then(({ buildInspector }) => buildInspector(join(next, 'inspector'))),
      import('./client.ts').then(({ buildBrowserClient }) => buildBrowserClient(next)),
      import('./client.ts').then(({ buildContract }) => buildContract(next)),
      writeOpenapi(join(next, openapi)),
      writeDocs(join(next, 'docs')),
    ])
    for (const result of results) if (result.status === 'rejected') throw result.reason
    const { compressRenderer } = await import('./encodings.ts')
    await Promise.all([writeNotices(next), compressRenderer(next)])
    copyQaFiles(next)
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

/**
 * Writes the declarations into a folder next to dist/types, then moves it into place. Returns whether there are no type
 * errors.
 */
async function declareTypes(): Promise<boolean> {
  const started = new Date()
  const next = join(dist, `.types-${process.pid}`)
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const args = [compiler, '-p', 'build/tsconfig.types.json', '--outDir', next]
  const code = await new Promise((resolve) => {
    spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] }).once('close', resolve)
  })
  if (existsSync(next)) {
    nameByDistance(next)
    deleteUnreachable(next)
    writeFileSync(join(next, stampName), '')
    utimesSync(join(next, stampName), started, started)
    rmSync(join(dist, 'types'), { recursive: true, force: true })
    renameSync(next, join(dist, 'types'))
  }
  return code === 0
}

/** Replaces the names of rooms in the declarations, `#contract/`, which only this checkout knows, by relative paths. */
function nameByDistance(types: string): void {
  const { imports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    imports: Record<string, string>
  }
  for (const file of files(types)) {
    const text = readFileSync(join(types, file), 'utf8')
    const replaced = text.replaceAll(/(["'])(#\w[\w-]*\/)([^"']+)\1/g, (whole, quote, room, path) => {
      const folder = imports[`${room}*`]?.slice(0, -1)
      if (folder === undefined) return whole
      const distance = posix.relative(posix.dirname(file), posix.join(folder, path))
      return `${quote}${distance.startsWith('.') ? distance : `./${distance}`}${quote}`
    })
    if (replaced !== text) writeFileSync(join(types, file), replaced)
  }
}

/**
 * Deletes the declarations that no export of the package reaches, three out of four: the compiler writes one for each
 * file that it reads.
 */
function deleteUnreachable(types: string): void {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: object }
  const pending = [...JSON.stringify(exports).matchAll(/"\.\/dist\/types\/([^"]+)"/g)].map(([, file = '']) => file)
  const reachable = new Set<string>()
  for (const file of pending) {
    if (reachable.has(file)) continue
    reachable.add(file)
    const imports = readFileSync(join(types, file), 'utf8').matchAll(/(?:from |import ?\(?)["'](\.[^"']+)\.ts["']/g)
    for (const [, path = ''] of imports) pending.push(posix.join(posix.dirname(file), `${path}.d.ts`))
  }
  for (const file of files(types)) if (!reachable.has(file)) rmSync(join(types, file))
}

/** Writes the licences of the bundled packages, as text and as data. */
async function writeNotices(outDir: string): Promise<void> {
  const { bundledPackages, noticesText } = await import('./bundle.ts')
  const packages = bundledPackages()
  writeFileSync(join(outDir, notices), noticesText(packages))
}

/** Writes the OpenAPI document of the contract, as `svc contract openapi` prints it for a sandbox on its default port. */
async function writeOpenapi(file: string): Promise<void> {
  const { openapiDocument } = await import('#contract/openapi/document.ts')
  const document = openapiDocument({ server_url: 'http://127.0.0.1:4010' })
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`)
}

/** Writes the documentation as pages and as text. Loads its builder only here, as above. */
async function writeDocs(outDir: string): Promise<void> {
  const { buildDocs } = await import('./docs/site.ts')
  await buildDocs(outDir)
}

/** Copies what `svc qa` reads: the built-in suites, which name their schema from dist, and the style of its reports. */
function copyQaFiles(outDir: string): void {
  cpSync(join(root, 'src/judge/qa/suites'), join(outDir, 'suites'), { recursive: true })
  cpSync(join(root, 'src/judge/qa/qa-report.css'), join(outDir, 'qa-report.css'))
  for (const file of globSync('suites/**/*.yaml', { cwd: outDir })) {
    const path = join(outDir, file)
    writeFileSync(path, readFileSync(path, 'utf8').replace('=../../../', '=../../'))
  }
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

/** Returns the files of a directory, relative, with forward slashes. Skips hidden ones: other builds and the stamp. */
function files(directory: string): string[] {
  return globSync('**/*', { cwd: directory, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((file) => !file.split('/').some((part) => part.startsWith('.')))
}

/**
 * Whether any source is newer than the last build, or an output is missing. The stamp has the time at which that build
 * started.
 */
function isStale(): boolean {
  if (!existsSync(stamp)) return true
  if (
    [
      ...Object.keys(entries),
      openapi,
      notices,
      'client.browser.js',
      'contract.js',
      'docs/index.json',
      'suites/formats.yaml',
    ].some((file) => !existsSync(join(dist, file)))
  )
    return true
  const sources = ['src/**', 'sandbox/**', 'build/**', 'fixtures/**', 'docs/**', 'package{,-lock}.json', 'LICENSE']
  return isNewer(sources, stamp)
}

function hasFreshTypes(): boolean {
  const written = join(dist, 'types', stampName)
  const sources = ['src/**/*.ts', 'sandbox/**/*.ts', '{.,build}/tsconfig*.json', 'package-lock.json']
  return existsSync(written) && !isNewer(sources, written)
}

/** Whether any of the files has changed since the stamp was written. */
function isNewer(sources: readonly string[], stamp: string): boolean {
  const built = statSync(stamp).mtimeMs
  return globSync(sources, { cwd: root }).some(
    (file) => !file.includes('.test.') && statSync(join(root, file)).mtimeMs > built,
  )
}
