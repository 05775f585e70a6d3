/**
 * Copies of the whole state, each a database file: named snapshots, exports, and imports.
 *
 * They are in a folder next to the database; for a database in memory, in a private temporary folder that is removed
 * when the sandbox stops. A copy is written under a temporary name and moved into place when it is complete, so that a
 * failure leaves what was there before.
 */

import { constants, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { copyFile as copyBytes, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { createFolder, createPrivate, flushNames, renameOver } from '#foundation/file-system.ts'
import { ownerOnly } from '#foundation/permissions.ts'
import { type PreparedState, type SnapshotRow, type SnapshotStore, StorageError, type Store } from '../../store.ts'
import { copyInto } from '../file/in-use.ts'
import { openDatabase } from '../file/open.ts'
import { copyFile } from '../file-work.ts'
import type { Connection } from '../group-commit.ts'
import { migrations } from '../migrations.ts'
import { changed, type MemoryState } from './memory-state.ts'
import { findRefusal, invalid, readHeader, receiveFile } from './received-file.ts'
import { stateProblem } from './state-problem.ts'

interface SnapshotOptions {
  path: string
  pid: number
  /** The state of a database in memory; null for a file. */
  memory: MemoryState | null
  /** Whether the file still has its name. */
  isInPlace(): boolean
  /** Opens another database with the same options. */
  open(path: string): Store
  /** Replaces the file with another, which it changes. */
  replaceFile(from: string, at_ms: number): Promise<void>
  /** Called when another state in memory, with this many exchanges in its journal, has replaced the previous one. */
  onReplaced(at_ms: number, exchanges: number): void
}

export function snapshotMethods(
  connection: Connection,
  options: SnapshotOptions,
): { methods: SnapshotStore; close(): void } {
  const copies = snapshotFolder(connection, options)
  const { prepareSnapshot, prepare } = preparation(connection, options, copies)

  const methods: SnapshotStore = {
    async saveSnapshot(name, mayReplace) {
      if (!mayReplace && copies.find(name) !== null) return null
      const written = await copies.write()
      if (!copies.moveTo(name, written, mayReplace)) {
        await copies.remove(written)
        return null
      }
      const { path: _, ...row } = copies.find(name)!
      return row
    },
    listSnapshots: async () => copies.list(),
    deleteSnapshot: async (name) => copies.delete(name),

    prepareSnapshot,

    async exportState() {
      const path = await copies.write()
      return { path, remove: () => copies.remove(path) }
    },

    async receiveState(bytes) {
      return receiveFile(bytes, { folder: copies.folder(), pid: options.pid, open: options.open, prepare })
    },
  }

  return { methods, close: copies.close }
}

/** Prepares a state that replaces the present one. */
function preparation(connection: Connection, options: SnapshotOptions, copies: ReturnType<typeof snapshotFolder>) {
  return { prepareSnapshot, prepare }

  async function prepareSnapshot(name: string): ReturnType<SnapshotStore['prepareSnapshot']> {
    const found = copies.find(name)
    if (found === null) return 'missing'
    const refusal = await findRefusal(found.path, 'quick_check')
    if (refusal !== null) return refusal
    const { path: _, ...snapshot } = found
    const folder = copies.folder()
    try {
      const prepared = await prepareCopy(found, folder)
      if (typeof prepared !== 'string') return { status: 'prepared', snapshot, ...prepared }
      await copies.remove(folder)
      return invalid(prepared)
    } catch (error) {
      await copies.remove(folder)
      throw error
    }
  }

  /** Prepares a copy of a snapshot, which is migrated and seeded, not the snapshot; returns what is wrong with it. */
  async function prepareCopy(found: SnapshotRow & { path: string }, folder: string): Promise<PreparedState | string> {
    const working = join(folder, 'state.db')
    await copyBytes(found.path, working, constants.COPYFILE_FICLONE)
    const problem = found.schema_version === migrations.length ? null : migrate(working, options.pid)
    if (problem !== null) return problem
    const { replace, discard } = await prepare(working)
    return {
      async replace(at_ms: number) {
        if (!isDeepStrictEqual(copies.find(found.name), found)) throw changed('the snapshot')
        await replace(at_ms)
      },
      async discard() {
        await discard()
        await copies.remove(folder)
      },
    }
  }

  async function prepare(path: string): Promise<PreparedState> {
    const { memory } = options
    if (memory === null) return { replace: (at_ms) => options.replaceFile(path, at_ms), discard: async () => {} }
    const next = await memory.prepare(connection, path)
    return {
      replace: async (at_ms) => next.replace((exchanges) => options.onReplaced(at_ms, exchanges)),
      discard: async () => next.discard(),
    }
  }
}

/** Returns what is wrong with a migrated copy, or null. */
function migrate(path: string, pid: number): string | null {
  const { db, close } = openDatabase(path, pid)
  const problem = stateProblem(db, false)
  close()
  return problem
}

const temporary = '.passing-'
const snapshotFile = /^snapshot-(.+)\.db$/

function snapshotFolder(
  { db, runExclusive, withOtherConnection }: Connection,
  { path, memory, isInPlace }: SnapshotOptions,
) {
  const isInMemory = memory !== null
  let root: string | null = isInMemory ? null : `${path}.snapshots`
  let count = 0
  if (root !== null) removeTemporary(root)

  const temporaryPath = () => {
    root ??= mkdtempSync(join(tmpdir(), 'svc-sandbox-'))
    if (createFolder(root, ownerOnly.folder) !== undefined) flushNames(dirname(root))
    return join(root, `${temporary}${++count}`)
  }
  return {
    ...namedSnapshots(() => root),
    /** Writes everything committed so far to its own file and resolves to its path. */
    async write(): Promise<string> {
      const to = temporaryPath()
      try {
        createPrivate(to)
        if (memory !== null) await withOtherConnection(() => memory.copyTo(to))
        else if (isInPlace()) {
          runExclusive(() => {})
          await copyFile(path, to)
        } else {
          // Only this connection can still read it: requests wait.
          runExclusive(() => copyInto(db, to))
        }
        return to
      } catch (error) {
        rmSync(to, { force: true })
        // Only the disk can make a copy fail.
        throw error instanceof StorageError ? error : new StorageError(error)
      }
    },
    /** Creates an empty folder for one state. */
    folder(): string {
      const folder = temporaryPath()
      mkdirSync(folder, { mode: ownerOnly.folder })
      return folder
    },
    remove: (file: string): Promise<void> => rm(file, { recursive: true, force: true }),
    close() {
      if (isInMemory && root !== null) rmSync(root, { recursive: true, force: true })
    },
  }
}

/** @param root the folder; null while there is none */
function namedSnapshots(root: () => string | null) {
  return { find, moveTo, list, delete: remove }

  function find(name: string): (SnapshotRow & { path: string }) | null {
    const file = snapshotPath(name)
    if (file === null || !existsSync(file)) return null
    const { mtimeMs, size } = statSync(file)
    const schema_version = readHeader(file)?.version ?? 0
    return { path: file, name, saved_at_ms: Math.floor(mtimeMs), size_bytes: size, schema_version }
  }

  /** Moves a copy to its name; false when the name is taken and may not be replaced. */
  function moveTo(name: string, file: string, mayReplace: boolean): boolean {
    const to = snapshotPath(name)!
    if (!mayReplace && existsSync(to)) return false
    renameOver(file, to)
    // The copy itself is flushed already.
    flushNames(dirname(to))
    return true
  }

  function list(): SnapshotRow[] {
    const folder = root()
    if (folder === null || !existsSync(folder)) return []
    return readdirSync(folder)
      .flatMap((file) => find(snapshotFile.exec(file)?.[1] ?? '') ?? [])
      .map(({ path: _, ...row }) => row)
      .sort((a, b) => b.saved_at_ms - a.saved_at_ms || (a.name < b.name ? -1 : 1))
  }

  function remove(name: string): boolean {
    const file = snapshotPath(name)
    if (file === null || !existsSync(file)) return false
    rmSync(file)
    flushNames(dirname(file))
    return true
  }

  function snapshotPath(name: string): string | null {
    const folder = root()
    return folder === null ? null : join(folder, `snapshot-${name}.db`)
  }
}

/** Removes unfinished files of a killed sandbox. */
function removeTemporary(root: string): void {
  if (!existsSync(root)) return
  for (const file of readdirSync(root)) {
    if (file.startsWith(temporary)) rmSync(join(root, file), { recursive: true, force: true })
  }
}
