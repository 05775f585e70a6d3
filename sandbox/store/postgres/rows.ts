/** Code that the tables share: the conditions and pages of lists, and values of the table `meta`. */
import type { IndexedColumn } from '../list-conditions.ts'
import { type Conditions, createConditions, parseMeta, toPage } from '../rows.ts'
import type { KeyListRow, Page, PageQuery } from '../store.ts'
import type { Value } from './servers/link.ts'
import type { Database } from './servers/open.ts'

/**
 * Returns a reader of single rows: rows requested while a read is under way share the next one, and so do those of one
 * round of the event loop. None is cached, and each read begins after its request.
 */
export function shareReads<Key, Row>(
  find: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Row>>,
): (key: Key) => Promise<Row | null> {
  let running: Promise<unknown> = Promise.resolve()
  let next: { keys: Set<Key>; rows: Promise<ReadonlyMap<Key, Row>> } | null = null
  return async (key) => {
    if (next === null) {
      const keys = new Set<Key>()
      const rows = running.then(nextRound).then(() => {
        next = null
        return find([...keys])
      })
      running = rows.catch(() => {})
      next = { keys, rows }
    }
    next.keys.add(key)
    return (await next.rows).get(key) ?? null
  }
}

function nextRound(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

export interface Filter extends Conditions {
  /** Returns the text after WHERE; its first parameter has this number. */
  where(first: number): string
}

export function createFilter(): Filter {
  const filter = createConditions()
  return {
    ...filter,
    where(first) {
      let number = first
      const text = filter.conditions.join(' AND ').replaceAll('?', () => `$${number++}`)
      return text === '' ? 'true' : text
    },
  }
}

/** A list: the columns and the table they are selected from. */
export interface ListSource {
  table: string
  /** SELECT and FROM, with the table first. */
  select: string
  filter: Filter
  /** Whether an index leads to few rows, so that all of them may be looked at. */
  isIndexed: boolean
  /** Column values to find the rows by while there are few: the first query that finds few is used. */
  narrowed?: readonly { column: string; by: string; value: Value }[]
  /** A column by which the next rows are found in the order of ids. */
  ordered?: IndexedColumn | null
  /** The smallest id of the list, where one is known: older rows are not read. */
  from_id?: number | undefined
  /** Rows that one part looks at in the order of ids, so a filter that matches none stays cheap. */
  rowsAtOnce?: number
}

/** The most values that a list is narrowed to. */
const maxFoundRows = 2_000

/** Resolves to the next part of a list, newest first: `next` may be set with fewer rows than `limit`. */
export async function listPart<Row extends { id: number }>(
  { read }: Pick<Database, 'read'>,
  { table, select, filter, isIndexed, narrowed = [], ordered = null, rowsAtOnce = 10_000, from_id = 0 }: ListSource,
  { limit, before }: PageQuery,
): Promise<Page<Row>> {
  const end = before ?? Number.MAX_SAFE_INTEGER
  for (const { column, by, value } of isIndexed ? [] : narrowed) {
    const found = await read<{ id: number }>(`${by} LIMIT ${maxFoundRows + 1}`, [value])
    if (found.length > maxFoundRows) continue
    const rows = await read<Row>(
      `${select} WHERE ${column} = ANY($3::bigint[]) AND ${table}.id < $1 AND ${filter.where(4)} ORDER BY ${table}.id + 0 DESC LIMIT $2`,
      [end, limit + 1, found.map(({ id }) => id), ...filter.values],
    )
    return toPage(rows, limit)
  }
  if (ordered !== null && !isIndexed) {
    const ids = await findOrdered(read, ordered, end)
    const rows = await read<Row>(
      `${select} WHERE ${table}.id = ANY($1::bigint[]) AND ${filter.where(3)} ORDER BY ${table}.id + 0 DESC LIMIT $2`,
      [ids, limit + 1, ...filter.values],
    )
    if (rows.length > limit || ids.length < maxFoundRows) return toPage(rows, limit)
    return { rows, next: ids.at(-1)! }
  }
  const where = filter.where(4)
  const text = (least: string) =>
    `${select} WHERE ${table}.id < $1 AND ${table}.id >= ${least} AND $3::bigint IS NOT NULL AND ${where} ORDER BY ${table}.id ${isIndexed ? '+ 0 ' : ''}DESC LIMIT $2`
  if (isIndexed || filter.values.length === 0) {
    const rows = await read<Row>(text('0'), [end, limit + 1, 0, ...filter.values])
    return toPage(rows, limit)
  }
  const [first] = await read<{ id: number }>(
    `SELECT id FROM ${table} WHERE id < $1 ORDER BY id DESC LIMIT 1 OFFSET ${rowsAtOnce - 1}`,
    [end],
  )
  const start = first?.id ?? 0
  const rows = await read<Row>(text('$3'), [end, limit + 1, start, ...filter.values])
  return rows.length > limit ? toPage(rows, limit) : { rows, next: start <= from_id ? null : start }
}

/** Resolves to the next ids below `end` of the rows that have one of the values, newest first. */
async function findOrdered(
  read: Database['read'],
  { table, column, values, condition = 'true' }: IndexedColumn,
  end: number,
): Promise<number[]> {
  const part = (_: string, index: number) =>
    `(SELECT id FROM ${table} WHERE ${column} = $${index + 2} AND ${condition} AND id < $1 ORDER BY id DESC LIMIT ${maxFoundRows})`
  const text = `SELECT id FROM (${values.map(part).join(' UNION ALL ')}) found ORDER BY id DESC LIMIT ${maxFoundRows}`
  return (await read<{ id: number }>(text, [end, ...values])).map(({ id }) => id)
}

/** The sessions of that name: one of each project. */
export const sessionsNamed = 'SELECT session.id FROM session WHERE session.session_id = ?'

export const slotsOfSession = `SELECT slot.id FROM job JOIN slot ON slot.job_id = job.id WHERE job.session IN (${sessionsNamed})`

/* Projects and keys */

export const projectColumns = 'id, client_id, tenant_id, config_revision, settings'
export const keyColumns = 'id, project_id, class, mode, created_at_ms, revoked_at_ms'

export type StoredKey = Omit<KeyListRow, 'project'> & { project_id: number }

/** The names of values in `meta`, as in the SQLite adapter. */
export type MetaName = 'clock' | 'faults'

/** Resolves to a value of `meta`; null until it is saved. */
export async function findMeta<Result>({ read }: Pick<Database, 'read'>, name: MetaName): Promise<Result | null> {
  const [row] = await read<{ value: string }>('SELECT value FROM meta WHERE name = $1', [name])
  return row === undefined ? null : parseMeta<Result>(row.value)
}
