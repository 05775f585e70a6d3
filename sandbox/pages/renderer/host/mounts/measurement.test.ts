import { expect, test } from 'vitest'
import { listNeeds, viewability } from '#contract/viewability.ts'
import type { MediaState } from '../../messages.ts'
import { advance, type Clip, type Dwell, noDwell, threshold, unplayed, updateClip } from './measurement.ts'

/** Checks at the given times, milliseconds; a negative one finds the ad out of view. */
function dwellAfter(...checks: number[]): Dwell {
  return checks.reduce((dwell, at) => advance(dwell, Math.abs(at), at >= 0 ? 'seen' : 'not_seen'), noDwell)
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

test('what could not be measured is not counted, and ends a dwell after 400 ms', () => {
  const after = (blind_ms: number): Dwell => {
    const before = advance(advance(noDwell, 0, 'seen'), 300, 'seen')
    const blind = advance(before, 300 + blind_ms, 'unmeasured')
    return advance(advance(blind, 400 + blind_ms, 'seen'), 500 + blind_ms, 'seen')
  }
  expect([0, 200, 399].map(after).map(({ ms }) => ms)).toEqual([400, 400, 400])
  expect([400, 2_000].map(after).map(({ ms }) => ms)).toEqual([100, 100])
  expect(advance(noDwell, 100, 'unmeasured')).toEqual(noDwell)
})

test('what is not known yet counts once it is seen, for up to 400 ms', () => {
  const after = (outcome: Parameters<typeof advance>[2], ...at: number[]): Dwell =>
    at.reduce((dwell, now, index) => advance(dwell, now, index < at.length - 1 ? 'pending' : outcome), noDwell)
  expect(after('seen', 0, 100, 200).ms).toBe(200)
  expect(after('not_seen', 0, 100, 200)).toEqual(noDwell)
  expect(after('seen', 0, 200, 400, 600).ms).toBe(0)
})

/** Returns the size that is shown, and the declared one. */
const shown = (width: number, height: number, declared_width = width, declared_height = height) =>
  [
    { width, height },
    { width: declared_width, height: declared_height },
  ] as const

test('an ad under 50 px, or half of a smaller declared side, is never viewable', () => {
  const isTooSmall = (...sizes: Parameters<typeof shown>): boolean =>
    threshold(...shown(...sizes), listNeeds(false, viewability)).ratio > 1
  expect(isTooSmall(1, 250, 300, 250)).toBe(true)
  expect(isTooSmall(49, 41, 300, 250)).toBe(true)
  expect(isTooSmall(60, 50, 300, 250)).toBe(false)
  expect(isTooSmall(320, 24, 320, 50)).toBe(true)
  expect(isTooSmall(160, 25, 320, 50)).toBe(false)
})

test('large creatives need less of their pixels, clips more time', () => {
  expect(threshold(...shown(300, 250), listNeeds(false, viewability))).toEqual({ ratio: 0.5, ms: 1_000 })
  expect(threshold(...shown(970, 250), listNeeds(false, viewability))).toEqual({ ratio: 0.3, ms: 1_000 })
  // As WebKit lays it out.
  expect(threshold(...shown(970, 249.984_375), listNeeds(false, viewability))).toEqual({ ratio: 0.3, ms: 1_000 })
  expect(threshold(...shown(1_280, 720), listNeeds(true, viewability))).toEqual({ ratio: 0.5, ms: 2_000 })
})

test('a frame without pixels is never viewable, though all of it is in view', () => {
  for (const isClip of [false, true])
    expect(threshold(...shown(0, 0, 300, 250), listNeeds(isClip, viewability)).ratio).toBeGreaterThan(1)
})

/** Plays through reports of state, position and the host's clock, milliseconds. */
function clipAfter(...reports: [state: MediaState, position_ms: number, now_ms: number][]): Clip {
  return reports.reduce(
    (clip, [state, position_ms, now_ms]) =>
      updateClip(clip, { t: 'media', state, position_ms, duration_ms: 6_000, muted: true }, now_ms),
    unplayed,
  )
}

test('a clip that plays through is completed', () => {
  const clip = clipAfter(['playing', 0, 50], ['playing', 3_000, 3_050], ['ended', 6_000, 6_050])
  expect(clip).toMatchObject({ isStarted: true, isCompleted: true, isPlaying: false, played_ms: 6_000 })
})

test('a jump to the end completes nothing', () => {
  expect(clipAfter(['playing', 0, 50], ['ended', 6_000, 300]).isCompleted).toBe(false)
})

test('time while paused or stalled is not played', () => {
  const clip = clipAfter(
    ['playing', 0, 0],
    ['paused', 1_000, 1_000],
    ['playing', 5_000, 9_000],
    ['ended', 6_000, 10_000],
  )
  expect(clip).toMatchObject({ isCompleted: false, played_ms: 2_000 })
})

test('an end without a start is neither started nor completed', () => {
  expect(clipAfter(['ended', 6_000, 10_000])).toMatchObject({ isStarted: false, isCompleted: false })
})

test('the same half played twice is not the whole', () => {
  const clip = clipAfter(
    ['playing', 0, 0],
    ['stalled', 3_000, 3_000],
    ['playing', 0, 3_100],
    ['stalled', 3_000, 6_100],
    ['playing', 5_900, 6_200],
    ['ended', 6_000, 6_300],
  )
  expect(clip).toMatchObject({ isCompleted: false, played_ms: 3_100 })
})
