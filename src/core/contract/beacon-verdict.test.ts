import { describe, expect, test } from 'vitest'
import { isViewable } from './beacon-verdict.ts'
import { acceptHints } from './error-codes.ts'
import { limits } from './limits.ts'

const thresholds = limits.viewability
const medium = { width: 300, height: 250 }
const billboard = { width: 970, height: 250 }
const clip = { width: 640, height: 360 }

describe('a banner or native', () => {
  test('is viewable at 50 % for 1000 ms, equality included', () => {
    expect(isViewable('banner', { visible_ratio: 0.5, visible_ms: 1_000 }, medium, thresholds)).toBe(true)
    expect(isViewable('banner', { visible_ratio: 0.499, visible_ms: 1_000 }, medium, thresholds)).toBe(false)
    expect(isViewable('native', { visible_ratio: 0.5, visible_ms: 999 }, medium, thresholds)).toBe(false)
  })

  test('of 242 500 px2 or more needs 30 %', () => {
    expect(isViewable('banner', { visible_ratio: 0.3, visible_ms: 1_000 }, billboard, thresholds)).toBe(true)
    expect(isViewable('banner', { visible_ratio: 0.299, visible_ms: 1_000 }, billboard, thresholds)).toBe(false)
    expect(
      isViewable('banner', { visible_ratio: 0.3, visible_ms: 1_000 }, { width: 970, height: 249 }, thresholds),
    ).toBe(false)
  })

  test('is judged by its rendered size if that was measured', () => {
    const scaled = { visible_ratio: 0.4, visible_ms: 1_000, width_px: 485, height_px: 125 }
    expect(isViewable('banner', scaled, billboard, thresholds)).toBe(false)
    expect(isViewable('banner', { ...scaled, visible_ratio: 1, width_px: 0 }, billboard, thresholds)).toBe(false)
  })
})

test('a clip needs 50 % for 2000 ms, regardless of its area', () => {
  const large = { width: 1280, height: 720 }
  expect(isViewable('clip', { visible_ratio: 0.5, visible_ms: 2_000 }, clip, thresholds)).toBe(true)
  expect(isViewable('clip', { visible_ratio: 0.5, visible_ms: 1_999 }, clip, thresholds)).toBe(false)
  expect(isViewable('clip', { visible_ratio: 0.4, visible_ms: 2_000 }, large, thresholds)).toBe(false)
})

test('the hint about a view below the threshold names the default thresholds', () => {
  const { ratio, duration_ms, large_ratio, large_area_px2, clip_ratio, clip_duration_ms } = thresholds
  const hint = acceptHints.BELOW_THRESHOLD.replace(/(?<=\d) (?=\d{3})/, '')
  for (const text of [
    `${ratio * 100} % has been in view for ${duration_ms} ms`,
    `${large_ratio * 100} % of an ad of ${large_area_px2} px2`,
    `a clip ${clip_ratio * 100} % for ${clip_duration_ms} ms`,
  ])
    expect(hint).toContain(text)
  expect(acceptHints.TOO_SMALL).toContain(`at least ${limits.viewable_side_px} px wide and high`)
})

test('a missing measurement counts as met', () => {
  expect(isViewable('banner', {}, medium, thresholds)).toBe(true)
  expect(isViewable('banner', { visible_ms: 200 }, medium, thresholds)).toBe(false)
})

test('a project has its own thresholds', () => {
  const strict = { ...thresholds, ratio: 1, duration_ms: 3_000 }
  expect(isViewable('banner', { visible_ratio: 0.9, visible_ms: 3_000 }, medium, strict)).toBe(false)
  expect(isViewable('banner', { visible_ratio: 1, visible_ms: 3_000 }, medium, strict)).toBe(true)
})
