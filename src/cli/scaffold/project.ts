/**
 * The files of a project, and how they are written: all or nothing, into a temporary folder first, then renamed into
 * place. A new directory appears complete. An existing one keeps the files that the template does not have; replaced
 * files are kept until everything is in place, and put back if something fails.
 */

import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { createFolder, renameOver } from '#foundation/file-system.ts'
import { withAddress } from '#foundation/http.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { packPackage } from './package-archive.ts'
import { packageRoot, ScaffoldError, type Template } from './templates.ts'

interface ProjectFile {
  /** Relative, with forward slashes. */
  path: string
  mode: number
  read(): Promise<Uint8Array>
}

export interface Project {
  files: readonly ProjectFile[]
  /** The package in it: its version, the path of its archive, and whether it declares its types. */
  package: { version: string; path: string; has_types: boolean }
}

/** The fields of package.json that are read. */
interface Manifest {
  name: string
  version: string
  files: readonly string[]
}

/** Files that npm leaves out of packages or uses itself, by the name under which a template keeps them. */
const renamed: Readonly<Record<string, string>> = { _gitignore: '.gitignore', _npmrc: '.npmrc' }

/** Files and folders that running a template in place leaves behind. */
const leftovers = new Set([
  'node_modules',
  'build',
  'dist',
  '.next',
  '.env',
  'package-lock.json',
  'test-results',
  '__pycache__',
  '.DS_Store',
])

/** Returns the files of a template as a project, and the package that it depends on. */
export function planProject(template: Template, name: string, root: string = packageRoot): Project {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
  const { name_in, package_in = 'vendor' } = template.toolchain ?? {}
  const path = `${package_in}/${manifest.name}-${manifest.version}.tgz`
  const copied = [...listSources(template)].map(([file, source]): ProjectFile => {
    return {
      path: destination(file),
      mode: statSync(source).mode & 0o111 ? 0o755 : 0o644,
      read: async () => {
        if (file === 'package.json') return ownManifest(source, name, manifest, path)
        if (file === name_in) return Buffer.from(readFileSync(source, 'utf8').replace(template.name, name))
        return file.endsWith('.css') ? styleSheet(source, sharedFolder(template)) : readFileSync(source)
      },
    }
  })
  const archive: ProjectFile = { path, mode: 0o644, read: () => packPackage(root, manifest.files) }
  return {
    files: [...copied, archive].toSorted((one, other) => (one.path < other.path ? -1 : 1)),
    package: { version: manifest.version, path, has_types: existsSync(join(root, 'dist/types')) },
  }
}

/** Returns a project whose `.env.example` names the service at an address. */
export function atAddress(project: Project, base_url: string): Project {
  const files = project.files.map((file): ProjectFile => {
    if (posix.basename(file.path) !== '.env.example') return file
    return { ...file, read: async () => Buffer.from(withAddress(Buffer.from(await file.read()).toString(), base_url)) }
  })
  return { ...project, files }
}

/** The folder of files that several templates share: its README explains how it works. */
function sharedFolder({ directory }: Template): string {
  return join(dirname(directory), '_shared')
}

/** Returns the files of a template and of the layers that it takes: their sources by their paths in the project. */
function listSources(template: Template): Map<string, string> {
  const shared = sharedFolder(template)
  const layers = JSON.parse(readFileSync(join(shared, 'layers.json'), 'utf8')) as Record<string, Record<string, string>>
  const sources = new Map<string, string>()
  for (const [layer, folders] of Object.entries(layers)) {
    const folder = folders[template.name]
    if (folder === undefined) continue
    for (const file of filesWithin(join(shared, layer)))
      sources.set(posix.join(folder, file), join(shared, layer, file))
  }
  for (const file of filesWithin(template.directory)) sources.set(file, join(template.directory, file))
  return sources
}

/** Returns a style sheet with the shared ones that it includes. */
function styleSheet(source: string, shared: string): Uint8Array {
  const include = /^\/\* include \.\.\/_shared\/(\S+) \*\/\n/gm
  return Buffer.from(
    readFileSync(source, 'utf8').replace(include, (_line, file: string) => readFileSync(join(shared, file), 'utf8')),
  )
}

function filesWithin(directory: string, folder = ''): string[] {
  return readdirSync(join(directory, folder))
    .filter((name) => !leftovers.has(name))
    .flatMap((name) => {
      const path = folder === '' ? name : `${folder}/${name}`
      return statSync(join(directory, path)).isDirectory() ? filesWithin(directory, path) : [path]
    })
}

function destination(file: string): string {
  const parts = file.split('/')
  const last = parts.pop() ?? ''
  return [...parts, findEntry(renamed, last) ?? last].join('/')
}

/** Returns the template's `package.json` with the project's name, and the archive as its dependency. */
function ownManifest(source: string, name: string, { name: dependency }: Manifest, path: string): Uint8Array {
  const given = JSON.parse(readFileSync(source, 'utf8')) as { devDependencies: Record<string, string> }
  const devDependencies = { ...given.devDependencies, [dependency]: `file:${path}` }
  return Buffer.from(`${JSON.stringify({ ...given, name, devDependencies }, null, 2)}\n`)
}

/** Files that an empty directory may contain. */
const uncounted = new Set(['.git', '.DS_Store', 'Thumbs.db'])

/** Throws ScaffoldError when the files cannot be written there. `shown` is the directory's name in messages. */
export function checkDirectory(
  directory: string,
  files: readonly ProjectFile[],
  { overwrite, shown }: { overwrite: boolean; shown: string },
): void {
  checkParents(directory)
  const info = lstatSync(directory, { throwIfNoEntry: false })
  if (info === undefined) return
  if (!info.isDirectory()) {
    throw new ScaffoldError('directory_is_file', `${shown} exists and is not a directory.`, 'Choose another name.')
  }
  const present = readdirSync(directory).filter((name) => !uncounted.has(name))
  if (present.length > 0 && !overwrite) {
    const some = present.slice(0, 3).join(', ')
    throw new ScaffoldError(
      'directory_not_empty',
      `${shown === '.' ? 'The current directory' : shown} is not empty: ${some}${present.length > 3 ? ` and ${present.length - 3} more` : ''}.`,
      'Choose another name, or add --overwrite: it replaces files of the same name and keeps all others.',
    )
  }
  for (const { path } of files) checkPath(directory, path, shown)
}

/** Writes the files. Throws the file system's error, with nothing changed. */
export async function writeProject(directory: string, files: readonly ProjectFile[]): Promise<void> {
  const exists = existsSync(directory)
  const created = exists ? null : createFolder(dirname(directory))
  const temporary = mkdtempSync(join(exists ? directory : dirname(directory), '.svc-init-'))
  try {
    const next = join(temporary, 'new')
    for (const { path, mode, read } of files) {
      const target = join(next, path)
      createFolder(dirname(target))
      writeFileSync(target, await read(), { mode })
    }
    if (exists) moveInto(directory, next, join(temporary, 'old'), files)
    else renameOver(next, directory)
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true })
    if (created !== undefined && created !== null) removeEmpty(dirname(directory), created)
    throw error
  }
  rmSync(temporary, { recursive: true, force: true })
}

/** Throws ScaffoldError if a directory, or a link that leads elsewhere, has the path of a file. */
function checkPath(directory: string, path: string, shown: string): void {
  const parts = path.split('/')
  for (let length = 1; length <= parts.length; length++) {
    const part = parts.slice(0, length).join('/')
    const info = lstatSync(join(directory, part), { throwIfNoEntry: false })
    if (info === undefined) return
    const fits = length === parts.length ? info.isFile() : info.isDirectory()
    if (!fits) {
      throw new ScaffoldError(
        'path_in_the_way',
        `${shown === '.' ? '' : `${shown}/`}${part} is in the way of ${path}.`,
        'Move it, or choose another directory.',
      )
    }
  }
}

function checkParents(directory: string): void {
  let parent = dirname(directory)
  while (!existsSync(parent) && dirname(parent) !== parent) parent = dirname(parent)
  if (!statSync(parent).isDirectory()) {
    throw new ScaffoldError(
      'directory_is_file',
      `${parent} is a file, so it cannot contain a project.`,
      'Choose another name.',
    )
  }
}

function moveInto(directory: string, next: string, old: string, files: readonly ProjectFile[]): void {
  const undo: (() => void)[] = []
  try {
    for (const { path } of files) {
      const target = join(directory, path)
      const created = createFolder(dirname(target))
      if (created !== undefined) undo.push(() => removeEmpty(dirname(target), created))
      if (existsSync(target)) {
        const kept = join(old, path)
        createFolder(dirname(kept))
        renameOver(target, kept)
        undo.push(() => renameOver(kept, target))
      }
      renameOver(join(next, path), target)
      undo.push(() => rmSync(target))
    }
  } catch (error) {
    for (const step of undo.reverse()) step()
    throw error
  }
}

/** Removes the empty folders from `last` up to `first`, which was created for it. */
function removeEmpty(last: string, first: string): void {
  for (let folder = last; folder.startsWith(first); folder = dirname(folder)) rmdirSync(folder)
}
