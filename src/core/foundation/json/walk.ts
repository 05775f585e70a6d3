/** One way through JSON values, for all that search or copy them. Exact numbers are values without fields. */

import type { Json } from '../json.ts'
import { isExactNumber } from './exact-numbers.ts'

/** A value inside another, and how it is reached. */
export interface Visited {
  value: unknown
  /** The name of its field; of an item that of its array; empty for the whole value. */
  name: string
  /** Names of fields, and indices of items as numbers. */
  path: readonly (string | number)[]
}

/**
 * Returns a value and every value in it, outer ones first, in the order of the text. Iterative: bodies of others may nest
 * deeper than the stack. @param isEntered whether to visit what is in a value; always by default
 */
export function* walkJson(whole: unknown, isEntered: (visited: Visited) => boolean = () => true): Generator<Visited> {
  const open: Visited[] = [{ value: whole, name: '', path: [] }]
  for (let visited = open.pop(); visited !== undefined; visited = open.pop()) {
    yield visited
    const { value, name, path } = visited
    if (typeof value !== 'object' || value === null || isExactNumber(value) || !isEntered(visited)) continue
    const inner = Array.isArray(value)
      ? value.map((item: unknown, index): Visited => ({ value: item, name, path: [...path, index] }))
      : Object.entries(value).map(([key, field]): Visited => ({ value: field, name: key, path: [...path, key] }))
    for (const each of inner.reverse()) open.push(each)
  }
}

/** Returns a path as the contract writes it, with `[]` for the items of an array: `fields[].path`. */
export function contractPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[]` : text === '' ? String(step) : `${text}.${String(step)}`),
    '',
  )
}

type Scalar = Exclude<Json, object>

/**
 * Returns a copy with other values in place of those that are no object and no array. For values that nest at most as deep
 * as the API accepts.
 */
export function mapJson(
  value: unknown,
  replace: (value: Scalar, at: Omit<Visited, 'value'>) => Json,
  at: Omit<Visited, 'value'> = { name: '', path: [] },
): Json {
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return replace(value as Scalar, at)
  const { name, path } = at
  if (Array.isArray(value)) {
    return value.map((item, index) => mapJson(item, replace, { name, path: [...path, index] }))
  }
  const fields = Object.entries(value).map(([key, field]): [string, Json] => [
    key,
    mapJson(field, replace, { name: key, path: [...path, key] }),
  ])
  return Object.fromEntries(fields)
}
