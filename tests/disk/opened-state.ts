/**
 * Opens the files of one moment with the product's own function, and reads what is in them: a digest of all rows, and the
 * facts that clients know of. A state of the same digest is looked into once.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { SandboxError } from '#sandbox/sandbox-error.ts'
import { entryTexts, type StoredEntry, selectEntries } from '#store/sqlite/entries.ts'
import { openDatabase } from '#store/sqlite/file/open.ts'
import { nameFact, type State } from './known.ts'

export interface OpenedState {
  /** Equal when all rows of all tables are. */
  digest: string
  state: State
  /** Tokens of the control plane, and whether each is revoked. */
  tokens: Map<string, boolean>
  /** The digests of its snapshots, by name. */
  snapshots: Map<string, string>
  /** By which asset tokens are made; null when there is none. */
  key: string | null
  /** What is wrong with it by itself: a broken chain, a row without its entry, a page that SQLite cannot read. */
  problems: string[]
}

/** @returns the sentence by which it is refused, or what is in it */
export type Opening = { status: 'opened'; opened: OpenedState } | { status: 'refused'; sentence: string }

export function createOpener() {
  const seen = new Map<string, { state: State; problems: string[] }>()

  return function open(folder: string): Opening {
    const database = join(folder, 'sandbox.db')
    let product: ReturnType<typeof openDatabase>
    try {
      product = openDatabase(database, process.pid)
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error
      return { status: 'refused', sentence: `${error.code}: ${error.message} ${error.hint}` }
    }
    try {
      const { db } = product
      const digest = digestRows(db)
      const found = seen.get(digest) ?? readState(db)
      seen.set(digest, found)
      const pages = checkPages(db)
      const access = readTokens(`${database}.access`)
      const { digests, problems } = readSnapshots(`${database}.snapshots`)
      return {
        status: 'opened',
        opened: {
          ...{ digest, state: found.state, tokens: access.tokens, snapshots: digests },
          key: existsSync(`${database}.key`) ? readFileSync(`${database}.key`, 'utf8') : null,
          problems: [...found.problems, ...pages, ...access.problems, ...problems],
        },
      }
    } catch (error) {
      if (!(error instanceof Database.SqliteError)) throw error
      return { status: 'refused', sentence: `${error.code}: ${error.message}, once it is open` }
    } finally {
      product.abandon()
    }
  }
}

function listTables(db: Database.Database): string[] {
  return db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck().all()
}

/** Leaves out the mark of a database that is open, which its snapshots lack. */
function digestRows(db: Database.Database): string {
  const hash = createHash('sha256')
  for (const table of listTables(db)) {
    hash.update(table)
    const where = table === 'meta' ? "WHERE name <> 'in_use'" : ''
    for (const row of db.prepare(`SELECT * FROM "${table}" ${where}`).raw().iterate()) hash.update(JSON.stringify(row))
  }
  return hash.digest('hex').slice(0, 16)
}

function checkPages(db: Database.Database): string[] {
  return db
    .prepare<[], string>('PRAGMA integrity_check(3)')
    .pluck()
    .all()
    .filter((line) => line !== 'ok')
}

interface Entry {
  slot_id: string
  beacon_id: string
  session_id: string
  revision: number
  fill: boolean
}

function readState(db: Database.Database): { state: State; problems: string[] } {
  const facts = new Set<string>()
  const problems: string[] = []
  const kinds: Record<string, number> = { decision: 0, consent: 0, beacon: 0 }
  let last = { project_id: 0, seq: 0, hash: '' }
  const rows = db.prepare<[], StoredEntry>(`${selectEntries} ORDER BY evidence.project_id, seq`)
  for (const { project_id, seq, kind, entry, hash } of entryTexts(db)(rows.all())) {
    if (project_id !== last.project_id) last = { project_id, seq: 0, hash: '0'.repeat(64) }
    const expected = createHash('sha256').update(`${last.hash}${entry}`).digest('hex')
    if (seq !== last.seq + 1 || hash !== expected) problems.push(`the chain breaks at ${seq}: ${entry}`)
    last = { project_id, seq, hash }
    kinds[kind]!++
    facts.add(nameEntry(kind, JSON.parse(entry) as Entry))
  }
  const count = (what: string) => db.prepare<[], number>(`SELECT count(*) FROM ${what}`).pluck().get()!
  const decided = count('slot WHERE decided_at_ms IS NOT NULL')
  if (decided !== kinds.decision) problems.push(`${decided} decisions have ${kinds.decision} entries`)
  if (count('beacon') !== kinds.beacon) problems.push(`${count('beacon')} beacons have ${kinds.beacon} entries`)
  const projects = db.prepare<[], { client_id: string; config_revision: number }>('SELECT * FROM project').all()
  const revisions = new Map(projects.map(({ client_id, config_revision }) => [client_id, config_revision]))
  return { state: { facts, revisions }, problems }
}

function nameEntry(kind: StoredEntry['kind'], { slot_id, beacon_id, session_id, revision, fill }: Entry): string {
  if (kind === 'decision') return nameFact({ kind: 'placement', slot_id, isFilled: fill })
  if (kind === 'beacon') return nameFact({ kind, slot_id, beacon_id })
  return nameFact({ kind, session_id, revision })
}

function readTokens(file: string): { tokens: Map<string, boolean>; problems: string[] } {
  if (!existsSync(file)) return { tokens: new Map(), problems: [] }
  const db = new Database(file)
  try {
    const hasTable = listTables(db).includes('token')
    const rows = hasTable
      ? db.prepare<[], { name: string; revoked_at_ms: number | null }>('SELECT * FROM token').all()
      : []
    return {
      tokens: new Map(rows.map(({ name, revoked_at_ms }) => [name, revoked_at_ms !== null])),
      problems: checkPages(db).map((problem) => `tokens: ${problem}`),
    }
  } catch (error) {
    return { tokens: new Map(), problems: [`the tokens cannot be read: ${String(error)}`] }
  } finally {
    db.close()
  }
}

function readSnapshots(folder: string): { digests: Map<string, string>; problems: string[] } {
  const digests = new Map<string, string>()
  const problems: string[] = []
  for (const file of existsSync(folder) ? readdirSync(folder) : []) {
    const name = /^snapshot-(.+)\.db$/.exec(file)?.[1]
    if (name === undefined) continue
    let db: Database.Database | undefined
    try {
      db = new Database(join(folder, file), { readonly: true })
      digests.set(name, digestRows(db))
      problems.push(...checkPages(db).map((problem) => `snapshot ${name}: ${problem}`))
    } catch (error) {
      problems.push(`snapshot ${name} cannot be read: ${String(error)}`)
    } finally {
      db?.close()
    }
  }
  return { digests, problems }
}
