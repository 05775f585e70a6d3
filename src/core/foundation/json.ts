/**
 * JSON as types and values, without a dependency, and dotted paths into it: `decision.assets.title`, `slot_ids.0`.
 * Numbers in a path index arrays. Only own properties are read, and no property is written through a prototype.
 */

export type Json = string | number | boolean | null | Json[] | JsonObject
export interface JsonObject {
  [name: string]: Json
}

/** JSON of others nests at most this deep: code that reads a value may recurse. The contract's own shapes need six levels. */
export const maxNestingLevels = 64

/** Returns the value of a JSON text, or undefined when the text is not JSON or nests deeper than the API accepts. (`null` is JSON.) */
export function parseJson(text: string): Json | undefined {
  return nestsDeeper(text) ? undefined : parseAnyJson(text)
}

/** The same at any depth: for code that reads only known fields of the value, and never walks through it. */
export function parseAnyJson(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether brackets outside strings nest deeper than the API accepts: cheap, so that it can come before every parser. */
export function nestsDeeper(text: string): boolean {
  if (!hasManyBrackets(text)) return false
  let depth = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (inString) {
      if (code === 0x5c) index++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxNestingLevels) return true
    } else if (code === 0x7d || code === 0x5d) depth--
  }
  return false
}

/** Whether there are enough brackets to nest too deep, in strings or not: few bodies have that many. */
function hasManyBrackets(text: string): boolean {
  let left = maxNestingLevels
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) if (--left < 0) return true
  }
  return false
}

/** Returns the object of a JSON text, or null when the text is not JSON or not an object. */
export function parseJsonObject(text: string): JsonObject | null {
  const value = parseJson(text)
  return isObject(value) ? value : null
}

/** Whether a value is an object with named properties: not null, not an array. */
export function isObject(value: Json | undefined): value is JsonObject
export function isObject(value: unknown): value is Record<string, unknown>
export function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Whether a value is an object whose fields have these types, such as `{ pid: 'number', reason: 'string|null' }`. For
 * our own files, which need no schema.
 */
export function hasTypes<Value extends object>(
  value: unknown,
  types: Readonly<Record<keyof Value, string>>,
): value is Value {
  const nameType = (field: unknown) => (field === null ? 'null' : Array.isArray(field) ? 'array' : typeof field)
  return (
    isObject(value) &&
    Object.entries<string>(types).every(([name, type]) => type.split('|').includes(nameType(value[name])))
  )
}

/**
 * Characters that change the reading direction, or are invisible, and that JSON permits unescaped. Joiners stay: emoji
 * and some scripts need them.
 */
const hidden = /[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/** Returns JSON text for reading: characters that would reorder or hide a part of the line are escaped, as `\u202e`. */
export function readableJson(text: string): string {
  return JSON.stringify(text).replace(hidden, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Returns the value at a path, dotted or as its names, or undefined when there is none. The empty path is the whole value. */
export function valueAt(whole: Json | undefined, path: string | readonly PropertyKey[]): Json | undefined
export function valueAt(whole: unknown, path: string | readonly PropertyKey[]): unknown
export function valueAt(whole: unknown, path: string | readonly PropertyKey[]): unknown {
  if (path === '') return whole
  let value = whole
  for (const name of typeof path === 'string' ? path.split('.') : path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<PropertyKey, unknown>)[name]
  }
  return value
}

/** Returns a copy with one value replaced. Missing objects and arrays on the way are created. */
export function withValue(whole: Json | undefined, path: string, value: Json): Json {
  const [name = '', ...rest] = path.split('.')
  const inner = (before: Json | undefined) => (rest.length === 0 ? value : withValue(before, rest.join('.'), value))
  if (Array.isArray(whole) || (isIndex(name) && !isObject(whole))) {
    const list = Array.isArray(whole) ? [...whole] : []
    list[Number(name)] = inner(list[Number(name)])
    return list
  }
  const object = isObject(whole) ? whole : {}
  return { ...object, [name]: inner(object[name]) }
}

/** Returns a copy with one value removed; the same value when there is nothing at the path. */
export function withoutValue(whole: Json, path: string): Json {
  const [name = '', ...rest] = path.split('.')
  if (Array.isArray(whole)) {
    if (rest.length === 0) return whole.filter((_, index) => String(index) !== name)
    return whole.map((item, index) => (String(index) === name ? withoutValue(item, rest.join('.')) : item))
  }
  if (!isObject(whole) || !Object.hasOwn(whole, name)) return whole
  const { [name]: inner, ...others } = whole
  if (rest.length > 0 && inner !== undefined) return { ...whole, [name]: withoutValue(inner, rest.join('.')) }
  return others
}

/**
 * Writes one value into an object in place, creating objects and arrays on the way; values in between that are neither
 * are replaced. Returns false, with nothing written at the end of the path, when an array on the way has no such index:
 * an array accepts its own indices and the next one.
 */
export function setValue(target: Record<string, unknown>, path: readonly string[], value: unknown): boolean {
  let place: Record<string, unknown> | unknown[] = target
  for (const [index, name] of path.entries()) {
    if (Array.isArray(place) && !(isIndex(name) && Number(name) <= place.length)) return false
    const present: unknown = Object.hasOwn(place, name) ? (place as Record<string, unknown>)[name] : undefined
    const next: unknown =
      index === path.length - 1 ? value : isContainer(present) ? present : isIndex(path[index + 1]!) ? [] : {}
    // Not by assignment, which would not create a property named __proto__.
    Object.defineProperty(place, name, { value: next, enumerable: true, configurable: true, writable: true })
    place = next as Record<string, unknown>
  }
  return true
}

/** Whether a value can be written into: an exact number (exact-numbers.ts) is a frozen object. */
function isContainer(value: unknown): value is Record<string, unknown> | unknown[] {
  return typeof value === 'object' && value !== null && !Object.isFrozen(value)
}

function isIndex(name: string): boolean {
  return /^\d{1,6}$/.test(name)
}

/** Returns an object without its undefined fields. */
export function withoutUndefined<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: NonNullable<Fields[Name]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
