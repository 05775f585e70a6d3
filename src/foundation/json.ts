/** JSON as types and values, without a dependency. */

export type Json = string | number | boolean | null | Json[] | JsonObject
export interface JsonObject {
  [name: string]: Json
}

/** Returns the value of a JSON text, or undefined when the text is not JSON. (`null` is JSON.) */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
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
 * Whether a value is an object whose fields have these types, such as `{ pid: 'number', reason: 'string|null' }`. For files
 * of our own, which need no schema.
 */
export function hasTypes(value: unknown, types: Readonly<Record<string, string>>): value is Record<string, unknown> {
  const typeOf = (field: unknown) => (field === null ? 'null' : Array.isArray(field) ? 'array' : typeof field)
  return isObject(value) && Object.entries(types).every(([name, type]) => type.split('|').includes(typeOf(value[name])))
}
