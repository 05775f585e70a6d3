/** The decision of a slot in the shape that old clients read: polled, pushed and called back alike (C03). */
import { z } from 'zod'
import { declareEndpoints } from '../endpoint.ts'
import { Currency, Format, slotIdParam, WaitMsQuery } from '../fields.ts'
import { strictObject } from '../objects.ts'
import { observed } from '../provenance.ts'
import { Constraints, DecisionMetadata } from '../v1/placements.ts'
import { onBrowser, onWrapper } from './surface.ts'

const absentOrText = z.string().min(1).optional()
const url = z.string().max(2048)

/** `csl_wrapper_decision/v1`: the contract of a decision in this shape. */
export const legacyDecisionVersion = 'csl_wrapper_decision/v1'

const LegacyCreative = strictObject(() => ({
  url: observed(url, 'C03', 'The creative; the main image of a native fill.'),
  type: observed(Format, 'C03', 'banner, clip or native.'),
  duration_ms: observed(z.number(), 'C03', 'Length of a clip, milliseconds; 3000 for what does not play.'),
  width: observed(z.int().min(1), 'C03', 'CSS pixels.'),
  height: observed(z.int().min(1), 'C03', 'CSS pixels.'),
  mime_type: observed(absentOrText, 'C03', 'Media type of the creative.'),
  click_through_url: observed(absentOrText, 'C03', 'Landing page.'),
  sponsor_name: observed(absentOrText, 'C03', "The sponsor's name."),
  native_assets: observed(
    strictObject(() => ({
      title: observed(z.string(), 'C03', 'Headline.'),
      image_url: observed(url, 'C03', 'Main image.'),
      description: observed(absentOrText, 'C03', 'Body text, where the sponsor has one.'),
      cta_text: observed(absentOrText, 'C03', 'Call to action.'),
      icon_url: observed(absentOrText, 'C03', "Sponsor's icon."),
    })).optional(),
    'C03',
    'The structured assets of a native fill.',
  ),
}))

const LegacyRevenue = strictObject(() => ({
  gross_cpm: observed(z.number().optional(), 'C03', 'Price, CPM.'),
  estimated_net_per_impression: observed(z.number().optional(), 'C03', "Publisher's share of one impression."),
  currency: observed(Currency.optional(), 'C03', 'ISO 4217.'),
}))

/** All eleven fields are always there. Of no-fills and pending slots most are null. */
export const LegacyDecision = strictObject(() => ({
  contract_version: observed(z.literal(legacyDecisionVersion), 'C03', 'Contract of this decision.'),
  slot_id: observed(z.string(), 'C03', 'Slot identifier.'),
  status: observed(z.enum(['pending', 'ready']), 'C03', 'pending, or ready. An expired slot is a ready no-fill.'),
  fill: observed(z.boolean().nullable(), 'C03', 'Whether there is a creative; null while pending.'),
  reason: observed(z.string().min(1).nullable(), 'C03', 'no_fill for a no-fill.'),
  no_fill_reason: observed(z.string().min(1).nullable(), 'C03', 'Stable reason code of a no-fill.'),
  creative: observed(LegacyCreative.nullable(), 'C03', 'The creative of a fill.'),
  asset_token: observed(z.string().nullable(), 'C03', 'Token of the fill, sent with beacons.'),
  constraints: observed(Constraints.nullable(), 'C03', 'Bounds of rendering.'),
  cs_declaration: observed(z.string().nullable(), 'C03', 'Consent of the decision; null while pending.'),
  revenue_estimate: observed(LegacyRevenue.nullable(), 'C03', 'The value of the fill.'),
  metadata: observed(
    DecisionMetadata.optional(),
    'C03',
    'When and how long to show a fill, where the job states how long its generation takes.',
  ),
}))
export type LegacyDecision = z.infer<typeof LegacyDecision>

const decision = {
  method: 'GET',
  provenance: 'observed',
  rate: 'default',
  description:
    'The decision in the shape that old clients read. A slot that is unknown or of another project gets a 404; an expired one is a ready no-fill slot_expired. Use GET /v1/decisions/{slot_id}.',
  params: strictObject(() => ({ slot_id: slotIdParam })),
  query: strictObject(() => ({
    wait_ms: observed(WaitMsQuery.optional(), 'C03', 'Long-poll wait, milliseconds; 0 when absent, clamped to 5000.'),
  })),
  response: LegacyDecision,
  response_headers: ['date', 'deprecation', 'link', 'x-sandbox-warning'],
  errors: ['not_found'],
} as const

export const endpoints = declareEndpoints({
  'wrapper.decision': {
    ...onWrapper('/v1/decisions/{slot_id}'),
    ...decision,
    path: '/public/wrapper/v1/slots/{slot_id}/decision',
    summary: 'Poll a slot for its decision, as an old client of a server',
  },
  'browser.decision': {
    ...onBrowser('/v1/decisions/{slot_id}'),
    ...decision,
    path: '/public/browser/v1/slots/{slot_id}/decision',
    summary: 'Poll a slot for its decision, as an old client of a browser',
  },
})
