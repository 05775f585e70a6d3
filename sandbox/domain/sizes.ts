import type { Format } from '#contract/fields.ts'

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

/** The smallest slot where a native template is legible. */
const minNativeSize: Size = { width: 120, height: 50 }

export function isStandardSize(format: Exclude<Format, 'native'>, size: Size): boolean {
  return standardSizes[format].some(({ width, height }) => width === size.width && height === size.height)
}

/**
 * Returns the largest of the available sizes, by area, that fits the slot (A38), or null when none does.
 *
 * Bounds are CSS pixels; null is no bound. Without either, the slot is 300x250 for banner and 640x360 for clip. Native
 * adapts: it fits every slot of at least 120x50, whatever the size of its image.
 */
export function findBestSize<S extends Size>(
  format: Format,
  max_width: number | null,
  max_height: number | null,
  available: readonly S[],
): S | null {
  const hinted = max_width !== null || max_height !== null
  const slot_width = max_width ?? Number.POSITIVE_INFINITY
  const slot_height = max_height ?? Number.POSITIVE_INFINITY
  if (format === 'native') {
    const fits = slot_width >= minNativeSize.width && slot_height >= minNativeSize.height
    return fits ? (available[0] ?? null) : null
  }
  const width = hinted ? slot_width : unhintedSizes[format].width
  const height = hinted ? slot_height : unhintedSizes[format].height
  let best: S | null = null
  for (const size of available) {
    if (size.width > width || size.height > height) continue
    if (best === null || size.width * size.height > best.width * best.height) best = size
  }
  return best
}
