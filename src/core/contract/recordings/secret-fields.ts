/** Secrets in JSON texts, by the names of their fields and those around them. */

import { replaceEncoded } from '#foundation/readings/readings.ts'
import { redactCode, redactLiterals } from './code-secrets.ts'
import { findRole } from './field-roles.ts'
import { type Edit, isJsonLike, readJsonString, replaceJsonStrings } from './json-strings.ts'
import { withoutJsonKeys } from './private-keys.ts'
import {
  isOpaque,
  isSecretBeside,
  isSecretNumber,
  isSecretText,
  isTokenName,
  isUnknownSecret,
  namesSecret,
  type Secrecy,
  secrecyIn,
} from './secret-names.ts'
import { pairNames, redacted, withoutSecretWords } from './secret-shapes.ts'

/** JSON in a string of JSON, at most this deep: what is deeper is not kept. */
const maxInner = 3

/** An object or an array that is open. */
interface Level {
  isArray: boolean
  /** The name of its field. */
  name: string
  secrecy: Secrecy
  /** The name in a pair of name and value, if it is that of a secret; of an array its last string. */
  pair_name: string
  /** The name of the pair whose value it is; null outside of one. */
  value_for: string | null
  /** The values of a pair whose name is still to come. */
  held: Held[]
  /** Those of the pair whose value it is; null outside of one. */
  held_around: Held[] | null
}

interface Held {
  text: string
  edit: Edit
  isNumber: boolean
}

const valueName =
  /^(?:v|vals?|values?|contents?|data|default|payload|raw|plain|plaintext|(?:string|secret|field|param|plain|raw|text|new|old|current)_?value)$/i

/** Whether a field can have the value of a pair of name and value. */
export function isValueName(name: string): boolean {
  return name.length <= maxPairName && valueName.test(name)
}

/** Returns JSON text without the secrets that the names of its fields give away, and without those of a known shape. @param isReading whether it is one: nothing in it is decoded then */
export function redactNamedSecrets(text: string, depth = 0, isReading = false): string {
  const redact = (inner: string) => (isReading ? redactPlain : redactText)(inner, depth)
  const levels: Level[] = []
  let level = openLevel(null, '', false)
  return replaceJsonStrings(withoutJsonKeys(text, redacted), {
    string(raw, name) {
      const value = readJsonString(raw)
      const isRedacted = value === '' || value.endsWith('redacted') || value.endsWith(redacted)
      const plain = isRedacted ? null : redactValue(value, name, level.secrecy, redact)
      if (isRedacted) return null
      return completePair(level, value, name)
        ? redacted
        : holdValue(level, name, { text: value, plain, isNumber: false })
    },
    // It stays a number: a client may read it as one.
    number(raw, name) {
      const pair = findPairName(level, name)
      if (isSecretNumber(raw, isValueName(name) ? level.name : name) || (pair !== null && isSecretNumber(raw, pair)))
        return '0'
      return holdValue(level, name, { text: raw, plain: null, isNumber: true })
    },
    name: (raw) => redactName(readJsonString(raw), level.secrecy, redact),
    open(name, isArray) {
      levels.push(level)
      level = openLevel(level, name, isArray)
    },
    close() {
      level = levels.pop() ?? level
    },
  })
}

function openLevel(outer: Level | null, name: string, isArray: boolean): Level {
  const isValue = outer !== null && !outer.isArray && isValueName(name)
  const { pair_name = '', value_for = null, held_around = null, held = [] } = outer ?? {}
  return {
    ...{ isArray, name, secrecy: secrecyIn(name, outer?.secrecy ?? 'none'), pair_name: '' },
    value_for: isValue && pair_name !== '' ? pair_name : value_for,
    held: [],
    held_around: isValue && pair_name === '' ? held : held_around,
  }
}

/** Returns what stands in place of a string of JSON, escaped; null to keep it. */
function redactValue(value: string, name: string, outer: Secrecy, redact: (text: string) => string): string | null {
  if (isSecretText(value, name, outer)) return redacted
  if (isTokenName(name)) return null
  const kept = redact(value)
  return kept === value ? null : JSON.stringify(kept).slice(1, -1)
}

/** Returns a text without secrets: one that is JSON, code, markup, or none of these. */
export function redactText(text: string, depth = 0): string {
  return withoutEncodedSecrets(redactPlain(text, depth, false), true)
}

/** Returns a text without what has a secret once its encodings are undone. @param isPiece whether all of it is redacted if need be */
export function withoutEncodedSecrets(text: string, isPiece: boolean): string {
  return replaceEncoded(text, (reading) => (holdsSecret(reading) ? redacted : null), isPiece)
}

/** Whether a reading has a secret. Of two encodings that are undone at once the quotes do not fit: those of JSON in a string of JSON, or of markup in one. */
function holdsSecret(reading: string): boolean {
  if (redactPlain(reading, 0) !== reading) return true
  if (!/"\s*:/.test(reading)) return false
  const joined = reading.replace(quoteOfInner, '')
  if (joined !== reading && redactPlain(joined, 0) !== joined) return true
  return (
    redactLiterals(reading) !== reading || (/<[a-z_!]/i.test(reading) && redactMarked(reading, 0, true) !== reading)
  )
}

const quoteOfInner = /"(?=[{[])|(?<=[}\]])"/g

function redactPlain(text: string, depth: number, isReading = true): string {
  const isJson = /"\s*:|^\s*\["/.test(text)
  const isMarked = /<[a-z_!]/i.test(text) && !(isJson && isJsonLike(text))
  if (!isJson && !isMarked) return withoutSecretWords(redactLiterals(text))
  if (depth >= maxInner) return redacted
  const kept = isJson ? redactNamedSecrets(text, depth + 1, isReading) : text
  return withoutSecretWords(isMarked ? redactMarked(kept, depth + 1, isReading) : kept)
}

/** Returns code, or a document, without its secrets. */
export function redactMarked(text: string, depth = 0, isReading = false): string {
  return redactCode(text, (inner) => (isReading ? redactPlain : redactText)(inner, depth), isReading)
}

/** The name of a field can be a secret too: `{"tokens": {"...": true}}`. */
function redactName(name: string, outer: Secrecy, redact: (text: string) => string): string | null {
  if (name.length < shortestShape) return null
  if (outer !== 'none' && isOpaque(name) && findRole(name) === 'value') return redacted
  const kept = redact(name)
  return kept === name ? null : JSON.stringify(kept).slice(1, -1)
}

const shortestShape = 12

/** Notes the name of a pair, and returns whether a string is the value of one whose name gives it away: `{"name": "password", "value": "..."}`. */
function completePair(level: Level, value: string, name: string): boolean {
  const pair = findPairName(level, name)
  if (pair !== null && isPairSecret(level, value, name, pair)) return true
  if (level.isArray) {
    const last = level.pair_name
    level.pair_name = value.length <= maxPairName ? value : ''
    return last !== '' && (headerList.test(level.name) ? isSecretText(value, last) : isSecretBeside(value, last))
  }
  if (value.length <= maxPairName && pairNames.has(name.toLowerCase()) && namesSecret(value)) namePair(level, value)
  return false
}

/** Notes the name of a pair, and removes the values that came before it. */
function namePair(level: Level, name: string): void {
  if (level.pair_name === '' || isUnknownSecret(name)) level.pair_name = name
  for (const { text, edit, isNumber } of level.held.splice(0)) {
    if (isNumber ? isSecretNumber(text, name) : isSecretText(text, name)) edit.text = isNumber ? '0' : redacted
  }
}

const maxPairName = 64
const headerList = /headers?$/i

/** Returns the name of the pair of which a field is the value, or in the value; null for others. */
function findPairName(level: Level, name: string): string | null {
  if (level.value_for !== null) return level.value_for
  return !level.isArray && level.pair_name !== '' && isValueName(name) ? level.pair_name : null
}

/** Within the value of a pair other fields say what it is. */
function isPairSecret(level: Level, value: string, name: string, pair: string): boolean {
  const isValue = level.isArray || /value$|^(?:text|s)$/i.test(name) || isValueName(name)
  return isValue ? isSecretText(value, pair) : isSecretBeside(value, pair)
}

/** Holds the value of a pair whose name is still to come. */
function holdValue(
  level: Level,
  name: string,
  { text, plain, isNumber }: { text: string; plain: string | null; isNumber: boolean },
): Edit | string | null {
  const isValue = !level.isArray && level.pair_name === '' && isValueName(name)
  if (!isValue && level.held_around === null) return plain
  const held = { text, edit: { text: plain }, isNumber }
  if (isValue) level.held.push(held)
  level.held_around?.push(held)
  return held.edit
}
