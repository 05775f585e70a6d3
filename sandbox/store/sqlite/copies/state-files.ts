/** Exports and snapshots of any store are files of SQLite: this is how the other adapter writes and reads them. */
import type { StateFile, StateFiles } from '../../state-files.ts'
import type { StoreOptions } from '../../store.ts'
import { entryTexts, type StoredEntry, selectEntries } from '../entries.ts'
import { openDatabase } from '../file/open.ts'
import { openSqliteStore } from '../index.ts'
import { insertSessionBeacons, migrations } from '../migrations.ts'
import { findRefusal, receiveFile } from './received-file.ts'

export function stateFiles(options: StoreOptions): StateFiles {
  const { pid } = options
  const open = (path: string) => openSqliteStore({ ...options, path, isReceived: true })
  return {
    schema_version: migrations.length,
    readEvidence,
    open: (path) => openStateFile(path, pid),
    findRefusal: (path) => findRefusal(path, 'quick_check'),
    receive: (bytes, receiver) => receiveFile(bytes, { ...receiver, pid, open }),
  }
}

export const readEvidence: StateFiles['readEvidence'] = (db, after_id, limit) =>
  entryTexts(db)(
    db
      .prepare<[number, number], StoredEntry>(`${selectEntries} WHERE evidence.id > ? ORDER BY evidence.id LIMIT ?`)
      .all(after_id, limit),
  )

export function openStateFile(path: string, pid: number): StateFile {
  const { db, close } = openDatabase(path, pid)
  const prepare = (table: 'beacon' | 'aside_beacon') =>
    db.prepare(`${insertSessionBeacons[table]} AND ${table}.id BETWEEN ? AND ?`)
  const statements = { beacon: prepare('beacon'), aside_beacon: prepare('aside_beacon') }
  return {
    db,
    addToSessions: (table, first_id, last_id) => void statements[table].run(first_id, last_id),
    close,
  }
}
