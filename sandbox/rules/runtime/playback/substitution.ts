/**
 * Puts the present into a recorded response: identifiers, times, tokens, addresses and counts are those of the emulator's
 * own response, at the same path; everything else is as the service said it.
 */
import { type FieldRole, findRole } from '#contract/recordings/field-roles.ts'
import { isObject, type Json } from '#foundation/json.ts'

const ofThePresent: ReadonlySet<FieldRole> = new Set(['identifier', 'time', 'token', 'address', 'count'])

interface Substituted {
  body: Json
  /** Recorded identifiers and tokens, each with the present one in its place. */
  pairs: [recorded: string, present: string][]
  /** Whether every token has a present one: a recording has none that works. */
  isComplete: boolean
}

interface Addresses {
  /** Where the service was. */
  recorded: string
  /** Where the emulator is. */
  present: string
}

/** @param present the emulator's response, null when it gave none */
export function substitute(recorded: Json, present: Json | null, addresses: Addresses): Substituted {
  const result: Substituted = { body: null, pairs: [], isComplete: true }
  result.body = put(recorded, present ?? undefined, '', { result, addresses })
  return result
}

interface Work {
  result: Substituted
  addresses: Addresses
}

function put(recorded: Json, present: Json | undefined, name: string, work: Work): Json {
  if (Array.isArray(recorded)) {
    const items = Array.isArray(present) ? present : []
    if (ofThePresent.has(findRole(name)) && Array.isArray(present) && items.length !== recorded.length) return present
    return recorded.map((item, index) => put(item, items[index], name, work))
  }
  if (isObject(recorded)) {
    const fields = isObject(present) ? present : {}
    return Object.fromEntries(
      Object.entries(recorded).map(([key, inner]) => [
        key,
        put(inner, Object.hasOwn(fields, key) ? fields[key] : undefined, key, work),
      ]),
    )
  }
  return putField(recorded, present, findRole(name), work)
}

function putField(
  recorded: string | number | boolean | null,
  present: Json | undefined,
  role: FieldRole,
  { result, addresses }: Work,
): Json {
  if (recorded === null) return null
  if (ofThePresent.has(role)) {
    if (present !== undefined && present !== null && typeof present !== 'object') {
      if (typeof recorded === 'string' && typeof present === 'string' && (role === 'identifier' || role === 'token'))
        result.pairs.push([recorded, present])
      return present
    }
    if (role === 'token') result.isComplete = false
  }
  return typeof recorded === 'string' ? moveAddress(recorded, addresses) : recorded
}

/** An address of the service that the emulator has no field for leads to the emulator all the same. */
function moveAddress(text: string, { recorded, present }: Addresses): string {
  return recorded !== '' && text.startsWith(`${recorded}/`) ? present + text.slice(recorded.length) : text
}
