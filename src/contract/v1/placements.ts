import { z } from 'zod'
import { declareEndpoints, publicApi } from '../endpoint.ts'
import {
  AssetToken,
  AuthoritativeConsent,
  Currency,
  clientIdField,
  Format,
  jobTypeField,
  NativeTemplateId,
  NoFillReasonCode,
  Overrides,
  promptField,
  RequestConsent,
  SlotHint,
  SlotId,
  SlotStatus,
  sessionIdField,
  slotsRequested,
  Timing,
  WaitMs,
  WaitMsQuery,
} from '../fields.ts'
import { assumed, documented, observed, strictObject } from '../objects.ts'

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
  media_type: documented(z.enum(['image', 'video', 'native']), 'What the frame shows.'),
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

/** When and how long a creative may show, of a job that states how long its generation takes. */
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
  constraints: observed(Constraints, 'A32', 'Bounds of rendering.'),
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
    'Consent flags; required when the project asks for consent and none is stored.',
  ),
  slots_requested: documented(
    slotsRequested.optional(),
    'Number of slots of the job, 1 to 4; the response is the first.',
    'A37',
  ),
}))
export type PlacementRequest = z.infer<typeof PlacementRequest>

export const endpoints = declareEndpoints({
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
    ],
  },
})
