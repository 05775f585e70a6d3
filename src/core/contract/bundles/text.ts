/**
 * The text of a bundle: JSON, alone or inside its page. There it stands in a script element that no browser runs, with `<`
 * as an escape, so that no value can end the element.
 */
import { z } from 'zod'
import { parseExactly } from '#foundation/json/exact-numbers.ts'
import { findRepeatedName } from '#foundation/json/syntax.ts'
import { isObject } from '#foundation/json.ts'
import { plainLine } from '#foundation/unsafe-text.ts'
import { Bundle } from './bundle.ts'

const begin = '<script type="application/json" id="svc-bundle">'
const end = '</script>'

/** Returns the element that holds a bundle in its page. */
export function bundleElement(bundle: Bundle): string {
  return begin + bundleJson(bundle) + end
}

function bundleJson(bundle: Bundle): string {
  return JSON.stringify(bundle).replaceAll('<', '\\u003c')
}

/**
 * Returns what is wrong with the name of a file, in words that follow "it"; null when nothing is. A browser shows what has the name
 * of a page as one, whatever its data says.
 */
export function findNameProblem(file: string, text: string): string | null {
  const isShown = /\.(?:x?html?|xht|shtml|svg|xml|mht|mhtml)$/i.test(file)
  return isShown && !/^<!doctype html>/i.test(text) ? 'it has the name of a page, and is none' : null
}

/** Whether a file is the page of a bundle, by its content. */
export function isBundlePage(text: string): boolean {
  return text.includes(begin)
}

/** Returns the bundle of a text, as JSON or as a page, or what is wrong with it, in words that follow "it". */
export function readBundle(text: string): { bundle: Bundle } | { problem: string } {
  const at = text.indexOf(begin)
  const close = at < 0 ? -1 : text.indexOf(end, at)
  if (at >= 0 && close < 0) return { problem: 'its data is cut off' }
  const json = at < 0 ? text : text.slice(at + begin.length, close)
  // As it was written: numbers with many digits stay exact, or their hash would not match.
  const value = parseExactly(json)
  if (value === undefined)
    return { problem: at < 0 ? 'it is neither JSON nor a page with data' : 'its data is not JSON' }
  const repeated = findRepeatedName(json)
  if (repeated !== null)
    return { problem: `an object of its data has the name ${plainLine(JSON.stringify(repeated))} twice` }
  const otherKind = findOtherKind(value)
  if (otherKind !== null) return { problem: otherKind }
  // The value itself: rounded, an exact number in a field with a type would pass, and be an object to its readers.
  const checked = Bundle.safeParse(value)
  if (!checked.success)
    return {
      problem: `its data is not as the format says, at ${z.core.toDotPath(checked.error.issues[0]?.path ?? [])}`,
    }
  const bundle = value as unknown as Bundle
  if (bundleJson(bundle) !== (at < 0 ? bundleJson(bundle) : json))
    return { problem: 'its data is spelled differently than svc writes it' }
  return { bundle }
}

/** Returns why a value is not a bundle of the version that is read here, or null. */
function findOtherKind(value: unknown): string | null {
  if (!isObject(value) || value.kind !== 'svc_bundle') return 'its data is not that of a bundle'
  if (value.v === 1) return null
  const version = typeof value.v === 'number' ? `is version ${value.v}` : 'has no version'
  return `its format ${version}, and this svc reads version 1`
}
