/** The fields of recorded and sent bodies, flat, each with its role. */
import { type FieldRole, findRole } from '#contract/recordings/field-roles.ts'
import { isObject, type Json } from '#foundation/json.ts'

export interface Field {
  /** Dotted, with the index of items: `slot_ids[0]`. */
  path: string
  role: FieldRole
  value: string | number | boolean | null
}

/** Returns every field that is no object or array. The items of an array have the role of its name. */
export function listFields(value: Json, path = '', name = ''): Field[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => listFields(item, `${path}[${index}]`, name))
  if (isObject(value)) {
    const prefix = path === '' ? '' : `${path}.`
    return Object.entries(value).flatMap(([key, inner]) => listFields(inner, prefix + key, key))
  }
  return [{ path, role: findRole(name), value }]
}

/** Returns the identifiers and tokens of a body, in its order. */
export function listNames(body: Json): string[] {
  return listFields(body).flatMap(({ role, value }) =>
    typeof value === 'string' && (role === 'identifier' || role === 'token') ? [value] : [],
  )
}
