/** Asset tokens: finding the fill one stands for, and how long it may still be used (A05). */
import type { ReasonCode } from '../../src/contract/errors.ts'
import type { BeaconEvent } from '../../src/contract/v1/beacons.ts'
import { consentProblem } from '../domain/consent.ts'
import { parseToken } from '../domain/tokens.ts'
import type { DecisionFacts, SlotRow } from '../store/store.ts'
import type { Services } from './context.ts'
import type { FilledOutcome } from './placement-response.ts'

export interface FilledSlot {
  slot: SlotRow
  decision: DecisionFacts
  outcome: FilledOutcome
}

/** The filled slot of an asset token; null when it is malformed, unknown or forged. */
export async function findFilledSlot(services: Services, asset_token: string): Promise<FilledSlot | null> {
  const parsed = parseToken(asset_token)
  if (parsed?.kind !== 'ast') return null
  const slot = await services.store.findSlot(parsed.id)
  const decision = slot?.decision ?? null
  if (slot === null || decision === null || decision.outcome.status !== 'filled') return null
  const { outcome } = decision
  const isSame = services.platform.equals(services.platform.sha256(parsed.secret), outcome.asset_token_hash)
  return isSame ? { slot, decision, outcome } : null
}

/** Whether the frame may be loaded: first within its window, again for as long as beacons are accepted. */
export function isFrameOpen({ slot, decision }: FilledSlot, now_ms: number): boolean {
  const { settings } = slot.project
  return slot.first_frame_at_ms === null
    ? now_ms <= decision.decided_at_ms + settings.frame_load_within_ms
    : now_ms <= slot.first_frame_at_ms + settings.beacons_after_load_ms
}

/** Whether a beacon of this event is still accepted. Without a frame load, the time counts from the decision. */
export function isBeaconOpen({ slot, decision }: FilledSlot, event: BeaconEvent, now_ms: number): boolean {
  const { settings } = slot.project
  const span_ms = event === 'click' ? settings.click_after_load_ms : settings.beacons_after_load_ms
  return now_ms <= (slot.first_frame_at_ms ?? decision.decided_at_ms) + span_ms
}

/** Why the bound consent forbids rendering and beacons now; null when it permits them (A65). */
export async function boundConsentProblem(
  services: Services,
  { slot, decision }: FilledSlot,
  now_ms: number,
): Promise<ReasonCode | null> {
  const { session_id, project_id } = slot.job
  const latest = session_id === null ? null : await services.store.latestConsent(project_id, session_id)
  return consentProblem(decision.consent, latest, now_ms)
}
