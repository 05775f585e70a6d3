/** Replaces what the strings of a JSON text have, and nothing else: numbers, and the names of fields of the contract, stay. */

import { parseJson } from '#foundation/json.ts'
import { fieldRoles } from './field-roles.ts'
import { type Edit, readJsonString, replaceJsonStrings } from './json-strings.ts'

/** Between two strings. Its quotes end a value, as those of JSON do. */
const separator = '"\ufdd0\ufdd1"'

/** @param replace is called with all strings at once, as they are written: for each of them alone it would take longer */
export function replaceJsonTexts(text: string, replace: (text: string) => string): string {
  const held: { raw: string; edit: Edit }[] = []
  const hold = (raw: string) => {
    const edit: Edit = { text: null }
    held.push({ raw, edit })
    return edit
  }
  return replaceJsonStrings(text, {
    string: hold,
    name: (raw) => (Object.hasOwn(fieldRoles, raw) ? null : hold(raw)),
    end() {
      const all = separator + held.map(({ raw }) => raw).join(separator) + separator
      const whole = replace(all)
      if (whole === all) return
      const parts = whole.split(separator).slice(1, -1)
      for (const [index, { raw, edit }] of held.entries()) {
        const kept = (parts.length === held.length ? parts[index] : null) ?? replace(raw)
        // A part of an escape can be that of a secret.
        edit.text = isString(kept) ? kept : JSON.stringify(replace(readJsonString(raw))).slice(1, -1)
      }
    },
  })
}

function isString(raw: string): boolean {
  return typeof parseJson(`"${raw}"`) === 'string'
}
