import type { Format } from './fields.ts'
import type { Measurements } from './v1/beacons.ts'
import type { ProjectConfig } from './v1/projects.ts'

/** Shares 0 to 1, times in milliseconds, areas in CSS pixels squared (A76). Defaults: `limits.viewability`. */
export type ViewabilityThresholds = Readonly<Omit<ProjectConfig['viewability'], 'billing_model'>>

/** CSS pixels. */
interface Size {
  readonly width: number
  readonly height: number
}

/** What a client has measured. */
export type Seen = Readonly<Pick<Measurements, 'visible_ratio' | 'visible_ms' | 'width_px' | 'height_px'>>

/**
 * Whether what was seen is a viewable impression (A76): a clip by its own ratio and time; anything else by the ratio of
 * its area, large or not, and the common time. Thresholds are met at equality.
 *
 * The area is the rendered one where it was measured, else the creative's; what was drawn at no size is never viewable.
 * An absent share or time is taken as met: the client has judged it.
 */
export function isViewable(format: Format, seen: Seen, creative: Size, thresholds: ViewabilityThresholds): boolean {
  const area = (seen.width_px ?? creative.width) * (seen.height_px ?? creative.height)
  if (area <= 0) return false
  const required = requirement(format, area, thresholds)
  return (
    (seen.visible_ratio ?? required.ratio) >= required.ratio &&
    (seen.visible_ms ?? required.duration_ms) >= required.duration_ms
  )
}

function requirement(format: Format, area: number, thresholds: ViewabilityThresholds) {
  if (format === 'clip') return { ratio: thresholds.clip_ratio, duration_ms: thresholds.clip_duration_ms }
  const isLarge = area >= thresholds.large_area_px2
  return { ratio: isLarge ? thresholds.large_ratio : thresholds.ratio, duration_ms: thresholds.duration_ms }
}
