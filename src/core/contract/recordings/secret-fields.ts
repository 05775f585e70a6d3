/** Secrets in JSON texts, by the names of their fields and those around them. */
import { findRole } from './field-roles.ts'
import { type Edit, readJsonString, replaceJsonStrings } from './json-strings.ts'
import {
  isOpaque,
  isSecretBeside,
  isSecretNumber,
  isSecretText,
  isTokenName,
  type Secrecy,
  secrecyIn,
} from './secret-names.ts'
import { redacted, withoutSecretWords, withoutShapes } from './secret-shapes.ts'

/** JSON in a string of JSON, at most this deep: what is deeper is not kept. */
const maxInner = 3

/** An object or an array that is open. */
interface Level {
  isArray: boolean
  secrecy: Secrecy
  /** The name of a pair of name and value: that of an array is its first string. */
  pair_name: string
  /** The value of a pair, while its name is still to come. */
  pair_value: { text: string; edit: Edit } | null
}

const pairNames: ReadonlySet<string> = new Set(['name', 'key', 'header', 'field', 'parameter', 'param', 'n'])
const pairValues: ReadonlySet<string> = new Set(['value', 'v'])

/** Returns JSON text without the secrets that the names of its fields give away, and without those of a known shape. */
export function redactNamedSecrets(text: string, depth = 0): string {
  const levels: Level[] = []
  let level: Level = { isArray: false, secrecy: 'none', pair_name: '', pair_value: null }
  return replaceJsonStrings(text, {
    string(raw, name) {
      const value = readJsonString(raw)
      const isRedacted = value === '' || value.endsWith('redacted') || value.endsWith(redacted)
      const plain = isRedacted ? null : redactValue(value, name, level.secrecy, depth)
      return completePair(level, value, name) && !isRedacted ? redacted : holdValue(level, value, name, plain)
    },
    // It stays a number: a client may read it as one.
    number: (raw, name) => (isSecretNumber(raw, name) ? '0' : null),
    name: (raw) => redactName(readJsonString(raw), level.secrecy),
    open(name, isArray) {
      levels.push(level)
      level = { isArray, secrecy: secrecyIn(name, level.secrecy), pair_name: '', pair_value: null }
    },
    close() {
      level = levels.pop() ?? level
    },
  })
}

/** Returns what stands in place of a string of JSON, escaped; null to keep it. */
function redactValue(value: string, name: string, outer: Secrecy, depth: number): string | null {
  if (isSecretText(value, name, outer)) return redacted
  if (isTokenName(name)) return null
  const mayBeJson = /"\s*:|^\s*\["/.test(value)
  if (mayBeJson && depth >= maxInner) return redacted
  const kept = withoutSecretWords(mayBeJson ? redactNamedSecrets(value, depth + 1) : value)
  return kept === value ? null : JSON.stringify(kept).slice(1, -1)
}

/** The name of a field can be a secret too: `{"tokens": {"...": true}}`. */
function redactName(name: string, outer: Secrecy): string | null {
  if (name.length < shortestShape) return null
  if (outer !== 'none' && isOpaque(name) && findRole(name) === 'value') return redacted
  const kept = withoutShapes(name)
  return kept === name ? null : JSON.stringify(kept).slice(1, -1)
}

const shortestShape = 12

/** Notes the name of a pair, and returns whether a string is the value of one whose name gives it away: `{"name": "password", "value": "..."}`. */
function completePair(level: Level, value: string, name: string): boolean {
  if (level.isArray) {
    const first = level.pair_name
    level.pair_name = first === '' && value.length <= maxPairName ? value : unpaired
    return first !== '' && isSecretBeside(value, first)
  }
  if (pairNames.has(name)) {
    level.pair_name = value
    if (level.pair_value !== null && isSecretText(level.pair_value.text, value)) level.pair_value.edit.text = redacted
  }
  return pairValues.has(name) && level.pair_name !== '' && isSecretText(value, level.pair_name)
}

const maxPairName = 64
/** Stands in place of the name behind the first two strings of an array. */
const unpaired = ' '

/** Holds the value of a pair whose name is still to come. */
function holdValue(level: Level, text: string, name: string, plain: string | null): Edit | string | null {
  if (level.isArray || !pairValues.has(name) || level.pair_name !== '') return plain
  const edit: Edit = { text: plain }
  level.pair_value = { text, edit }
  return edit
}
