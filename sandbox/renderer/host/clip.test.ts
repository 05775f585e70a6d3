import { expect, test } from 'vitest'
import type { MediaState } from '../messages.ts'
import { type Clip, unplayed, updateClip } from './clip.ts'

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
