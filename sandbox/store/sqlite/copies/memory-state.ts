/**
 * The state of a sandbox in memory: a database attached to a connection without its own tables, so a table's name means
 * the one attached first. A state that replaces it is attached next to it and filled piece by piece between other
 * requests, which see none of it until the first is detached. A copy to a file is written in pieces as well.
 */
import { open } from 'node:fs/promises'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type Database from 'better-sqlite3'
import { StateReplaced, StorageError } from '../../store.ts'
import type { Connection } from '../group-commit.ts'
import { listTables } from '../state.ts'

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
  const states = attachedStates(db)
  let lastPrepared = Promise.resolve()

  return { copyTo: (path) => copyState(db, states, path), clear: () => states.becomePresent(states.attach()), prepare }

  async function prepare(connection: Connection, path: string): Promise<PreparedMemory> {
    const { promise: discarded, resolve: free } = Promise.withResolvers<void>()
    const before = lastPrepared
    lastPrepared = discarded
    await before
    let next = ''
    let exchanges = 0
    const discard = () => {
      connection.runExclusive(() => states.discard(next))
      free()
    }
    try {
      connection.runExclusive(() => {
        next = states.prepare()
        db.prepare('ATTACH ? AS source').run(path)
      })
      exchanges = await fill(connection, next)
    } catch (error) {
      // Another state that became the present one has detached it, and nothing can be read of it.
      const isGone = next !== '' && !states.isPrepared(next)
      discard()
      throw isGone ? changed('the state') : error
    }
    const replace = (replaced: (exchanges: number) => void) =>
      connection.runExclusive(() => {
        if (!states.isPrepared(next)) throw changed('the state')
        states.becomePresent(next)
        replaced(exchanges)
      })
    return { replace, discard }
  }

  /** Copies the tables of `source`, detaches it, and resolves to the number of exchanges. */
  async function fill(connection: Connection, next: string): Promise<number> {
    let exchanges = 0
    try {
      for (const table of listTables(db, next)) {
        for (const copyPiece of copyTablePieces(db, table, 'source', next)) {
          const rows = await connection.write(() => {
            if (!states.isPrepared(next)) throw changed('the state')
            return copyPiece()
          })
          if (table === 'exchange') exchanges += rows
        }
      }
    } finally {
      connection.runExclusive(() => states.detach('source'))
    }
    return exchanges
  }
}

async function copyState(db: Database.Database, states: AttachedStates, path: string): Promise<void> {
  db.prepare('ATTACH ? AS copy').run(path)
  try {
    // A copy that fails is removed.
    db.pragma('copy.journal_mode = OFF')
    db.pragma('copy.synchronous = OFF')
    states.declare('copy')
    for (const table of listTables(db, 'copy')) {
      for (const copyPiece of copyTablePieces(db, table, states.present(), 'copy')) {
        copyPiece()
        await yieldToEventLoop()
      }
    }
  } finally {
    states.detach('copy')
  }
  const file = await open(path, 'r+')
  await file.sync().finally(() => file.close())
}

type AttachedStates = ReturnType<typeof attachedStates>

/** The states that are attached to a database: the present one, and at most one that is being prepared. */
function attachedStates(db: Database.Database) {
  const declarations = readDeclarations(db)
  for (const table of listTables(db)) db.exec(`DROP TABLE ${table}`)
  let count = 0
  let present = attach()
  /** Tables are found in the state attached first, so it cannot outlive the present one. */
  let prepared: string | null = null

  return { present: () => present, attach, prepare, isPrepared, becomePresent, discard, declare, detach }

  function attach(): string {
    const schema = `state_${++count}`
    db.exec(`ATTACH ':memory:' AS ${schema}`)
    declare(schema)
    return schema
  }

  function prepare(): string {
    prepared = attach()
    return prepared
  }

  function isPrepared(schema: string): boolean {
    return prepared === schema
  }

  function becomePresent(next: string): void {
    if (prepared !== null && prepared !== next) detach(prepared)
    prepared = null
    detach(present)
    present = next
  }

  /** Detaches a state that is still being prepared. */
  function discard(schema: string): void {
    if (prepared !== schema) return
    prepared = null
    detach(schema)
  }

  function declare(schema: string): void {
    for (const { name, value } of declarations.numbers) db.pragma(`${schema}.${name} = ${value}`)
    for (const sql of declarations.tables) db.exec(sql.replace(/^CREATE (TABLE|INDEX) /, `CREATE $1 ${schema}.`))
  }

  function detach(schema: string): void {
    db.exec(`DETACH ${schema}`)
  }
}

/** Returns the statements that create tables and indexes, and the numbers of the header. */
function readDeclarations(db: Database.Database) {
  const sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
  return {
    tables: db.prepare<[], string>(sql).pluck().all(),
    numbers: ['page_size', 'application_id', 'user_version'].map((name) => ({
      name,
      value: Number(db.pragma(name, { simple: true })),
    })),
  }
}

/** Yields functions that copy the next rows of a table, in the order of its key, and return how many. */
function* copyTablePieces(db: Database.Database, table: string, from: string, to: string): Generator<() => number> {
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
