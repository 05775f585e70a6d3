/**
 * Whole states: the seeded rows of a fresh one, how one is cleared, and its copies. Each copy is a SQLite file as the
 * other adapter writes it, with the same columns, so an export from here can be imported there, and vice versa.
 * Snapshots are kept in the database, in parts, where every node finds them; they are turned into a file in a private
 * temporary folder for as long as it is used.
 */

import { mkdtemp, open, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { ownerOnly } from '#foundation/permissions.ts'
import { tableNames } from '#foundation/table-entry.ts'
import type { StateFile, StateFiles } from '../state-files.ts'
import { type PreparedState, type Seed, type SnapshotRow, type SnapshotStore, StorageError } from '../store.ts'
import { seedRows, stateEvent } from '../writes/state.ts'
import type { Batch } from './batch/batch.ts'
import { encodeBytes, toJson } from './batch/json.ts'
import { storageError } from './failures.ts'
import type { Connection } from './group-commit.ts'
import type { Database, Link, Value } from './open.ts'

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

/** Tables of the state in both adapters, with the column that orders their rows. */
const tables = {
  meta: 'name',
  project: 'id',
  api_key: 'id',
  activation: 'id',
  session: 'id',
  consent: 'id',
  job: 'id',
  slot: 'id',
  beacon: 'id',
  aside_beacon: 'id',
  evidence: 'id',
  event: 'seq',
  catalogue: 'id',
  exchange: 'id',
  callback: 'id',
} as const
type Table = keyof typeof tables
const tableList = tableNames(tables)

/**
 * Rows that are moved at a time: their bytes stay in memory, and other requests wait while they are read or written.
 */
const rowsAtOnce = 400

/** Copies every table, as of one point in time, into an empty SQLite file. Reset waits until it is done. */
export async function copyToFile(link: Link, file: StateFile): Promise<void> {
  const { db } = file
  await link.script('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0')
  try {
    await link.script('SET LOCAL idle_in_transaction_session_timeout = 0')
    await link.script(`LOCK TABLE ${[...tableList, 'head'].join(', ')} IN ACCESS SHARE MODE`)
    db.exec([...tableList, 'session_beacon'].map((table) => `DELETE FROM ${table}`).join('; '))
    for (const table of tableList) await copyTable(link, file, table)
    const [head] = await link.query<{ events_dropped: number; last_dropped_seq: number; exchanges_dropped: number }>(
      'SELECT events_dropped, last_dropped_seq, exchanges_dropped FROM head',
    )
    const save = db.prepare('INSERT INTO meta (name, value) VALUES (?, ?)')
    const { events_dropped: count, last_dropped_seq: last_seq, exchanges_dropped } = head!
    if (count > 0) save.run('events_dropped', JSON.stringify({ count, last_seq }))
    if (exchanges_dropped > 0) save.run('journal_dropped', JSON.stringify(exchanges_dropped))
  } finally {
    await link.script('COMMIT').catch(() => {})
  }
}

async function copyTable(link: Link, { db, addToSessions }: StateFile, table: Table): Promise<void> {
  const key = tables[table]
  const names = listColumns(db, table)
  const insert = db.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map(() => '?')})`)
  const insertAll = db.transaction((rows: readonly Record<string, unknown>[]) => {
    for (const row of rows) insert.run(...names.map((name) => toSqlite(table, name, row[name])))
    // A SQLite file finds the beacons of a session by a separate table.
    const isOfSession = table === 'beacon' || table === 'aside_beacon'
    if (isOfSession && rows.length > 0) addToSessions(table, Number(rows[0]!.id), Number(rows.at(-1)!.id))
  })
  const text = `SELECT ${names} FROM ${table} WHERE ${key} > $1 ORDER BY ${key} LIMIT ${rowsAtOnce}`
  for (let after: Value = key === 'name' ? '' : -1; ; ) {
    const rows: Record<string, Value>[] = await link.query<Record<string, Value>>(text, [after])
    insertAll(rows)
    if (rows.length < rowsAtOnce) return
    after = rows.at(-1)![key]!
  }
}

function listColumns(db: Sqlite.Database, table: Table): string[] {
  return (db.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name)
}

/** Bodies of the journal are texts in SQLite. */
function toSqlite(table: Table, name: string, value: unknown): unknown {
  return isBody(table, name) && Buffer.isBuffer(value) ? value.toString() : value
}

function isBody(table: Table, name: string): boolean {
  return table === 'exchange' && (name === 'request_body' || name === 'response_body')
}

/**
 * Fills empty tables with the rows of a SQLite file of the current schema, and counts them. The numbers of events
 * continue from the larger of both.
 */
export async function copyFromFile(link: Link, db: Sqlite.Database): Promise<void> {
  for (const table of tableList) await insertTable(link, db, table)
  const stored = <Value>(name: string): Value | null => {
    const text = db.prepare<[string], string>('SELECT value FROM meta WHERE name = ?').pluck().get(name)
    return text === undefined ? null : JSON.parse(text)
  }
  const dropped = stored<{ count: number; last_seq: number }>('events_dropped') ?? { count: 0, last_seq: 0 }
  await link.run(
    `UPDATE head SET last_seq = greatest(last_seq, (SELECT coalesce(max(seq), 0) FROM event), $2),
       events = (SELECT count(*) FROM event), events_dropped = $1, last_dropped_seq = $2,
       last_evidence = (SELECT coalesce(max(id), 0) FROM evidence),
       exchanges = (SELECT count(*) FROM exchange), exchanges_dropped = $3`,
    [dropped.count, dropped.last_seq, Number(stored('journal_dropped') ?? 0)],
  )
  await link.script(`
    INSERT INTO chain (project_id, seq, hash)
      SELECT DISTINCT ON (project_id) project_id, seq, hash FROM evidence ORDER BY project_id, seq DESC;
    SELECT setval(pg_get_serial_sequence('session', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM session), false);
    SELECT setval(pg_get_serial_sequence('catalogue', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM catalogue), false)`)
}

async function insertTable(link: Link, db: Sqlite.Database, table: Table): Promise<void> {
  const key = tables[table]
  const names = listColumns(db, table)
  const next = db.prepare<[string | number], Record<string, Value>>(
    `SELECT ${names} FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ${rowsAtOnce}`,
  )
  const text = `INSERT INTO ${table} (${names}) SELECT ${names} FROM json_populate_recordset(NULL::${table}, $1)`
  for (let after: Value = key === 'name' ? '' : -1; ; ) {
    const rows = next.all(after as string | number)
    const kept = rows.filter((row) => table !== 'meta' || row.name === 'clock' || row.name === 'faults')
    const values = kept.map((row) =>
      Object.fromEntries(names.map((name) => [name, toPostgres(table, name, row[name] ?? null)])),
    )
    if (values.length > 0) await link.run(text, [toJson(values)])
    if (rows.length < rowsAtOnce) return
    after = rows.at(-1)![key] ?? null
  }
}

function toPostgres(table: Table, name: string, value: Value): Value {
  const isBytes = value instanceof Uint8Array || (typeof value === 'string' && isBody(table, name))
  return isBytes ? encodeBytes(value) : value
}

/** Inserts missing seeded rows and resolves to the catalogue in force: the newest. */
export async function applySeed(link: Link, seed: Seed, at_ms: number): Promise<number> {
  const { projects, keys } = seedRows(seed, at_ms)
  const keyRows = keys.map((key) => ({ ...key, hash: encodeBytes(key.hash) }))
  const { sha256, demand } = seed.catalogue
  const [, , , , [catalogue]] = await Promise.all([
    link.run('INSERT INTO project SELECT * FROM json_populate_recordset(NULL::project, $1) ON CONFLICT DO NOTHING', [
      toJson(projects),
    ]),
    link.run('INSERT INTO api_key SELECT * FROM json_populate_recordset(NULL::api_key, $1) ON CONFLICT DO NOTHING', [
      toJson(keyRows),
    ]),
    link.run('INSERT INTO chain (project_id, seq) SELECT id, 0 FROM project ON CONFLICT DO NOTHING'),
    link.run('INSERT INTO catalogue (sha256, demand) VALUES ($1, $2) ON CONFLICT (sha256) DO NOTHING', [
      sha256,
      demand,
    ]),
    link.query<{ id: number }>('SELECT id FROM catalogue WHERE sha256 = $1', [sha256]),
  ])
  return catalogue!.id
}

/** The number of rows from which a table is truncated: below that, deleting them is faster. */
const longTable = 20_000

/** Removes every row of the state but the catalogues, inside a transaction that holds its lock. */
export async function clearAll(link: Link, rows: number, keepsCatalogues: boolean): Promise<void> {
  const cleared = [...tableList, 'chain'].filter((table) => table !== 'catalogue' || !keepsCatalogues)
  if (rows > longTable) await link.script(`TRUNCATE ${cleared.join(', ')}`)
  else await link.script(cleared.map((table) => `DELETE FROM ${table}`).join('; '))
  await link.script(
    'INSERT INTO chain (project_id, seq) VALUES (0, 0); UPDATE head SET events = 0, events_dropped = 0, last_dropped_seq = 0, last_evidence = 0, exchanges = 0, exchanges_dropped = 0',
  )
}

/** Announces a replaced state with an event, and starts its generation. */
export async function startGeneration(
  batch: Batch,
  link: Link,
  type: 'sandbox.reset' | 'sandbox.restored',
  at_ms: number,
): Promise<void> {
  batch.appendEvent(stateEvent(type, at_ms))
  await link.run('UPDATE state SET generation = generation + 1, generation_seq = (SELECT last_seq + 1 FROM head)')
}
