/**
 * Snapshots, exports and imports. Snapshots are kept in the database, in parts, where every node finds them; they
 * are turned into a file in a private temporary folder for as long as it is used.
 */

import { mkdtemp, open, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { ownerOnly } from '#foundation/permissions.ts'
import type { StateFiles } from '../../state-files.ts'
import { type PreparedState, type SnapshotRow, type SnapshotStore, StorageError } from '../../store.ts'
import { storageError } from '../failures.ts'
import type { Connection } from '../group-commit.ts'
import type { Link } from '../servers/link.ts'
import type { Database } from '../servers/open.ts'
import { copyToFile } from './state-copy.ts'

interface SnapshotOptions {
  files: StateFiles
  /** Replaces every row with the rows of a SQLite file of the current schema. */
  replaceAll(db: Sqlite.Database, at_ms: number): Promise<void>
}

const partBytes = 1_048_576

export function snapshotMethods(
  database: Database,
  { read, flush, change }: Connection,
  options: SnapshotOptions,
): SnapshotStore {
  const { files } = options
  const { prepareSnapshot, prepare } = preparation(read, options)

  return {
    async saveSnapshot(name, mayReplace) {
      if (!mayReplace && (await findSnapshot(read, name)) !== null) return null
      const { path, remove } = await exportState()
      try {
        return await change([0], async (_, link) => {
          if (mayReplace) await deleteSnapshot(link, name)
          return insertSnapshot(link, { name, path, schema_version: files.schema_version })
        })
      } finally {
        await remove()
      }
    },
    listSnapshots: () => read(`SELECT ${columns} FROM snapshot ORDER BY saved_at_ms DESC, name COLLATE "C"`),
    deleteSnapshot: (name) => change([0], (_, link) => deleteSnapshot(link, name)),

    prepareSnapshot,

    exportState,

    async receiveState(bytes) {
      return files.receive(bytes, { folder: await temporaryFolder(), prepare })
    },
  }

  /** Writes everything committed so far to a SQLite file in its own folder. */
  async function exportState(): Promise<{ path: string; remove(): Promise<void> }> {
    await flush()
    const { path, remove } = await temporaryFile()
    try {
      await copyToPath(database, files, path)
      await rewrite(path)
      return { path, remove }
    } catch (error) {
      await remove()
      throw error
    }
  }
}

/** Prepares a state that replaces the present one. */
function preparation(read: Connection['read'], { files, replaceAll }: SnapshotOptions) {
  return { prepareSnapshot, prepare }

  async function prepareSnapshot(name: string): ReturnType<SnapshotStore['prepareSnapshot']> {
    const snapshot = await findSnapshot(read, name)
    if (snapshot === null) return 'missing'
    const { path, remove } = await temporaryFile()
    try {
      await writeParts(read, name, path)
      const refusal = await files.findRefusal(path)
      if (refusal !== null) {
        await remove()
        return refusal
      }
      // A snapshot of an older version of svc is migrated: this copy, not the snapshot itself.
      files.open(path).close()
      const { replace } = await prepare(path)
      return { status: 'prepared', snapshot, replace, discard: remove }
    } catch (error) {
      await remove()
      throw error
    }
  }

  async function prepare(path: string): Promise<PreparedState> {
    return {
      async replace(at_ms) {
        const db = new Sqlite(path, { readonly: true })
        try {
          await replaceAll(db, at_ms)
        } finally {
          db.close()
        }
      },
      async discard() {},
    }
  }
}

async function findSnapshot(read: Connection['read'], name: string): Promise<SnapshotRow | null> {
  const [row] = await read<SnapshotRow>(`SELECT ${columns} FROM snapshot WHERE name = $1`, [name])
  return row ?? null
}

/** Copies every row to a new file, over a separate connection. @throws StorageError */
async function copyToPath(database: Database, files: StateFiles, path: string): Promise<void> {
  let link: Link | null = null
  try {
    link = await database.connect()
    const file = files.open(path)
    try {
      await copyToFile(link, file)
    } finally {
      file.close()
    }
  } catch (error) {
    throw storageError(error, 'write')
  } finally {
    link?.end()
  }
}

async function deleteSnapshot(link: Link, name: string): Promise<boolean> {
  await link.run('DELETE FROM snapshot_part WHERE name = $1', [name])
  return (await link.run('DELETE FROM snapshot WHERE name = $1', [name])).count === 1
}

/** Stores a file as a snapshot; null when the name is taken. */
async function insertSnapshot(
  link: Link,
  { name, path, schema_version }: { name: string; path: string; schema_version: number },
): Promise<SnapshotRow | null> {
  const { size } = await stat(path)
  // The clock of the database: the clocks of the nodes' hosts may differ.
  const [row] = await link.query<SnapshotRow>(
    `INSERT INTO snapshot (${columns}) VALUES ($1, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, $2, $3)
     ON CONFLICT DO NOTHING RETURNING ${columns}`,
    [name, size, schema_version],
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
}

async function writeParts(read: Connection['read'], name: string, path: string): Promise<void> {
  const file = await open(path, 'w', ownerOnly.file)
  try {
    for (let part = 0; ; part++) {
      const [row] = await read<{ bytes: Buffer }>('SELECT bytes FROM snapshot_part WHERE name = $1 AND part = $2', [
        name,
        part,
      ])
      if (row === undefined) return
      await file.write(row.bytes)
    }
  } finally {
    await file.close()
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

/** Leaves one file without a log, in the form of an export. */
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
