import { expect, test } from 'vitest'
import { decodeConsentStrings, encodeConsentStrings } from './strings.ts'

const { tcf, gpp } = encodeConsentStrings({ purposes: [1, 3], vendors: [1, 2, 3, 800], now_ms: 1_764_000_000_000 })

function problem(text: string): string | null | undefined {
  return decodeConsentStrings({ [text.startsWith('D') ? 'gpp_string' : 'tcf_string']: text })[0]?.problem
}

/** A core string with this many ranges of all vendors. */
function withRanges(count: number): string {
  const binary = (value: number, length: number) => value.toString(2).padStart(length, '0')
  const fixed = [...Buffer.from(tcf, 'base64url')].map((byte) => binary(byte, 8)).join('')
  const ranges = `1${binary(1, 16)}${binary(65_535, 16)}`.repeat(count)
  const bits = `${fixed.slice(0, 213)}${binary(65_535, 16)}1${binary(count, 12)}${ranges}${'0'.repeat(40)}`
  const bytes = bits.match(/.{8}/g)!.map((each) => Number.parseInt(each, 2))
  return Buffer.from(bytes).toString('base64url')
}

test('strings of tools are read', () => {
  expect([problem(tcf), problem(gpp)]).toEqual([null, null])
  const [read] = decodeConsentStrings({ gpp_string: `DBACNY~${tcf}~1YNN` })
  expect(read).toMatchObject({ problem: null, purposes: [1, 3], vendors: 4, sections: ['tcfeuv2', 'uspv1'] })
})

test('ranges that would be written out for seconds are refused', () => {
  const many = withRanges(700)
  const vendors = 'It is cut off or damaged: its ranges have more vendors than there are.'
  expect([problem(many), problem(`DBABMA~${many}`)]).toEqual([vendors, vendors])
  // Found by the fuzzer: 18 characters, for which the library fills an array until the memory ends.
  for (const ids of ['kkkkkkkkkk', 'k'.repeat(40)])
    expect(problem(`DBA${ids}BTA~1YN-`)).toBe('It is cut off or damaged: its header names more sections than it has.')
})
