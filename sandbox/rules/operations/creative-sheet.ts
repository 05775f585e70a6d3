/** The creatives of the market in force, for a sheet: nothing is decided, counted or stored. */

import { defaultSettings } from '#contract/resources/projects.ts'
import type { CreativeSheet } from '#contract/resources/sandbox/creative-sheet.ts'
import type { Campaign } from '#domain/catalogue.ts'
import { sampleWords } from '#domain/sheet/sample-words.ts'
import { listVariants } from '#domain/sheet/variants.ts'
import type { Services } from './context.ts'
import { creativeUrls, nativeAssets } from './placements/placement-response.ts'
import type { FrameCreative } from './render.ts'

export function listSheetCampaigns(services: Services) {
  return { campaigns: listOwnFirst(services) }
}

/** Returns the campaigns of the market in force, those of a file of yours first. */
export function listOwnFirst({ markets }: Pick<Services, 'markets'>) {
  return markets.current.campaigns
    .toSorted((a, b) => Number(b.source !== undefined) - Number(a.source !== undefined))
    .map(({ campaign_id, sponsor_name }) => ({ campaign_id, sponsor_name }))
}

/** Returns the variants of a campaign; null when the market has no such campaign. */
export function readSheet(services: Services, campaign_id: string): CreativeSheet | null {
  const campaign = findCampaign(services, campaign_id)
  if (campaign === null) return null
  return { campaign_id, sponsor_name: campaign.sponsor_name, variants: listVariants(campaign) }
}

/** Returns the frame of a variant, null when there is none. It gets no beacon token. */
export function sheetFrame(services: Services, campaign_id: string, variant_id: string) {
  const campaign = findCampaign(services, campaign_id)
  const variant = campaign && listVariants(campaign).find((each) => each.variant_id === variant_id)
  const creative = campaign?.creatives.find((each) => each.creative_id === variant?.creative_id)
  if (!campaign || !variant || !creative) return null
  return {
    creative: frameCreative(services, creative, variant),
    text_percent: variant.text_percent,
    mark: null,
    beacon_token: null,
    sponsor_name: campaign.sponsor_name,
    label_text: variant.label_text,
    click_url: campaign.click_url,
    viewability: defaultSettings.viewability,
  }
}

function findCampaign({ markets }: Services, campaign_id: string): Campaign | null {
  return markets.current.campaigns.find((each) => each.campaign_id === campaign_id) ?? null
}

type Variant = CreativeSheet['variants'][number]

function frameCreative(services: Services, creative: Campaign['creatives'][number], variant: Variant): FrameCreative {
  const { width, height, words, template_id } = variant
  if (creative.format === 'native') {
    const assets = nativeAssets(services, creative)
    return { format: 'native', template_id: template_id!, assets: reword(assets, words), width, height }
  }
  // The campaign's own files, not the substitutes of test traffic.
  const urls = creativeUrls(services, { job: { mode: 'live' } }, { creative })
  const { image_url, video_url, poster_url } = urls
  if (creative.format === 'banner') return { format: 'banner', image_url: image_url!, width, height }
  return { format: 'clip', video_url: video_url!, poster_url, width, height, duration_ms: creative.duration_ms }
}

type Assets = ReturnType<typeof nativeAssets>

function reword(assets: Assets, words: Variant['words']): Assets {
  if (words === 'own') return assets
  const { title, description, cta_text } = assets
  return {
    ...assets,
    title: sampleWords(title, words, 'sentence'),
    ...(description !== undefined && { description: sampleWords(description, words, 'sentence') }),
    cta_text: sampleWords(cta_text, words, 'call'),
  }
}
