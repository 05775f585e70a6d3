import { maxNativeWidth, minNativeSize, nativeHeight } from '#contract/facts/native-size.ts'
import type { Format, NativeTemplateId } from '#contract/fields.ts'

/** CSS pixels. */
interface Size {
  readonly width: number
  readonly height: number
}

/** The sizes of banners and clips, largest area first (A38). Native is laid out by its template. */
export const standardSizes: Readonly<Record<Exclude<Format, 'native'>, readonly Size[]>> = {
  banner: [
    { width: 970, height: 250 },
    { width: 336, height: 280 },
    { width: 300, height: 250 },
    { width: 728, height: 90 },
    { width: 320, height: 100 },
    { width: 320, height: 50 },
  ],
  clip: [
    { width: 640, height: 360 },
    { width: 320, height: 180 },
  ],
}

/** The size of a slot without any hint (A38). */
const unhintedSizes: Readonly<Record<Exclude<Format, 'native'>, Size>> = {
  banner: { width: 300, height: 250 },
  clip: { width: 640, height: 360 },
}

export function isStandardSize(format: Exclude<Format, 'native'>, size: Size): boolean {
  return standardSizes[format].some(({ width, height }) => width === size.width && height === size.height)
}

/** Bounds of a slot, CSS pixels; null: unbounded. */
interface Bounds {
  readonly max_width: number | null
  readonly max_height: number | null
}

/**
 * Returns the largest of the available sizes, by area, that fits the slot (A38), or null when none does. Without either bound, the
 * slot is 300x250 for banner and 640x360 for clip.
 */
export function findBestSize<S extends Size>(
  format: Exclude<Format, 'native'>,
  { max_width, max_height }: Bounds,
  available: readonly S[],
): S | null {
  const hinted = max_width !== null || max_height !== null
  const width = hinted ? (max_width ?? Number.POSITIVE_INFINITY) : unhintedSizes[format].width
  const height = hinted ? (max_height ?? Number.POSITIVE_INFINITY) : unhintedSizes[format].height
  let best: S | null = null
  for (const size of available) {
    if (size.width > width || size.height > height) continue
    if (best === null || size.width * size.height > best.width * best.height) best = size
  }
  return best
}

/**
 * Returns the size in which a native template is laid out in a slot (A38), or null where the slot is too small for any. A template
 * is as wide as the slot, up to 600, and as high as that takes; in a lower slot it hides parts.
 */
export function findNativeSize(template: NativeTemplateId, { max_width, max_height }: Bounds): Size | null {
  const width = Math.min(max_width ?? maxNativeWidth, maxNativeWidth)
  const height = Math.min(nativeHeight(template, width), max_height ?? Number.POSITIVE_INFINITY)
  return width < minNativeSize.width || height < minNativeSize.height ? null : { width, height }
}
