/**
 * The state of a sandbox in memory: a database that is attached to a connection of no tables of its own, so that a table's
 * name means the attached one. A state that replaces it is attached beside it and filled piece by piece between other
 * requests, which see none of it until the first is detached. A copy to a file is written in pieces as well.
 */
import { open } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type Database from 'better-sqlite3'
import type { Connection } from './group-commit.ts'
import { tablesOf } from './state.ts'

/** Rows that are copied in one piece. */
const rowsAtOnce = 1_000

export interface MemoryState {
  /** Copies the whole state to an empty file. Until this resolves, nothing may write. */
  copyTo(path: string): Promise<void>
  /** Replaces the whole state with an empty one. */
  clear(): void
  /** Replaces the whole state with that of a file; `replaced` is called as soon as it is the new one, with the size of its journal. */
  replaceWith(connection: Connection, path: string, replaced: (exchanges: number) => void): Promise<void>
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
  const becomePresent = (next: string) => {
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
    async replaceWith(connection, path, replaced) {
      let next = ''
      let exchanges = 0
      connection.runExclusive(() => {
        db.prepare('ATTACH ? AS source').run(path)
        next = attach()
      })
      try {
        for (const table of tablesOf(db, next)) {
          for (const copyPiece of piecesOfTable(db, table, 'source', next)) {
            const rows = await connection.write(copyPiece)
            if (table === 'exchange') exchanges += rows
          }
        }
      } catch (error) {
        connection.runExclusive(() => ['source', next].forEach(detach))
        throw error
      }
      connection.runExclusive(() => {
        detach('source')
        becomePresent(next)
        replaced(exchanges)
      })
    },
  }
}

/** What makes an empty database one of ours: the statements of its tables and indexes, and the numbers of its header. */
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
