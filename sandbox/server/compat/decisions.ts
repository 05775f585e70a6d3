/** Decisions in the shape of old clients (C03). */
import type { LegacyDecision } from '#contract/compat.ts'
import type { FillDecision, PlacementResponse } from '#contract/resources/placements.ts'
import type { Services } from '#operations/context.ts'
import { expiredReason } from '#operations/decisions.ts'
import { placementResponse } from '#operations/placements/placement-response.ts'

/** How long a creative without a length is shown, milliseconds. */
const stillDurationMs = 3_000

/**
 * Resolves to the decision of a slot as sockets and callbacks send it: null while it is pending, undefined when the
 * slot is gone.
 */
export async function decisionText(services: Services, slot_id: number): Promise<string | null | undefined> {
  const slot = await services.store.findSlot(slot_id)
  if (slot === null) return undefined
  if (slot.decision === null) return null
  const now_ms = Math.max(services.platform.clock.now(), slot.decision.decided_at_ms)
  return JSON.stringify(toLegacyDecision(await placementResponse(services, slot, now_ms)))
}

/** Returns a placement response of v1 in the shape of old clients. An expired one is a ready no-fill. */
export function toLegacyDecision({ slot_id, status, decision }: PlacementResponse): LegacyDecision {
  const empty = {
    contract_version: 'csl_wrapper_decision/v1',
    slot_id,
    fill: null,
    reason: null,
    no_fill_reason: null,
    creative: null,
    asset_token: null,
    constraints: null,
    cs_declaration: null,
    revenue_estimate: null,
  } as const
  if (status === 'pending' || decision === null) return { ...empty, status: 'pending' }
  const { cs_declaration } = decision
  if (status === 'expired' || !decision.fill) {
    const no_fill_reason = decision.fill || status === 'expired' ? expiredReason : decision.no_fill_reason
    return { ...empty, status: 'ready', fill: false, reason: 'no_fill', no_fill_reason, cs_declaration }
  }
  const { asset_token, constraints, revenue_estimate, metadata } = decision
  return {
    ...empty,
    status: 'ready',
    fill: true,
    creative: toLegacyCreative(decision),
    asset_token,
    constraints,
    cs_declaration,
    revenue_estimate,
    ...(metadata === undefined ? {} : { metadata }),
  }
}

function toLegacyCreative(decision: FillDecision): NonNullable<LegacyDecision['creative']> {
  const { assets, delivery_url, format, duration_ms, dimensions, mime_type, click_url, sponsor_name } = decision
  return {
    url: assets?.image_url ?? delivery_url ?? '',
    type: format,
    duration_ms: duration_ms ?? stillDurationMs,
    ...dimensions,
    ...nonEmpty({ mime_type, click_through_url: click_url, sponsor_name }),
    ...(assets === null ? {} : { native_assets: toNativeAssets(assets) }),
  }
}

function toNativeAssets({ title, image_url, ...optional }: NonNullable<FillDecision['assets']>) {
  return { title, image_url, ...nonEmpty(optional) }
}

/** Optional texts are absent or not empty: such a client treats an empty one as an error. */
function nonEmpty<Texts extends Record<string, string | undefined>>(texts: Texts): { [Name in keyof Texts]?: string } {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== undefined && text !== '')) as {
    [Name in keyof Texts]?: string
  }
}
