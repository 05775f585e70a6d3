/** Files of a database: one name for each, and readable by their owner alone. SQLite gives the log the mode of its database. */
import { chmodSync, closeSync, existsSync, lstatSync, openSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'

/** As many as Linux follows. */
const mostLinks = 40

/**
 * Returns the name of a file behind its symbolic links, whether or not it exists: lock, log, key and snapshots are beside
 * that one, so that two names of one database cannot have two of each.
 */
export function realPath(path: string, links = 0): string {
  const absolute = resolve(path)
  if (existsSync(absolute)) return realpathSync(absolute)
  const isDangling = lstatSync(absolute, { throwIfNoEntry: false })?.isSymbolicLink() === true
  if (isDangling && links < mostLinks) return realPath(resolve(dirname(absolute), readlinkSync(absolute)), links + 1)
  const folder = dirname(absolute)
  return folder === absolute ? absolute : resolve(realPath(folder, links), basename(absolute))
}

/** Creates an empty file with mode 0600, for SQLite to write to. Returns false when there is one already. */
export function createPrivate(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx', 0o600))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Removes the permissions of group and others from a file. One of another owner, or on a disk without modes, stays as it is. */
export function makePrivate(path: string): void {
  try {
    const { mode } = statSync(path)
    if ((mode & 0o077) !== 0) chmodSync(path, mode & 0o700)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
  }
}
