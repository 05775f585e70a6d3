/** Folders, created with their parents, and files, replaced as a whole. */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { ownerOnly, restrictToOwner } from './permissions.ts'
import { readErrorCode } from './system-error.ts'

/**
 * Creates a folder and its missing parents, and returns the topmost one created; undefined when the folder exists.
 * Node's own recursive mkdir never ends when a parent cannot contain folders and reports them as missing, as in /proc.
 * @throws the error of the file system
 */
export function createFolder(path: string, mode?: number): string | undefined {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return undefined
  const parent = dirname(path)
  const first = parent === path ? undefined : createFolder(parent, mode)
  try {
    mkdirSync(path, mode)
    // What is created in it inherits that.
    if (mode === ownerOnly.folder && first === undefined) restrictToOwner(path, 'folder')
  } catch (error) {
    // Another process was faster.
    if (readErrorCode(error) !== 'EEXIST' || !statSync(path).isDirectory()) throw error
  }
  return first ?? path
}

/**
 * Writes a file next to the old one and renames it, so that no reader sees half of it and a failure keeps the old one.
 * Creates its folder. @throws the error of the file system
 */
export function replaceFile(
  path: string,
  content: string | Uint8Array,
  modes: { file?: number; folder?: number } = {},
): void {
  const partial = `${path}.${process.pid}.new`
  createFolder(dirname(path), modes.folder)
  try {
    // A file left behind by a crash would keep its mode.
    rmSync(partial, { force: true })
    if (modes.file === ownerOnly.file) writePrivate(partial, content)
    else writeFileSync(partial, content, { mode: modes.file })
    renameOver(partial, path)
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  }
}

/** Creates an empty file that only its owner can read. Returns false when there is one already. */
export function createPrivate(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx', ownerOnly.file))
  } catch (error) {
    if (readErrorCode(error) === 'EEXIST') return false
    throw error
  }
  restrictToOwner(path, 'file')
  return true
}

/** Writes a file, which only its owner can read unless it was there before. @throws the error of the file system */
export function writePrivate(path: string, content: string | Uint8Array): void {
  createPrivate(path)
  writeFileSync(path, content)
}

/**
 * Flushes a file to the disk, and then the names in its folder: after that, a power loss takes neither. Windows flushes no
 * folders. @throws the error of the file system
 */
export function flushToDisk(path: string): void {
  flush(path, 'r+')
  flushNames(dirname(path))
}

/** Flushes the names in a folder: those of files that were created, renamed or removed in it. */
export function flushNames(folder: string, platform: string = process.platform): void {
  if (platform !== 'win32') flush(folder, 'r')
}

function flush(path: string, flags: 'r' | 'r+'): void {
  const file = openSync(path, flags)
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/**
 * Renames a file or folder. On Windows a file that another process has open, such as a virus scanner, cannot be replaced
 * for a moment: EPERM, EBUSY or EACCES is tried again for half a second. @throws the error of the file system
 */
export function renameOver(from: string, to: string, rename = renameSync): void {
  for (let attempt = 1; ; attempt++) {
    try {
      rename(from, to)
      return
    } catch (error) {
      if (!openElsewhere.has(readErrorCode(error) ?? '') || attempt === renameAttempts) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10 * attempt)
    }
  }
}

const renameAttempts = 10
const openElsewhere: ReadonlySet<string> = new Set(['EPERM', 'EBUSY', 'EACCES'])
