/** What the tables share: the conditions and pages of lists, bounded caches of rows, and values of the table `meta`. */
import type Database from 'better-sqlite3'
import { parseJson, parseJsonObject } from '../../../src/foundation/json.ts'
import { type Page, StorageError } from '../store.ts'
import type { MetaName } from './state-check.ts'

/** The conditions of a list, collected one by one. */
export interface Filter {
  /** Adds a condition when all of its values are given. */
  add(condition: string, ...values: readonly (string | number | null | undefined)[]): void
  /** Returns the text after WHERE. */
  where(): string
  readonly values: readonly (string | number)[]
}

export function createFilter(): Filter {
  const conditions: string[] = []
  const values: (string | number)[] = []
  return {
    add(condition, ...wanted) {
      const present = wanted.filter((value) => value !== undefined && value !== null)
      if (present.length < wanted.length) return
      conditions.push(condition)
      values.push(...present)
    },
    where: () => (conditions.length === 0 ? '1' : conditions.join(' AND ')),
    values,
  }
}

/** Returns a page of rows that were read with one more than the limit. */
export function toPage<Row extends { id: number }>(rows: Row[], limit: number): Page<Row> {
  const page = rows.slice(0, limit)
  return { rows: page, next: rows.length > limit ? page.at(-1)!.id : null }
}

/** Adds a row to a cache of at most `size` rows. A full cache drops its older half. */
export function cacheRow<Key, Value>(rows: Map<Key, Value>, size: number, key: Key, value: Value): void {
  if (rows.size >= size) {
    let surplus = size / 2
    for (const oldest of rows.keys()) {
      if (surplus-- <= 0) break
      rows.delete(oldest)
    }
  }
  rows.set(key, value)
}

/**
 * Parses a JSON object of a row.
 * @throws StorageError for anything else, which only a damaged or edited file holds
 */
export function parseRow<Value>(text: string): Value {
  const value = parseJsonObject(text)
  if (value === null) throw notWritten()
  return value as Value
}

function notWritten(): StorageError {
  return new StorageError(new Error('a row is not the JSON that was written'), 'read')
}

/** Prepares the statements of one value in `meta`, which is stored as JSON and missing until it is saved. */
export function metaValue<Value>(db: Database.Database, name: MetaName) {
  const find = db.prepare<[], string>(`SELECT value FROM meta WHERE name = '${name}'`).pluck()
  const save = db.prepare<[string]>(`INSERT OR REPLACE INTO meta (name, value) VALUES ('${name}', ?)`)
  return {
    find(): Value | null {
      const text = find.get()
      if (text === undefined) return null
      const value = parseJson(text)
      if (value === undefined) throw notWritten()
      return value as Value
    },
    save: (value: Value): void => void save.run(JSON.stringify(value)),
  }
}
