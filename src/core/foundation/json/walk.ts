/** One way through JSON values, for all that search or copy them. Exact numbers are values without fields. */

import type { Json } from '../json.ts'
import { isExactNumber } from './exact-numbers.ts'

/** A value inside another, and how it is reached. */
export interface Visited {
  readonly value: unknown
  /** The name of its field; of an item that of its array; empty for the whole value. */
  readonly name: string
  /** The name of its field, or its index in an array; empty for the whole value. */
  readonly key: string | number
  /** Names of fields, and indices of items as numbers. */
  readonly path: readonly (string | number)[]
}

/** A value, and the one that it is in. Requests are walked: the path is put together only when it is read. */
class Step implements Visited {
  readonly value: unknown
  readonly name: string
  readonly key: string | number
  readonly outer: Step | null

  constructor(value: unknown, name: string, key: string | number, outer: Step | null) {
    this.value = value
    this.name = name
    this.key = key
    this.outer = outer
  }

  get path(): (string | number)[] {
    const path: (string | number)[] = []
    for (let at: Step = this; at.outer !== null; at = at.outer) path.push(at.key)
    return path.reverse()
  }
}

/**
 * Returns a value and every value in it, outer ones first, in the order of the text. Iterative: bodies of others may nest
 * deeper than the stack. @param isEntered whether to visit what is in a value; always by default
 */
export function* walkJson(whole: unknown, isEntered: (visited: Visited) => boolean = () => true): Generator<Visited> {
  const open = [new Step(whole, '', '', null)]
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    yield step
    const { value, name } = step
    if (typeof value !== 'object' || value === null || isExactNumber(value) || !isEntered(step)) continue
    // The last is put down first, so that the first is taken up next.
    if (Array.isArray(value)) {
      for (let index = value.length - 1; index >= 0; index--) open.push(new Step(value[index], name, index, step))
    } else {
      for (const [key, field] of Object.entries(value).reverse()) open.push(new Step(field, key, key, step))
    }
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
  replace: (value: Scalar, at: Pick<Visited, 'name' | 'path'>) => Json,
  at: Pick<Visited, 'name' | 'path'> = { name: '', path: [] },
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
