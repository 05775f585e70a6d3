/**
 * The whole state: the seeded rows of a fresh one, and how one state replaces another in a file, in a single
 * transaction. A reset writes a fresh state over the file; a restore copies the tables of another file. Also a state in
 * memory, which is replaced piece by piece, and the constraints of a state beyond its schema.
 */
import { open } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type Database from 'better-sqlite3'
import { ProjectSettings, withDefaults } from '#contract/resources/projects.ts'
import { maxClock_ms } from '#contract/resources/sandbox/clock.ts'
import { FaultDraft } from '#contract/resources/sandbox/faults.ts'
import { isObject, type Json, parseJson } from '#foundation/json.ts'
import { type Seed, StateReplaced, StorageError } from '../store.ts'
import { seedRows } from '../writes/state.ts'
import type { Connection } from './group-commit.ts'
import { openDatabase } from './open.ts'

/** Inserts missing seeded rows, inside a transaction, and returns the catalogue in force: the newest. */
export function applySeed(db: Database.Database, seed: Seed, at_ms: number): number {
  const insertProject = db.prepare(
    'INSERT INTO project (id, client_id, tenant_id, config_revision, settings) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const insertKey = db.prepare(
    'INSERT INTO api_key (id, project_id, class, mode, hash, created_at_ms) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const { projects, keys } = seedRows(seed, at_ms)
  for (const { id, client_id, tenant_id, config_revision, settings } of projects) {
    insertProject.run(id, client_id, tenant_id, config_revision, settings)
  }
  for (const key of keys) insertKey.run(key.id, key.project_id, key.class, key.mode, key.hash, key.created_at_ms)
  const { sha256, demand } = seed.catalogue
  db.prepare('INSERT INTO catalogue (sha256, demand) VALUES (?, ?) ON CONFLICT (sha256) DO NOTHING').run(sha256, demand)
  return db.prepare<[string], number>('SELECT id FROM catalogue WHERE sha256 = ?').pluck().get(sha256)!
}

/** More pages than a new database has, so all of them are copied in one step. */
const allPages = 0x7fff_ffff

/**
 * Replaces everything in a database file with a small database in memory that `fill` has filled: SQLite's backup copies
 * its pages over the file in one transaction and cuts off the rest. Old rows are neither read nor removed one by one, so
 * this takes the same time however many there were, and the file is small again after the next checkpoint.
 *
 * The transaction belongs to another connection: until this resolves, nothing else may write. A failure changes nothing.
 * @throws StorageError when the file cannot be written
 */
export async function overwriteFile(
  db: Database.Database,
  { path, pid }: { path: string; pid: number },
  fill: (image: Database.Database) => void,
): Promise<void> {
  const page_bytes = db.pragma('page_size', { simple: true }) as number
  const { db: image, close } = openDatabase(':memory:', pid, page_bytes)
  const before = dataVersion(db)
  try {
    image.transaction(() => fill(image))()
    await image.backup(path, { progress: () => allPages })
  } catch (error) {
    throw new StorageError(error)
  } finally {
    close()
  }
  // The driver reports success for a file that is locked.
  if (dataVersion(db) === before) throw new StorageError(new Error('another program has locked the file'))
}

/** Changes with every commit of another connection. */
function dataVersion(db: Database.Database): number {
  return db.pragma('data_version', { simple: true }) as number
}

/** Pages that are written once stay in memory until the commit, instead of going to the log and back. */
const replaceCacheKib = 65_536

/**
 * Replaces every table with the table of another file, which must have the same schema: a reader sees all of the old
 * state or all of the new one. Tables are emptied whole and filled from tables of the same definition, which SQLite
 * copies page by page without reading the rows. `within` runs at the end of the transaction.
 */
export function replaceTables(db: Database.Database, path: string, within: () => void): void {
  db.prepare('ATTACH ? AS copy').run(path)
  const cacheSize = db.pragma('main.cache_size', { simple: true }) as number
  db.pragma(`main.cache_size = ${-replaceCacheKib}`)
  try {
    db.transaction(() => {
      for (const table of tablesOf(db)) {
        db.exec(`DELETE FROM main."${table}"`)
        db.exec(`INSERT INTO main."${table}" SELECT * FROM copy."${table}"`)
      }
      within()
    })()
  } finally {
    db.pragma(`main.cache_size = ${cacheSize}`)
    db.pragma('shrink_memory')
    db.exec('DETACH copy')
  }
}

/** Returns the tables of a schema of the connection, in order of creation. */
export function tablesOf(db: Database.Database, schema = 'main'): string[] {
  return db
    .prepare(`SELECT name FROM ${schema}.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
    .pluck()
    .all() as string[]
}

/** Returns the declarations of every table and index; equal for databases with the same migrations. */
export function schemaOf(db: Database.Database): string {
  const rows = db.prepare('SELECT type, name, tbl_name, sql FROM main.sqlite_schema ORDER BY type, name').all()
  return JSON.stringify(rows)
}

/*
 * The constraints of a state beyond its schema, since it can come from another machine or from a damaged disk: the few values
 * that everything else depends on. file-worker.ts has what each row must keep to.
 */

/** Identifiers and sequences grow: numbers above this leave no room for later ones. */
const largestNumber = 2 ** 52

/** The latest time of a row: the clock runs on after the latest time that it can be set to, and rows expire later. */
export const latestStored_ms = 2 * maxClock_ms

const numbered = [
  ['project', 'id'],
  ['api_key', 'id'],
  ['activation', 'id'],
  ['session', 'id'],
  ['consent', 'id'],
  ['job', 'id'],
  ['slot', 'id'],
  ['beacon', 'id'],
  ['aside_beacon', 'id'],
  ['evidence', 'id'],
  ['event', 'seq'],
  ['catalogue', 'id'],
  ['exchange', 'id'],
  ['callback', 'id'],
] as const

/** Tables that a start does not read: damage there is found and reported by whatever reads them. */
const unreadByStart = new Set(['session', 'evidence'])

/**
 * Returns the first problem of the projects, the clock, the fault rules and the numbers, as `table row: problem`. For a
 * start, only in the tables that it reads.
 */
export function stateProblem(db: Database.Database, isStart: boolean): string | null {
  for (const [table, column] of numbered) {
    if (isStart && unreadByStart.has(table)) continue
    // Each in its own query: together they would read the whole table.
    const [least, most] = db
      .prepare(`SELECT (SELECT min(${column}) FROM ${table}), (SELECT max(${column}) FROM ${table})`)
      .raw()
      .safeIntegers()
      .get() as [bigint | null, bigint | null]
    if ((least ?? 1n) < 0n) return `${table} ${least}: ${column} is negative`
    if ((most ?? 1n) > largestNumber) return `${table} ${most}: ${column} is larger than any that is given`
  }
  const projects = db.prepare('SELECT id, settings FROM project').all() as { id: number; settings: string }[]
  for (const { id, settings } of projects) {
    const own = parseJson(settings)
    if (!isObject(own)) return `project ${id}: settings are not a JSON object`
    const issue = ProjectSettings.safeParse(withDefaults(own as Partial<ProjectSettings>)).error?.issues[0]
    if (issue !== undefined) return `project ${id}: settings.${issue.path.join('.')} ${issue.message}`
  }
  const meta = db.prepare('SELECT name, value FROM meta').all() as { name: string; value: string }[]
  for (const { name, value } of meta) {
    if (!Object.hasOwn(metaRules, name)) return `meta ${name}: no sandbox has a value of this name`
    if (!metaRules[name as MetaName](parseJson(value))) return `meta ${name}: its value is not valid`
  }
  return null
}

/** Every value of `meta`, with its check. */
const metaRules = {
  clock: (value) =>
    isObject(value) &&
    Number.isSafeInteger(value.offset_ms) &&
    Math.abs(Number(value.offset_ms)) <= latestStored_ms &&
    (value.frozen_at_ms === null || isTime(value.frozen_at_ms)),
  faults: (value) =>
    isObject(value) &&
    (value.scenario === null || typeof value.scenario === 'string') &&
    isCount(value.added) &&
    Array.isArray(value.rules) &&
    value.rules.every(isStoredFault),
  journal_dropped: isCount,
  events_dropped: (value) => isObject(value) && isCount(value.count) && isCount(value.last_seq),
} satisfies Record<string, (value: Json | undefined) => boolean>

export type MetaName = keyof typeof metaRules

function isStoredFault(stored: Json): boolean {
  if (!isObject(stored) || !isObject(stored.rule) || !isObject(stored.count)) return false
  const { key, ...rule } = stored.rule
  const isKey = key === undefined || (isObject(key) && typeof key.shown === 'string' && isCount(key.length))
  return (
    isKey &&
    FaultDraft.safeParse(rule).success &&
    typeof stored.fault_id === 'string' &&
    (stored.scenario === null || typeof stored.scenario === 'string') &&
    isTime(stored.created_at_ms) &&
    isCount(stored.count.matched) &&
    isCount(stored.count.injected)
  )
}

function isTime(value: unknown): boolean {
  return isCount(value) && Number(value) <= latestStored_ms
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/*
 * The state of a sandbox in memory: a database attached to a connection without its own tables, so a table's name means
 * the one attached first. A state that replaces it is attached next to it and filled piece by piece between other requests,
 * which see none of it until the first is detached. A copy to a file is written in pieces as well.
 */

/** Rows that are copied in one piece. */
const rowsAtOnce = 1_000

export interface MemoryState {
  /** Copies the whole state to an empty file. Until this resolves, nothing may write. */
  copyTo(path: string): Promise<void>
  /** Replaces the whole state with an empty one. */
  clear(): void
  /**
   * Copies the state in a file beside the present one, piece by piece between other requests. One at a time: the next one
   * waits until this one is discarded.
   */
  prepare(connection: Connection, path: string): Promise<PreparedMemory>
}

/** A state that is attached beside the present one. */
interface PreparedMemory {
  /**
   * Replaces the present state; `replaced` is called as soon as it is in force, with the size of its journal.
   * @throws StorageError when another state has become the present one since
   */
  replace(replaced: (exchanges: number) => void): void
  /** Detaches it, unless it is the present one. Call it once, whatever happened. */
  discard(): void
}

/** Something else was replaced while a state was prepared: nothing has changed, and it can be sent again. */
export function changed(what: string): StorageError {
  return new StorageError(new StateReplaced(`${what} was replaced in the meantime`), 'write', 1)
}

/** Moves the tables of a new database in memory, which have no rows yet, into a state that is attached to it. */
export function memoryState(db: Database.Database): MemoryState {
  const declarations = declarationsOf(db)
  for (const table of tablesOf(db)) db.exec(`DROP TABLE ${table}`)
  let count = 0
  const declare = (schema: string): void => {
    for (const { name, value } of declarations.numbers) db.pragma(`${schema}.${name} = ${value}`)
    for (const sql of declarations.tables) db.exec(sql.replace(/^CREATE (TABLE|INDEX) /, `CREATE $1 ${schema}.`))
  }
  const attach = (): string => {
    const schema = `state_${++count}`
    db.exec(`ATTACH ':memory:' AS ${schema}`)
    declare(schema)
    return schema
  }
  let present = attach()
  const detach = (schema: string) => db.exec(`DETACH ${schema}`)
  /** The state that is being prepared. Tables are found in the state attached first, so it cannot outlive the present one. */
  let prepared: string | null = null
  let lastPrepared = Promise.resolve()
  const becomePresent = (next: string) => {
    if (prepared !== null && prepared !== next) detach(prepared)
    prepared = null
    detach(present)
    present = next
  }

  return {
    async copyTo(path) {
      db.prepare('ATTACH ? AS copy').run(path)
      try {
        // A copy that fails is removed.
        db.pragma('copy.journal_mode = OFF')
        db.pragma('copy.synchronous = OFF')
        declare('copy')
        for (const table of tablesOf(db, 'copy')) {
          for (const copyPiece of piecesOfTable(db, table, present, 'copy')) {
            copyPiece()
            await nextTurn()
          }
        }
      } finally {
        detach('copy')
      }
      const file = await open(path, 'r+')
      await file.sync().finally(() => file.close())
    },
    clear: () => becomePresent(attach()),
    async prepare(connection, path) {
      const { promise: discarded, resolve: free } = Promise.withResolvers<void>()
      const before = lastPrepared
      lastPrepared = discarded
      await before
      let next = ''
      let exchanges = 0
      const discard = () => {
        connection.runExclusive(() => {
          if (prepared !== next) return
          prepared = null
          detach(next)
        })
        free()
      }
      try {
        connection.runExclusive(() => {
          next = attach()
          prepared = next
          db.prepare('ATTACH ? AS source').run(path)
        })
        try {
          for (const table of tablesOf(db, next)) {
            for (const copyPiece of piecesOfTable(db, table, 'source', next)) {
              const rows = await connection.write(() => {
                if (prepared !== next) throw changed('the state')
                return copyPiece()
              })
              if (table === 'exchange') exchanges += rows
            }
          }
        } finally {
          connection.runExclusive(() => detach('source'))
        }
      } catch (error) {
        // Another state that became the present one has detached it, and nothing can be read of it.
        const isGone = next !== '' && prepared !== next
        discard()
        throw isGone ? changed('the state') : error
      }
      return {
        replace(replaced) {
          connection.runExclusive(() => {
            if (prepared !== next) throw changed('the state')
            becomePresent(next)
            replaced(exchanges)
          })
        },
        discard,
      }
    },
  }
}

/** Returns the statements that create tables and indexes, and the numbers of the header. */
function declarationsOf(db: Database.Database) {
  const sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
  return {
    tables: db.prepare<[], string>(sql).pluck().all(),
    numbers: ['page_size', 'application_id', 'user_version'].map((name) => ({
      name,
      value: db.pragma(name, { simple: true }) as number,
    })),
  }
}

/** Yields functions that copy the next rows of a table, in the order of its key, and return how many. */
function* piecesOfTable(db: Database.Database, table: string, from: string, to: string): Generator<() => number> {
  const columns = db.pragma(`${to}.table_info(${table})`) as { name: string; pk: number }[]
  const key = columns
    .filter(({ pk }) => pk > 0)
    .toSorted((a, b) => a.pk - b.pk)
    .map(({ name }) => name)
  const [names, marks] = [key.join(', '), key.map(() => '?').join(', ')]
  const [isAfter, isUntil] = [`(${names}) > (${marks})`, `(${names}) <= (${marks})`]
  const find = (condition: string) =>
    db
      .prepare<unknown[], unknown[]>(
        `SELECT ${names} FROM ${from}.${table} WHERE ${condition} ORDER BY ${names} LIMIT 1 OFFSET ${rowsAtOnce - 1}`,
      )
      .raw()
  const copy = (condition: string) => {
    const statement = db.prepare(`INSERT INTO ${to}.${table} SELECT * FROM ${from}.${table} WHERE ${condition}`)
    return (...values: unknown[]) => {
      return () => statement.run(...values).changes
    }
  }
  const [findNext, copyBetween, copyRest] = [find(isAfter), copy(`${isAfter} AND ${isUntil}`), copy(isAfter)]
  let end = find('true').get()
  yield end === undefined ? copy('true')() : copy(isUntil)(...end)
  while (end !== undefined) {
    const start: unknown[] = end
    end = findNext.get(...start)
    yield end === undefined ? copyRest(...start) : copyBetween(...start, ...end)
  }
}
