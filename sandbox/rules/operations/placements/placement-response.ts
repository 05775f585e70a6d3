/** The response that contains a decision, with the asset token of its fill. */

import { formatFacts } from '#contract/facts/formats.ts'
import type { SlotStatus } from '#contract/fields.ts'
import { encodeId } from '#contract/ids.ts'
import { isRetryable, type NoFillReason, noFillReasons } from '#contract/no-fill.ts'
import type {
  Decision,
  DecisionMetadata,
  NativeAssets,
  NoFillDecision,
  Placement,
  PlacementResponse,
} from '#contract/resources/placements.ts'
import { type Campaign, type Creative, ownFolder } from '#domain/catalogue.ts'
import { consentDeclaration } from '#domain/consent.ts'
import type { Market } from '#domain/market.ts'
import { andThen, type MaybePromise } from '#foundation/maybe-promise.ts'
import { decisionEvidence, deriveAssetToken } from '#runtime/decisions.ts'
import type { SlotRow, StoredDecision } from '#store/store.ts'
import type { FilledOutcome, Services } from '../context.ts'

type NoFillOutcome = Extract<StoredDecision['outcome'], { status: 'no_fill' }>

/** A fill with its campaign and creative. */
export interface Fill {
  outcome: FilledOutcome
  campaign: Campaign
  creative: Creative
}

/** Returns whether a slot is pending, ready or expired at a time (A30). */
export function slotStatus(slot: SlotRow, now_ms: number): SlotStatus {
  if (slot.decision === null) return 'pending'
  return now_ms >= slot.decision.decided_at_ms + slot.project.settings.decision_ttl_ms ? 'expired' : 'ready'
}

/** Returns the response of POST /v1/placements and GET /v1/decisions/{slot_id}. */
export function placementResponse(services: Services, slot: SlotRow, now_ms: number): MaybePromise<PlacementResponse> {
  if (!isDecided(slot)) {
    return { slot_id: encodeId('slot', slot.id), status: 'pending', placement: null, decision: null }
  }
  return andThen(findFill(services, slot.decision), (fill) => decidedResponse(services, slot, fill, now_ms))
}

type DecidedSlot = SlotRow & { decision: StoredDecision }

function isDecided(slot: SlotRow): slot is DecidedSlot {
  return slot.decision !== null
}

function decidedResponse(
  services: Services,
  slot: DecidedSlot,
  fill: Fill | null,
  now_ms: number,
): MaybePromise<PlacementResponse> {
  const { decision } = slot
  const slot_id = encodeId('slot', slot.id)
  const status = slotStatus(slot, now_ms)
  if (fill === null) {
    const { label_text, consent } = decision
    const { reason } = decision.outcome as NoFillOutcome
    const noFill = noFillDecision(reason, label_text, consentDeclaration(consent))
    return { slot_id, status, placement: null, decision: noFill, authoritative_consent: consent }
  }
  const { token, hash } = deriveAssetToken(services, slot.id)
  const { outcome, campaign, creative } = fill
  const shown = { outcome, campaign, creative, asset_token: token, urls: creativeUrls(services, slot, fill) }
  const response: PlacementResponse = {
    slot_id,
    status,
    placement: status === 'expired' ? null : buildPlacement(services, decision, shown),
    decision: buildDecision(services, slot, decision, shown),
    authoritative_consent: decision.consent,
  }
  if (hash.equals(outcome.asset_token_hash)) return response
  return replaceToken(services, slot, fill, hash).then(() => response)
}

/** A fill with its fields in a response. */
interface ShownFill extends Fill {
  asset_token: string
  urls: CreativeUrls
}

/** Returns the campaign and creative of a fill, without a promise when its market is in memory; null for a no-fill. */
export function findFill(services: Services, { outcome, catalogue }: StoredDecision): MaybePromise<Fill | null> {
  if (outcome.status === 'no_fill') return null
  return andThen(services.markets.at(catalogue), (market) => fillIn(market, outcome))
}

function fillIn(market: Market | null, outcome: FilledOutcome): Fill {
  const campaign = market?.campaigns[market.positions.get(outcome.campaign_id) ?? -1]
  const creative = campaign?.creatives.find((candidate) => candidate.creative_id === outcome.creative_id)
  if (campaign === undefined || creative === undefined) {
    throw new Error(`creative ${outcome.creative_id} is in no catalogue of this database`)
  }
  return { outcome, campaign, creative }
}

/**
 * The secret of an asset token is derived from the key of this install. A database from another install has hashes of
 * other secrets: such a token is replaced when its placement is requested again.
 */
async function replaceToken(services: Services, slot: DecidedSlot, { outcome }: Fill, hash: Buffer): Promise<void> {
  const renewed = { ...slot.decision, outcome: { ...outcome, asset_token_hash: hash } }
  const evidence = decisionEvidence(services, { ...slot, slot_id: slot.id }, renewed)
  await services.store.replaceAssetToken(slot.id, hash, evidence)
}

function buildPlacement({ base_url }: Services, decision: StoredDecision, shown: ShownFill): Placement {
  const { outcome, campaign, asset_token, urls } = shown
  const { width, height, format } = outcome
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
      frame_url: flatString(base_url, '/v1/render/', asset_token),
      script_url: flatString(base_url, '/v1/render.js'),
      media_type: formatFacts[format].media_type,
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

function buildDecision(services: Services, slot: SlotRow, decision: StoredDecision, shown: ShownFill): Decision {
  const { outcome, campaign, creative, asset_token, urls } = shown
  const { settings } = slot.project
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
      mode: outcome.format,
      ...ruleset,
      max_render_delay_ms: settings.frame_load_within_ms,
      require_viewability_ms: formatFacts[outcome.format].plays
        ? settings.viewability.clip_duration_ms
        : settings.viewability.duration_ms,
      creative_duration_ms: outcome.duration_ms ?? 0,
    },
    cs_declaration: consentDeclaration(decision.consent),
    revenue_estimate: {
      gross_cpm: outcome.gross_cpm,
      estimated_net_per_impression: Number(((outcome.gross_cpm / 1000) * settings.publisher_share).toFixed(8)),
      currency: outcome.currency,
    },
    ...buildMetadata(slot),
  }
}

/**
 * Returns when and how long a fill may show, for a job that states how long its generation takes (C03). A creative may
 * take as long as the generation; where a clip is too long for it, a banner can take its place.
 */
function buildMetadata({ job, project }: SlotRow): { metadata?: DecisionMetadata } {
  const { predicted_latency_ms, timing, allowed_formats } = job.facts
  if (predicted_latency_ms === undefined) return {}
  const { defaults } = project.settings
  const allowed_modes = allowed_formats ?? defaults.allowed_formats
  const hasFallback = allowed_modes.includes('clip') && allowed_modes.includes('banner')
  return {
    metadata: {
      timing: timing ?? defaults.timing,
      inference: {
        estimated_window_ms: predicted_latency_ms,
        max_creative_duration_ms: predicted_latency_ms,
        fallback_mode: hasFallback ? 'banner' : null,
        allowed_modes: [...allowed_modes],
      },
    },
  }
}

export function noFillDecision(reason: NoFillReason, ad_label_text: string, cs_declaration: string): NoFillDecision {
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
    ad_label_text,
    cs_declaration,
  }
}

/** The rules for rendering and counting a fill (A32), from A76. */
const ruleset = { ruleset_id: 'mrc_viewability', ruleset_version: 1 }

interface CreativeUrls {
  image_url: string | null
  video_url: string | null
  poster_url: string | null
  mime_type: string
}

/** What decides which files a creative has. */
interface Shown {
  readonly job: Pick<SlotRow['job'], 'mode'>
}

/** Returns the recorded files of a creative where a recording has them, else those of the emulator. */
export function creativeUrls(services: Services, slot: Shown, fill: Pick<Fill, 'creative'>): CreativeUrls {
  const own = ownUrls(services, slot, fill)
  const recorded = services.player?.media.findCreative(fill.creative.creative_id) ?? null
  if (recorded === null) return own
  const { image, video, mime_type } = recorded
  return {
    image_url: image === null ? own.image_url : flatString(services.base_url, image),
    video_url: video === null ? own.video_url : flatString(services.base_url, video),
    // The poster would be of another clip.
    poster_url: video === null ? own.poster_url : null,
    mime_type: mime_type ?? own.mime_type,
  }
}

/**
 * Returns test substitutes for banners and clips in test traffic; the catalogue's own files for native and live traffic
 * (A42). What you brought yourself needs no substitute (A107), but with `strict`.
 */
function ownUrls({ base_url, strict }: Services, slot: Shown, { creative }: Pick<Fill, 'creative'>): CreativeUrls {
  const size = `width=${creative.width}&height=${creative.height}`
  if (creative.format === 'native') {
    const image_url = flatString(base_url, '/assets/creatives/', creative.image_file)
    return { image_url, video_url: null, poster_url: null, mime_type: 'application/json' }
  }
  if (slot.job.mode === 'test' && (strict || !creative.file.startsWith(ownFolder))) {
    if (creative.format === 'banner') {
      const image_url = flatString(base_url, '/v1/test-assets/banner?', size)
      return { image_url, video_url: null, poster_url: null, mime_type: 'image/png' }
    }
    const clip = flatString(base_url, '/v1/test-assets/clip?', size, '&duration_ms=', String(creative.duration_ms))
    return { image_url: null, video_url: clip, poster_url: flatString(clip, '&poster=true'), mime_type: 'video/mp4' }
  }
  const url = flatString(base_url, '/assets/creatives/', creative.file)
  const { mime_type } = creative
  if (creative.format === 'banner') return { image_url: url, video_url: null, poster_url: null, mime_type }
  const { poster_file } = creative
  const poster_url = poster_file === undefined ? null : flatString(base_url, '/assets/creatives/', poster_file)
  return { image_url: null, video_url: url, poster_url, mime_type }
}

/** Built as one flat string: see encodeId. */
function flatString(...pieces: readonly string[]): string {
  return pieces.join('')
}

export function nativeAssets(services: Services, creative: Extract<Creative, { format: 'native' }>): NativeAssets {
  const { base_url } = services
  const recorded = services.player?.media.findCreative(creative.creative_id)
  return {
    title: creative.title,
    image_url: base_url + (recorded?.image ?? `/assets/creatives/${creative.image_file}`),
    ...(creative.description === undefined ? {} : { description: creative.description }),
    cta_text: creative.cta_text,
    icon_url: base_url + (recorded?.icon ?? `/assets/creatives/${creative.icon_file}`),
  }
}
