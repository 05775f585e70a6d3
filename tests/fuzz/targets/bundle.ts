/** Bundles of turns, as JSON or inside a page: `svc evidence verify`, `svc bundle import`. */

import { sha256Hex } from '#commands/evidence/export-file.ts'
import { findAlterations } from '#contract/bundles/proof.ts'
import { bundleElement, readBundle } from '#contract/bundles/text.ts'
import { looseTexts } from '../loose-json.ts'
import { check, checkPlainLine, checkSame, type FuzzTarget } from '../target.ts'

const begin = '<script type="application/json" id="svc-bundle">'

/** What each signature was made over: nobody can change it and keep the signature. */
const signed = new Map<string, string>()

export const target: FuzzTarget = {
  max_bytes: 16_000,
  words: [
    ...[
      begin,
      '</script>',
      '"kind":"svc_bundle"',
      '"v":1',
      '"turns":[',
      '"parts":[',
      '"sha256":"',
      '"signature":"',
      '\\u003c',
    ],
    ...['9007199254740993', '"evidence":[', '"media":[', '"settings":[', '"__proto__":', '"name":"the head"'],
  ],
  run(bytes) {
    for (const text of looseTexts(bytes)) readText(text)
    const text = bytes.toString('utf8')
    if (text.includes(begin)) readText(text)
  },
}

function readText(text: string): void {
  const read = readBundle(text)
  if ('problem' in read) {
    checkPlainLine(read.problem)
    return
  }
  const { bundle } = read
  const again = readBundle(bundleElement(bundle))
  check('bundle' in again, `a bundle that was read cannot be read again: ${JSON.stringify(again)}`)
  checkSame(again.bundle, bundle, 'read again')
  const alterations = findAlterations(bundle, sha256Hex)
  for (const alteration of alterations) checkPlainLine(alteration)
  if (alterations.length > 0) return
  const whole = JSON.stringify(sorted(bundle))
  const known = signed.get(bundle.signature) ?? whole
  check(known === whole, 'a bundle was changed, and its signature is said to hold')
  signed.set(bundle.signature, whole)
}

/** The order of fields is not signed. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  )
}
