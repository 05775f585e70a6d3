/** Replaces what the strings of a JSON text have, and nothing else: numbers, and the names of fields of the contract, stay. */
import { fieldRoles } from '#contract/recordings/field-roles.ts'
import { readJsonString, replaceJsonStrings } from '#contract/recordings/json-strings.ts'
import { parseJson } from '#foundation/json.ts'

/** Between two strings. Its quotes end a value, as those of JSON do. */
const separator = '"\ufdd0\ufdd1"'

/** @param replace is called with all strings at once, as they are written: for each of them alone it would take longer */
export function replaceJsonTexts(text: string, replace: (text: string) => string): string {
  const raws: string[] = []
  replaceEach(text, (raw) => {
    raws.push(raw)
    return null
  })
  const all = separator + raws.join(separator) + separator
  const whole = replace(all)
  if (whole === all) return text
  const parts = whole.split(separator).slice(1, -1)
  const replaced = parts.length === raws.length ? parts : raws.map(replace)
  let at = 0
  return replaceEach(text, (raw) => {
    const kept = replaced[at++] ?? raw
    // A part of an escape can be that of a secret.
    return typeof parseJson(`"${kept}"`) === 'string' ? kept : JSON.stringify(replace(readJsonString(raw))).slice(1, -1)
  })
}

function replaceEach(text: string, replace: (raw: string) => string | null): string {
  return replaceJsonStrings(text, {
    string: replace,
    name: (raw) => (Object.hasOwn(fieldRoles, raw) ? null : replace(raw)),
  })
}
