/** What a project will consist of: the files of its template, and the package that it depends on. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Manifest, packageRoot, readManifest } from './package-root.ts'
import { packPackage } from './tarball.ts'
import type { Template } from './templates.ts'

export interface ProjectFile {
  /** Relative, with forward slashes. */
  path: string
  mode: number
  read(): Promise<Uint8Array>
}

export interface Project {
  files: readonly ProjectFile[]
  /** The package in it: its version, where its archive lies in the project, and whether it declares its types. */
  package: { version: string; path: string; has_types: boolean }
}

/** Files that packages lose or npm would take for its own, by the name under which a template keeps them. */
const renamed: Readonly<Record<string, string>> = { _gitignore: '.gitignore' }
/** What running a template in place leaves there. */
const leftovers = new Set(['node_modules', 'dist', '.next', '.env', 'package-lock.json', '__pycache__', '.DS_Store'])

export function planProject(template: Template, name: string, root: string = packageRoot): Project {
  const manifest = readManifest(root)
  const path = `vendor/${manifest.name}-${manifest.version}.tgz`
  const copied = filesWithin(template.directory).map((file): ProjectFile => {
    const source = join(template.directory, file)
    return {
      path: destination(file),
      mode: statSync(source).mode & 0o111 ? 0o755 : 0o644,
      read: async () => (file === 'package.json' ? ownManifest(source, name, manifest, path) : readFileSync(source)),
    }
  })
  const archive: ProjectFile = { path, mode: 0o644, read: () => packPackage(root, manifest.files) }
  return {
    files: [...copied, archive].toSorted((one, other) => (one.path < other.path ? -1 : 1)),
    package: { version: manifest.version, path, has_types: existsSync(join(root, 'dist/types')) },
  }
}

function filesWithin(directory: string, folder = ''): string[] {
  return readdirSync(join(directory, folder), { withFileTypes: true })
    .filter((entry) => !leftovers.has(entry.name))
    .flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      return entry.isDirectory() ? filesWithin(directory, path) : [path]
    })
}

function destination(file: string): string {
  const parts = file.split('/')
  const last = parts.pop() as string
  return [...parts, renamed[last] ?? last].join('/')
}

/** The template's `package.json` under the project's name, with the package beside it instead of above it. */
function ownManifest(source: string, name: string, { name: dependency }: Manifest, path: string): Uint8Array {
  const given = JSON.parse(readFileSync(source, 'utf8')) as { devDependencies: Record<string, string> }
  const devDependencies = { ...given.devDependencies, [dependency]: `file:${path}` }
  return Buffer.from(`${JSON.stringify({ ...given, name, devDependencies }, null, 2)}\n`)
}
