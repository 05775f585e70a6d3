/** What of your own campaigns may never be shown, although nothing in their file is wrong. */
import type { Campaign } from '#domain/catalogue.ts'
import { findBestSize } from '#domain/sizes.ts'

/** Returns a sentence for each reason: a flight that is over, a size for which a slot without `slot_hint` has no room. */
export function noteUnseen({ flight, creatives }: Pick<Campaign, 'flight' | 'creatives'>, now_ms: number): string[] {
  const isOver = flight.ends_at_ms !== null && flight.ends_at_ms <= now_ms
  const large = creatives.flatMap((creative) => {
    const unhinted = { max_width: null, max_height: null }
    if (creative.format === 'native' || findBestSize(creative.format, unhinted, [creative]) !== null) return []
    return `${creative.format} ${creative.width}x${creative.height}`
  })
  return [
    ...(isOver ? ['Its flight is over: it is shown only where it is forced.'] : []),
    ...(large.length === 0
      ? []
      : [
          `${large.join(', ')}: shown only where slot_hint has room for it: a slot without one is 300x250 for a banner and 640x360 for a clip.`,
        ]),
  ]
}
