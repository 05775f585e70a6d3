/**
 * Code that the tables share: the conditions and pages of lists, bounded caches of rows, and values of the table
 * `meta`.
 *
 * A list is read in parts of a few milliseconds, whatever its filters match: other requests get a turn between two
 * parts. When an index leads to few rows, a part is all of them; otherwise it is the next rows in the order of ids,
 * from an index that keeps this order or from the table.
 */
import type Database from 'better-sqlite3'
import type { IndexedColumn } from '../list-conditions.ts'
import { type Conditions, createConditions, parseMeta, toPage } from '../rows.ts'
import type { Page, PageQuery } from '../store.ts'
import type { MetaName } from './copies/state-problem.ts'

export interface Filter extends Conditions {
  /** Returns the text after WHERE. */
  where(): string
}

export function createFilter(): Filter {
  const filter = createConditions()
  return { ...filter, where: () => (filter.conditions.length === 0 ? '1' : filter.conditions.join(' AND ')) }
}

/** Rows that one part of a list reads in the order of ids. */
const rowsAtOnce = 600
/** Rows that one part reads by an index, each from another page. */
export const maxFoundRows = 1_000

/** A query of the ids of a list's rows that uses an index of one of its filters. */
interface IndexedIds {
  sql: string
  values: readonly (string | number)[]
}

/** A list: its columns and table, and the filters whose rows an index can find. */
export interface ListSource {
  table: string
  /** SELECT and FROM, with the table first and the others joined by CROSS JOIN, which keeps that order. */
  select: string
  filter: Filter
  indexed: readonly IndexedIds[]
  /**
   * Returns the next ids below `end` that a filter matches, newest first and at most `maxFoundRows`, with the id that the
   * next part continues from; null after the last.
   */
  ordered?: ((end: number) => { ids: readonly number[]; next: number | null }) | undefined
  /** A query of the largest id that a row of the list may have, where one is known: newer rows are skipped. */
  newest?: IndexedIds | undefined
  /** The smallest id of the list, where one is known: older rows are not read. */
  from_id?: number | undefined
}

/** Returns the ids that an indexed filter matches, when its values are given. */
export function indexedBy(sql: string, ...wanted: readonly (string | number | null | undefined)[]): IndexedIds[] {
  const values = wanted.filter((value) => value !== undefined && value !== null)
  return values.length < wanted.length ? [] : [{ sql, values }]
}

/**
 * Returns the `ordered` of a list whose rows have one of these values in a column with an index.
 * @param condition of that index, where it has only some of the rows
 */
export function orderedBy(db: Database.Database, { table, column, values, condition = '1' }: IndexedColumn) {
  const part = `SELECT * FROM (
    SELECT id FROM ${table} WHERE ${column} = ? AND ${condition} AND id < ? ORDER BY id DESC LIMIT ${maxFoundRows})`
  const sql = `${values.map(() => part).join(' UNION ALL ')} ORDER BY id DESC LIMIT ${maxFoundRows}`
  return (end: number) => {
    const found = preparedOnce<{ id: number }>(db, sql).all(...values.flatMap((value) => [value, end]))
    const ids = found.map(({ id }) => id)
    return { ids, next: ids.length < maxFoundRows ? null : ids.at(-1)! }
  }
}

/** The sessions of that name: one of each project. */
export const sessionsNamed =
  'SELECT session.id FROM project CROSS JOIN session ON session.project_id = project.id WHERE session.session_id = ?'

export const slotsOfSession = `
  SELECT slot.id FROM job CROSS JOIN slot ON slot.job_id = job.id WHERE job.session IN (${sessionsNamed})`

/**
 * The newest slot of those sessions: one of their newest jobs. A job slower than a thousand later ones would be
 * missing, but no session has that many under way.
 */
export const newestSlotOfSession = `
  SELECT max(slot.id) FROM (
    SELECT id FROM job WHERE session IN (${sessionsNamed}) ORDER BY id DESC LIMIT ${maxFoundRows}
  ) newest CROSS JOIN slot ON slot.job_id = newest.id`

/**
 * Filters that were found to match more rows than a part, by query and values, the newest few. They still do: rows are
 * only added, and a state that replaces another is read in the order of ids, which is just as correct.
 */
const unselective = new Set<string>()
const maxUnselectiveFilters = 1_000

/** Whether an indexed filter matches no more rows than a part may read. */
function isSelective(db: Database.Database, { sql, values }: IndexedIds): boolean {
  const name = JSON.stringify([db.name, sql, values])
  if (unselective.has(name)) return false
  const { count } = preparedOnce<{ count: number }>(
    db,
    `SELECT count(*) AS count FROM (${sql} LIMIT ${maxFoundRows + 1})`,
  ).get(...values)!
  if (count <= maxFoundRows) return true
  if (unselective.size >= maxUnselectiveFilters) unselective.clear()
  unselective.add(name)
  return false
}

/** The statements of lists, by their text, the newest ones of each database. */
const statements = new WeakMap<Database.Database, Map<string, Database.Statement<(string | number)[]>>>()
const maxStatements = 200

/**
 * Prepares a statement the first time. A list that is read in a thousand parts would leave thousands of statements to the
 * garbage collector, which frees them all in one pause: 90 ms were measured.
 */
function preparedOnce<Row>(db: Database.Database, sql: string): Database.Statement<(string | number)[], Row> {
  const known = statements.get(db) ?? new Map<string, Database.Statement<(string | number)[]>>()
  if (known.size >= maxStatements) known.clear()
  const statement = known.get(sql) ?? db.prepare<(string | number)[]>(sql)
  known.set(sql, statement)
  statements.set(db, known)
  return statement as Database.Statement<(string | number)[], Row>
}

/** Returns the next part of a list, newest first: `next` may be set with fewer rows than `limit`. */
export function listPart<Row extends { id: number }>(
  db: Database.Database,
  { table, select, filter, indexed, ordered, newest, from_id = 0 }: ListSource,
  { limit, before }: PageQuery,
): Page<Row> {
  let end = before ?? Number.MAX_SAFE_INTEGER
  const selective = indexed.find((ids) => isSelective(db, ids))
  if (selective !== undefined) {
    const { sql, values } = selective
    const rows = preparedOnce<Row>(
      db,
      `${select} WHERE ${table}.id IN (${sql}) AND +${table}.id < ? AND ${filter.where()} ORDER BY ${table}.id DESC LIMIT ?`,
    ).all(...values, end, ...filter.values, limit + 1)
    return toPage(rows, limit)
  }
  if (ordered !== undefined) {
    const { ids, next } = ordered(end)
    const find = preparedOnce<Row>(db, `${select} WHERE ${table}.id = ? AND ${filter.where()}`)
    const rows: Row[] = []
    for (const id of ids) {
      const row = find.get(id, ...filter.values)
      if (row !== undefined && rows.push(row) > limit) return toPage(rows, limit)
    }
    return { rows, next }
  }
  if (before === null && newest !== undefined) {
    const id = db
      .prepare<(string | number)[], number | null>(newest.sql)
      .pluck()
      .get(...newest.values)
    end = (id ?? 0) + 1
  }
  const oldest = preparedOnce<{ id: number }>(
    db,
    `SELECT id FROM ${table} WHERE id < ? ORDER BY id DESC LIMIT 1 OFFSET ${rowsAtOnce - 1}`,
  ).get(end)
  const start = oldest?.id ?? 0
  const rows = preparedOnce<Row>(
    db,
    `${select} WHERE ${table}.id >= ? AND ${table}.id < ? AND ${filter.where()} ORDER BY ${table}.id DESC LIMIT ?`,
  ).all(start, end, ...filter.values, limit + 1)
  return rows.length > limit ? toPage(rows, limit) : { rows, next: start <= from_id ? null : start }
}

/** Prepares the statements of one value in `meta`, which is stored as JSON and missing until it is saved. */
export function metaValue<Value>(db: Database.Database, name: MetaName) {
  const find = db.prepare<[], string>(`SELECT value FROM meta WHERE name = '${name}'`).pluck()
  const save = db.prepare<[string]>(`INSERT OR REPLACE INTO meta (name, value) VALUES ('${name}', ?)`)
  return {
    find(): Value | null {
      const text = find.get()
      if (text === undefined) return null
      return parseMeta<Value>(text)
    },
    save: (value: Value): void => void save.run(JSON.stringify(value)),
  }
}
