/** A market of one campaign, for predictable fills: its clips are 6 s long, its banners of every size. */
import { readFileSync } from 'node:fs'
import type { Campaign, MarketData } from '#domain/catalogue.ts'

const catalogue = JSON.parse(readFileSync(new URL('../../fixtures/demand.json', import.meta.url), 'utf8')) as MarketData

/** Returns the catalogue with one run-of-network campaign only, with `changes`. */
export function oneCampaign(changes: Partial<Campaign> = {}): MarketData {
  const campaign = catalogue.campaigns.find(({ campaign_id }) => campaign_id === 'cmp_notewick')!
  return { ...catalogue, campaigns: [{ ...campaign, ...changes }] }
}

/** Length of its clips, milliseconds. */
export const clip_ms = 6_000
