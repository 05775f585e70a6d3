/**
 * Copies of the state as SQLite files, table by table, with the columns of the other adapter: an export from here can be
 * imported there, and vice versa.
 */
import type Sqlite from 'better-sqlite3'
import { tableNames } from '#foundation/table-entry.ts'
import type { StateFile, StateFiles } from '../../state-files.ts'
import { encodeBytes, toJson } from '../batch/json.ts'
import type { Link, Value } from '../servers/link.ts'

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
export const tableList = tableNames(tables)

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
export async function copyFromFile(
  link: Link,
  db: Sqlite.Database,
  { readEvidence }: Pick<StateFiles, 'readEvidence'>,
): Promise<void> {
  const read = (table: Table) => (table === 'evidence' ? readEntries(db, readEvidence) : readTable(db, table))
  for (const table of tableList) await insertTable(link, { table, names: listColumns(db, table), next: read(table) })
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

type Row = Record<string, Value>

/** Returns the next rows of a table. */
function readTable(db: Sqlite.Database, table: Table): (after: string | number) => Row[] {
  const key = tables[table]
  const next = db.prepare<[string | number], Row>(
    `SELECT * FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ${rowsAtOnce}`,
  )
  return (after) => next.all(after)
}

/** The same for evidence: here each entry has its text. */
function readEntries(db: Sqlite.Database, read: StateFiles['readEvidence']): (after: string | number) => Row[] {
  return (after) =>
    read(db, Number(after), rowsAtOnce).map(({ is_built: _, hash, ...row }) => ({
      ...row,
      hash: Buffer.from(hash, 'hex'),
    }))
}

interface TableRows {
  table: Table
  names: readonly string[]
  next(after: string | number): Row[]
}

async function insertTable(link: Link, { table, names, next }: TableRows): Promise<void> {
  const key = tables[table]
  const text = `INSERT INTO ${table} (${names}) SELECT ${names} FROM json_populate_recordset(NULL::${table}, $1)`
  for (let after: Value = key === 'name' ? '' : -1; ; ) {
    const rows = next(after as string | number)
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
