/** The package as it is installed: packed, unpacked elsewhere, with its declared dependencies and nothing else. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { temporaryDirectory } from '#tests/temporary.ts'

export const checkout = join(import.meta.dirname, '../..')
const modules = join(checkout, 'node_modules')

export interface Unpacked {
  /** Holds everything below. */
  directory: string
  /** What npm would publish. */
  archive: string
  /** The unpacked package. */
  root: string
  /** A project that has it as a dependency. */
  project: string
}

/** @param packed the archive of a run that has packed the checkout already */
export function unpack(packed?: string): Unpacked {
  const directory = temporaryDirectory()
  const archive = packed ?? pack(directory)
  run('tar', ['-xzf', archive], directory)
  const root = join(directory, 'package')
  const { dependencies = {} } = readManifest(root)
  link(root, Object.keys(dependencies))

  const project = join(directory, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'project', private: true, type: 'module' }))
  link(project, ['vitest', 'typescript', '@types/node'])
  symlinkSync(root, join(project, 'node_modules/svc-sandbox'))
  return { directory, archive, root, project }
}

/** Packs the checkout, built, and returns the archive. */
function pack(directory: string): string {
  run('node', ['build/dist.ts', '--if-stale', '--types'], checkout)
  const report = run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', directory], checkout)
  return join(directory, nameOf(report))
}

export function readManifest(root: string): {
  version: string
  license: string
  dependencies?: Record<string, string>
} {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
}

function link(root: string, names: string[]): void {
  for (const name of names) {
    const target = join(root, 'node_modules', name)
    mkdirSync(dirname(target), { recursive: true })
    symlinkSync(join(modules, name), target)
  }
}

function nameOf(text: string): string {
  const report = JSON.parse(text) as { filename: string }[] | Record<string, { filename: string }>
  return Object.values(report)[0]!.filename
}

function run(command: string, args: string[], cwd: string): string {
  const program = command === 'node' ? process.execPath : command
  return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}
