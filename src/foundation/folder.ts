/** Folders, created with those above them. */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a folder and those above it that are missing, and returns the uppermost of them; undefined when it exists. Node's
 * own recursive mkdir never ends where a parent cannot have folders and says that it is not there, as in /proc.
 * @throws the error of the file system
 */
export function createFolder(path: string, mode?: number): string | undefined {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return undefined
  const parent = dirname(path)
  const first = parent === path ? undefined : createFolder(parent, mode)
  try {
    mkdirSync(path, mode)
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !statSync(path).isDirectory()) throw error
  }
  return first ?? path
}
