/** One way through JSON values, for all that search or copy them. Exact numbers are values without fields. */

import type { Json } from '../json.ts'
import { isExactNumber } from './exact-numbers.ts'

/** A value inside another, and how it is reached. */
export interface Visited {
  value: unknown
  /** The name of its field; of an item that of its array; empty for the whole value. */
  name: string
  /** Names of fields, and indices of items as numbers. */
  readonly path: readonly (string | number)[]
}

/** A value, and the one that it is in. The path is put together when it is read: copied at each level, it took the time of its depth. */
interface Step extends Visited {
  outer: Step | null
  key: string | number
}

function createStep(value: unknown, name: string, outer: Step | null, key: string | number): Step {
  const step: Step = {
    ...{ value, name, outer, key },
    get path() {
      const path: (string | number)[] = []
      for (let at: Step = step; at.outer !== null; at = at.outer) path.push(at.key)
      return path.reverse()
    },
  }
  return step
}

/**
 * Returns a value and every value in it, outer ones first, in the order of the text. Iterative: bodies of others may nest
 * deeper than the stack. @param isEntered whether to visit what is in a value; always by default
 */
export function* walkJson(whole: unknown, isEntered: (visited: Visited) => boolean = () => true): Generator<Visited> {
  const open = [createStep(whole, '', null, '')]
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    yield step
    const { value, name } = step
    if (typeof value !== 'object' || value === null || isExactNumber(value) || !isEntered(step)) continue
    const outer = step
    const inner = Array.isArray(value)
      ? value.map((item: unknown, index) => createStep(item, name, outer, index))
      : Object.entries(value).map(([key, field]) => createStep(field, key, outer, key))
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
