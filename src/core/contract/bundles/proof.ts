/**
 * The proof of a bundle (A117): each part of it has a hash, the list of hashes is signed, and each evidence entry continues
 * the hash before it. The sandbox signs by this, and `svc evidence verify FILE.html` and an import check by it.
 */
import canonicalize from 'canonicalize'
import { mayLoseDigits, replaceExactNumbers } from '#foundation/json/exact-numbers.ts'
import { isSigned } from '#foundation/signatures.ts'
import { plainLine } from '#foundation/unsafe-text.ts'
import { chainHash, type Sha256Hex } from '../resources/evidence.ts'
import type { Bundle, BundlePart, BundleTurn } from './bundle.ts'

/** A bundle before it is signed. */
export type UnsignedBundle = Omit<Bundle, 'parts' | 'public_key' | 'signature'>

/** Returns every part of a bundle with the hash of its canonical JSON (RFC 8785), in the order of the file. */
export function hashParts(bundle: UnsignedBundle, sha256Hex: Sha256Hex): BundlePart[] {
  return listParts(bundle).map(([name, value]) => ({ name, sha256: sha256Hex(canonicalText(value)) }))
}

/**
 * Returns the canonical JSON of a part, with the digits of exact numbers; the empty text for one that has none: half a surrogate
 * pair, `1e999`.
 */
function canonicalText(value: unknown): string {
  try {
    const written = JSON.stringify(value)
    if (!mayLoseDigits(written)) return canonicalize(value) ?? ''
    // In place of each exact number a text that the part does not have, so that nothing else can be written like it.
    let mark = 'exact'
    while (written.includes(mark)) mark += '~'
    const digits: string[] = []
    const marked = replaceExactNumbers(value, (number) => `${mark} ${digits.push(number) - 1}`)
    const [start = '', ...rest] = (canonicalize(marked) ?? '').split(`"${mark} `)
    return rest.reduce((text, part) => {
      const end = part.indexOf('"')
      return text + digits[Number(part.slice(0, end))]! + part.slice(end + 1)
    }, start)
  } catch {
    return ''
  }
}

/** Returns the canonical JSON (RFC 8785) that is signed. */
export function bundleText({ at_ms, client_id }: UnsignedBundle, parts: readonly BundlePart[]): string {
  const listed = parts.map(({ name, sha256 }) => ({ name, sha256 }))
  return JSON.stringify({ at_ms, client_id, kind: 'bundle', parts: listed, v: 1 })
}

/**
 * Returns every part that is not as it was signed, in words that follow the name of the file; empty when all hold. Which
 * entry, beacon or request was changed is said by its own part.
 */
export function findAlterations(bundle: Bundle, sha256Hex: Sha256Hex): string[] {
  const { parts, public_key, signature, ...rest } = bundle
  if (!isSigned(bundleText(rest, parts), { public_key, signature })) {
    return ['the list of its parts is not the one that was signed']
  }
  const changed = compareParts(parts, hashParts(rest, sha256Hex))
  const broken = bundle.turns.flatMap(({ evidence }) =>
    evidence
      .filter(({ previous_hash, entry, hash }) => chainHash(previous_hash, entry, sha256Hex) !== hash)
      .map(({ seq }) => `the hash of evidence entry ${seq} does not match`),
  )
  // The names of parts are those of the file.
  return [...changed, ...broken].map(plainLine)
}

/**
 * Returns every difference of two lists of parts: what is missing, changed or added by its name, else the first that is at
 * another place. A name may occur more often than it was signed.
 */
function compareParts(stated: readonly BundlePart[], actual: readonly BundlePart[]): string[] {
  const differing = subtract(stated, actual, partText)
  const others = subtract(actual, stated, partText)
  const missing = new Set(subtract(differing, others, partName))
  const differences = differing.map((part) => `${part.name} ${missing.has(part) ? 'is missing' : 'was changed'}`)
  differences.push(...subtract(others, differing, partName).map(({ name }) => `${name} was added`))
  const moved = stated.find(({ name }, index) => name !== actual[index]?.name)
  return differences.length > 0 || moved === undefined ? differences : [`${moved.name} was moved`]
}

const partName = ({ name }: BundlePart) => name
const partText = ({ name, sha256 }: BundlePart) => `${sha256} ${name}`

/** Returns the parts that another list does not have, or has less often. */
function subtract(
  parts: readonly BundlePart[],
  others: readonly BundlePart[],
  describe: (part: BundlePart) => string,
): BundlePart[] {
  const counts = new Map<string, number>()
  for (const part of others) counts.set(describe(part), (counts.get(describe(part)) ?? 0) + 1)
  return parts.filter((part) => {
    const count = counts.get(describe(part)) ?? 0
    counts.set(describe(part), count - 1)
    return count <= 0
  })
}

/** Parts by what they are called in a message. */
function listParts({ turns, settings, ...head }: UnsignedBundle): [name: string, value: unknown][] {
  return [
    ['the head', head],
    ['the settings', settings],
    ['the number of turns', turns.length],
    ...turns.flatMap((turn, index) => listTurnParts(turn, `turn ${index + 1}`)),
  ]
}

function listTurnParts(
  { placement, evidence, requests, measurements, media }: BundleTurn,
  turn: string,
): [name: string, value: unknown][] {
  const { beacons, trace, decision, consent, billing, ...rest } = placement
  return [
    [`${turn}, the placement`, rest],
    [`${turn}, the decision`, decision],
    [`${turn}, the trace`, trace],
    [`${turn}, the consent`, consent],
    [`${turn}, the billing verdict`, billing],
    ...beacons.map((beacon, index): [string, unknown] => [`${turn}, beacon ${index + 1} (${beacon.event})`, beacon]),
    ...measurements.map((measured, index): [string, unknown] => [
      `${turn}, measurements ${index + 1} (${measured.beacon_id})`,
      measured,
    ]),
    ...evidence.map((entry): [string, unknown] => [`${turn}, evidence entry ${entry.seq} (${entry.kind})`, entry]),
    ...requests.map((request, index): [string, unknown] => [
      `${turn}, request ${index + 1} (${request.request_id})`,
      request,
    ]),
    ...media.map((file, index): [string, unknown] => [`${turn}, media ${index + 1} (${file.use})`, file]),
  ]
}
