/** The hosted frame of one fill: whether it may be shown, and the beacon token that goes with it (A05, A06, A65). */
import type { ReasonCode } from '../../src/contract/errors.ts'
import type { NativeTemplateId } from '../../src/contract/fields.ts'
import { limits } from '../../src/contract/limits.ts'
import type { NativeAssets } from '../../src/contract/v1/placements.ts'
import { formatToken } from '../domain/tokens.ts'
import { boundConsentProblem, findFilledSlot, isFrameOpen } from './asset-tokens.ts'
import type { Context, Services } from './context.ts'
import { creativeUrls, fillOf, nativeAssets } from './placement-response.ts'

/** Sizes in CSS pixels, times in milliseconds. */
export type FrameCreative =
  | { format: 'banner'; image_url: string; width: number; height: number }
  | { format: 'clip'; video_url: string; poster_url: string | null; width: number; height: number; duration_ms: number }
  | { format: 'native'; template_id: NativeTemplateId; assets: NativeAssets; width: number; height: number }

export type FrameResult =
  | {
      status: 'shown'
      creative: FrameCreative
      is_test: boolean
      beacon_token: string | null
      sponsor_name: string
      label_text: string
      click_url: string
      allowed_origins: readonly string[]
    }
  | { status: 'refused'; http_status: 403 | 404; reason_code: ReasonCode; allowed_origins: readonly string[] | null }

/**
 * Loads the frame of an asset token. Each load mints a beacon token; the first starts the beacons' time. A peek (HEAD)
 * only looks: it does neither.
 */
export async function loadFrame(
  services: Services,
  context: Context,
  asset_token: string,
  isPeek: boolean,
): Promise<FrameResult> {
  const filled = await findFilledSlot(services, asset_token)
  if (filled === null) return refused(404, 'asset_token_invalid', null)
  const { slot, decision, outcome } = filled
  const { settings } = slot.project
  context.subject.slot_id = slot.id
  context.subject.session_id = slot.job.session_id
  if (!isFrameOpen(filled, context.now_ms)) return refused(404, 'asset_token_expired', settings.allowed_origins)
  const problem = await boundConsentProblem(services, filled, context.now_ms)
  if (problem !== null) return refused(403, problem, settings.allowed_origins)
  const fill = await fillOf(services, decision)
  if (fill === null) throw new Error('a filled slot has a fill')
  const { campaign, creative } = fill
  const urls = creativeUrls(services, slot, fill)
  const { width, height } = outcome
  return {
    status: 'shown',
    creative:
      creative.format === 'native'
        ? {
            format: 'native',
            template_id: outcome.template_id ?? settings.defaults.native_template_id,
            assets: nativeAssets(services, creative),
            width,
            height,
          }
        : creative.format === 'banner'
          ? { format: 'banner', image_url: urls.image_url!, width, height }
          : {
              format: 'clip',
              video_url: urls.video_url!,
              poster_url: urls.poster_url,
              width,
              height,
              duration_ms: creative.duration_ms,
            },
    is_test: slot.job.mode === 'test' && creative.format !== 'native',
    beacon_token: isPeek ? null : await mintBeaconToken(services, context, slot),
    sponsor_name: campaign.sponsor_name,
    label_text: decision.label_text,
    click_url: campaign.click_url,
    allowed_origins: settings.allowed_origins,
  }
}

async function mintBeaconToken(
  { platform, store }: Services,
  { now_ms }: Context,
  slot: { id: number; project: { id: number }; job: { key_id: number; mode: 'test' | 'live' } },
): Promise<string> {
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
  allowed_origins: readonly string[] | null,
): FrameResult {
  return { status: 'refused', http_status, reason_code, allowed_origins }
}
