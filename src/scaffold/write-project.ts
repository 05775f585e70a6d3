/**
 * Writes a project all or nothing: into a folder aside first, then into place by renames.
 *
 * A directory that does not exist appears whole. One that exists keeps what the template does not have; what it replaces
 * is kept aside until everything is in place, and put back when something fails.
 */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { ProjectFile } from './project.ts'
import { ScaffoldError } from './scaffold-error.ts'

/** What a directory may hold and still count as empty. */
const uncounted = new Set(['.git', '.DS_Store', 'Thumbs.db'])

/** Throws ScaffoldError when the files cannot go there. `shown` is the directory's name for people. */
export function checkDirectory(
  directory: string,
  files: readonly ProjectFile[],
  { overwrite, shown }: { overwrite: boolean; shown: string },
): void {
  checkParents(directory)
  const info = lstatSync(directory, { throwIfNoEntry: false })
  if (info === undefined) return
  if (!info.isDirectory()) {
    throw new ScaffoldError('directory_is_file', `${shown} exists and is no directory.`, 'Choose another name.')
  }
  const there = readdirSync(directory).filter((name) => !uncounted.has(name))
  if (there.length > 0 && !overwrite) {
    const some = there.slice(0, 3).join(', ')
    throw new ScaffoldError(
      'directory_not_empty',
      `${shown === '.' ? 'The current directory' : shown} is not empty: ${some}${there.length > 3 ? ` and ${there.length - 3} more` : ''}.`,
      'Choose another name, or add --overwrite: it replaces files of the same name and keeps all others.',
    )
  }
  for (const { path } of files) checkPath(directory, path, shown)
}

/** Writes the files. Throws what the file system throws, with nothing changed. */
export async function writeProject(directory: string, files: readonly ProjectFile[]): Promise<void> {
  const exists = existsSync(directory)
  const made = exists ? null : mkdirSync(dirname(directory), { recursive: true })
  const aside = mkdtempSync(join(exists ? directory : dirname(directory), '.svc-init-'))
  try {
    const next = join(aside, 'new')
    for (const { path, mode, read } of files) {
      const target = join(next, path)
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, await read(), { mode })
    }
    if (exists) moveInto(directory, next, join(aside, 'old'), files)
    else renameSync(next, directory)
  } catch (error) {
    rmSync(aside, { recursive: true, force: true })
    if (made !== undefined && made !== null) removeEmpty(dirname(directory), made)
    throw error
  }
  rmSync(aside, { recursive: true, force: true })
}

/** A file, or a link that leads elsewhere, in the way of the template's own. */
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
        'Move it away, or choose another directory.',
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
      `${parent} is a file, so nothing can be in it.`,
      'Choose another name.',
    )
  }
}

function moveInto(directory: string, next: string, old: string, files: readonly ProjectFile[]): void {
  const undo: (() => void)[] = []
  try {
    for (const { path } of files) {
      const target = join(directory, path)
      const made = mkdirSync(dirname(target), { recursive: true })
      if (made !== undefined) undo.push(() => removeEmpty(dirname(target), made))
      if (existsSync(target)) {
        const kept = join(old, path)
        mkdirSync(dirname(kept), { recursive: true })
        renameSync(target, kept)
        undo.push(() => renameSync(kept, target))
      }
      renameSync(join(next, path), target)
      undo.push(() => rmSync(target))
    }
  } catch (error) {
    for (const step of undo.reverse()) step()
    throw error
  }
}

/** Removes the empty folders from `last` up to `first`, which was made for it. */
function removeEmpty(last: string, first: string): void {
  for (let folder = last; folder.startsWith(first); folder = dirname(folder)) rmdirSync(folder)
}
