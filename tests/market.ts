/** Markets and opportunities of tests, from the seeded demand. */
import { type Format, formats } from '#contract/fields.ts'
import { type Campaign, MarketData } from '#domain/catalogue.ts'
import { prepareMarket } from '#domain/market.ts'
import type { Opportunity } from '#domain/offers.ts'
import demand from '#fixtures/demand.json' with { type: 'json' }

export const data = MarketData.parse(demand)
export const summer = Date.UTC(2025, 5, 15)

/** A chat turn without topic, with every format and no bounds. */
export function opportunity(change: Partial<Opportunity> = {}): Opportunity {
  return {
    client_id: 'proj_demo',
    session_id: 'session-1',
    job_type: 'chat',
    topic: null,
    country: null,
    allowed_formats: formats,
    native_template_id: 'card',
    max_width: null,
    max_height: null,
    floors: { banner: 0, clip: 0, native: 0 },
    floor_currency: 'USD',
    blocked_categories: [],
    blocked_domains: [],
    preferred_partner_id: null,
    force_campaign_id: null,
    purposes: { semantic_targeting: true, prompt_shared: false },
    capped: new Set(),
    fill_rate: 1,
    seed: 1,
    now_ms: summer,
    ...change,
  }
}

/** A run-of-network campaign with every format and size. */
export const template = data.campaigns.find((campaign) => campaign.campaign_id === 'cmp_latchwell')!

/** Its creatives of a format. */
export const only = (format: Format) => template.creatives.filter((creative) => creative.format === format)

/** A market of run-of-network campaigns, each a variation of the template. */
export function buildMarket(...changes: Partial<Campaign>[]) {
  return buildAuction([], ...changes)
}

/** The same, with partners in place of the seeded ones, where there are some. */
export function buildAuction(partners: MarketData['partners'], ...changes: Partial<Campaign>[]) {
  const campaigns = changes.map((change, index) => ({ ...template, campaign_id: `cmp_${index}`, ...change }))
  return prepareMarket({ ...data, ...(partners.length === 0 ? {} : { partners }), campaigns })
}
