import { expect, test } from 'vitest'
import { advance, type Dwell, noDwell, threshold } from './viewability.ts'

/** Checks at the given times, milliseconds; a negative one finds the ad out of view. */
function dwellAfter(...checks: number[]): Dwell {
  return checks.reduce((dwell, at) => advance(dwell, Math.abs(at), at >= 0), noDwell)
}

test('time counts between checks that found the ad in view', () => {
  expect(dwellAfter(100, 200, 300).ms).toBe(200)
})

test('a check that fails starts again from zero', () => {
  expect(dwellAfter(0, 300, 600, 900, -950, 1_000, 1_100).ms).toBe(100)
})

test('a gap, as in a throttled tab, is not counted', () => {
  expect(dwellAfter(0, 100, 1_100, 2_100, 3_100).ms).toBe(100)
  expect(dwellAfter(0, 100, 1_100, 1_200).ms).toBe(200)
})

test('a second after it came into view is not a second in view', () => {
  expect(dwellAfter(0, -10, 1_000).ms).toBe(0)
})

test('large creatives need less of their pixels, clips more time', () => {
  expect(threshold(false, 300 * 250)).toEqual({ ratio: 0.5, ms: 1_000 })
  expect(threshold(false, 970 * 250)).toEqual({ ratio: 0.3, ms: 1_000 })
  expect(threshold(true, 1_280 * 720)).toEqual({ ratio: 0.5, ms: 2_000 })
})
