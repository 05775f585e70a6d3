/**
 * Numbers with more digits than JavaScript keeps, such as identifiers beyond 2^53: `JSON.parse` rounds them, and two
 * different bodies become the same. Here each of them is raw JSON instead, which `JSON.stringify` writes as it was sent.
 */
import { isObject, nestsDeeper, parseJson } from '../json.ts'

/** A number as it was sent. Made by `parseExactly` alone. */
interface ExactNumber {
  readonly rawJSON: string
}

/** What every supported Node has (since 21), and the compiler's library does not know yet. */
declare global {
  interface JSON {
    rawJSON(text: string): ExactNumber
    isRawJSON(value: unknown): value is ExactNumber
  }
}

type Reviver = (name: string, value: unknown, context: { source?: string }) => unknown

const parseWith = JSON.parse as (text: string, revive: Reviver) => unknown

/** Every number that can lose digits has this many of them, or dots, in a row. A text without them is parsed as usual. */
const manyDigits = 16

/**
 * Returns the value of a JSON text, with exact numbers in place of those that lose digits, or undefined when the text is not
 * JSON or nests deeper than the API accepts.
 */
export function parseExactly(text: string): unknown {
  if (!mayLoseDigits(text)) return parseJson(text)
  if (nestsDeeper(text)) return undefined
  try {
    return parseWith(text, readExact)
  } catch {
    return undefined
  }
}

/** Whether a text may have numbers that lose digits. Of so many characters in a row, one is looked at. */
export function mayLoseDigits(text: string): boolean {
  for (let at = manyDigits - 1; at < text.length; at += manyDigits) {
    if (!isDigitOrDot(text, at)) continue
    let [start, end] = [at, at + 1]
    while (isDigitOrDot(text, start - 1)) start--
    while (isDigitOrDot(text, end)) end++
    if (end - start >= manyDigits) return true
  }
  return false
}

function isDigitOrDot(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return (code >= 0x30 && code <= 0x39) || code === 0x2e
}

/** Numbers beyond the range of a double stay infinite: no field takes them. */
function readExact(_name: string, value: unknown, { source = '' }: { source?: string }): unknown {
  if (typeof value !== 'number' || source.length < 16 || !Number.isFinite(value)) return value
  return significantDigits(source) === significantDigits(String(value)) ? value : JSON.rawJSON(source)
}

function significantDigits(number: string): string {
  const [mantissa = ''] = number.toLowerCase().split('e')
  return mantissa
    .replaceAll(/[-.]/g, '')
    .replace(/^0+/, '')
    .replace(/(?<!0)0+$/, '')
}

/** Whether a value is a number that only its text has exactly. */
export function isExactNumber(value: unknown): value is ExactNumber {
  return JSON.isRawJSON(value)
}

/** Returns a value with something else in place of each exact number; the same value when there are none. */
export function replaceExactNumbers(value: unknown, replace: (digits: string) => unknown): unknown {
  if (isExactNumber(value)) return replace(value.rawJSON)
  if (Array.isArray(value)) {
    const items = value.map((item) => replaceExactNumbers(item, replace))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([name, inner]) => [name, replaceExactNumbers(inner, replace)] as const)
  return entries.some(([name, inner]) => inner !== value[name]) ? Object.fromEntries(entries) : value
}
