/** Dotted paths into JSON: `decision.assets.title`, `slot_ids.0`. */
import type { JsonValue } from '../json.ts'

/** The value at a path; undefined where there is none. The empty path is the whole. */
export function valueAt(whole: JsonValue | undefined, path: string): JsonValue | undefined {
  if (path === '') return whole
  let value: JsonValue | undefined = whole
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Object.hasOwn(value, name) ? (value as Record<string, JsonValue>)[name] : undefined
  }
  return value
}

/** A copy with one member written, with the objects and lists on the way. */
export function withValue(whole: JsonValue | undefined, path: string, value: JsonValue): JsonValue {
  const [name = '', ...rest] = path.split('.')
  const inner = (before: JsonValue | undefined) =>
    rest.length === 0 ? value : withValue(before, rest.join('.'), value)
  if (Array.isArray(whole) || (/^\d+$/.test(name) && !isObject(whole))) {
    const list = Array.isArray(whole) ? [...whole] : []
    list[Number(name)] = inner(list[Number(name)])
    return list
  }
  const object = isObject(whole) ? whole : {}
  return { ...object, [name]: inner(object[name]) }
}

/** A copy without one member. */
export function withoutValue(whole: JsonValue, path: string): JsonValue {
  const [name = '', ...rest] = path.split('.')
  if (Array.isArray(whole)) {
    if (rest.length === 0) return whole.filter((_, index) => String(index) !== name)
    return whole.map((item, index) => (String(index) === name ? withoutValue(item, rest.join('.')) : item))
  }
  if (!isObject(whole) || !(name in whole)) return whole
  if (rest.length > 0) return { ...whole, [name]: withoutValue(whole[name] as JsonValue, rest.join('.')) }
  const { [name]: _, ...others } = whole
  return others
}

export function isObject(value: unknown): value is { [name: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
