/** A catalogue of demand for tests: one campaign for each topic, whose texts are what the test is about. */
import type { Campaign, MarketData } from '#domain/catalogue.ts'
import type { PlaceOptions } from './stage.ts'

export interface Texts {
  sponsor_name: string
  title: string
  description: string
  cta_text: string
}

/** Every campaign has one banner and one native creative, with the pictures of a seeded sponsor. */
export function buildCatalogue(texts: Readonly<Record<string, Texts>>): MarketData {
  return {
    revision: 1,
    partners: [{ partner_id: 'ptn_test', name: 'Test', seat: 'seat_1', currency: 'USD' }],
    campaigns: Object.entries(texts).map(
      ([topic, { sponsor_name, ...native }], index): Campaign => ({
        campaign_id: `cmp_${topic}`,
        partner_id: 'ptn_test',
        sponsor_name,
        landing_domain: 'sponsor.example',
        click_url: 'https://sponsor.example/',
        iab_categories: ['IAB8'],
        price_cpm: 5,
        currency: 'USD',
        topics: [topic],
        job_types: [],
        countries: [],
        flight: { starts_at_ms: null, ends_at_ms: null },
        creatives: [
          {
            creative_id: `crv_banner_${index}`,
            format: 'banner',
            width: 300,
            height: 250,
            file: 'larkfield-coffee/banner-300x250.webp',
            mime_type: 'image/webp',
          },
          {
            creative_id: `crv_native_${index}`,
            format: 'native',
            ...native,
            image_file: 'larkfield-coffee/native.webp',
            width: 600,
            height: 314,
            icon_file: 'larkfield-coffee/icon.webp',
          },
        ],
      }),
    ),
  }
}

/** Returns the options of a request that the campaign of a topic fills. */
export function about(topic: string, options: PlaceOptions): PlaceOptions {
  return { ...options, more: { consent: { semantic_targeting: true }, prompt: { topic } } }
}
