import { z } from 'zod'
import { declareEndpoints, reading } from '../endpoint.ts'
import {
  AuthoritativeConsent,
  EpochMs,
  Format,
  JobType,
  Mode,
  NoFillReasonCode,
  page,
  pageQuery,
  Since,
  SlotStatus,
} from '../fields.ts'
import { assumed, documented } from '../provenance.ts'
import { Decision } from '../v1/placements.ts'
import { BeaconItem } from './beacons.ts'
import { EvidenceEntry } from './evidence.ts'

const item = {
  slot_id: assumed(z.string(), 'A93', 'Slot identifier.'),
  job_id: assumed(z.string(), 'A93', 'Job identifier.'),
  client_id: assumed(z.string(), 'A93', 'Project ID.'),
  session_id: assumed(z.string().nullable(), 'A93', 'Session, where the job named one.'),
  job_type: assumed(JobType, 'A93', 'Workload category.'),
  mode: assumed(Mode, 'A93', 'test or live, of the credential.'),
  format: assumed(Format.nullable(), 'A93', 'Format of the fill; null otherwise.'),
  status: assumed(SlotStatus, 'A30', 'pending, ready or expired.'),
  fill: assumed(z.boolean().nullable(), 'A93', 'null while pending.'),
  no_fill_reason: assumed(NoFillReasonCode.nullable(), 'A31', 'Why there is no fill.'),
  campaign_id: assumed(z.string().nullable(), 'A43', 'Campaign that filled it.'),
  created_at_ms: assumed(EpochMs, 'A93', 'When the job was created.'),
  decided_at_ms: assumed(EpochMs.nullable(), 'A93', 'When it was decided.'),
}

export const PlacementItem = z.strictObject(item)
export type PlacementItem = z.infer<typeof PlacementItem>

/** Rules of the market in the order they are applied (A43). */
export const TraceStep = z.strictObject({
  campaign_id: assumed(z.string(), 'A43', 'Campaign.'),
  outcome: assumed(z.enum(['won', 'outbid', 'removed']), 'A43', 'What became of it.'),
  rule: assumed(z.string().nullable(), 'A43', 'The rule that removed it.'),
  explanation: assumed(z.string(), 'A43', 'The rule in one sentence.'),
})
export type TraceStep = z.infer<typeof TraceStep>

/** What demand partners would have received (A51). Never prompt text. */
export const PartnerRequest = z.strictObject({
  job_type: assumed(JobType, 'A51', 'Workload category.'),
  formats: assumed(z.array(Format), 'A51', 'Formats asked for.'),
  topic: assumed(z.string().nullable(), 'A51', 'Topic, only with semantic_targeting.'),
  country: assumed(z.string().nullable(), 'A51', 'Country, where the request named one.'),
  max_width: assumed(z.int().nullable(), 'A51', 'CSS pixels.'),
  max_height: assumed(z.int().nullable(), 'A51', 'CSS pixels.'),
  floors: assumed(z.record(z.string(), z.number()), 'A51', 'Lowest price per format, CPM.'),
  floor_currency: assumed(z.string(), 'A51', 'ISO 4217.'),
  blocked_categories: assumed(z.array(z.string()), 'A51', 'IAB categories.'),
  blocked_domains: assumed(z.array(z.string()), 'A51', 'Landing domains.'),
  gdpr_applies: assumed(z.boolean(), 'A51', 'Whether the GDPR applies.'),
})
export type PartnerRequest = z.infer<typeof PartnerRequest>

export const BillingVerdict = z.strictObject({
  metric: assumed(
    z.enum(['viewable_impression', 'rendered_impression', 'click', 'completed_view']),
    'A76',
    'What the billing model counts.',
  ),
  would_bill: assumed(z.boolean(), 'A78', 'Whether production would bill this placement.'),
  gross_cpm: assumed(z.number().nullable(), 'A76', 'Price, CPM.'),
  currency: assumed(z.string().nullable(), 'A76', 'ISO 4217.'),
  explanation: assumed(z.string(), 'A75', 'Why, in one sentence.'),
})
export type BillingVerdict = z.infer<typeof BillingVerdict>

export const PlacementDetail = z.strictObject({
  ...item,
  topic: assumed(z.string().nullable(), 'A52', 'Topic that took part in matching.'),
  prompt_length: assumed(
    z.int().nullable(),
    'A50',
    'Characters of the prompt text that was processed; the text itself is never kept.',
  ),
  decision: documented(Decision.nullable(), 'The decision; its asset token is redacted here.', 'A31'),
  trace: assumed(z.array(TraceStep), 'A43', 'Each campaign and the rule that removed it.'),
  partner_request: assumed(
    PartnerRequest.nullable(),
    'A51',
    'What partners would have received; null when none was asked.',
  ),
  consent: assumed(AuthoritativeConsent.nullable(), 'A65', 'The decision-bound snapshot.'),
  first_frame_at_ms: assumed(EpochMs.nullable(), 'A05', 'When the frame was first loaded.'),
  beacons: assumed(z.array(BeaconItem), 'A74', 'Accepted and rejected, oldest first.'),
  evidence: assumed(z.array(EvidenceEntry), 'A77', 'Evidence entries about this slot, oldest first.'),
  billing: assumed(
    BillingVerdict.nullable(),
    'A75',
    'The verdict over the set of accepted beacons; null without a fill.',
  ),
})
export type PlacementDetail = z.infer<typeof PlacementDetail>

export const endpoints = declareEndpoints({
  'placements.list': {
    ...reading,
    path: '/_sandbox/placements',
    summary: 'List placements',
    description: 'Every slot of this sandbox with its status and outcome.',
    query: z.strictObject({
      ...pageQuery,
      client_id: assumed(z.string().optional(), 'A93', 'Only this project.'),
      session_id: assumed(z.string().optional(), 'A93', 'Only this session.'),
      format: assumed(Format.optional(), 'A93', 'Only fills of this format.'),
      fill: assumed(z.enum(['true', 'false']).optional(), 'A93', 'Only fills, or only no-fills.'),
      since: assumed(Since.optional(), 'A93', 'Only placements created since.'),
    }),
    response: page(PlacementItem),
    errors: ['schema_invalid', 'field_unknown', 'origin_refused', 'internal_error'],
  },
  'placements.explain': {
    ...reading,
    path: '/_sandbox/placements/{slot_id}',
    summary: 'Explain one placement',
    description:
      "The decision's trace, what partners would have received, consent, beacons, evidence and the billing verdict.",
    params: z.strictObject({ slot_id: documented(z.string(), 'Slot identifier.') }),
    query: z.strictObject({}),
    response: PlacementDetail,
    errors: ['not_found', 'origin_refused', 'internal_error'],
  },
})
