/** The files of one project. A path that leads out of it, by a symbolic link, is refused. */
import { existsSync, lstatSync, realpathSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { readFailure } from '#cli/run/user-file.ts'
import { createFolder, replaceFile } from '#foundation/file-system.ts'
import { readErrorCode } from '#foundation/system-error.ts'
import { readTextFileSync } from '#foundation/text-file.ts'
import { CliError } from '#text/cli-error.ts'

export interface ProjectFiles {
  /** Returns the real path of a file that may be missing. Throws CliError when it is outside of the project. */
  locate(path: string): string
  has(path: string): boolean
  /** Returns the text of a file, or null when there is none. Throws CliError. */
  read(path: string): string | null
  /** Returns the missing folders that a file needs, the topmost first. */
  missingFolders(path: string): string[]
  /** Replaces a file as a whole, and keeps its permissions. Throws CliError. */
  write(path: string, content: string): void
  remove(path: string): void
  /** Removes a folder when it is empty. */
  removeFolder(path: string): void
}

/** @param root the folder of the project. Paths in it have forward slashes. */
export function openProjectFiles(root: string): ProjectFiles {
  const realRoot = realpathSync(root)
  const locate = (path: string) => locateWithin(realRoot, path)
  return {
    locate,
    has: (path) => existsSync(join(realRoot, path)),
    read(path) {
      const real = locate(path)
      try {
        return readTextFileSync(real)
      } catch (error) {
        if (readErrorCode(error) === 'ENOENT') return null
        throw readFailure(error, path)
      }
    },
    missingFolders(path) {
      const missing: string[] = []
      for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
        if (!existsSync(join(realRoot, folder))) missing.unshift(folder)
      }
      return missing
    },
    write(path, content) {
      const real = locate(path)
      createFolder(dirname(real))
      const mode = statSync(real, { throwIfNoEntry: false })?.mode
      replaceFile(real, content, mode === undefined ? {} : { file: mode & 0o777 })
    },
    remove: (path) => rmSync(locate(path), { force: true }),
    removeFolder(path) {
      try {
        rmdirSync(locate(path))
      } catch (error) {
        if (!stays.has(readErrorCode(error) ?? '')) throw error
      }
    },
  }
}

/** A folder that is in use, or already gone. */
const stays: ReadonlySet<string> = new Set(['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR'])

/** Returns the real path of a file that may be missing. Throws CliError when it is outside of the project. */
function locateWithin(root: string, path: string): string {
  const whole = join(root, path)
  if (isLink(whole) && !existsSync(whole)) throw leadsOutside(path)
  let existing = whole
  while (!existsSync(existing) && !isLink(existing)) existing = dirname(existing)
  if (!existsSync(existing)) throw leadsOutside(path)
  const real = realpathSync(existing)
  const below = relative(root, real)
  if (below === '..' || below.startsWith(`..${sep}`)) throw leadsOutside(path)
  return join(real, relative(existing, whole))
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
}

function leadsOutside(path: string): CliError {
  const message = `${path} leads out of this project, or nowhere, by a symbolic link.`
  return new CliError(
    'usage',
    'path_outside',
    message,
    'Replace the link by a file or folder of the project. Nothing was changed.',
  )
}
