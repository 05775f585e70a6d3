/** The fields of recorded and sent bodies, flat, each with its role. */
import { type FieldRole, findRole } from '#contract/recordings/field-roles.ts'
import { walkJson } from '#foundation/json/walk.ts'
import type { Json } from '#foundation/json.ts'

export interface Field {
  /** Dotted, with the index of items: `slot_ids[0]`. */
  path: string
  role: FieldRole
  value: string | number | boolean | null
}

/** Returns every field that is no object or array. The items of an array have the role of its name. */
export function listFields(whole: Json, part = ''): Field[] {
  return [...walkJson(whole)].flatMap(({ value, name, path }) => {
    if (typeof value === 'object' && value !== null) return []
    const text = path.reduce<string>(
      (before, step) => before + (typeof step === 'number' ? `[${step}]` : `.${step}`),
      part,
    )
    return [{ path: text.replace(/^\./, ''), role: findRole(name), value: value as Field['value'] }]
  })
}

/** Returns the identifiers and tokens of a body, in its order. */
export function listNames(body: Json): string[] {
  return listFields(body).flatMap(({ role, value }) =>
    typeof value === 'string' && (role === 'identifier' || role === 'token') ? [value] : [],
  )
}
