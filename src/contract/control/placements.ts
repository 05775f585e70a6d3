import { z } from 'zod'
import { declareEndpoints, reading } from '../endpoint.ts'
import {
  AuthoritativeConsent,
  BooleanText,
  CampaignFilter,
  EpochMs,
  Format,
  JobFilter,
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
import { assumed, assumedFields, assumedObject, documented, strictObject } from '../objects.ts'
import { Decision } from '../v1/placements.ts'
import { BeaconItem, Metric } from './beacons.ts'
import { EvidenceEntry } from './evidence.ts'

const item = assumedFields('A93', () => ({
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
}))

export const PlacementItem = strictObject(item)
export type PlacementItem = z.infer<typeof PlacementItem>

/** Rules of the market in the order they are applied (A43). */
export const TraceStep = assumedObject('A43', () => ({
  campaign_id: z.string().describe('Campaign.'),
  outcome: z.enum(['won', 'outbid', 'removed']).describe('The outcome of the campaign.'),
  rule: z.string().nullable().describe('The rule that removed it.'),
  explanation: z.string().describe('The rule in one sentence.'),
}))
export type TraceStep = z.infer<typeof TraceStep>

/** The request that demand partners would have received (A51). Never prompt text. */
export const PartnerRequest = assumedObject('A51', () => ({
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
}))
export type PartnerRequest = z.infer<typeof PartnerRequest>

export const BillingVerdict = assumedObject('A76', () => ({
  metric: Metric.describe('What the billing model counts.'),
  would_bill: assumed(z.boolean(), 'A78', 'Whether production would bill this placement.'),
  gross_cpm: z.number().nullable().describe('Price, CPM.'),
  currency: z.string().nullable().describe('ISO 4217.'),
  explanation: assumed(z.string(), 'A75', 'Why, in one sentence.'),
}))
export type BillingVerdict = z.infer<typeof BillingVerdict>

export const PlacementDetail = assumedObject('A52', () => ({
  ...item(),
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
}))
export type PlacementDetail = z.infer<typeof PlacementDetail>

/** How many of the newest placements a funnel is over. */
export const funnelPlacements = 1_000

const steps = assumedFields('A93', () => ({
  decided: z.int().describe('Fills of this format.'),
  framed: z.int().describe('Those whose frame was loaded.'),
  rendered: z.int().describe('Those with an accepted render beacon.'),
  visible: z.int().describe('Those that were viewable by the thresholds of their project.'),
  billable: z.int().describe('Those that production would bill.'),
}))

export const PlacementFunnel = assumedObject('A93', () => ({
  placements: z.int().describe(`Placements that were counted, at most the newest ${funnelPlacements}.`),
  is_complete: z.boolean().describe('Whether there are no older ones.'),
  pending: z.int().describe('Not decided yet, or never.'),
  fills: z.int().describe('Filled.'),
  no_fills: z.int().describe('Not filled.'),
  no_fill_reasons: z
    .array(
      assumedObject('A31', () => ({
        no_fill_reason: NoFillReasonCode.describe('Why.'),
        count: z.int().describe('Placements.'),
      })),
    )
    .describe('Most frequent first.'),
  formats: z
    .array(strictObject(() => ({ format: assumed(Format, 'A93', 'Format of the fill.'), ...steps() })))
    .describe('How far the fills of each format have come.'),
}))
export type PlacementFunnel = z.infer<typeof PlacementFunnel>

export const endpoints = declareEndpoints({
  'placements.funnel': {
    ...reading,
    path: '/_sandbox/funnel',
    summary: 'Count how far placements have come',
    description: `Of the newest ${funnelPlacements} placements: fills and no-fills with their reasons, and by format how many fills were framed, rendered, visible and billable.`,
    query: assumedObject('A93', () => ({
      client_id: z.string().optional().describe('Only this project.'),
      session_id: z.string().optional().describe('Only this session.'),
      since: Since.optional().describe('Only placements created since then.'),
    })),
    response: PlacementFunnel,
  },
  'placements.list': {
    ...reading,
    path: '/_sandbox/placements',
    summary: 'List placements',
    description: 'Every slot of this sandbox with its status and outcome.',
    query: assumedObject('A93', () => ({
      ...pageQuery(),
      client_id: z.string().optional().describe('Only this project.'),
      session_id: z.string().optional().describe('Only this session.'),
      job_id: JobFilter.optional().describe('Only the slots of this job.'),
      campaign_id: CampaignFilter.optional().describe('Only fills by this campaign.'),
      format: Format.optional().describe('Only fills of this format.'),
      fill: BooleanText.optional().describe('Only fills, or only no-fills.'),
      since: Since.optional().describe('Only placements created since then.'),
    })),
    response: page(PlacementItem),
  },
  'placements.explain': {
    ...reading,
    path: '/_sandbox/placements/{slot_id}',
    summary: 'Explain one placement',
    description:
      "The decision's trace, what partners would have received, consent, beacons, evidence and the billing verdict.",
    params: strictObject(() => ({ slot_id: documented(SlotId, 'Slot identifier.') })),
    response: PlacementDetail,
    errors: ['not_found'],
  },
})
