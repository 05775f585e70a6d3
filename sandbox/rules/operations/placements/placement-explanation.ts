/** A placement explained: its decision, its beacons, and what they would bill. */
import { ApiError } from '#contract/errors.ts'
import { decodeId } from '#contract/ids.ts'
import type { Contract } from '#contract/index.ts'
import type { Decision, PartnerRequest, PersonalFinding } from '#contract/resources/placements.ts'
import { listAuction } from '#domain/auction.ts'
import { findBillingFix, judgeBilling } from '#domain/billing-verdict.ts'
import { explainTrace } from '#domain/decisions.ts'
import type { Market } from '#domain/market.ts'
import { findPersonalData } from '#foundation/personal-data/personal-data.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { partnerRequest } from '#runtime/bidders/bidders.ts'
import { createOpportunity } from '#runtime/decisions.ts'
import type { SlotRow, StoredDecision } from '#store/store.ts'
import { acceptedItem, judgeSlotBeacons, unacceptedItem } from '../beacons/beacon-items.ts'
import { decodeStrings, findBoundConsent } from '../consent-list.ts'
import type { Operation, Services } from '../context.ts'
import { entryItem } from '../evidence/evidence.ts'
import { placementResponse } from './placement-response.ts'
import { lastStep, placementItem } from './placements.ts'

export const explainPlacement: Operation<Contract['placements.explain']> = async (services, { now_ms }, { params }) => {
  const { store, markets } = services
  const id = decodeId('slot', params.slot_id)
  const slot = id === null ? null : await store.findSlot(id)
  if (slot === null) throw new ApiError('not_found', { message: 'No such slot in this sandbox.' })
  const { decision } = slot
  const market = decision === null ? null : await markets.at(decision.catalogue)
  const delivery = await explainDelivery(services, slot, now_ms)
  const partner_request = decision === null || decision.trace === '' ? null : partnerRequest(slot, decision.topic)
  return {
    ...delivery,
    topic: decision?.topic ?? null,
    prompt_length: slot.job.facts.prompt_length ?? null,
    decision: decision === null ? null : await redactedDecision(services, slot, now_ms),
    trace: decision === null || market === null ? [] : explainTrace(market, decision.trace),
    ...(market === null || decision === null ? {} : describeAuction(services, slot, decision, market)),
    partner_request,
    personal_data: personalData(partner_request),
    consent: decision?.consent ?? null,
    consent_strings: await consentStrings(services, slot),
    evidence: (await store.listSlotEvidence(slot.id)).map(entryItem),
    fix: findBillingFix(delivery),
  }
}

/** Resolves to what happened to a placement: its beacons, accepted or not, oldest first, and the billing verdict over them. */
export async function explainDelivery({ store }: Pick<Services, 'store'>, slot: SlotRow, now_ms: number) {
  const { decision, project } = slot
  const accepted = await store.listSlotBeacons(slot.id)
  const verdicts = judgeSlotBeacons(slot, accepted)
  const unaccepted = await store.listUnacceptedBeacons(slot.id)
  const beacons = [
    ...accepted.map((beacon) => ({ id: beacon.id, item: acceptedItem(slot, beacon, verdicts.get(beacon.id)) })),
    ...unaccepted.map((beacon) => ({ id: beacon.id, item: unacceptedItem(project.client_id, slot, beacon) })),
  ].sort((a, b) => a.id - b.id)
  const { billing_model, viewability } = project.settings
  return {
    ...placementItem(slot, now_ms),
    reached: lastStep(slot, accepted, [...verdicts.values()]),
    first_frame_at_ms: slot.first_frame_at_ms,
    beacons: beacons.map(({ item }) => item),
    billing:
      decision?.outcome.status === 'filled'
        ? judgeBilling(billing_model, decision.outcome, viewability, accepted)
        : null,
  }
}

async function consentStrings(services: Services, slot: SlotRow) {
  const consent = await findBoundConsent(services, slot)
  return consent === null ? [] : decodeStrings(consent.extras)
}

/** Without the asset token, which the control plane never shows. */
async function redactedDecision(services: Services, slot: SlotRow, now_ms: number): Promise<Decision | null> {
  const { decision } = await placementResponse(services, slot, now_ms)
  return JSON.parse(redactSecrets(JSON.stringify(decision)))
}

/** Its other fields are codes, numbers and domains. */
function personalData(request: PartnerRequest | null): PersonalFinding[] {
  const kinds = findPersonalData(request?.topic ?? '')
  return kinds.length === 0 ? [] : [{ path: 'topic', kinds: [...kinds] }]
}

function describeAuction({ platform }: Services, slot: SlotRow, decision: StoredDecision, market: Market) {
  const { topic, decided_at_ms: now_ms, trace } = decision
  if (trace === '' || slot.job.facts.force_campaign_id !== undefined) return {}
  const terms = { topic, purposes: decision.consent.purposes, seed: platform.seed ?? 0, now_ms }
  const auction = listAuction(market, createOpportunity(slot, terms), trace)
  return auction.length === 0 ? {} : { auction }
}
