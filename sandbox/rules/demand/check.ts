/** What `svc demand check` prints of your own campaigns: each as it was read, and what of it may never be shown. */
import type { Campaign, MarketData } from '#domain/catalogue.ts'
import { findBestSize } from '#domain/sizes.ts'
import { openDemand } from './open-demand.ts'

/** A campaign of a file of demand that is valid. */
export interface CheckedCampaign {
  campaign_id: string
  file: string
  line: number
  sponsor_name: string
  price_cpm: number
  currency: string
  topics: string[]
  /** `banner 300x250`, `clip 640x360 6000 ms`. */
  creatives: string[]
  /** Why it, or a part of it, may not be shown, a sentence each. */
  notes: string[]
}

/** @throws SandboxError demand_invalid */
export async function checkDemand(path: string, now_ms: number): Promise<CheckedCampaign[]> {
  return describeCampaigns((await openDemand(path)).market, now_ms)
}

export function describeCampaigns({ campaigns }: Pick<MarketData, 'campaigns'>, now_ms: number): CheckedCampaign[] {
  return campaigns.map((campaign): CheckedCampaign => {
    const { campaign_id, source, sponsor_name, price_cpm, currency, topics, creatives } = campaign
    return {
      ...{ campaign_id, ...source!, sponsor_name, price_cpm, currency, topics },
      notes: noteUnseen(campaign, now_ms),
      creatives: creatives.map((creative) => {
        const { format, width, height } = creative
        if (format === 'native') return 'native'
        return `${format} ${width}x${height}${creative.format === 'clip' ? ` ${creative.duration_ms} ms` : ''}`
      }),
    }
  })
}

/** Returns a sentence for each reason: a flight that is over, a size for which a slot without `slot_hint` has no room. */
function noteUnseen({ flight, creatives }: Pick<Campaign, 'flight' | 'creatives'>, now_ms: number): string[] {
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
