/** Placements, as v1 has them and as the control plane lists and explains them: one resource, whose shapes are built of each other. */
import { z } from 'zod'
import { personalKinds } from '#foundation/personal-data/personal-kinds.ts'
import { tableNames } from '#foundation/table-entry.ts'
import { declareEndpoints, publicApi, reading } from '../endpoint.ts'
import { ReasonCode } from '../errors.ts'
import { mediaTypes } from '../facts/formats.ts'
import {
  AssetToken,
  AuthoritativeConsent,
  BooleanText,
  CampaignFilter,
  Currency,
  clientIdField,
  codesText,
  EpochMs,
  Format,
  JobFilter,
  JobId,
  JobType,
  jobTypeField,
  Mode,
  NativeTemplateId,
  NoFillReasonCode,
  Overrides,
  page,
  pageQuery,
  promptField,
  RequestConsent,
  Since,
  SlotFilter,
  SlotHint,
  SlotId,
  SlotStatus,
  sessionIdField,
  slotsRequested,
  Timing,
  WaitMs,
  WaitMsQuery,
} from '../fields.ts'
import { maxSlotIds } from '../limits.ts'
import { assumed, assumedFields, assumedObject, documented, observed, strictObject } from '../objects.ts'
import { localeField, variantFields } from '../variant-fields.ts'
import { acceptCodes, BeaconItem, Metric } from './beacons.ts'
import { DecodedConsentString } from './consent.ts'
import { EvidenceEntry } from './evidence.ts'
import { FillStep, funnelPlacements, PlacementFunnel } from './funnel.ts'

const PersonalKindCode = z.enum(tableNames(personalKinds))

const size = z.int().min(1)
const url = z.string().max(2048)

export const NativeAssets = strictObject(() => ({
  title: documented(z.string(), 'Headline.'),
  image_url: documented(url, 'Main image.'),
  description: documented(z.string().optional(), 'Body text, where the sponsor has one.'),
  cta_text: documented(z.string(), 'Call to action.'),
  icon_url: documented(url, "Sponsor's icon."),
}))
export type NativeAssets = z.infer<typeof NativeAssets>

export const Render = strictObject(() => ({
  strategy: documented(z.literal('hosted_frame'), 'How to render; hosted_frame is the value seen.'),
  frame_url: documented(url, 'Address of the hosted frame, for one iframe.'),
  script_url: documented(url, 'Address of render.js.'),
  media_type: documented(z.enum(mediaTypes), 'What the frame shows.'),
  width: documented(size, 'CSS pixels.'),
  height: documented(size, 'CSS pixels.'),
  aspect_ratio: documented(z.string().regex(/^\d+\/\d+$/), 'Of the form <width>/<height>.'),
  label_text: documented(z.string(), 'The ad label that the host page draws.'),
  sponsor_name: documented(z.string(), "The sponsor's name."),
  click_url: documented(url, 'Landing page.'),
  native_template_id: documented(NativeTemplateId.optional(), 'Layout, for native fills.'),
}))

export const Placement = strictObject(() => ({
  image_url: documented(url.nullable(), 'Banner image, or the main image of a native fill.'),
  video_url: documented(url.nullable(), 'Clip video.'),
  click_url: documented(url, 'Landing page.'),
  sponsor_name: documented(z.string(), "The sponsor's name."),
  width: documented(size, 'CSS pixels.'),
  height: documented(size, 'CSS pixels.'),
  format: documented(Format, 'banner, clip or native.'),
  asset_token: documented(AssetToken, 'Token of this fill: renders the creative and is sent with beacons.', 'A05'),
  ad_label_text: documented(z.string(), 'The ad label.'),
  render: documented(Render, 'How to render it.'),
}))
export type Placement = z.infer<typeof Placement>

const csDeclaration = observed(
  z.string(),
  'A32',
  'Consent of the decision: CS-S (S1/P0), S semantic_targeting, P prompt_shared.',
)
const adLabelText = z.string()

export const Constraints = strictObject(() => ({
  mode: observed(Format, 'A32', 'The format.'),
  ruleset_id: observed(z.string(), 'A32', 'The rules of rendering and viewability.'),
  ruleset_version: observed(z.number(), 'A32', 'Version of these rules.'),
  max_render_delay_ms: observed(z.int(), 'A32', 'Latest first load of the frame, milliseconds.'),
  require_viewability_ms: observed(z.int(), 'A32', 'Dwell for viewability, milliseconds.'),
  creative_duration_ms: observed(z.number(), 'A32', 'Length of a clip, milliseconds; 0 for other formats.'),
}))

/** When and how long a creative may show, for a job that states how long its generation takes. */
export const DecisionMetadata = strictObject(() => ({
  timing: observed(Timing, 'C03', 'When the placement shows, relative to the generation.'),
  inference: observed(
    strictObject(() => ({
      estimated_window_ms: observed(z.number(), 'C03', 'The predicted length of the generation, milliseconds.'),
      max_creative_duration_ms: observed(z.number(), 'C03', 'The longest creative that fits, milliseconds.'),
      fallback_mode: observed(
        z.literal('banner').nullable(),
        'C03',
        'What to show in place of a clip that is too long.',
      ),
      allowed_modes: observed(z.array(Format), 'C03', 'The formats that the job allows.'),
    })),
    'C03',
    'The window that the generation leaves.',
  ),
}))
export type DecisionMetadata = z.infer<typeof DecisionMetadata>

export const FillDecision = strictObject(() => ({
  fill: documented(z.literal(true), 'Whether there is a creative.'),
  format: documented(Format, 'banner, clip or native.'),
  asset_token: documented(AssetToken, 'Token of this fill.', 'A05'),
  delivery_url: documented(url.nullable(), 'Banner image or clip video; null for native.'),
  assets: documented(NativeAssets.nullable(), 'Native only; null for banner and clip.'),
  click_url: observed(url, 'A32', 'Landing page.'),
  sponsor_name: observed(z.string(), 'A32', "The sponsor's name."),
  ad_label_text: observed(adLabelText, 'A32', 'The ad label.'),
  mime_type: observed(z.string(), 'A32', 'Media type of the creative.'),
  dimensions: observed(
    strictObject(() => ({ width: observed(size, 'A32', 'CSS pixels.'), height: observed(size, 'A32', 'CSS pixels.') })),
    'A32',
    'Size of the creative.',
  ),
  duration_ms: observed(z.number().nullable(), 'A32', 'Length of a clip, milliseconds.'),
  constraints: observed(Constraints, 'A32', 'Rendering constraints.'),
  cs_declaration: csDeclaration,
  revenue_estimate: observed(
    strictObject(() => ({
      gross_cpm: observed(z.number(), 'A32', 'Price, CPM.'),
      estimated_net_per_impression: observed(z.number(), 'A32', "Publisher's share of one impression."),
      currency: observed(Currency, 'A32', 'ISO 4217.'),
    })),
    'A32',
    'The value of the fill. The sandbox never pays anything.',
  ),
  metadata: observed(
    DecisionMetadata.optional(),
    'C03',
    'When and how long to show it, where the job states how long its generation takes.',
  ),
}))
export type FillDecision = z.infer<typeof FillDecision>

export const NoFillDecision = strictObject(() => ({
  fill: documented(z.literal(false), 'Whether there is a creative.'),
  format: assumed(z.null(), 'A31', 'No creative.'),
  asset_token: assumed(z.null(), 'A31', 'No creative.'),
  delivery_url: assumed(z.null(), 'A31', 'No creative.'),
  assets: assumed(z.null(), 'A31', 'No creative.'),
  reason: observed(z.literal('no_fill'), 'A31', 'Always no_fill.'),
  no_fill_reason: observed(NoFillReasonCode, 'A31', 'Stable reason code.'),
  reason_origin: assumed(z.enum(['core_policy', 'partner', 'transport', 'test']), 'A31', 'Who declined.'),
  nbr: assumed(z.int().nullable(), 'A31', 'OpenRTB no-bid reason.'),
  retryable: assumed(z.boolean(), 'A31', 'Whether the same request may fill later.'),
  ad_label_text: assumed(adLabelText, 'A31', 'The ad label of the project.'),
  cs_declaration: csDeclaration,
}))
export type NoFillDecision = z.infer<typeof NoFillDecision>

export const Decision = z.discriminatedUnion('fill', [FillDecision, NoFillDecision])
export type Decision = z.infer<typeof Decision>

/** The canonical placement response, of both POST /v1/placements and GET /v1/decisions/{slot_id}. */
export const PlacementResponse = strictObject(() => ({
  slot_id: documented(SlotId, 'Slot identifier.'),
  status: documented(SlotStatus, 'Decision state: pending, ready, and expired after its lifetime.', 'A30'),
  placement: documented(Placement.nullable(), 'Hosted-render descriptor when a fill is ready.'),
  decision: documented(Decision.nullable(), 'Canonical decision payload; null while pending.'),
  authoritative_consent: documented(
    AuthoritativeConsent.optional(),
    'Decision-bound consent snapshot, used by the renderer.',
  ),
}))
export type PlacementResponse = z.infer<typeof PlacementResponse>

export const PlacementRequest = strictObject(() => ({
  wait_ms: documented(WaitMs.optional(), 'Long-poll wait, milliseconds; 1500 when absent, clamped to 5000.', 'A22'),
  test_outcome: documented(z.literal('no_fill').optional(), 'Forces a no-fill; needs a Server Test Key.', 'A41'),
  client_id: clientIdField,
  session_id: sessionIdField,
  job_type: jobTypeField,
  prompt: promptField,
  slot_hint: documented(SlotHint.optional(), 'Position and maximum dimensions.'),
  overrides: documented(Overrides.optional(), 'Advanced controls.'),
  consent: documented(
    RequestConsent.optional(),
    'Consent flags; required when the project requires consent and none is stored.',
  ),
  slots_requested: documented(
    slotsRequested.optional(),
    'Number of slots of the job, 1 to 4; the response is the first.',
    'A37',
  ),
  locale: localeField,
  ...variantFields(),
}))
export type PlacementRequest = z.infer<typeof PlacementRequest>

export const v1 = declareEndpoints({
  'placements.create': {
    ...publicApi,
    method: 'POST',
    path: '/v1/placements',
    summary: 'Request a placement',
    description:
      'Creates one job, waits for the first slot decision, returns the canonical placement response. The default entry point for server integrations.',
    query: strictObject(() => ({
      wait_ms: documented(
        WaitMsQuery.optional(),
        'Long-poll wait, milliseconds; takes precedence over the body.',
        'A22',
      ),
    })),
    body: PlacementRequest,
    response: PlacementResponse,
    response_headers: ['date', 'x-sandbox-warning', 'x-sandbox-slot-ids'],
    errors: [
      'project_mismatch',
      'formats_empty',
      'format_unsupported',
      'format_combination_unsupported',
      'slots_requested_out_of_range',
      'consent_required',
      'test_outcome_requires_test_key',
      'callback_url_refused',
      'callback_key_missing',
    ],
  },
})

/* The control plane: every placement with its trace, beacons, evidence and billing verdict. */

/** A beacon of a placement in a list: what billing says of it. */
export const SlotBeacon = assumedObject('A93', () => {
  const { event, verdict, reason_code, metric, occurred_at_ms, received_at_ms } = BeaconItem.shape
  return { event, verdict, reason_code, metric, occurred_at_ms, received_at_ms }
})
export type SlotBeacon = z.infer<typeof SlotBeacon>

const item = assumedFields('A93', () => ({
  slot_id: SlotId.describe('Slot identifier.'),
  job_id: JobId.describe('Job identifier.'),
  client_id: z.string().describe('Project ID.'),
  session_id: z.string().nullable().describe('Session, if the job named one.'),
  job_type: JobType.describe('Workload category.'),
  mode: Mode.describe('Mode of the credential: test or live.'),
  format: Format.nullable().describe('Format of the fill; null otherwise.'),
  status: assumed(SlotStatus, 'A30', 'pending, ready or expired.'),
  fill: z.boolean().nullable().describe('null while pending.'),
  no_fill_reason: assumed(NoFillReasonCode.nullable(), 'A31', 'Reason for the no-fill.'),
  campaign_id: assumed(z.string().nullable(), 'A43', 'Campaign that filled it.'),
  forced: assumed(z.literal(true).optional(), 'A107', 'Its campaign was forced: it says nothing about the market.'),
  created_at_ms: EpochMs.describe('When the job was created.'),
  decided_at_ms: EpochMs.nullable().describe('When it was decided.'),
  reached: assumed(
    FillStep.nullable().optional(),
    'A75',
    'With with_reached, and of one placement: the last step that the fill reached; null where it reached none.',
  ),
  framed: assumed(z.boolean().optional(), 'A93', 'With with_beacons: whether its frame was loaded.'),
  beacons: assumed(
    z.array(SlotBeacon).optional(),
    'A93',
    'With with_beacons: its beacons, oldest first; heartbeats only where there is no other.',
  ),
}))

export const PlacementItem = strictObject(item)
export type PlacementItem = z.infer<typeof PlacementItem>

/** Rules of the market in the order they are applied (A43). */
export const TraceStep = assumedObject('A43', () => ({
  campaign_id: z.string().describe('Campaign.'),
  outcome: z.enum(['won', 'outbid', 'removed']).describe('The outcome of the campaign.'),
  rule: z.string().nullable().describe('The rule that removed it.'),
  explanation: z.string().describe('The rule in one sentence.'),
  source: assumed(
    assumedObject('A107', () => ({
      file: z.string().describe('The name of the file.'),
      line: z.int().describe('Counted from 1.'),
    })).optional(),
    'A107',
    'Where the campaign is written, if it is of your own demand.',
  ),
}))
export type TraceStep = z.infer<typeof TraceStep>

/** A partner that was asked. */
export const AuctionStep = assumedObject('A107', () => ({
  partner_id: z.string().describe('Partner.'),
  name: z.string().describe('Its name.'),
  answered_at_ms: z
    .int()
    .describe('Milliseconds after it was asked; of a late one, when it would have answered, or the wait was over.'),
  outcome: z
    .enum(['offered', 'refused', 'no_bid', 'late', 'failed', 'malformed', 'oversized', 'under_floor'])
    .describe('What became of its offers; of a bidder of your own, of this bid.'),
  campaign_id: z.string().nullable().describe('Its best offer, or the campaign of the bid.'),
  price_cpm: z.number().nullable().describe('The price of 1,000 impressions.'),
  currency: z.string().nullable().describe('ISO 4217.'),
  problem: z.string().nullable().describe('Why the bid, or all of the answer, was refused.'),
}))

export type AuctionStep = z.infer<typeof AuctionStep>

/** The request that demand partners would have received (A51). Never prompt text. */
export const PartnerRequest = assumedObject('A51', () => ({
  job_type: JobType.describe('Workload category.'),
  formats: z.array(Format).describe('Requested formats.'),
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

/** A field with personal data in it, without the data (A116). */
export const PersonalFinding = assumedObject('A116', () => ({
  path: z.string().describe('The dotted path of the field: topic.'),
  kinds: z.array(PersonalKindCode).describe('What it seems to contain.'),
}))
export type PersonalFinding = z.infer<typeof PersonalFinding>

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
  auction: assumed(
    z.array(AuctionStep).optional(),
    'A107',
    'When each partner answered and at what price, the first ones first; left out where all answer at once.',
  ),
  partner_request: assumed(
    PartnerRequest.nullable(),
    'A51',
    'The request that partners would have received; null when none was made.',
  ),
  personal_data: assumed(
    z.array(PersonalFinding),
    'A116',
    'The fields of partner_request that seem to contain personal data; empty without any.',
  ),
  consent: assumed(AuthoritativeConsent.nullable(), 'A65', 'The decision-bound snapshot.'),
  consent_strings: z.array(DecodedConsentString).describe('What the strings say that were stored with this consent.'),
  first_frame_at_ms: assumed(EpochMs.nullable(), 'A05', 'When the frame was first loaded.'),
  beacons: assumed(z.array(BeaconItem), 'A74', 'Accepted and rejected, oldest first.'),
  evidence: assumed(z.array(EvidenceEntry), 'A77', 'Evidence entries about this slot, oldest first.'),
  billing: assumed(
    BillingVerdict.nullable(),
    'A75',
    'The verdict over the set of accepted beacons; null without a fill.',
  ),
  fix: assumed(
    z.string().nullable(),
    'A75',
    'How to get a placement billed; null when this one would be, or when nothing can be done.',
  ),
}))
export type PlacementDetail = z.infer<typeof PlacementDetail>

const PlacementReasons = codesText(
  [...NoFillReasonCode.options, ...acceptCodes, ...ReasonCode.options],
  'reasons such as no_demand or BELOW_THRESHOLD',
)

const SlotIds = z
  .string()
  .max(maxSlotIds * 64)
  .refine((text) => text.split(',').length <= maxSlotIds, `must be at most ${maxSlotIds} slots`)

export const control = declareEndpoints({
  'placements.funnel': {
    ...reading,
    path: '/_sandbox/funnel',
    summary: 'Count how far placements got',
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
      decided: BooleanText.optional().describe('Only decided placements, or only those that are not.'),
      reason: PlacementReasons.optional().describe(
        'Only placements that did not fill for this reason, or have a beacon with this reason_code; several are separated by commas.',
      ),
      billed: BooleanText.optional().describe('Only fills that production would bill, or only fills it would not.'),
      reached: FillStep.optional().describe('Only fills that got this far.'),
      missing: FillStep.optional().describe('Only fills that did not get this far: visible finds those never viewed.'),
      with_reached: BooleanText.optional().describe('Also how far each fill got: reached.'),
      with_beacons: BooleanText.optional().describe('Also whether its frame was loaded, and its beacons.'),
      slot_ids: SlotIds.optional().describe(`Only these placements, separated by commas: at most ${maxSlotIds}.`),
      from_slot_id: SlotFilter.optional().describe('Only this placement and newer ones.'),
      since: Since.optional().describe('Only placements created since then.'),
      until: Since.optional().describe('Only placements created before then.'),
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
