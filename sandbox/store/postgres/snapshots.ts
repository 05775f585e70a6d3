/**
 * Copies of the whole state, each a SQLite file as the other adapter writes it: so an export from here is taken there, and
 * the other way round. Snapshots are kept in the database, in parts, where every node finds them; a file is made of them in a
 * private temporary folder for as long as it is used.
 */
import { mkdtemp, open, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { receiveFile, refusalOf } from '../sqlite/copies/snapshots.ts'
import { migrations as fileMigrations } from '../sqlite/migrations.ts'
import { openDatabase } from '../sqlite/open.ts'
import { type SnapshotRow, type SnapshotStore, StorageError, type Store } from '../store.ts'
import type { Connection } from './group-commit.ts'
import { type Database, type Link, storageError } from './open.ts'
import { copyToFile } from './state.ts'

interface SnapshotOptions {
  pid: number
  /** Opens a SQLite file with the same options. */
  openFile(path: string): Store
  /** Replaces every row with those of a SQLite file of the present schema. */
  replaceAll(db: Sqlite.Database, at_ms: number): Promise<void>
}

/** Bytes of one part of a snapshot. */
const partBytes = 1_048_576

export function snapshotMethods(
  database: Database,
  { read, flush, change }: Connection,
  { pid, openFile, replaceAll }: SnapshotOptions,
): SnapshotStore {
  const withLink = async <Result>(work: (link: Link) => Promise<Result>): Promise<Result> => {
    let link: Link | null = null
    try {
      link = await database.connect()
      return await work(link)
    } catch (error) {
      throw storageError(error, 'write')
    } finally {
      link?.end()
    }
  }

  /** Writes what is committed now to a SQLite file in a folder of its own. */
  const writeFile = async (): Promise<{ path: string; remove(): Promise<void> }> => {
    await flush()
    const { path, remove } = await temporaryFile()
    try {
      await withLink(async (link) => {
        const file = openDatabase(path, pid)
        try {
          await copyToFile(link, file.db)
        } finally {
          file.close()
        }
      })
      await rewrite(path)
      return { path, remove }
    } catch (error) {
      await remove()
      throw error
    }
  }

  const replaceWith = async (path: string, at_ms: number): Promise<void> => {
    const db = new Sqlite(path, { readonly: true })
    try {
      await replaceAll(db, at_ms)
    } finally {
      db.close()
    }
  }

  const find = async (name: string): Promise<SnapshotRow | null> => {
    const [row] = await read<SnapshotRow>(`SELECT ${columns} FROM snapshot WHERE name = $1`, [name])
    return row ?? null
  }

  return {
    async saveSnapshot(name, mayReplace) {
      if (!mayReplace && (await find(name)) !== null) return null
      const { path, remove } = await writeFile()
      try {
        const { size } = await stat(path)
        // The clock of the database: that of the hosts of nodes may differ.
        return await change([0], async (_, link) => {
          if (mayReplace) {
            await link.run('DELETE FROM snapshot WHERE name = $1', [name])
            await link.run('DELETE FROM snapshot_part WHERE name = $1', [name])
          }
          const [row] = await link.query<SnapshotRow>(
            `INSERT INTO snapshot (${columns}) VALUES ($1, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, $2, $3)
             ON CONFLICT DO NOTHING RETURNING ${columns}`,
            [name, size, fileMigrations.length],
          )
          if (row === undefined) return null
          const file = await open(path)
          try {
            const bytes = Buffer.alloc(partBytes)
            for (let part = 0; ; part++) {
              const { bytesRead } = await file.read(bytes, 0, partBytes, part * partBytes)
              if (bytesRead === 0) return row
              const content = Buffer.from(bytes.subarray(0, bytesRead))
              await link.run('INSERT INTO snapshot_part VALUES ($1, $2, $3)', [name, part, content])
            }
          } finally {
            await file.close()
          }
        })
      } finally {
        await remove()
      }
    },
    listSnapshots: () => read(`SELECT ${columns} FROM snapshot ORDER BY saved_at_ms DESC, name COLLATE "C"`),
    deleteSnapshot: (name) =>
      change([0], async (_, link) => {
        await link.run('DELETE FROM snapshot_part WHERE name = $1', [name])
        return (await link.run('DELETE FROM snapshot WHERE name = $1', [name])).count === 1
      }),

    async restoreSnapshot(name, at_ms) {
      const snapshot = await find(name)
      if (snapshot === null) return 'missing'
      const { path, remove } = await temporaryFile()
      try {
        const file = await open(path, 'w', 0o600)
        try {
          for (let part = 0; ; part++) {
            const [row] = await read<{ bytes: Buffer }>(
              'SELECT bytes FROM snapshot_part WHERE name = $1 AND part = $2',
              [name, part],
            )
            if (row === undefined) break
            await file.write(row.bytes)
          }
        } finally {
          await file.close()
        }
        const refusal = await refusalOf(path, 'quick_check')
        if (refusal !== null) return refusal
        // One of an older version of svc is migrated: this copy of it, not the snapshot itself.
        openDatabase(path, pid).close()
        await replaceWith(path, at_ms)
        return { status: 'restored', snapshot }
      } finally {
        await remove()
      }
    },

    exportState: writeFile,

    async receiveState(bytes) {
      return receiveFile(bytes, { folder: await temporaryFolder(), pid, open: openFile, replace: replaceWith })
    },
  }
}

const columns = 'name, saved_at_ms, size_bytes, schema_version'

function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'svc-sandbox-'))
}

async function temporaryFile(): Promise<{ path: string; remove(): Promise<void> }> {
  const folder = await temporaryFolder()
  return { path: join(folder, 'state.db'), remove: () => rm(folder, { recursive: true, force: true }) }
}

/** Leaves one file without a log, as an export is. */
async function rewrite(path: string): Promise<void> {
  try {
    const db = new Sqlite(path)
    db.exec('VACUUM')
    db.close()
  } catch (error) {
    throw new StorageError(error)
  }
  await Promise.all(['-wal', '-shm', '.lock'].map((end) => rm(`${path}${end}`, { force: true })))
}
