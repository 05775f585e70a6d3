/**
 * Personal data in the fields of a request that clients fill with words of their own (A116): session ids, topics, metadata
 * and labels. The sandbox warns of it or refuses it; the rules of diagnosis look for it in the journal and in files.
 */
import { isExactNumber } from '#foundation/json/exact-numbers.ts'
import { walkJson } from '#foundation/json/walk.ts'
import { valueAt } from '#foundation/json.ts'
import { findPersonalData } from '#foundation/personal-data/personal-data.ts'
import type { PersonalKind } from '#foundation/personal-data/personal-kinds.ts'

/** A field with personal data in it, without the data. */
export interface PersonalField {
  /** The dotted path: `metadata.contact.phone`. A name that is personal data itself is `[name]`. */
  path: string
  /** The part of the body that it belongs to: `['metadata']`. */
  part: readonly string[]
  kinds: readonly PersonalKind[]
  isSession: boolean
}

/** Texts, in all forms of a job, a consent and a beacon. */
const sessionParts = [['session_id'], ['chat_session_id'], ['context', 'chat_session_id']]
const textParts = [['prompt', 'topic'], ['context', 'topic'], ['model_id'], ['job', 'model_id']]
/** Objects whose fields are up to the client. */
const openParts = [
  ['metadata'],
  ['measurements'],
  ['publisher'],
  ['targeting'],
  ['pacing'],
  ['routing'],
  ['verification'],
  ['context', 'geo'],
  ['context', 'device'],
  ['overrides', 'publisher'],
  ['overrides', 'targeting'],
  ['overrides', 'pacing'],
]

/** Returns the fields of a body that seem to contain personal data, in a fixed order. */
export function findPersonalFields(body: unknown): PersonalField[] {
  const found: PersonalField[] = []
  for (const part of sessionParts) {
    const kinds = sessionKinds(valueAt(body, part))
    if (kinds.length > 0) found.push({ path: part.join('.'), part, kinds, isSession: true })
  }
  for (const part of textParts) {
    const kinds = valueKinds(valueAt(body, part))
    if (kinds.length > 0) found.push({ path: part.join('.'), part, kinds, isSession: false })
  }
  for (const part of openParts) {
    const value = valueAt(body, part)
    if (typeof value === 'object' && value !== null) found.push(...searchObject(value, part))
  }
  return found
}

/** A session id that is nothing but a number in groups is one that somebody can be called at (A01). */
const groupedNumber = /^\(?[0-9]{2,5}\)?[ .-][0-9]{3,4}[ .-][0-9]{3,4}$/

function sessionKinds(value: unknown): readonly PersonalKind[] {
  const kinds = valueKinds(value)
  if (kinds.length > 0 || typeof value !== 'string' || !groupedNumber.test(value)) return kinds
  return ['phone_number']
}

/** Smaller numbers have fewer digits than a card. */
const leastCardNumber = 1e13

function valueKinds(value: unknown): readonly PersonalKind[] {
  if (typeof value === 'string') return findPersonalData(value)
  if (typeof value === 'number') return value >= leastCardNumber ? findPersonalData(String(value)) : []
  return isExactNumber(value) ? findPersonalData(value.rawJSON) : []
}

const noKinds: readonly PersonalKind[] = []

function searchObject(object: object, part: readonly string[]): PersonalField[] {
  const found: PersonalField[] = []
  for (const visited of walkJson(object)) {
    const { value, key } = visited
    if (value === object) continue
    const { kinds: inName, words } = readName(String(key))
    const inValue = fieldKinds(words, value)
    if (inName.length === 0 && inValue.length === 0) continue
    const names = visited.path.map((name) => (readName(String(name)).kinds.length > 0 ? '[name]' : name))
    found.push({
      path: [...part, ...names].join('.'),
      part,
      kinds: [...new Set([...inName, ...inValue])],
      isSession: false,
    })
  }
  return found
}

/** What the name of a field says of its value: `{"phone": "5551234567"}`. */
const meanings: readonly [name: RegExp, words: string][] = [
  [/(?:phone|mobile|msisdn|whatsapp|telefon|tel)(?:[_-]?(?:number|no|nr))?$/i, 'phone'],
  [/(?:home|billing|shipping|delivery|postal|street)[_-]?address$|^address$|^anschrift$/i, 'my address'],
  [/(?:api|access|secret|private)[_-]?(?:key|token)$/i, 'api key'],
]

interface FieldName {
  /** The kinds of personal data that the name itself seems to contain. */
  kinds: readonly PersonalKind[]
  /** What it says of its value; undefined for most names. */
  words: string | undefined
}

/** The names that bodies repeat, each looked at once: every beacon has the same ones. */
const knownNames = new Map<string, FieldName>()
const maxKnownNames = 1_000

function readName(name: string): FieldName {
  const known = knownNames.get(name)
  if (known !== undefined) return known
  const read = { kinds: findPersonalData(name), words: meanings.find(([form]) => form.test(name))?.[1] }
  if (read.kinds.length === 0 && name.length <= 64 && knownNames.size < maxKnownNames) knownNames.set(name, read)
  return read
}

/** Smaller numbers have fewer digits than a telephone number. */
const leastPhoneNumber = 1e6

function fieldKinds(words: string | undefined, value: unknown): readonly PersonalKind[] {
  if (typeof value === 'boolean' || (typeof value === 'number' && value < leastPhoneNumber)) return noKinds
  const kinds = valueKinds(value)
  if (kinds.length > 0 || words === undefined || (typeof value !== 'string' && typeof value !== 'number')) return kinds
  return findPersonalData(`${words}: ${value}`)
}
