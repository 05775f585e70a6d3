/**
 * When an impression is viewable (A76): the one value of verdict, renderer and docs. The renderer has it from the frame,
 * which has that of the project. It imports nothing, since a part of it is built into render.js.
 */

/** Shares 0 to 1, times in milliseconds, areas in CSS pixels squared. A project may have its own. */
export interface ViewabilityThresholds {
  readonly ratio: number
  readonly duration_ms: number
  /** From this area on, `large_ratio` applies. */
  readonly large_area_px2: number
  readonly large_ratio: number
  readonly clip_ratio: number
  readonly clip_duration_ms: number
}

/** The MRC's thresholds. */
export const viewability = {
  ratio: 0.5,
  duration_ms: 1_000,
  large_area_px2: 242_500,
  large_ratio: 0.3,
  clip_ratio: 0.5,
  clip_duration_ms: 2_000,
} as const satisfies ViewabilityThresholds

/** The least width and height of an ad that counts as seen, CSS pixels; half of a declared side where that is less. */
export const viewableSidePx = 50

/** Whether an ad is shown too small to be seen, CSS pixels. */
export function isTooSmall(shown: Size, declared: Size): boolean {
  const { min } = Math
  return (
    shown.width < min(viewableSidePx, declared.width / 2) || shown.height < min(viewableSidePx, declared.height / 2)
  )
}

interface Size {
  readonly width: number
  readonly height: number
}

/**
 * What a view of one ad needs, as its frame has it: the share of the pixels, the continuous time, and from which area
 * another share applies.
 */
export type ViewNeeds = readonly [ratio: number, ms: number, large_area_px2: number, large_ratio: number]

export function listNeeds(isClip: boolean, thresholds: ViewabilityThresholds): ViewNeeds {
  const { ratio, duration_ms, large_area_px2, large_ratio, clip_ratio, clip_duration_ms } = thresholds
  return isClip ? [clip_ratio, clip_duration_ms, 0, clip_ratio] : [ratio, duration_ms, large_area_px2, large_ratio]
}

/** Returns the share and the time that a view of an ad needs that is shown with this area. */
export function findRequirement([ratio, ms, large_area, large_ratio]: ViewNeeds, area: number) {
  return { ratio: area >= large_area ? large_ratio : ratio, ms }
}
