import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formats, modes } from '#contract/fields.ts'
import { type NoFillReason, noFillReasons } from '#contract/no-fill.ts'
import { beaconEvents } from '#contract/resources/beacons.ts'
import { type BeaconEvidence, beaconEntry, chainHash, genesis } from '#contract/resources/evidence.ts'
import type { Json } from '#foundation/json.ts'
import {
  type ConsentEvidence,
  canonicalJson,
  consentEntry,
  type DecisionEvidence,
  decisionEntry,
  verifyChain,
} from './evidence.ts'

const sha256Hex = (text: string) => createHash('sha256').update(text).digest('hex')
const digest = createHash('sha256').update('a').digest('base64url')

const decision: DecisionEvidence = {
  seq: 12,
  at_ms: 1_750_000_000_000,
  client_id: 'proj_demo',
  slot_id: 'slot_0008x2k1m00',
  fill: true,
  format: 'native',
  campaign_id: 'cmp_small_wonders_museum',
  no_fill_reason: null,
  asset_token_sha256: digest,
  consent_revision: 3,
  mode: 'test',
  decision_sha256: digest,
}
const consent: ConsentEvidence = {
  seq: 13,
  at_ms: 1_750_000_000_000,
  client_id: 'proj_demo',
  consent_id: 'cns_0008x2k1m00',
  session_id: 'session-1',
  lifecycle_state: 'granted',
  revision: 3,
  source: 'wrapper_cmp',
  semantic_targeting: true,
  prompt_shared: false,
  expires_at_ms: 1_765_552_000_000,
}
const beacon: BeaconEvidence = {
  seq: 14,
  at_ms: 1_750_000_000_020,
  client_id: 'proj_demo',
  slot_id: 'slot_0008x2k1m00',
  asset_token_sha256: digest,
  beacon_id: '0198c0de-7a3b-7c11-9d42-0f5a6b7c8d9e',
  event: 'play_completed',
  occurred_at_ms: 1_750_000_000_000,
  received_at_ms: 1_750_000_000_020,
  consent_revision: 3,
  body_sha256: digest,
  record_sha256: digest,
}

describe('canonicalJson', () => {
  test("the RFC's example of literals, numbers and strings", () => {
    const value = JSON.parse(
      String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
    )
    expect(canonicalJson(value)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    )
  })

  test("the RFC's example of sorting, by UTF-16 code units", () => {
    const value = JSON.parse(
      String.raw`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
    )
    expect(canonicalJson(value).match(/(?<=:")[^"]+/g)).toEqual([
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ])
  })

  test.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])("the RFC's number %s is %s", (bits, text) => {
    expect(canonicalJson(Buffer.from(bits, 'hex').readDoubleBE())).toBe(text)
  })

  test.each([
    ['NaN', [Number.NaN]],
    ['Infinity', { a: Number.POSITIVE_INFINITY }],
    ['undefined', undefined],
    ['undefined', { a: { b: undefined } }],
    ['function', [() => 1]],
    ['symbol', { a: Symbol('a') }],
    ['Lone surrogate', { a: '\ud800' }],
    ['Lone surrogate', { '\udc00': 1 }],
  ])('%s has no canonical form: %o', (problem, value) => {
    expect(() => canonicalJson(value as Json)).toThrow(TypeError)
    expect(() => canonicalJson(value as Json)).toThrow(problem)
  })

  test('a cycle has no canonical JSON either', () => {
    const loop: { [key: string]: Json } = {}
    loop.self = loop
    expect(() => canonicalJson(loop)).toThrow(TypeError)
  })

  test('it keeps the value, and is its own canonical form', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), (value) => {
        const text = canonicalJson(value as Json)
        expect(canonicalJson(JSON.parse(text))).toBe(text)
        expect(JSON.stringify(JSON.parse(text))).toHaveLength(text.length)
      }),
    )
  })

  test('deep nesting is allowed', () => {
    const text = '['.repeat(4_000) + ']'.repeat(4_000)
    expect(canonicalJson(JSON.parse(text))).toBe(text)
  })
})

describe('entries', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 40 })
  const time = fc.nat(2 ** 41)
  const common = { seq: fc.integer({ min: 1 }), at_ms: time, client_id: text }

  test('any decision is canonical JSON', () => {
    const facts = fc.record({
      ...common,
      slot_id: text,
      fill: fc.boolean(),
      format: fc.option(fc.constantFrom(...formats)),
      campaign_id: fc.option(text),
      no_fill_reason: fc.option(fc.constantFrom(...(Object.keys(noFillReasons) as NoFillReason[]))),
      asset_token_sha256: fc.option(text),
      consent_revision: fc.nat(),
      mode: fc.constantFrom(...modes),
      decision_sha256: text,
    })
    fc.assert(fc.property(facts, (facts) => expectCanonical(decisionEntry(facts), { ...facts, kind: 'decision' })))
  })

  test('any consent is canonical JSON', () => {
    const facts = fc.record({
      ...common,
      consent_id: text,
      session_id: text,
      lifecycle_state: text,
      revision: fc.nat(),
      source: text,
      semantic_targeting: fc.boolean(),
      prompt_shared: fc.boolean(),
      expires_at_ms: time,
    })
    fc.assert(fc.property(facts, (facts) => expectCanonical(consentEntry(facts), { ...facts, kind: 'consent' })))
  })

  test('any beacon is canonical JSON', () => {
    const facts = fc.record({
      ...common,
      slot_id: text,
      asset_token_sha256: text,
      beacon_id: text,
      event: fc.constantFrom(...beaconEvents),
      occurred_at_ms: time,
      received_at_ms: time,
      consent_revision: fc.nat(),
      body_sha256: text,
      record_sha256: text,
    })
    fc.assert(fc.property(facts, (facts) => expectCanonical(beaconEntry(facts), { ...facts, kind: 'beacon' })))
  })

  test('they are short', () => {
    const sizes = [decisionEntry(decision), consentEntry(consent), beaconEntry(beacon)].map((entry) => entry.length)
    expect(Math.max(...sizes)).toBeLessThan(500)
  })

  function expectCanonical(entry: string, facts: object) {
    const parsed = JSON.parse(entry)
    expect(parsed).toEqual({ ...facts, v: 1 })
    expect(entry).toBe(canonicalJson(parsed))
  }
})

describe('the chain', () => {
  function buildChain(entries: string[]) {
    let previous = genesis
    return entries.map((entry, index) => {
      previous = chainHash(previous, entry, sha256Hex)
      const { at_ms } = consent
      return { seq: index + 1, kind: 'consent' as const, at_ms, entry, hash: previous }
    })
  }
  const entry = (seq: number) => consentEntry({ ...consent, seq })
  const chain = buildChain([entry(1), entry(2), entry(3), entry(4)])
  const altered = (position: number, change: object) =>
    chain.map((link, index) => (index === position ? { ...link, ...change } : link))

  test('starts from 64 zeros and covers the previous hash', () => {
    expect(chain[0]?.hash).toBe(sha256Hex(`${'0'.repeat(64)}${entry(1)}`))
    expect(chain[1]?.hash).toBe(sha256Hex(`${chain[0]?.hash}${entry(2)}`))
  })

  test('is valid, and returns its head', () => {
    expect(verifyChain('proj_demo', chain, sha256Hex)).toMatchObject({ ok: true, entries: 4, head: chain[3]?.hash })
    expect(verifyChain('proj_demo', [], sha256Hex)).toMatchObject({ ok: true, entries: 0, head: null })
  })

  test('of an entry that was built from its rows, its link alone is verified, and it states nothing more', () => {
    const built = buildChain(['built from rows'])
    const link = { ...built[0]!, is_built: true as const }
    expect(verifyChain('proj_demo', [link], sha256Hex)).toEqual({ ok: true, entries: 1, head: link.hash, facts: [{}] })
    expect(verifyChain('proj_demo', built, sha256Hex)).toMatchObject({ ok: false, broken_at: 1, facts: [] })
    const later = { ...link, seq: 2 }
    expect(verifyChain('proj_demo', [later], sha256Hex)).toMatchObject({
      ok: false,
      problem: 'Entry 1 is missing: entry 2 is in its place.',
    })
  })

  test('breaks where an entry was changed', () => {
    const changed = altered(1, { entry: chain[1]?.entry.replace('granted', 'denied') })
    expect(verifyChain('proj_demo', changed, sha256Hex)).toMatchObject({
      ok: false,
      broken_at: 2,
      problem: 'The hash of entry 2 does not match: the entry, its hash, or the hash before it was changed.',
      entries: 1,
    })
  })

  test('breaks where an entry is missing, also at the start', () => {
    expect(verifyChain('proj_demo', chain.toSpliced(2, 1), sha256Hex)).toMatchObject({
      ok: false,
      broken_at: 3,
      problem: 'Entry 3 is missing: entry 4 is in its place.',
      entries: 2,
    })
    expect(verifyChain('proj_demo', chain.slice(1), sha256Hex)).toMatchObject({ ok: false, broken_at: 1, entries: 0 })
  })

  test('breaks where two entries were swapped, even when renumbered', () => {
    const [first, second, third, fourth] = chain as [Link, Link, Link, Link]
    const swapped = [first, { ...third, seq: 2 }, { ...second, seq: 3 }, fourth]
    expect(verifyChain('proj_demo', swapped, sha256Hex)).toMatchObject({ ok: false, broken_at: 2 })
  })

  test.each([
    ['{"v":1,"seq":1}', 'Entry 1 is not canonical JSON (RFC 8785).'],
    ['{"seq":1', 'Entry 1 is not JSON.'],
    ['{"seq":2}', 'Entry 1 names 2 as its position.'],
    ['{}', 'Entry 1 names no position as its position.'],
    ['null', 'Entry 1 names no position as its position.'],
    [String.raw`{"a":"\ud800","seq":1}`, 'Entry 1 is not canonical JSON (RFC 8785).'],
  ])('does not hold with the entry %s, though its hash is right', (text, problem) => {
    expect(verifyChain('proj_demo', buildChain([text]), sha256Hex)).toMatchObject({
      ok: false,
      broken_at: 1,
      problem,
      entries: 0,
    })
  })

  test.each([
    ['kind', { kind: 'beacon' }],
    ['at_ms', { at_ms: consent.at_ms + 1 }],
  ])('breaks where the %s beside an entry differs from it', (name, change) => {
    const problem = `Entry 2 states another ${name} than the one beside it.`
    expect(verifyChain('proj_demo', altered(1, change), sha256Hex)).toMatchObject({ ok: false, broken_at: 2, problem })
  })

  test('of another project does not hold', () => {
    const problem = 'Entry 1 states another client_id than the one beside it.'
    expect(verifyChain('proj_other', chain, sha256Hex)).toMatchObject({ ok: false, broken_at: 1, problem })
  })

  test('has an entry in canonical form exactly where canonicalJson gives its text', () => {
    // Names of digits have an order of their own in objects.
    const name = fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => `_${text}`)
    const scalar = fc.oneof(fc.string({ unit: 'binary' }), fc.double({ noNaN: true }), fc.boolean(), fc.constant(null))
    fc.assert(
      fc.property(fc.dictionary(name, scalar, { maxKeys: 4 }), fc.boolean(), (fields, isSorted) => {
        const facts = { ...fields, ...{ seq: 1, at_ms: consent.at_ms, client_id: 'proj_demo', kind: 'consent' } }
        let text = JSON.stringify(facts)
        let canonical: string | null = null
        try {
          canonical = canonicalJson(JSON.parse(text))
          if (isSorted) text = canonical
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError)
        }
        expect(verifyChain('proj_demo', buildChain([text]), sha256Hex).ok).toBe(text === canonical)
      }),
    )
  })

  test('a change of any character is detected at its entry', () => {
    fc.assert(
      fc.property(fc.nat(3), fc.nat(200), (position, offset) => {
        const { entry } = chain[position]!
        const at = offset % entry.length
        const other = entry.charAt(at) === 'x' ? 'y' : 'x'
        const changed = altered(position, { entry: entry.slice(0, at) + other + entry.slice(at + 1) })
        expect(verifyChain('proj_demo', changed, sha256Hex)).toMatchObject({ ok: false, broken_at: position + 1 })
      }),
    )
  })

  type Link = (typeof chain)[number]
})
