/**
 * The whole state: the seeded rows of a fresh one, how it is cleared, and how it moves from and to a SQLite file, the form
 * of exports, imports and snapshots. Tables have the same columns in both.
 */
import type Sqlite from 'better-sqlite3'
import { insertSessionBeacons } from '../sqlite/migrations.ts'
import type { Seed } from '../store.ts'
import { type Batch, jsonOf } from './batch.ts'
import type { Link, Value } from './open.ts'

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
const tableNames = Object.keys(tables) as Table[]

/** Inserts missing seeded rows and resolves to the catalogue in force: the newest. */
export async function applySeed(link: Link, seed: Seed, at_ms: number): Promise<number> {
  const projects = seed.projects.map(({ client_id, tenant, settings }, index) => ({
    ...{ id: index + 1, client_id, tenant_id: tenant, config_revision: 1 },
    settings: JSON.stringify(settings),
  }))
  const keys = seed.projects.flatMap((project, index) => project.keys.map((key) => ({ ...key, project_id: index + 1 })))
  const rows = keys.map(({ hash, ...key }, index) => ({
    ...{ id: index + 1, ...key, created_at_ms: at_ms },
    hash: `\\x${Buffer.from(hash).toString('hex')}`,
  }))
  const { sha256, demand } = seed.catalogue
  const [, , , , [catalogue]] = await Promise.all([
    link.run('INSERT INTO project SELECT * FROM json_populate_recordset(NULL::project, $1) ON CONFLICT DO NOTHING', [
      jsonOf(projects),
    ]),
    link.run('INSERT INTO api_key SELECT * FROM json_populate_recordset(NULL::api_key, $1) ON CONFLICT DO NOTHING', [
      jsonOf(rows),
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

/** Rows from which a table is cut off rather than emptied: below that, removing them is faster. */
const longTable = 20_000

/** Removes every row of the state but the catalogues, within a transaction that holds its lock. */
export async function clearAll(link: Link, rows: number, keepsCatalogues: boolean): Promise<void> {
  const cleared = [...tableNames, 'chain'].filter((table) => table !== 'catalogue' || !keepsCatalogues)
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
  batch.appendEvent({ type, at_ms, project_id: null, slot_id: null, ref: null })
  await link.run('UPDATE state SET generation = generation + 1, generation_seq = (SELECT last_seq + 1 FROM head)')
}

/** Rows that are moved at once: their bytes stay in memory, and other requests wait while they are read or written. */
const rowsAtOnce = 400

/** Copies every table into an empty SQLite file, as it is at one point in time. Reset waits until it is done. */
export async function copyToFile(link: Link, db: Sqlite.Database): Promise<void> {
  await link.script('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0')
  try {
    await link.script('SET LOCAL idle_in_transaction_session_timeout = 0')
    await link.script(`LOCK TABLE ${[...tableNames, 'head'].join(', ')} IN ACCESS SHARE MODE`)
    db.exec([...tableNames, 'session_beacon'].map((table) => `DELETE FROM ${table}`).join('; '))
    for (const table of tableNames) await copyTable(link, db, table)
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

async function copyTable(link: Link, db: Sqlite.Database, table: Table): Promise<void> {
  const key = tables[table]
  const names = columnsOf(db, table)
  const insert = db.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map(() => '?')})`)
  // A SQLite file finds the beacons of a session by a table of its own.
  const isOfSession = table === 'beacon' || table === 'aside_beacon'
  const addToSessions = isOfSession
    ? db.prepare(`${insertSessionBeacons[table]} AND ${table}.id BETWEEN ? AND ?`)
    : undefined
  const insertAll = db.transaction((rows: readonly Record<string, unknown>[]) => {
    for (const row of rows) insert.run(...names.map((name) => toSqlite(table, name, row[name])))
    if (rows.length > 0) addToSessions?.run(rows[0]!.id, rows.at(-1)!.id)
  })
  const text = `SELECT ${names} FROM ${table} WHERE ${key} > $1 ORDER BY ${key} LIMIT ${rowsAtOnce}`
  for (let after: Value = key === 'name' ? '' : -1; ; ) {
    const rows: Record<string, Value>[] = await link.query<Record<string, Value>>(text, [after])
    insertAll(rows)
    if (rows.length < rowsAtOnce) return
    after = rows.at(-1)![key]!
  }
}

function columnsOf(db: Sqlite.Database, table: Table): string[] {
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
 * Fills empty tables with the rows of a SQLite file of the present schema, and counts them. The numbers of events go on
 * from the larger of both.
 */
export async function copyFromFile(link: Link, db: Sqlite.Database): Promise<void> {
  for (const table of tableNames) await insertTable(link, db, table)
  const stored = (name: string): unknown => {
    const text = db.prepare<[string], string>('SELECT value FROM meta WHERE name = ?').pluck().get(name)
    return text === undefined ? null : (JSON.parse(text) as unknown)
  }
  const dropped = (stored('events_dropped') ?? { count: 0, last_seq: 0 }) as { count: number; last_seq: number }
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
  const names = columnsOf(db, table)
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
    if (values.length > 0) await link.run(text, [jsonOf(values)])
    if (rows.length < rowsAtOnce) return
    after = rows.at(-1)![key] ?? null
  }
}

function toPostgres(table: Table, name: string, value: Value): Value {
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  return isBody(table, name) && typeof value === 'string' ? `\\x${Buffer.from(value).toString('hex')}` : value
}

/** Resolves to the largest identifier in use. */
export const largestIdText = `SELECT greatest(${[
  'activation',
  'consent',
  'job',
  'slot',
  'beacon',
  'aside_beacon',
  'exchange',
]
  .map((table) => `(SELECT max(id) FROM ${table})`)
  .join(', ')}, 0) AS id`
