import { z } from 'zod'
import { declareEndpoints, reading } from '../endpoint.ts'
import {
  AuthoritativeConsent,
  BooleanText,
  EpochMs,
  Format,
  JobId,
  JobType,
  Mode,
  NoFillReasonCode,
  page,
  pageQuery,
  Since,
  SlotId,
  SlotStatus,
} from '../fields.ts'
import { assumed, assumedFields, assumedObject, documented } from '../provenance.ts'
import { Decision } from '../v1/placements.ts'
import { BeaconItem, Metric } from './beacons.ts'
import { EvidenceEntry } from './evidence.ts'

const item = assumedFields('A93', {
  slot_id: SlotId.describe('Slot identifier.'),
  job_id: JobId.describe('Job identifier.'),
  client_id: z.string().describe('Project ID.'),
  session_id: z.string().nullable().describe('Session, if the job named one.'),
  job_type: JobType.describe('Workload category.'),
  mode: Mode.describe('test or live, of the credential.'),
  format: Format.nullable().describe('Format of the fill; null otherwise.'),
  status: assumed(SlotStatus, 'A30', 'pending, ready or expired.'),
  fill: z.boolean().nullable().describe('null while pending.'),
  no_fill_reason: assumed(NoFillReasonCode.nullable(), 'A31', 'Why there is no fill.'),
  campaign_id: assumed(z.string().nullable(), 'A43', 'Campaign that filled it.'),
  created_at_ms: EpochMs.describe('When the job was created.'),
  decided_at_ms: EpochMs.nullable().describe('When it was decided.'),
})

export const PlacementItem = z.strictObject(item)
export type PlacementItem = z.infer<typeof PlacementItem>

/** Rules of the market in the order they are applied (A43). */
export const TraceStep = assumedObject('A43', {
  campaign_id: z.string().describe('Campaign.'),
  outcome: z.enum(['won', 'outbid', 'removed']).describe('The outcome of the campaign.'),
  rule: z.string().nullable().describe('The rule that removed it.'),
  explanation: z.string().describe('The rule in one sentence.'),
})
export type TraceStep = z.infer<typeof TraceStep>

/** The request that demand partners would have received (A51). Never prompt text. */
export const PartnerRequest = assumedObject('A51', {
  job_type: JobType.describe('Workload category.'),
  formats: z.array(Format).describe('Formats asked for.'),
  topic: z.string().nullable().describe('Topic, only with semantic_targeting.'),
  country: z.string().nullable().describe('Country, if the request named one.'),
  max_width: z.int().nullable().describe('CSS pixels.'),
  max_height: z.int().nullable().describe('CSS pixels.'),
  floors: z.record(z.string(), z.number()).describe('Lowest price per format, CPM.'),
  floor_currency: z.string().describe('ISO 4217.'),
  blocked_categories: z.array(z.string()).describe('IAB categories.'),
  blocked_domains: z.array(z.string()).describe('Landing domains.'),
  gdpr_applies: z.boolean().describe('Whether the GDPR applies.'),
})
export type PartnerRequest = z.infer<typeof PartnerRequest>

export const BillingVerdict = assumedObject('A76', {
  metric: Metric.describe('What the billing model counts.'),
  would_bill: assumed(z.boolean(), 'A78', 'Whether production would bill this placement.'),
  gross_cpm: z.number().nullable().describe('Price, CPM.'),
  currency: z.string().nullable().describe('ISO 4217.'),
  explanation: assumed(z.string(), 'A75', 'Why, in one sentence.'),
})
export type BillingVerdict = z.infer<typeof BillingVerdict>

export const PlacementDetail = assumedObject('A52', {
  ...item,
  topic: z.string().nullable().describe('Topic that took part in matching.'),
  prompt_length: assumed(
    z.int().nullable(),
    'A50',
    'Length of the processed prompt text in characters; the text itself is never stored.',
  ),
  decision: documented(Decision.nullable(), 'The decision; its asset token is redacted here.', 'A31'),
  trace: assumed(z.array(TraceStep), 'A43', 'Each campaign and the rule that removed it.'),
  partner_request: assumed(
    PartnerRequest.nullable(),
    'A51',
    'The request that partners would have received; null when none was made.',
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
    query: assumedObject('A93', {
      ...pageQuery,
      client_id: z.string().optional().describe('Only this project.'),
      session_id: z.string().optional().describe('Only this session.'),
      format: Format.optional().describe('Only fills of this format.'),
      fill: BooleanText.optional().describe('Only fills, or only no-fills.'),
      since: Since.optional().describe('Only placements created since then.'),
    }),
    response: page(PlacementItem),
  },
  'placements.explain': {
    ...reading,
    path: '/_sandbox/placements/{slot_id}',
    summary: 'Explain one placement',
    description:
      "The decision's trace, what partners would have received, consent, beacons, evidence and the billing verdict.",
    params: z.strictObject({ slot_id: documented(SlotId, 'Slot identifier.') }),
    response: PlacementDetail,
    errors: ['not_found'],
  },
})
