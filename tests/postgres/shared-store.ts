/**
 * Tests of the emulator on PostgreSQL: in the run of `npm run test:postgres` each sandbox gets a namespace instead of a
 * database file or memory, and the same one for the same file, so that tests of restarts hold there too. A test that edits
 * its file gets the rows as a file, which is written back before the next start.
 *
 * Creating a namespace costs some 50 tables and indexes, a hundred times what a placement does, so those that a worker has
 * used are emptied and used again.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type Database from 'better-sqlite3'
import pg from 'pg'
import type { SandboxOptions } from '#sandbox/index.ts'
import { temporaryDirectory, textsIn } from '#tests/temporary.ts'

/** The variable with the URL of the server that global-setup.ts has started. */
export const serverVariable = 'SVC_TEST_STORE'
/** The variable with the URL of the pooler before it, which sandboxes use; missing without one. */
export const pooledVariable = 'SVC_TEST_POOLED_STORE'

type Edit = (db: Database.Database) => void

const edits = new Map<string, Edit[]>()

/** Returns the options of a sandbox on a namespace; unchanged in other runs, and where a test names a store itself. */
export async function onSharedStore(options: SandboxOptions): Promise<SandboxOptions> {
  const store = process.env[serverVariable]
  if (store === undefined || options.store !== undefined) return options
  const { database = ':memory:', ...rest } = options
  const namespace = await findNamespace(database, store)
  await applyEdits(database, store, namespace)
  return { ...rest, store: process.env[pooledVariable] ?? store, namespace }
}

/** Notes that a sandbox has started on a namespace: it may be used again when it is closed. */
export function startedOn(namespace: string | undefined): void {
  const used = spaces.find(({ name }) => name === namespace)
  if (used !== undefined) used.isStarted = true
}

/** Resolves to a store that no other test looks at: a file, or in the run of test:postgres a database of its own. */
export async function storeOfItsOwn(): Promise<SandboxOptions> {
  const server = process.env[serverVariable]
  if (server === undefined) return { database: join(temporaryDirectory(), 'sandbox.db') }
  const store = new URL(server)
  store.pathname = `/svc_${randomBytes(8).toString('hex')}`
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    await client.query(`CREATE DATABASE ${store.pathname.slice(1)}`)
  } finally {
    await client.end()
  }
  return { store: store.href }
}

/** Resolves to everything that is stored for a store of `storeOfItsOwn`, or for a database file, as texts. */
export async function storedTexts({ database = '', store }: SandboxOptions): Promise<string[]> {
  const server = store ?? process.env[serverVariable]
  if (server === undefined) return textsIn(dirname(database))
  const schema = store === undefined ? nameSchema(database) : 'svc'
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
       WHERE table_schema IN ($1, 'svc__team')`,
      [schema],
    )
    const texts: string[] = []
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: string }>(`SELECT stored::text AS row FROM ${name} stored`)
      for (const { row } of rows) {
        const bytes = row.matchAll(/\\x([0-9a-f]+)/g)
        texts.push(row, ...Array.from(bytes, ([, hex]) => Buffer.from(hex!, 'hex').toString('latin1')))
      }
    }
    return texts
  } finally {
    await client.end()
  }
}

/** Replaces the key that asset tokens are derived from, as if the rows had come from another install. */
export async function replaceInstallKey(database: string): Promise<void> {
  const server = process.env[serverVariable]
  if (server === undefined) return rmSync(`${database}.key`)
  await onNamespace(server, database, (client) => client.query('UPDATE state SET signing_key = sha256(signing_key)'))
}

/** Changes the bytes of a snapshot, each of which is a SQLite file. */
export async function changeSnapshot(database: string, name: string, change: (bytes: Buffer) => Buffer): Promise<void> {
  const server = process.env[serverVariable]
  if (server === undefined) {
    const path = `${database}.snapshots/snapshot-${name}.db`
    writeFileSync(path, change(readFileSync(path)))
    return
  }
  await onNamespace(server, database, async (client) => {
    const { rows } = await client.query<{ bytes: Buffer }>(
      'DELETE FROM snapshot_part WHERE name = $1 RETURNING part, bytes',
      [name],
    )
    const changed = change(Buffer.concat(rows.map(({ bytes }) => bytes)))
    await client.query('INSERT INTO snapshot_part VALUES ($1, 0, $2)', [name, changed])
  })
}

async function onNamespace(url: string, database: string, work: (client: pg.Client) => Promise<unknown>) {
  const client = new pg.Client({ connectionString: url, options: `-c search_path="${nameSchema(database)}"` })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

/** The schema of the namespace that stands for a file. */
function nameSchema(database: string): string {
  return `svc_${spaces.find((space) => space.database === database)!.name}`
}

/** Notes an edit for the next start on that file; false when files are used. */
export function editShared(database: string, edit: Edit): boolean {
  if (process.env[serverVariable] === undefined) return false
  edits.set(database, [...(edits.get(database) ?? []), edit])
  return true
}

/** The namespaces of this worker, and the file that each stands for. */
const spaces: { name: string; database: string; isStarted: boolean }[] = []

async function findNamespace(database: string, url: string): Promise<string> {
  const present = database === ':memory:' ? undefined : spaces.find((space) => space.database === database)
  if (present !== undefined) return present.name
  const free = await findFree(url)
  const space = { name: free?.name ?? randomBytes(8).toString('hex'), database, isStarted: false }
  if (free !== undefined) spaces.splice(spaces.indexOf(free), 1)
  spaces.push(space)
  return space.name
}

/** One connection of this worker: to open another costs as much as to empty a namespace. And the tables of each namespace. */
let cleaner: ReturnType<typeof openCleaner> | undefined

/** Empties a namespace that no sandbox serves, and whose file is gone. */
async function findFree(url: string) {
  const candidates = spaces.filter(
    ({ database, isStarted }) => isStarted && (database === ':memory:' || !existsSync(dirname(database))),
  )
  if (candidates.length === 0) return undefined
  cleaner ??= openCleaner(url, candidates[0]!.name)
  const { client, tables } = await cleaner
  for (const candidate of candidates) {
    await client.query(`SET search_path = "svc_${candidate.name}"`)
    const { rowCount } = await client.query('SELECT FROM node')
    if (rowCount !== 0) continue
    await client.query(`BEGIN; ${tables.map((name) => `DELETE FROM ${name}`).join('; ')};
      ALTER SEQUENCE session_id_seq RESTART; ALTER SEQUENCE catalogue_id_seq RESTART;
      UPDATE state SET generation = 0, generation_seq = 0, signing_key = sha256(signing_key);
      INSERT INTO head DEFAULT VALUES; INSERT INTO chain (project_id, seq) VALUES (0, 0); COMMIT`)
    return candidate
  }
  return undefined
}

async function openCleaner(url: string, namespace: string) {
  // One connection, which stays open and keeps no worker from ending.
  const client = new pg.Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true })
  const { rows } = await client.query<{ name: string }>(
    "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = $1 AND tablename NOT IN ('svc_schema', 'state')",
    [`svc_${namespace}`],
  )
  return { client, tables: rows.map(({ name }) => name) }
}

async function applyEdits(database: string, url: string, namespace: string): Promise<void> {
  const waiting = edits.get(database)
  if (waiting === undefined) return
  edits.delete(database)
  const { migrateSchema } = await import('#store/postgres/migrations.ts')
  const { connectDatabase } = await import('#store/postgres/servers/open.ts')
  const { copyFromFile, copyToFile } = await import('#store/postgres/copies/state-copy.ts')
  const { clearAll } = await import('#store/postgres/state.ts')
  const { openStateFile, readEvidence } = await import('#store/sqlite/copies/state-files.ts')
  const shared = await connectDatabase({ url, namespace, report: console.error })
  const link = await shared.connect()
  await migrateSchema(shared, link)
  const path = join(temporaryDirectory(), 'edited.db')
  const file = openStateFile(path, process.pid)
  try {
    await copyToFile(link, file)
    for (const edit of waiting) edit(file.db)
    await link.script('BEGIN')
    await clearAll(link, 0, false)
    await copyFromFile(link, file.db, { readEvidence })
    await link.script('COMMIT')
  } finally {
    file.close()
    await shared.close()
  }
}
