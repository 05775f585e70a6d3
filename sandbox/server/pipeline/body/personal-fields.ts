/** Personal data in a request (A116): a warning, or a refusal where the settings of the project say so. */

import { ApiError } from '#contract/errors.ts'
import { findPersonalFields, type PersonalField } from '#contract/personal-data/personal-fields.ts'
import { listPersonalKinds } from '#foundation/personal-data/personal-kinds.ts'
import { addWarning, type Context } from '#operations/context.ts'
import { maxListedFields } from './secret-fields.ts'

/**
 * Warns of personal data in a validated body, or refuses it. `onRefused` gets the body as the journal may keep it: without
 * the fields that have personal data. @throws ApiError 400 personal_data_in_field
 */
export function checkPersonalData(context: Context, body: unknown, onRefused: (kept: unknown) => void): void {
  const { caller } = context
  if (caller === null) return
  const found = findPersonalFields(body)
  if (found.length === 0) return
  if (caller.project.settings.personal_data === 'reject') {
    onRefused(found.reduce((kept, { part }) => removePart(kept, part), body))
    throw new ApiError('personal_data_in_field', { fields: found.slice(0, maxListedFields).map(toFieldError) })
  }
  for (const { isSession } of found) addWarning(context, isSession ? 'session_id_personal' : 'personal_data')
}

function toFieldError({ path, kinds }: PersonalField) {
  return { path, message: `seems to contain ${listPersonalKinds(kinds)}`, expected: 'no personal data' }
}

/** Returns a copy with the length of a part instead of it. */
function removePart(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) {
    const { length } = typeof value === 'string' ? value : JSON.stringify(value)
    return typeof value === 'string' && value.startsWith('[removed') ? value : `[removed: ${length} characters]`
  }
  const object = value as Record<string, unknown>
  return { ...object, [name]: removePart(object[name], rest) }
}
