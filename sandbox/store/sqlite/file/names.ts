/** Files of a database: one name for each, readable by their owner alone. SQLite gives the log the mode of its database. */
import { chmodSync, existsSync, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'

/** The same number as Linux follows. */
const maxLinks = 40

/**
 * Returns the name of a file behind its symbolic links, whether or not it exists: lock, log, key and snapshots are next
 * to that file, so two names of one database cannot have two of each.
 */
export function realPath(path: string, links = 0): string {
  const absolute = resolve(path)
  if (existsSync(absolute)) return realpathSync(absolute)
  const isDangling = lstatSync(absolute, { throwIfNoEntry: false })?.isSymbolicLink() === true
  if (isDangling && links < maxLinks) return realPath(resolve(dirname(absolute), readlinkSync(absolute)), links + 1)
  const folder = dirname(absolute)
  return folder === absolute ? absolute : resolve(realPath(folder, links), basename(absolute))
}

/**
 * Removes the permissions of group and others from a file. A file of another owner, or on a disk without modes, is left
 * unchanged.
 */
export function makePrivate(path: string): void {
  try {
    const { mode } = statSync(path)
    if ((mode & 0o077) !== 0) chmodSync(path, mode & 0o700)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
  }
}

/** Returns the number of a file, which no other file gets while this one is open; null when there is none. */
export function fileAt(path: string): string | null {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? null : `${stat.dev} ${stat.ino}`
}
