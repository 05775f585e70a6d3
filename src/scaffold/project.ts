/**
 * A project: its directory and name, following the rules of npm and of every file system; its files, and how they are
 * written.
 *
 * It is written all or nothing: into a temporary folder first, then renamed into place. A new directory appears
 * complete. An existing one keeps the files that the template does not have; replaced files are kept until everything
 * is in place, and put back if something fails.
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
import { basename, dirname, isAbsolute, join, posix, relative, resolve, sep } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import validatePackageName from 'validate-npm-package-name'
import { createFolder, renameOver } from '#foundation/file-system.ts'
import { entryOf } from '#foundation/table-entry.ts'
import { packageRoot, ScaffoldError, type Template } from './templates.ts'

/** The directory and name of a project. */
export interface ProjectLocation {
  /** Absolute. */
  directory: string
  /** As you would type it in the current directory; `.` for that directory itself. */
  shown: string
  /** For `package.json`. */
  name: string
}

/** npm's limit. */
const maxNameLength = 214
const reservedOnWindows = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?$/i
const forbiddenOnWindows = /[<>:"|?*\u0000-\u001f]|[. ]$/

/** Returns the place for DIR. Throws ScaffoldError `directory_outside` or `name_invalid`. */
export function locateProject(dir: string, cwd: string, fallback_name: string): ProjectLocation {
  const directory = resolve(cwd, dir)
  const shown = relative(cwd, directory)
  if (shown === '..' || shown.startsWith(`..${sep}`) || isAbsolute(shown)) {
    throw new ScaffoldError(
      'directory_outside',
      `${dir} is outside the current directory, ${cwd}.`,
      `Change into ${dirname(directory)} first, and give only ${basename(directory)}.`,
    )
  }
  if (shown === '') return { directory, shown: '.', name: slug(basename(directory)) ?? fallback_name }
  for (const part of shown.split(sep)) {
    const problem = problemOfFile(part)
    if (problem !== null) throw invalid(part, problem, fallback_name)
  }
  const name = basename(directory)
  const problem = findNameProblem(name)
  if (problem !== null) throw invalid(name, problem, fallback_name)
  return { directory, shown, name }
}

/** Returns why a project cannot have this name, in npm's words, or null. */
export function findNameProblem(name: string): string | null {
  const { errors = [], warnings = [] } = validatePackageName(name)
  if (name === 'svc-sandbox') return 'a project cannot depend on a package with its own name'
  // npm only warns about problems that it still accepts in names of old packages.
  return [...errors, ...warnings][0]?.replace('can no longer', 'cannot') ?? null
}

function problemOfFile(part: string): string | null {
  if (reservedOnWindows.test(part)) return 'Windows reserves it for a device'
  if (forbiddenOnWindows.test(part)) return 'Windows does not allow such a file name'
  return null
}

function invalid(name: string, problem: string, fallback_name: string): ScaffoldError {
  const better = slug(name) ?? `my-${fallback_name}`
  return new ScaffoldError(
    'name_invalid',
    `A project cannot be called ${JSON.stringify(name)}: ${problem}.`,
    `Take another name, for example ${better}.`,
  )
}

/** Returns the nearest valid name, or null. */
function slug(text: string): string | null {
  const name = text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+|[._-]+$/g, '')
    .slice(0, maxNameLength)
  return findNameProblem(name) === null && problemOfFile(name) === null ? name : null
}

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
const renamed: Readonly<Record<string, string>> = { _gitignore: '.gitignore' }
/** Files and folders that running a template in place leaves behind. */
const leftovers = new Set([
  'node_modules',
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
  const path = `vendor/${manifest.name}-${manifest.version}.tgz`
  const copied = [...listSources(template)].map(([file, source]): ProjectFile => {
    return {
      path: destination(file),
      mode: statSync(source).mode & 0o111 ? 0o755 : 0o644,
      read: async () => {
        if (file === 'package.json') return ownManifest(source, name, manifest, path)
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
  const last = parts.pop() as string
  return [...parts, entryOf(renamed, last) ?? last].join('/')
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

/** Throws ScaffoldError if a directory, or a link that leads elsewhere, has the path of a template file. */
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
        `${shown === '.' ? '' : `${shown}/`}${part} is in the way of the template's ${path}.`,
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

const block = 512
/** Files that npm packs although the manifest does not list them. */
const always = ['README.md', 'LICENSE']
/** 1985-10-26T08:15:00Z in seconds, which npm gives every file of a package so that archives can be compared. */
const modifiedSeconds = 499_162_500

/**
 * Returns the archive of the package in `root`, like `npm pack`: the files that its manifest names (`files`), under
 * `package/`, as a gzipped tar archive. It does not need npm, the network or a checkout, and the same files give the
 * same bytes. Hidden files, except the templates' .env.example, and `node_modules` are left out.
 */
async function packPackage(root: string, files: readonly string[]): Promise<Uint8Array> {
  const parts = listFiles(root, files).flatMap((path) => {
    const content = readFileSync(join(root, path))
    return [header(`package/${path}`, content.length, path.startsWith('bin/') ? 0o755 : 0o644), padded(content)]
  })
  return promisify(gzip)(Buffer.concat([...parts, Buffer.alloc(2 * block)]))
}

function listFiles(root: string, files: readonly string[]): string[] {
  const left_out = files.filter((path) => path.startsWith('!')).map((path) => path.slice(1))
  const inside = [...files, ...always].flatMap((path) => filesAt(root, path))
  return ['package.json', ...inside.filter((path) => !left_out.some((out) => path.startsWith(`${out}/`))).toSorted()]
}

/** Returns the file at this path, or the files below it. */
function filesAt(root: string, path: string): string[] {
  const info = statSync(join(root, path), { throwIfNoEntry: false })
  if (info === undefined) return []
  if (!info.isDirectory()) return [path]
  return readdirSync(join(root, path))
    .filter(isShipped)
    .flatMap((name) => filesAt(root, `${path}/${name}`))
}

function isShipped(name: string): boolean {
  return name !== 'node_modules' && (!name.startsWith('.') || name === '.env.example')
}

/** Returns the header of a file in the ustar format of POSIX.1-1988. */
function header(path: string, size: number, mode: number): Buffer {
  const { name, prefix } = splitPath(path)
  const bytes = Buffer.alloc(block)
  bytes.write(name, 0)
  bytes.write(octal(mode, 8), 100)
  bytes.write(octal(0, 8), 108)
  bytes.write(octal(0, 8), 116)
  bytes.write(octal(size, 12), 124)
  bytes.write(octal(modifiedSeconds, 12), 136)
  bytes.write('        ', 148)
  bytes.write('0', 156)
  bytes.write('ustar\u000000', 257)
  bytes.write(prefix, 345)
  const sum = bytes.reduce((total, byte) => total + byte, 0)
  bytes.write(`${octal(sum, 7)} `, 148)
  return bytes
}

/** Returns a number in octal digits with a final null, `length` bytes in total. */
function octal(value: number, length: number): string {
  return `${value.toString(8).padStart(length - 1, '0')}\u0000`
}

/** Splits a path of more than 100 bytes at a slash, as the format requires. */
function splitPath(path: string): { name: string; prefix: string } {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' }
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    const prefix = path.slice(0, at)
    const name = path.slice(at + 1)
    if (Buffer.byteLength(name) <= 100 && Buffer.byteLength(prefix) <= 155) return { name, prefix }
  }
  throw new Error(`${path} is too long for an archive.`)
}

function padded(content: Buffer): Buffer {
  return Buffer.concat([content, Buffer.alloc((block - (content.length % block)) % block)])
}
