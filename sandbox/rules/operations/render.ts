/** The hosted frame of one fill: whether it may be shown, and the beacon token of each load (A05, A06, A65). */
import type { ReasonCode } from '#contract/errors.ts'
import type { NativeTemplateId } from '#contract/fields.ts'
import { decodeId, formatToken } from '#contract/ids.ts'
import { limits } from '#contract/limits.ts'
import { frameAncestors } from '#contract/origins.ts'
import type { NativeAssets } from '#contract/resources/placements.ts'
import type { ViewabilityThresholds } from '#contract/viewability.ts'
import { joinTurn } from '#runtime/traces/request-trace.ts'
import type { SlotRow } from '#store/store.ts'
import { boundConsentProblem, type Context, type FilledSlot, findFilledSlot, type Services } from './context.ts'
import { creativeUrls, type Fill, findFill, nativeAssets } from './placements/placement-response.ts'

/** Sizes in CSS pixels, times in milliseconds. */
export type FrameCreative =
  | { format: 'banner'; image_url: string; width: number; height: number }
  | { format: 'clip'; video_url: string; poster_url: string | null; width: number; height: number; duration_ms: number }
  | { format: 'native'; template_id: NativeTemplateId; assets: NativeAssets; width: number; height: number }

type FrameResult =
  | {
      status: 'shown'
      creative: FrameCreative
      mark: 'TEST' | 'FORCED' | null
      beacon_token: string | null
      sponsor_name: string
      label_text: string
      click_url: string
      viewability: ViewabilityThresholds
      frame_ancestors: readonly string[]
    }
  | { status: 'refused'; http_status: 403 | 404; reason_code: ReasonCode; frame_ancestors: readonly string[] | null }

/**
 * Loads the frame of an asset token. Each load creates a beacon token; the first one starts the time for beacons. A peek
 * (HEAD) does neither.
 */
export async function loadFrame(
  services: Services,
  context: Context,
  asset_token: string,
  isPeek: boolean,
): Promise<FrameResult> {
  const filled = await findFilledSlot(services, asset_token)
  if (filled === null) return refused(404, 'asset_token_invalid', null)
  const { slot, decision } = filled
  const frame_ancestors = embedders(services, slot)
  context.subject.project_id = slot.project.id
  context.subject.slot_id = slot.id
  context.subject.session_id = slot.job.session_id
  context.trace = joinTurn(context.trace, slot.job.facts)
  if (!isFrameOpen(filled, context.now_ms)) return refused(404, 'asset_token_expired', frame_ancestors)
  const problem = await boundConsentProblem(services, filled, context.now_ms)
  if (problem !== null) return refused(403, problem, frame_ancestors)
  const fill = await findFill(services, decision)
  if (fill === null) throw new Error('a filled slot has a fill')
  return {
    status: 'shown',
    creative: frameCreative(services, slot, fill),
    mark: findMark(slot),
    beacon_token: isPeek ? null : await createBeaconToken(services, context, slot),
    sponsor_name: fill.campaign.sponsor_name,
    label_text: decision.label_text,
    click_url: fill.campaign.click_url,
    viewability: slot.project.settings.viewability,
    frame_ancestors,
  }
}

/**
 * Returns the frame of a slot for the pages of the sandbox itself: it needs no token, does not count as a load, and
 * gets no beacon token. Null without such a slot or without a fill.
 */
export async function previewFrame(services: Services, slot_id: string) {
  const id = decodeId('slot', slot_id)
  const slot = id === null ? null : await services.store.findSlot(id)
  if (slot?.decision?.outcome.status !== 'filled') return null
  const { decision } = slot
  const fill = await findFill(services, decision)
  if (fill === null) return null
  return {
    creative: frameCreative(services, slot, fill),
    mark: findMark(slot),
    beacon_token: null,
    sponsor_name: fill.campaign.sponsor_name,
    label_text: decision.label_text,
    click_url: fill.campaign.click_url,
    viewability: slot.project.settings.viewability,
  }
}

/** What is written on an ad that is none of a customer: native test traffic keeps its usual shape (A42). */
function findMark({ job, decision }: SlotRow): 'TEST' | 'FORCED' | null {
  if (job.facts.force_campaign_id !== undefined) return 'FORCED'
  const isNative = decision?.outcome.status === 'filled' && decision.outcome.format === 'native'
  return job.mode === 'test' && !isNative ? 'TEST' : null
}

/** The pages that may embed the frame, as sources of `frame-ancestors`: those whose origin may act for the project. */
function embedders({ url, base_url }: Services, { job, project }: SlotRow): readonly string[] {
  const own = job.mode === 'test' && base_url !== url ? [base_url] : []
  return frameAncestors([...project.settings.allowed_origins, ...own], job.mode)
}

/** Whether the frame may be loaded: first within its window, again for as long as beacons are accepted. */
function isFrameOpen({ slot, decision }: FilledSlot, now_ms: number): boolean {
  const { settings } = slot.project
  return slot.first_frame_at_ms === null
    ? now_ms <= decision.decided_at_ms + settings.frame_load_within_ms
    : now_ms <= slot.first_frame_at_ms + settings.beacons_after_load_ms
}

function frameCreative(services: Services, slot: SlotRow, fill: Fill): FrameCreative {
  const { outcome, creative } = fill
  const { width, height } = outcome
  if (creative.format === 'native') {
    const template_id = outcome.template_id ?? slot.project.settings.defaults.native_template_id
    return { format: 'native', template_id, assets: nativeAssets(services, creative), width, height }
  }
  const { image_url, video_url, poster_url } = creativeUrls(services, slot, fill)
  if (creative.format === 'banner') return { format: 'banner', image_url: image_url!, width, height }
  return { format: 'clip', video_url: video_url!, poster_url, width, height, duration_ms: creative.duration_ms }
}

async function createBeaconToken({ platform, store }: Services, { now_ms }: Context, slot: SlotRow): Promise<string> {
  const id = platform.newId()
  const secret = platform.newSecret()
  await store.recordFrame(slot.id, now_ms, {
    id,
    hash: platform.sha256(secret),
    project_id: slot.project.id,
    key_id: slot.job.key_id,
    mode: slot.job.mode,
    origin: null,
    slot_id: slot.id,
    expires_at_ms: now_ms + limits.beacon_token_ttl_ms,
  })
  return formatToken('bt', id, secret)
}

function refused(
  http_status: 403 | 404,
  reason_code: ReasonCode,
  frame_ancestors: readonly string[] | null,
): FrameResult {
  return { status: 'refused', http_status, reason_code, frame_ancestors }
}
