import { describe, expect, test } from 'vitest'
import {
  longestSpan,
  type PlayChange,
  type Recording,
  type Sample,
  sample_every_ms,
  verdict,
} from './viewability-rule.ts'

const small = 300 * 250
const large = 970 * 250

/** A sample every 50 ms from the beginning to the end, all alike. */
function stretch(from: number, to: number, ratio: number, more: Partial<Sample> = {}, area = small): Sample[] {
  return Array.from({ length: (to - from) / sample_every_ms + 1 }, (_, index) => ({
    t: from + index * sample_every_ms,
    observed: { ratio, area },
    measured: { ratio, area },
    is_shown: true,
    is_page_visible: true,
    ...more,
  }))
}

const still = (...samples: Sample[][]): Recording => ({ samples: samples.flat(), playback: null })
const clip = (samples: Sample[], ...playback: PlayChange[]): Recording => ({ samples, playback })

describe('a span', () => {
  test('is known to the samples on either side of it', () => {
    const recording = still(stretch(0, 500, 0), stretch(550, 1_500, 0.5), stretch(1_550, 2_000, 0.49))
    expect(longestSpan(recording)).toEqual({ surely_ms: 950, possibly_ms: 1_050, gap_ms: 50 })
  })

  test('is ended by a single sample out of view', () => {
    const recording = still(stretch(0, 900, 1), stretch(950, 950, 0), stretch(1_000, 1_900, 1))
    expect(longestSpan(recording)).toEqual({ surely_ms: 900, possibly_ms: 950, gap_ms: 50 })
  })

  test.each([
    ['a hidden page', { is_page_visible: false }],
    ['a hidden ancestor', { is_shown: false }],
  ])('is ended by %s', (_, hidden) => {
    const recording = still(stretch(0, 900, 1), stretch(950, 950, 1, hidden), stretch(1_000, 1_900, 1))
    expect(longestSpan(recording)).toMatchObject({ surely_ms: 900, possibly_ms: 950 })
  })

  test('is possible, not sure, where observer and rectangles disagree', () => {
    const stale = stretch(950, 950, 1, { observed: { ratio: 0, area: small } })
    const recording = still(stretch(0, 900, 1), stale, stretch(1_000, 1_900, 1))
    expect(longestSpan(recording)).toMatchObject({ surely_ms: 900, possibly_ms: 1_900 })
  })

  test('is possible, not sure, across a stall of the host', () => {
    const recording = still(stretch(0, 900, 1), stretch(1_250, 2_000, 1))
    expect(longestSpan(recording)).toMatchObject({ surely_ms: 900, possibly_ms: 2_000 })
  })
})

describe('the verdict', () => {
  test('counts a second and what looking every 100 ms may miss at both ends', () => {
    expect(verdict(still(stretch(0, 1_250, 0.5)))).toBe('counts')
    expect(verdict(still(stretch(0, 1_200, 0.5)))).toBe('either')
  })

  test('wants more where the timers were late', () => {
    const late = still(stretch(0, 500, 0.5), stretch(650, 1_300, 0.5))
    expect(verdict(late)).toBe('either')
  })

  test('counts not what may have lasted less than a second', () => {
    expect(verdict(still(stretch(0, 950, 1), stretch(950, 2_000, 0)))).toBe('counts not')
    expect(verdict(still(stretch(0, 950, 1), stretch(1_000, 2_000, 0)))).toBe('either')
  })

  test('adds up no two spans', () => {
    expect(verdict(still(stretch(0, 900, 1), stretch(950, 950, 0), stretch(1_000, 1_900, 1)))).toBe('counts not')
  })

  test('asks for 30 % of 242 500 square pixels, 50 % of fewer', () => {
    expect(verdict(still(stretch(0, 2_000, 0.3, {}, large)))).toBe('counts')
    expect(verdict(still(stretch(0, 2_000, 0.29, {}, large)))).toBe('counts not')
    expect(verdict(still(stretch(0, 2_000, 0.3, {}, large - 1)))).toBe('counts not')
  })

  test('asks of a clip for two seconds of playing, half in view at any size', () => {
    const playing = { t: 0, is_playing: true }
    expect(verdict(clip(stretch(0, 2_250, 0.5), playing))).toBe('counts')
    expect(verdict(clip(stretch(0, 1_950, 0.5), playing))).toBe('counts not')
    expect(verdict(clip(stretch(0, 3_000, 0.4, {}, large), playing))).toBe('counts not')
    expect(verdict(clip(stretch(0, 3_000, 1)))).toBe('counts not')
  })

  test('of a clip that stops is open as long as the page may not know', () => {
    const samples = stretch(0, 4_000, 1)
    const from = (t: number) => ({ t, is_playing: true })
    const until = (t: number) => ({ t, is_playing: false })
    expect(verdict(clip(samples, from(0), until(1_820)))).toBe('counts not')
    expect(verdict(clip(samples, from(0), until(1_920)))).toBe('either')
    expect(verdict(clip(samples, from(0), until(1_500), from(1_700), until(3_400)))).toBe('counts not')
  })
})
