/** What the console on a page shows of its slots, and only the sandbox knows (A114). */
import { acceptMeanings, reasonCodes } from '#contract/error-codes.ts'
import { encodeId } from '#contract/ids.ts'
import type { BeaconItem } from '#contract/resources/beacons.ts'
import { type ConsoleBeacon, type ConsoleSlot, maxConsoleBeacons } from '#contract/resources/sandbox/console-slots.ts'
import { findBillingFix } from '#domain/billing-verdict.ts'
import { createSnapshot } from '#domain/consent.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { allowsOrigin, beaconsEndMs, type Context, type FilledSlot, findFilledSlot, type Services } from '../context.ts'
import { explainDelivery } from '../placements/placement-explanation.ts'
import { findFill } from '../placements/placement-response.ts'

/**
 * Resolves to the slots of the asset tokens, each once. A token that is malformed, unknown, forged, or of a project that
 * does not allow the origin in the mode of the slot is left out: the response is no oracle for any of these.
 */
export async function readConsoleSlots(
  services: Services,
  { now_ms, origin }: { now_ms: number; origin: string },
  asset_tokens: readonly string[],
): Promise<ConsoleSlot[]> {
  const slots: ConsoleSlot[] = []
  for (const asset_token of new Set(asset_tokens)) {
    const filled = await findFilledSlot(services, asset_token)
    if (filled === null || !allowsOrigin(services, filled.slot.project, origin, filled.slot.job.mode)) continue
    slots.push({ asset_token, ...(await describeSlot(services, filled, now_ms)) })
  }
  return slots
}

async function describeSlot(
  services: Services,
  filled: FilledSlot,
  now_ms: Context['now_ms'],
): Promise<Omit<ConsoleSlot, 'asset_token'>> {
  const { slot, decision, outcome } = filled
  const delivery = await explainDelivery(services, slot, now_ms)
  const fill = await findFill(services, decision)
  return {
    slot_id: delivery.slot_id,
    session_id: delivery.session_id,
    format: outcome.format,
    sponsor_name: fill!.campaign.sponsor_name,
    is_forced: delivery.forced === true,
    requested_at_ms: slot.created_at_ms,
    decided_at_ms: decision.decided_at_ms,
    frame_loaded_at_ms: slot.first_frame_at_ms,
    expires_at_ms: beaconsEndMs(slot, decision, 'render'),
    beacons: delivery.beacons.slice(-maxConsoleBeacons).map(describeBeacon),
    billing: { ...delivery.billing!, missing: findBillingFix(delivery) },
    consent: await describeConsent(services, filled, now_ms),
    inspector_url: `${services.base_url}/_sandbox/placements/${encodeId('slot', slot.id)}`,
  }
}

function describeBeacon({
  event,
  verdict,
  reason_code,
  would_bill,
  metric,
  received_at_ms,
}: BeaconItem): ConsoleBeacon {
  const meaning = findEntry(acceptMeanings, reason_code) ?? findEntry(reasonCodes, reason_code)!.message
  return { event, at_ms: received_at_ms, verdict, reason_code, meaning, would_bill, metric }
}

async function describeConsent(
  { store }: Services,
  { slot, decision }: FilledSlot,
  now_ms: number,
): Promise<ConsoleSlot['consent']> {
  const { session_id, project_id } = slot.job
  const latest = session_id === null ? null : await store.findLatestConsent(project_id, session_id)
  const { lifecycle_state, revision, expires_at_ms } = decision.consent
  return {
    state: lifecycle_state,
    revision,
    expires_at_ms,
    current_state: latest === null ? null : createSnapshot(latest, now_ms).lifecycle_state,
    current_revision: latest?.revision ?? null,
  }
}
