import { expect, it } from 'vitest'
import { MarketData } from '#domain/catalogue.ts'
import { createRecordedCampaigns } from './recorded-campaigns.ts'
import type { RecordedFill } from './recorded-outcomes.ts'

const banner = (width: number, height: number) => ({
  creative_id: 'crv_own',
  format: 'banner' as const,
  width,
  height,
  file: `own/${width}.webp`,
  mime_type: 'image/webp',
})

const fill: RecordedFill = {
  status: 'filled',
  format: 'banner',
  width: 300,
  height: 600,
  duration_ms: null,
  sponsor_name: 'Recorded Coffee',
  click_url: 'https://www.coffee.example/landing?x=1',
  mime_type: 'image/png',
  image_url: null,
  video_url: null,
  icon_url: null,
  title: null,
  description: null,
  cta_text: null,
  gross_cpm: 3.5,
  currency: 'EUR',
  template_id: null,
}

const none = { revision: 1, partners: [], campaigns: [] }

it('are campaigns of the catalogue that the market never chooses, one for equal fills', () => {
  const campaigns = createRecordedCampaigns()
  expect(campaigns.add(fill)).toEqual({ campaign_id: 'cmp_recorded_1', creative_id: 'crv_recorded_1' })
  expect(campaigns.add({ ...fill })).toEqual(campaigns.add(fill))
  const data = MarketData.parse(campaigns.extend(none, [banner(728, 90), banner(300, 250)]))
  expect(data.campaigns).toMatchObject([
    {
      campaign_id: 'cmp_recorded_1',
      sponsor_name: 'Recorded Coffee',
      landing_domain: 'www.coffee.example',
      click_url: 'https://www.coffee.example/landing?x=1',
      price_cpm: 3.5,
      currency: 'EUR',
      flight: { starts_at_ms: null, ends_at_ms: 0 },
      creatives: [{ creative_id: 'crv_recorded_1', width: 300, height: 250 }],
    },
  ])
})

it.each([
  ['a script for a landing page', { click_url: 'javascript:alert(1)' }],
  ['no landing page', { click_url: null }],
  ['an address for a landing page', { click_url: 'http://127.0.0.1:1/' }],
  ['a currency that nobody trades', { currency: 'XXX', gross_cpm: null }],
  ['a sponsor as long as a page', { sponsor_name: 'x'.repeat(10_000) }],
])('are valid whatever was recorded: %s', (_, odd) => {
  const campaigns = createRecordedCampaigns()
  campaigns.add({ ...fill, ...odd })
  const [campaign] = MarketData.parse(campaigns.extend(none, [banner(300, 250)])).campaigns
  expect(campaign!.click_url).toMatch(/^https?:/)
})
