/**
 * The campaigns behind the fills of a recording. The emulator decides a recorded slot by them, so that frames, explanations,
 * evidence and billing have a campaign of the catalogue like any other fill. They run at no time, so the market never
 * chooses them by itself.
 */
import { Domain } from '#contract/fields.ts'
import type { Campaign, Creative, MarketData } from '#domain/catalogue.ts'
import { hasUsdRate } from '#domain/currencies.ts'
import type { RecordedFill } from './recorded-outcomes.ts'

/** Names of the campaign and creative of a fill. */
export interface CampaignNames {
  campaign_id: string
  creative_id: string
}

export interface RecordedCampaigns {
  /** Returns the names for a fill; equal fills have the same. */
  add(fill: RecordedFill): CampaignNames
  list(): readonly { fill: RecordedFill; names: CampaignNames }[]
  /** Returns a catalogue with the campaigns of all added fills. The creatives of `standIns` are shown in their place. */
  extend<Data extends MarketData>(data: Data, standIns: readonly Creative[]): Data
}

/** The seat of the recorded campaigns. */
const partner_id = 'ptn_recording'
/** Replaces a landing page that no browser could open. */
const noPage = 'https://recording.example/'

export function createRecordedCampaigns(): RecordedCampaigns {
  const fills = new Map<string, { fill: RecordedFill; names: CampaignNames }>()
  return {
    add(fill) {
      const key = JSON.stringify(fill)
      const known = fills.get(key)
      if (known !== undefined) return known.names
      const number = fills.size + 1
      const names = { campaign_id: `cmp_recorded_${number}`, creative_id: `crv_recorded_${number}` }
      fills.set(key, { fill, names })
      return names
    },
    list: () => [...fills.values()],
    extend(data, standIns) {
      const partner = { partner_id, name: 'Recording', seat: 'recording', currency: 'USD' }
      const campaigns = [...fills.values()].flatMap(({ fill, names }) => {
        const standIn = nearestCreative(standIns, fill)
        return standIn === null ? [] : [toCampaign(fill, names, standIn)]
      })
      return { ...data, partners: [...data.partners, partner], campaigns: [...data.campaigns, ...campaigns] }
    },
  }
}

function toCampaign(fill: RecordedFill, { campaign_id, creative_id }: CampaignNames, standIn: Creative): Campaign {
  const { sponsor_name, gross_cpm, currency } = fill
  const click = readLandingPage(fill.click_url)
  const domain = Domain.safeParse(click.hostname)
  const isPriced = currency !== null && hasUsdRate(currency)
  return {
    campaign_id,
    partner_id,
    sponsor_name: cut(sponsor_name, 256) ?? 'Recorded sponsor',
    landing_domain: domain.success ? domain.data : 'recording.example',
    click_url: click.href,
    iab_categories: ['IAB24'],
    price_cpm: gross_cpm ?? 1,
    currency: isPriced ? currency : 'USD',
    topics: [],
    job_types: [],
    countries: [],
    flight: { starts_at_ms: null, ends_at_ms: 0 },
    creatives: [{ ...toCreative(fill, standIn), creative_id }],
  }
}

function toCreative({ title, description, cta_text }: RecordedFill, standIn: Creative): Creative {
  if (standIn.format !== 'native') return standIn
  const { description: _, ...rest } = standIn
  const body = cut(description, 2_000)
  return {
    ...rest,
    title: cut(title, 256) ?? standIn.title,
    cta_text: cut(cta_text, 256) ?? standIn.cta_text,
    ...(body === null ? {} : { description: body }),
  }
}

function cut(text: string | null, most: number): string | null {
  return text === null ? null : text.slice(0, most)
}

/** Only pages of the web are opened by a click. */
function readLandingPage(address: string | null): URL {
  const url = URL.parse(address ?? '')
  return url !== null && /^https?:$/.test(url.protocol) ? url : new URL(noPage)
}

/** Returns the creative of the same format that is closest in size, then in length; null without one of the format. */
function nearestCreative(creatives: readonly Creative[], fill: RecordedFill): Creative | null {
  const candidates = creatives.filter(({ format }) => format === fill.format)
  let nearest: Creative | null = null
  for (const candidate of candidates)
    if (nearest === null || distance(candidate, fill) < distance(nearest, fill)) nearest = candidate
  return nearest
}

function distance(creative: Creative, { width, height, duration_ms }: RecordedFill): number {
  const apart =
    Math.abs(creative.width - (width ?? creative.width)) + Math.abs(creative.height - (height ?? creative.height))
  const longer = creative.format === 'clip' ? Math.abs(creative.duration_ms - (duration_ms ?? creative.duration_ms)) : 0
  // Size first: a second of length is less than a pixel.
  return apart + longer / 1_000_000
}
