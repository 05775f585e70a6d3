/** Demand for tests of the hosted frame: one native campaign for each text that is hard to lay out, and one for the rest. */
import type { MarketData } from '#domain/catalogue.ts'
import { oneCampaign } from './campaign.ts'
import { buildCatalogue, type Texts } from './catalogue.ts'

const sentence =
  'Every night train has couchettes, sleepers for one, two or four people, and a quiet saloon that stays open until the last passenger goes to bed.'

/** By topic. */
export const texts = {
  usual: {
    sponsor_name: 'Larkfield Coffee',
    title: 'Coffee roasted on Monday, brewed on Wednesday',
    description: 'Tell us how you brew. We send beans to match, and the first bag is on us.',
    cta_text: 'Get a free bag',
  },
  long: {
    sponsor_name: 'The Amalgamated Night Train Company of Central and Northern Europe GmbH & Co. KG',
    title: `${sentence.slice(0, 90)} ${'Donaudampfschifffahrtselektrizitätenhauptbetriebswerk'.repeat(2)}`,
    description: sentence.repeat(4),
    cta_text: 'See all of the night train routes across eleven countries',
  },
  arabic: {
    sponsor_name: 'Rawiya Audiobooks',
    title: 'راوية: ألف حكاية بصوتٍ دافئ',
    description: 'كتب مسموعة بالعربية الفصحى واللهجات. أول كتاب مجانًا.',
    cta_text: 'استمع الآن',
  },
  markup: {
    sponsor_name: '"><svg onload=alert(1)>',
    title: '<script>alert(1)</script><b>Bold</b> & "quotes"',
    description: '</span><img src=x onerror=alert(1)>',
    cta_text: '<i>Go</i>',
  },
  accents: {
    sponsor_name: 'Île-à-Vapeur',
    title: 'ÜÄÖ ÀÉÔ '.repeat(18).trim(),
    description: 'ÜÄÖ ÀÉÔ '.repeat(40).trim(),
    cta_text: 'Où',
  },
  bare: { sponsor_name: 'Notewick', title: 'Plain-file notes', description: '', cta_text: 'Write one' },
} satisfies Record<string, Texts>

export type Topic = keyof typeof texts

/** The campaign without a description represents those without their optional parts. */
export function framesCatalogue(): MarketData {
  const rest = oneCampaign()
  const native = buildCatalogue(texts)
  return {
    ...rest,
    partners: [...rest.partners, ...native.partners],
    campaigns: [
      ...rest.campaigns.map((campaign) => ({
        ...campaign,
        creatives: campaign.creatives.filter(({ format }) => format !== 'native'),
      })),
      ...native.campaigns.map((campaign) => ({
        ...campaign,
        creatives: campaign.creatives.flatMap((creative) => {
          if (creative.format !== 'native') return []
          const { description, ...others } = creative
          return description ? [creative] : [others]
        }),
      })),
    ],
  }
}
