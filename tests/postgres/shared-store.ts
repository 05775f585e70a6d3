/**
 * Tests of the emulator on PostgreSQL: in the run of `npm run test:postgres` each sandbox gets a namespace instead of a
 * database file or memory, and the same one for the same file, so that tests of restarts hold there too. A test that edits
 * its file gets the rows as a file, which is written back before the next start.
 */
import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type Database from 'better-sqlite3'
import type { SandboxOptions } from '../../sandbox/index.ts'
import { temporaryDirectory } from '../temporary.ts'

/** The variable with the URL of the server that global-setup.ts has started. */
export const serverVariable = 'SVC_TEST_STORE'

type Edit = (db: Database.Database) => void

const edits = new Map<string, Edit[]>()

/** Returns the options of a sandbox on a namespace; unchanged in other runs, and where a test names a store itself. */
export async function onSharedStore(options: SandboxOptions): Promise<SandboxOptions> {
  const store = process.env[serverVariable]
  if (store === undefined || options.store !== undefined) return options
  const { database = ':memory:', ...rest } = options
  const namespace = namespaceOf(database)
  await applyEdits(database, store, namespace)
  return { ...rest, store, namespace }
}

/** Notes an edit for the next start on that file; false when files are used. */
export function editShared(database: string, edit: Edit): boolean {
  if (process.env[serverVariable] === undefined) return false
  edits.set(database, [...(edits.get(database) ?? []), edit])
  return true
}

function namespaceOf(database: string): string {
  if (database === ':memory:') return randomBytes(8).toString('hex')
  return createHash('sha256').update(database).digest('hex').slice(0, 16)
}

async function applyEdits(database: string, url: string, namespace: string): Promise<void> {
  const waiting = edits.get(database)
  if (waiting === undefined) return
  edits.delete(database)
  const { connectDatabase, migrateSchema } = await import('../../sandbox/store/postgres/open.ts')
  const { clearAll, copyFromFile, copyToFile } = await import('../../sandbox/store/postgres/state.ts')
  const { openDatabase } = await import('../../sandbox/store/sqlite/open.ts')
  const shared = await connectDatabase({ url, namespace, report: console.error })
  const link = await shared.connect()
  await migrateSchema(shared, link)
  const path = join(temporaryDirectory(), 'edited.db')
  const file = openDatabase(path, process.pid)
  try {
    await copyToFile(link, file.db)
    for (const edit of waiting) edit(file.db)
    await link.script('BEGIN')
    await clearAll(link, 0, false)
    await copyFromFile(link, file.db)
    await link.script('COMMIT')
  } finally {
    file.close()
    await shared.close()
  }
}
