/**
 * Continuous dwell (A76): time counts only between two looks that both found the ad in view.
 *
 * A timer that merely fires a second after the ad came into view counts scrolled-away and hidden time. Here any look
 * that fails starts again from zero, and a gap between looks, as in a throttled tab, is thrown away.
 */
export interface Dwell {
  /** Continuous time so far, milliseconds. */
  ms: number
  /** When it was last found in view; null while it is not. */
  seen_at_ms: number | null
}

export const noDwell: Dwell = { ms: 0, seen_at_ms: null }

/** Longer gaps between two looks are not counted, milliseconds. */
const longest_gap_ms = 400

export function look(dwell: Dwell, now_ms: number, isInView: boolean): Dwell {
  if (!isInView) return noDwell
  const gap = dwell.seen_at_ms === null ? 0 : now_ms - dwell.seen_at_ms
  return { ms: gap > longest_gap_ms ? dwell.ms : dwell.ms + gap, seen_at_ms: now_ms }
}

/** What makes an impression viewable: share of the pixels and continuous time. */
export function threshold(isClip: boolean, area_px2: number): { ratio: number; ms: number } {
  if (isClip) return { ratio: 0.5, ms: 2_000 }
  return { ratio: area_px2 >= 242_500 ? 0.3 : 0.5, ms: 1_000 }
}
