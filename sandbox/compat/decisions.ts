/** The decision of a slot as old clients get it: by poll, in the shape of their time (C03), or pushed, with a ticket (C04). */
import type { LegacyDecision } from '../../src/contract/compat.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { FillDecision, PlacementResponse } from '../../src/contract/v1/placements.ts'
import { callerOf, type Operation, type Services } from '../operations/context.ts'
import { expiredReason, getDecision, placementResponse, slotOfCaller } from '../operations/decisions.ts'
import type { Surface } from '../runtime/tickets.ts'
import type { SlotRow } from '../store/store.ts'

/** What a creative without a length is shown for, milliseconds. */
const stillDuration_ms = 3_000

export const getLegacyDecision: Operation<Contract['wrapper.decision']> = async (
  services,
  context,
  { params, query, body },
) => toLegacyDecision(await getDecision(services, context, { params, query, body }))

/** Issues a ticket that is bound to the slot, the surface and the origin of its request. */
export const issueTicket =
  (surface: Surface): Operation<Contract['wrapper.ticket']> =>
  async (services, context, { params }) => {
    const slot = await slotOfCaller(services, context, params.slot_id)
    const { origin, now_ms } = context
    const ticket = await services.tickets.issue({ slot_id: slot.id, surface, origin }, callerOf(context), now_ms)
    const subject = { project_id: slot.project.id, slot_id: slot.id, ref: slot.id }
    await services.store.appendEvent({ type: 'ticket.issued', at_ms: now_ms, ...subject })
    return { ticket }
  }

/**
 * Resolves to the decision of a slot as sockets and callbacks carry it: null while it is pending, undefined when the slot
 * is gone.
 */
export async function decisionText(services: Services, slot_id: number): Promise<string | null | undefined> {
  const slot = await services.store.findSlot(slot_id)
  if (slot === null) return undefined
  if (slot.decision === null) return null
  const now_ms = Math.max(services.platform.clock.now(), slot.decision.decided_at_ms)
  return JSON.stringify(await legacyDecision(services, slot, now_ms))
}

/** Resolves to the decision of a slot at a time, as it is polled, pushed and called back. */
async function legacyDecision(services: Services, slot: SlotRow, now_ms: number): Promise<LegacyDecision> {
  return toLegacyDecision(await placementResponse(services, slot, now_ms))
}

/** Returns a placement response of v1 in the shape of old clients. An expired one is a ready no-fill. */
function toLegacyDecision({ slot_id, status, decision }: PlacementResponse): LegacyDecision {
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
    creative: creativeOf(decision),
    asset_token,
    constraints,
    cs_declaration,
    revenue_estimate,
    ...(metadata === undefined ? {} : { metadata }),
  }
}

function creativeOf(decision: FillDecision): NonNullable<LegacyDecision['creative']> {
  const { assets, delivery_url, format, duration_ms, dimensions, mime_type, click_url, sponsor_name } = decision
  return {
    url: assets?.image_url ?? delivery_url ?? '',
    type: format,
    duration_ms: duration_ms ?? stillDuration_ms,
    ...dimensions,
    ...nonEmpty({ mime_type, click_through_url: click_url, sponsor_name }),
    ...(assets === null ? {} : { native_assets: nativeAssetsOf(assets) }),
  }
}

function nativeAssetsOf({ title, image_url, ...optional }: NonNullable<FillDecision['assets']>) {
  return { title, image_url, ...nonEmpty(optional) }
}

/** Optional texts are absent or have characters: such a client takes an empty one for a fault. */
function nonEmpty<Texts extends Record<string, string | undefined>>(texts: Texts): { [Name in keyof Texts]?: string } {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== undefined && text !== '')) as {
    [Name in keyof Texts]?: string
  }
}
