/** The canonical placement response, built from what a slot's decision has bound. */
import type { SlotStatus } from '../../src/contract/fields.ts'
import { encodeId } from '../../src/contract/ids.ts'
import { isRetryable, noFillReasons } from '../../src/contract/no-fill.ts'
import type {
  Decision,
  FillDecision,
  NativeAssets,
  Placement,
  PlacementResponse,
} from '../../src/contract/v1/placements.ts'
import { consentDeclaration } from '../domain/consent.ts'
import type { Campaign, Creative } from '../domain/market.ts'
import { assetSecret, assetTokenOf, decisionEvidence } from '../runtime/deciding.ts'
import type { DecisionFacts, SlotRow } from '../store/store.ts'
import type { Services } from './context.ts'

export type FilledOutcome = Extract<DecisionFacts['outcome'], { status: 'filled' }>

/** A fill with the campaign and creative it was made of. */
export interface Fill {
  outcome: FilledOutcome
  campaign: Campaign
  creative: Creative
}

/** Whether a slot is pending, ready or expired at an instant (A30). */
export function statusOf(slot: SlotRow, now_ms: number): SlotStatus {
  if (slot.decision === null) return 'pending'
  return now_ms >= slot.decision.decided_at_ms + slot.project.settings.decision_ttl_ms ? 'expired' : 'ready'
}

/** The response of POST /v1/placements and GET /v1/decisions/{slot_id}. */
export async function placementResponse(services: Services, slot: SlotRow, now_ms: number): Promise<PlacementResponse> {
  const slot_id = encodeId('slot', slot.id)
  const { decision } = slot
  if (decision === null) return { slot_id, status: 'pending', placement: null, decision: null }
  const status = statusOf(slot, now_ms)
  const fill = await fillOf(services, decision)
  const asset_token = fill === null ? '' : await tokenOf(services, slot, decision, fill.outcome)
  return {
    slot_id,
    status,
    placement: fill === null || status === 'expired' ? null : placementOf(services, slot, decision, fill, asset_token),
    decision: decisionOf(services, slot, decision, fill, asset_token),
    authoritative_consent: decision.consent,
  }
}

/** The campaign and creative of a fill; null for a no-fill. */
export async function fillOf(services: Services, decision: DecisionFacts): Promise<Fill | null> {
  const { outcome } = decision
  if (outcome.status === 'no_fill') return null
  const market = await services.markets.at(decision.catalogue)
  const campaign = market?.campaigns.find((candidate) => candidate.campaign_id === outcome.campaign_id)
  const creative = campaign?.creatives.find((candidate) => candidate.creative_id === outcome.creative_id)
  if (campaign === undefined || creative === undefined) {
    throw new Error(`creative ${outcome.creative_id} is in no catalogue of this database`)
  }
  return { outcome, campaign, creative }
}

export interface CreativeUrls {
  image_url: string | null
  video_url: string | null
  poster_url: string | null
  mime_type: string
}

/** Test traffic gets test substitutes for banner and clip; native and live traffic the catalogue's own (A42). */
export function creativeUrls(services: Services, slot: SlotRow, { outcome, creative }: Fill): CreativeUrls {
  const { base_url } = services
  const size = `width=${outcome.width}&height=${outcome.height}`
  if (creative.format === 'native') {
    const image_url = `${base_url}/assets/creatives/${creative.image_file}`
    return { image_url, video_url: null, poster_url: null, mime_type: 'application/json' }
  }
  if (slot.job.mode === 'test') {
    if (creative.format === 'banner') {
      const image_url = `${base_url}/v1/test-assets/banner?${size}`
      return { image_url, video_url: null, poster_url: null, mime_type: 'image/png' }
    }
    const clip = `${base_url}/v1/test-assets/clip?${size}&duration_ms=${outcome.duration_ms}`
    return { image_url: null, video_url: clip, poster_url: `${clip}&poster=true`, mime_type: 'video/mp4' }
  }
  const url = `${base_url}/assets/creatives/${creative.file}`
  return creative.format === 'banner'
    ? { image_url: url, video_url: null, poster_url: null, mime_type: creative.mime_type }
    : {
        image_url: null,
        video_url: url,
        poster_url: `${base_url}/assets/creatives/${creative.poster_file}`,
        mime_type: creative.mime_type,
      }
}

/** The structured assets of a native fill. */
export function nativeAssets(services: Services, creative: Extract<Creative, { format: 'native' }>): NativeAssets {
  const folder = `${services.base_url}/assets/creatives`
  return {
    title: creative.title,
    image_url: `${folder}/${creative.image_file}`,
    ...(creative.description === undefined ? {} : { description: creative.description }),
    cta_text: creative.cta_text,
    icon_url: `${folder}/${creative.icon_file}`,
  }
}

function placementOf(
  services: Services,
  slot: SlotRow,
  decision: DecisionFacts,
  fill: Fill,
  asset_token: string,
): Placement {
  const { outcome, campaign } = fill
  const { width, height, format } = outcome
  const urls = creativeUrls(services, slot, fill)
  const { click_url, sponsor_name } = campaign
  return {
    image_url: urls.image_url,
    video_url: urls.video_url,
    click_url,
    sponsor_name,
    width,
    height,
    format,
    asset_token,
    ad_label_text: decision.label_text,
    render: {
      strategy: 'hosted_frame',
      frame_url: `${services.base_url}/v1/render/${asset_token}`,
      script_url: `${services.base_url}/v1/render.js`,
      media_type: mediaTypes[format],
      width,
      height,
      aspect_ratio: `${width}/${height}`,
      label_text: decision.label_text,
      sponsor_name,
      click_url,
      ...(outcome.template_id === null ? {} : { native_template_id: outcome.template_id }),
    },
  }
}

const mediaTypes = { banner: 'image', clip: 'video', native: 'native' } as const

function decisionOf(
  services: Services,
  slot: SlotRow,
  decision: DecisionFacts,
  fill: Fill | null,
  asset_token: string,
): Decision {
  const cs_declaration = consentDeclaration(decision.consent)
  if (fill === null) {
    const reason = (decision.outcome as Extract<DecisionFacts['outcome'], { status: 'no_fill' }>).reason
    return {
      fill: false,
      format: null,
      asset_token: null,
      delivery_url: null,
      assets: null,
      reason: 'no_fill',
      no_fill_reason: reason,
      reason_origin: noFillReasons[reason].origin,
      nbr: noFillReasons[reason].nbr,
      retryable: isRetryable(reason),
      ad_label_text: decision.label_text,
      cs_declaration,
    }
  }
  return fillDecision(services, slot, decision, fill, asset_token, cs_declaration)
}

function fillDecision(
  services: Services,
  slot: SlotRow,
  decision: DecisionFacts,
  fill: Fill,
  asset_token: string,
  cs_declaration: string,
): FillDecision {
  const { outcome, campaign, creative } = fill
  const { settings } = slot.project
  const urls = creativeUrls(services, slot, fill)
  return {
    fill: true,
    format: outcome.format,
    asset_token,
    delivery_url: creative.format === 'native' ? null : (urls.image_url ?? urls.video_url),
    assets: creative.format === 'native' ? nativeAssets(services, creative) : null,
    click_url: campaign.click_url,
    sponsor_name: campaign.sponsor_name,
    ad_label_text: decision.label_text,
    mime_type: urls.mime_type,
    dimensions: { width: outcome.width, height: outcome.height },
    duration_ms: outcome.duration_ms,
    constraints: {
      mode: 'hosted_frame',
      max_render_delay_ms: settings.frame_load_within_ms,
      require_viewability_ms:
        outcome.format === 'clip' ? settings.viewability.clip_duration_ms : settings.viewability.duration_ms,
      creative_duration_ms: outcome.duration_ms,
    },
    cs_declaration,
    revenue_estimate: {
      gross_cpm: outcome.gross_cpm,
      estimated_net_per_impression: Number(((outcome.gross_cpm / 1000) * settings.publisher_share).toFixed(8)),
      currency: outcome.currency,
    },
  }
}

/**
 * The secret of an asset token is derived from this install's key. A database that came from another install holds
 * hashes of other secrets: such a token is given anew when its placement is asked for again.
 */
async function tokenOf(services: Services, slot: SlotRow, decision: DecisionFacts, outcome: FilledOutcome) {
  const hash = services.platform.sha256(assetSecret(services, slot.id))
  if (!hash.equals(outcome.asset_token_hash)) {
    const renewed = { ...decision, outcome: { ...outcome, asset_token_hash: hash } }
    const evidence = decisionEvidence(services, slot.project, slot.job, slot.id, renewed)
    await services.store.replaceAssetToken(slot.id, hash, evidence)
  }
  return assetTokenOf(services, slot.id)
}
