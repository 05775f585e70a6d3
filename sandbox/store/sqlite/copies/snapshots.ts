/**
 * Copies of the whole state, each a database file: named snapshots, exports, and imports.
 *
 * They are in a folder beside the database; those of a database in memory in a private temporary folder that is removed
 * when the sandbox stops. A copy is written under a temporary name and moved into place when it is complete, so that a
 * failure leaves what was there before.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { copyFile as copyBytes, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFolder } from '../../../../src/foundation/file-system.ts'
import { type SnapshotRow, type SnapshotStore, StorageError, type Store } from '../../store.ts'
import { copyFile } from '../file-work.ts'
import type { Connection } from '../group-commit.ts'
import { migrations } from '../migrations.ts'
import { createPrivate, openDatabase } from '../open.ts'
import type { MemoryState } from '../state.ts'
import { readHeader, receiveFile, refusalOf } from './state-file.ts'

interface SnapshotOptions {
  path: string
  pid: number
  /** The state of a database in memory; null for a file. */
  memory: MemoryState | null
  /** Opens another database with the same options. */
  open(path: string): Store
  /** Replaces every row of the file with those of another. */
  replaceFile(from: string, at_ms: number): Promise<void>
  /** Called when another state in memory, with a journal of so many exchanges, has replaced the one before. */
  onReplaced(at_ms: number, exchanges: number): void
}

export function snapshotMethods(
  connection: Connection,
  options: SnapshotOptions,
): { methods: SnapshotStore; close(): void } {
  const { memory } = options
  const copies = snapshotFolder(connection, options)

  const replace = async (path: string, at_ms: number): Promise<void> => {
    if (memory === null) return options.replaceFile(path, at_ms)
    await memory.replaceWith(connection, path, (exchanges) => options.onReplaced(at_ms, exchanges))
  }

  return {
    close: copies.close,
    methods: {
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

      async restoreSnapshot(name, at_ms) {
        const found = copies.find(name)
        if (found === null) return 'missing'
        const refusal = await refusalOf(found.path, 'quick_check')
        if (refusal !== null) return refusal
        const { path, ...snapshot } = found
        if (snapshot.schema_version === migrations.length) {
          await replace(path, at_ms)
          return { status: 'restored', snapshot }
        }
        // A copy is migrated, not the snapshot itself.
        const folder = copies.folder()
        const working = join(folder, 'state.db')
        await copyBytes(path, working)
        try {
          openDatabase(working, options.pid).close()
          await replace(working, at_ms)
          return { status: 'restored', snapshot }
        } finally {
          await copies.remove(folder)
        }
      },

      async exportState() {
        const path = await copies.write()
        return { path, remove: () => copies.remove(path) }
      },

      async receiveState(bytes) {
        return receiveFile(bytes, { folder: copies.folder(), pid: options.pid, open: options.open, replace })
      },
    },
  }
}

const temporary = '.passing-'
const snapshotFile = /^snapshot-(.+)\.db$/

/** The files of snapshots, and of copies on their way. */
function snapshotFolder({ runExclusive, withOtherConnection }: Connection, { path, memory }: SnapshotOptions) {
  const isInMemory = memory !== null
  let root: string | null = isInMemory ? null : `${path}.snapshots`
  let count = 0
  if (root !== null) removeTemporary(root)

  const temporaryPath = () => {
    root ??= mkdtempSync(join(tmpdir(), 'svc-sandbox-'))
    createFolder(root, 0o700)
    return join(root, `${temporary}${++count}`)
  }
  const pathOf = (name: string) => (root === null ? null : join(root, `snapshot-${name}.db`))

  const find = (name: string): (SnapshotRow & { path: string }) | null => {
    const file = pathOf(name)
    if (file === null || !existsSync(file)) return null
    const { mtimeMs, size } = statSync(file)
    const schema_version = readHeader(file)?.version ?? 0
    return { path: file, name, saved_at_ms: Math.floor(mtimeMs), size_bytes: size, schema_version }
  }

  return {
    find,
    /** Writes what is committed now to a file of its own and resolves to its path. */
    async write(): Promise<string> {
      const to = temporaryPath()
      try {
        createPrivate(to)
        if (memory !== null) await withOtherConnection(() => memory.copyTo(to))
        else {
          runExclusive(() => {})
          await copyFile(path, to)
        }
        return to
      } catch (error) {
        rmSync(to, { force: true })
        // Only the disk can be in the way of a copy.
        throw error instanceof StorageError ? error : new StorageError(error)
      }
    },
    /** Creates an empty folder for one state. */
    folder(): string {
      const folder = temporaryPath()
      mkdirSync(folder, { mode: 0o700 })
      return folder
    },
    remove: (file: string): Promise<void> => rm(file, { recursive: true, force: true }),
    /** Moves a copy to its name; false when the name is taken and may not be replaced. */
    moveTo(name: string, file: string, mayReplace: boolean): boolean {
      const to = pathOf(name)!
      if (!mayReplace && existsSync(to)) return false
      renameSync(file, to)
      return true
    },
    list(): SnapshotRow[] {
      if (root === null || !existsSync(root)) return []
      return readdirSync(root)
        .flatMap((file) => find(snapshotFile.exec(file)?.[1] ?? '') ?? [])
        .map(({ path: _, ...row }) => row)
        .sort((a, b) => b.saved_at_ms - a.saved_at_ms || (a.name < b.name ? -1 : 1))
    },
    delete(name: string): boolean {
      const file = pathOf(name)
      if (file === null || !existsSync(file)) return false
      rmSync(file)
      return true
    },
    close() {
      if (isInMemory && root !== null) rmSync(root, { recursive: true, force: true })
    },
  }
}

/** Removes what a killed sandbox left unfinished. */
function removeTemporary(root: string): void {
  if (!existsSync(root)) return
  for (const file of readdirSync(root)) {
    if (file.startsWith(temporary)) rmSync(join(root, file), { recursive: true, force: true })
  }
}
