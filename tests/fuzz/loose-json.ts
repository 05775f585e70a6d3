/** JSON of bytes that chance has changed: few of those are JSON, and what is behind the parser would hardly be reached. */
import { type ParseError, parse } from 'jsonc-parser'

/** Nesting that no parser of ours follows. */
const maxBrackets = 500

/** Returns the text of the bytes; where it is not JSON, a second one, what a reader that forgives everything makes of it. */
export function looseTexts(bytes: Buffer): string[] {
  const text = bytes.toString('utf8')
  try {
    JSON.parse(text)
    return [text]
  } catch {
    const brackets = text.match(/[[{]/g)?.length ?? 0
    if (brackets === 0 || brackets > maxBrackets) return [text]
    const value: unknown = parse(text, [] satisfies ParseError[], { allowTrailingComma: true })
    return value === undefined ? [text] : [text, JSON.stringify(value)]
  }
}

/** Returns the JSON value of the bytes, as above, or undefined. */
export function looseValue(bytes: Buffer): unknown {
  const json = looseTexts(bytes).at(-1)!
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
