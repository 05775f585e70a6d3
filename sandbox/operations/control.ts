/** The sandbox's own API: what it is, and what it has seen. */

import type { PartnerRequest } from '../../src/contract/control/placements.ts'
import { ApiError } from '../../src/contract/errors.ts'
import { decodeId } from '../../src/contract/ids.ts'
import type { Contract } from '../../src/contract/index.ts'
import { contractListing } from '../../src/contract/listing.ts'
import { openapiDocument } from '../../src/contract/openapi.ts'
import type { Decision } from '../../src/contract/v1/placements.ts'
import { redactSecrets } from '../../src/foundation/redaction.ts'
import { billingVerdict } from '../domain/billing.ts'
import { explainTrace } from '../domain/trace.ts'
import { opportunityOf } from '../runtime/deciding.ts'
import type { DecisionFacts, EvidenceRow, SlotRow } from '../store/store.ts'
import type { Operation } from './context.ts'
import {
  acceptedItem,
  beaconItems,
  cursorOf,
  filters,
  pageOf,
  placementItem,
  projectFilter,
  sinceOf,
  slotFilter,
  unacceptedItem,
  verdictsOf,
} from './listing.ts'
import { placementResponse } from './placement-response.ts'

export const getLiveness: Operation<Contract['health.live']> = async () => ({ ok: true })
export const getReadiness: Operation<Contract['health.ready']> = async () => ({ ok: true })

export const getInfo: Operation<Contract['sandbox.info']> = async (services, { now_ms }) => {
  const { store, platform } = services
  const projects = await store.listProjects()
  return {
    version: services.version,
    pid: services.pid,
    url: services.base_url,
    inspector_url: `${services.base_url}/_sandbox/`,
    database: store.path,
    schema_version: store.schema_version,
    seed: platform.seed,
    clock: { now_ms, offset_ms: platform.clock.offset_ms, frozen: platform.clock.frozen },
    journal: store.journal(),
    events: store.eventLog(),
    projects: projects.map(({ client_id, config_revision, settings: { allowed_origins } }) => ({
      client_id,
      allowed_origins,
      config_revision,
    })),
    warnings: [...services.warnings],
  }
}

export const listPlacements: Operation<Contract['placements.list']> = async (services, { now_ms }, { query }) => {
  const { rows, next } = await services.store.listSlots({
    ...pageOf(query),
    ...filters({
      project_id: await projectFilter(services, query.client_id),
      session_id: query.session_id,
      format: query.format,
      fill: query.fill === undefined ? undefined : query.fill === 'true',
      since_ms: sinceOf(query.since, now_ms),
    }),
  })
  return { items: rows.map((slot) => placementItem(slot, now_ms)), next_cursor: cursorOf(next) }
}

export const explainPlacement: Operation<Contract['placements.explain']> = async (services, context, { params }) => {
  const { store, markets } = services
  const { now_ms } = context
  const id = decodeId('slot', params.slot_id)
  const slot = id === null ? null : await store.findSlot(id)
  if (slot === null) throw new ApiError('not_found', { message: 'There is no such slot in this sandbox.' })
  const { decision } = slot
  const market = decision === null ? null : await markets.at(decision.catalogue)
  const accepted = await store.beaconsOf(slot.id)
  const verdicts = verdictsOf(slot, accepted)
  const beacons = [
    ...accepted.map((beacon) => ({ id: beacon.id, item: acceptedItem(slot, beacon, verdicts.get(beacon.id)) })),
    ...(await store.unacceptedBeaconsOf(slot.id)).map((beacon) => ({
      id: beacon.id,
      item: unacceptedItem(slot.project.client_id, slot, beacon),
    })),
  ].sort((a, b) => a.id - b.id)
  return {
    ...placementItem(slot, now_ms),
    topic: decision?.topic ?? null,
    prompt_length: slot.job.facts.prompt_length ?? null,
    decision: decision === null ? null : await redactedDecision(services, slot, now_ms),
    trace: decision === null || market === null ? [] : explainTrace(market, decision.trace),
    partner_request: decision === null || decision.trace === '' ? null : partnerRequest(slot, decision),
    consent: decision?.consent ?? null,
    first_frame_at_ms: slot.first_frame_at_ms,
    beacons: beacons.map(({ item }) => item),
    evidence: (await store.evidenceOf(slot.id)).map(evidenceItem),
    billing:
      decision?.outcome.status === 'filled'
        ? billingVerdict(
            slot.project.settings.billing_model,
            decision.outcome,
            slot.project.settings.viewability,
            accepted,
          )
        : null,
  }
}

export const listBeacons: Operation<Contract['beacons.list']> = async (services, { now_ms }, { query }) => {
  const { rows, next } = await services.store.listBeacons({
    ...pageOf(query),
    ...filters({
      slot_id: slotFilter(query.slot_id),
      event: query.event,
      verdict: query.verdict,
      format: query.format,
      session_id: query.session_id,
      project_id: await projectFilter(services, query.client_id),
      since_ms: sinceOf(query.since, now_ms),
    }),
  })
  return { items: await beaconItems(services, rows), next_cursor: cursorOf(next) }
}

export const getContract: Operation<Contract['contract.show']> = async () => {
  const { endpoints, reason_codes, no_fill_reasons } = contractListing()
  return JSON.parse(JSON.stringify({ endpoints, reason_codes, no_fill_reasons }))
}

export const getOpenapi: Operation<Contract['contract.openapi']> = async (services) =>
  openapiDocument({ server_url: services.base_url }) as Record<string, never>

/** Without the asset token, which the control plane never shows. */
async function redactedDecision(services: Parameters<typeof placementResponse>[0], slot: SlotRow, now_ms: number) {
  const { decision } = await placementResponse(services, slot, now_ms)
  return JSON.parse(redactSecrets(JSON.stringify(decision))) as Decision | null
}

function partnerRequest(slot: SlotRow, decision: DecisionFacts): PartnerRequest {
  const asked = opportunityOf(slot.job, slot.project, decision.topic, 0, decision.decided_at_ms)
  return {
    job_type: asked.job_type,
    formats: [...asked.allowed_formats],
    topic: asked.topic,
    country: asked.country,
    max_width: asked.max_width,
    max_height: asked.max_height,
    floors: asked.floors,
    floor_currency: asked.floor_currency,
    blocked_categories: [...asked.blocked_categories],
    blocked_domains: [...asked.blocked_domains],
    gdpr_applies: slot.job.facts.gdpr_applies ?? false,
  }
}

function evidenceItem({ seq, kind, at_ms, entry, hash }: EvidenceRow) {
  return { seq, kind, at_ms, entry, hash }
}
