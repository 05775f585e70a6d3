import { z } from 'zod'
import { isObject } from '../../foundation/json.ts'
import { declareEndpoints, publicApi } from '../endpoint.ts'
import {
  AllowedFormats,
  Bidfloors,
  Category,
  ClientId,
  ContractVersion,
  Domain,
  FloorCurrency,
  FrequencyCap,
  JobId,
  JobType,
  nativeTemplates,
  Opaque,
  Overrides,
  Position,
  PromptObject,
  PromptText,
  Publisher,
  promptError,
  RequestConsent,
  requestIdField,
  SessionId,
  SlotHint,
  SlotId,
  slotIdParam,
  slotsRequested,
  Timing,
  WaitMsQuery,
} from '../fields.ts'
import { assumed, documented, looseObject, observed, once, strictObject, withKeywords } from '../objects.ts'
import { PlacementResponse } from './placements.ts'

const text = z.string().max(256)
const pixels = z.int().min(1).max(4096)

export const SlotConfig = strictObject(() => ({
  allowed_formats: observed(AllowedFormats.optional(), 'A35', 'As overrides.allowed_formats.'),
  max_width: observed(pixels.optional(), 'A35', 'As slot_hint.max_width.'),
  max_height: observed(pixels.optional(), 'A35', 'As slot_hint.max_height.'),
  position_hint: observed(Position.optional(), 'A35', 'As slot_hint.position.'),
  native_template_id: observed(
    z.enum([...nativeTemplates, 'list-item']).optional(),
    'A35',
    'As overrides.native_template_id; list-item is list_item.',
  ),
  bidfloors: observed(Bidfloors.optional(), 'C02', 'As overrides.bidfloors.'),
  bidfloor: observed(z.number().min(0).optional(), 'A35', 'As overrides.bidfloor.'),
  bidfloorcur: observed(FloorCurrency.optional(), 'A35', 'As overrides.bidfloor_currency.'),
  timing: observed(Timing.optional(), 'A35', 'As overrides.timing.'),
}))

/** An open object: other fields that public clients send in it are journalled. */
export const BrandSafety = looseObject(() => ({
  blocked_categories: observed(z.array(Category).max(256).optional(), 'A35', 'As overrides.blocked_categories.'),
  blocked_domains: observed(z.array(Domain).max(256).optional(), 'A35', 'As overrides.blocked_domains.'),
}))

export const DeliveryMode = z.enum(['polling', 'callback', 'websocket'])
export type DeliveryMode = z.infer<typeof DeliveryMode>

export const CallbackUrl = z.string().max(2048)

export const Delivery = strictObject(() => ({
  mode: observed(DeliveryMode.optional(), 'A35', 'The requested delivery of the decision.'),
  callback_url: observed(CallbackUrl.nullable().optional(), 'C07', 'Where the decision of each slot is sent.'),
}))

const latency_ms = z.number().min(0)

/** A topic of any length, to be cut; an empty one counts as absent. */
const LooseTopic = z.string()

const contextFields = () => ({
  topic: observed(
    LooseTopic.optional(),
    'A34',
    'As prompt.topic; an empty one is absent, one over 200 characters is cut.',
  ),
  prompt_text: observed(PromptText.optional(), 'A34', 'As prompt.text.'),
  geo: observed(Opaque.optional(), 'A34', 'Its field country takes part in matching.'),
  device: observed(Opaque.optional(), 'A34', 'Accepted and journalled.'),
})

/** How a client proves that it runs on a device, for a human. */
export const Verification = looseObject(() => ({
  device: observed(Opaque.optional(), 'A34', 'Accepted and journalled.'),
  human: observed(Opaque.optional(), 'A34', 'Accepted and journalled.'),
}))

/** A prompt as POST /v1/placements takes it, with the estimate that clients of jobs add. */
export const JobPromptObject = strictObject(() => ({
  ...PromptObject.shape,
  token_count_estimate: observed(z.number().min(0).optional(), 'C02', 'Accepted and journalled.'),
}))
export const JobPrompt = z.union([JobPromptObject, PromptText], { error: promptError })
const jobPromptField = documented(JobPrompt.optional(), 'Optional context, as { topic, text } or a string.')

/** Fields that both forms of a job have, each form by its own choice. */
const surfaceFields = (choice: string) => ({
  publisher: observed(Publisher.optional(), choice, 'As overrides.publisher.'),
  slot_config: observed(SlotConfig.optional(), choice, 'Preferred formats and sizes.'),
  brand_safety: observed(BrandSafety.optional(), choice, 'Blocked categories and domains.'),
})
const targetingFields = (choice: string) => ({
  verification: observed(Verification.optional(), choice, 'Accepted and journalled.'),
  frequency_cap: observed(FrequencyCap.optional(), choice, 'As overrides.frequency_cap.'),
  targeting: observed(Opaque.optional(), choice, 'As overrides.targeting.'),
  pacing: observed(Opaque.optional(), choice, 'As overrides.pacing.'),
})

/** Fields that public clients send flat, mapped to the canonical fields on receipt (A34). */
const variantFields = once(() => ({
  context: observed(strictObject(contextFields).optional(), 'A34', 'Context in the variant form.'),
  chat_session_id: observed(SessionId.optional(), 'A34', 'As session_id.'),
  model_id: observed(text.optional(), 'A34', 'Accepted and journalled.'),
  predicted_latency_ms: observed(
    latency_ms.optional(),
    'A34',
    'How long the generation takes; gives a fill its metadata (C03).',
  ),
  ...surfaceFields('A34'),
  routing: observed(Opaque.optional(), 'A34', 'Accepted and journalled.'),
  ssp_partner_id: observed(text.optional(), 'A34', 'As overrides.preferred_partner_id.'),
  delivery: observed(Delivery.optional(), 'A34', 'The requested delivery of the decision.'),
  callback_url: observed(CallbackUrl.nullable().optional(), 'C07', 'Where the decision of each slot is sent.'),
  ...targetingFields('A34'),
  timing: observed(Timing.optional(), 'A34', 'As overrides.timing.'),
}))

type VariantField = keyof ReturnType<typeof variantFields>

/** Returns the names of the variant fields. A body with one of them may omit client_id. */
export const variantFieldNames = once(() => Object.keys(variantFields()) as VariantField[])

export const JobRequest = strictObject(() => ({
  client_id: documented(
    ClientId.optional(),
    "Project ID. Required, except in a body with a field of choice A34, such as chat_session_id: then the key's project.",
  ),
  session_id: documented(SessionId.optional(), 'Stable publisher session identifier.'),
  job_type: documented(JobType.optional(), 'Workload category; a missing value normalizes to chat.'),
  slots_requested: documented(slotsRequested.optional(), 'Number of slots, 1 to 4; default one.', 'A21'),
  prompt: jobPromptField,
  consent: documented(RequestConsent.optional(), 'semantic_targeting, prompt_shared, gdpr_applies, consent_source.'),
  slot_hint: observed(SlotHint.optional(), 'A34', 'Position and maximum dimensions.'),
  overrides: observed(Overrides.optional(), 'A34', 'Advanced controls.'),
  locale: observed(text.optional(), 'A34', 'BCP 47 language tag; accepted and journalled.'),
  ...variantFields(),
}))
export type JobRequest = z.infer<typeof JobRequest>

export const BrowserJobRequest = strictObject(() => ({
  contract_version: documented(ContractVersion, 'Marks the browser branch: <name>/v1.', 'A35'),
  job: documented(
    strictObject(() => ({
      job_type: documented(JobType.optional(), 'Workload category; a missing value normalizes to chat.'),
      model_id: observed(text.optional(), 'A35', 'Accepted and journalled.'),
      locale: observed(text.optional(), 'A35', 'BCP 47 language tag; accepted and journalled.'),
      slots_requested: observed(slotsRequested.optional(), 'A35', 'Number of slots, 1 to 4; default one.'),
    })),
    'The job.',
    'A35',
  ),
  context: observed(
    strictObject(() => ({
      client_id: observed(ClientId.optional(), 'A35', 'Project ID; with an activation token it comes from the token.'),
      chat_session_id: observed(SessionId.optional(), 'A35', 'As session_id.'),
      ...contextFields(),
    })).optional(),
    'A35',
    'The origin of the job.',
  ),
  prompt: observed(jobPromptField, 'A35', 'Optional context.'),
  consent: observed(RequestConsent.optional(), 'A35', 'Consent flags.'),
  ...surfaceFields('A35'),
  delivery: observed(Delivery.optional(), 'A35', 'The requested delivery of the decision.'),
  latency_hint: observed(
    strictObject(() => ({
      predicted_latency_ms: observed(
        latency_ms.optional(),
        'C03',
        'How long the generation takes; gives a fill its metadata.',
      ),
    })).optional(),
    'C02',
    'How long the generation takes.',
  ),
  routing_hint: observed(
    strictObject(() => ({
      preferred_partner_id: observed(text.optional(), 'C02', 'As overrides.preferred_partner_id.'),
      candidate_partner_ids: observed(z.array(text).max(64).optional(), 'C02', 'Accepted and journalled.'),
    })).optional(),
    'C02',
    'Partners that the client would like.',
  ),
  ...targetingFields('C02'),
}))
export type BrowserJobRequest = z.infer<typeof BrowserJobRequest>

export const JobAccepted = strictObject(() => ({
  contract_version: observed(z.string().optional(), 'A35', 'In the browser branch: the accepted family.'),
  job_id: documented(JobId, 'Created job identifier.'),
  slot_ids: documented(z.array(SlotId), 'Slots to render or poll.'),
  status: observed(z.literal('accepted'), 'A33', 'Always accepted.'),
  poll_path_template: documented(z.string(), 'Canonical decision polling path, /v1/decisions/{slot_id}.'),
  expires_at: observed(
    withKeywords(z.string(), { format: 'date-time' }),
    'A33',
    'Latest expiry of the decisions, RFC 3339.',
  ),
  decision_delivery: observed(
    strictObject(() => ({
      mode: observed(DeliveryMode, 'A33', 'As requested; callback where there is a callback URL.'),
      poll_path_template: observed(z.string().optional(), 'A33', 'Decision polling path.'),
      decision_path_template: observed(
        z.string().nullable().optional(),
        'A35',
        'Decision polling path, in the browser branch.',
      ),
    })),
    'A33',
    'How the decision is delivered.',
  ),
  request_id: requestIdField,
}))
export type JobAccepted = z.infer<typeof JobAccepted>

/** Whether a body belongs to the browser branch (A35): a job in its own object, or a version and no canonical field. */
export function isBrowserBranch(body: unknown): boolean {
  if (!isObject(body)) return false
  return 'job' in body || ('contract_version' in body && !canonicalFields.some((name) => name in body))
}

const canonicalFields = ['client_id', 'session_id', 'job_type'] as const

/** Where the fields of the canonical form belong in the browser branch. */
const browserPlaces = {
  client_id: 'context.client_id',
  session_id: 'context.chat_session_id',
  chat_session_id: 'context.chat_session_id',
  job_type: 'job.job_type',
  model_id: 'job.model_id',
  locale: 'job.locale',
  slots_requested: 'job.slots_requested',
  slot_hint: 'slot_config.max_width, slot_config.max_height and slot_config.position_hint',
  overrides: 'slot_config, brand_safety and publisher',
  test_outcome: 'POST /v1/placements with a Server Test Key',
}

const noContract = 'the browser branch, next to job and context; the canonical form has none'

export const v1 = declareEndpoints({
  'jobs.create': {
    ...publicApi,
    method: 'POST',
    path: '/v1/jobs',
    summary: 'Create a job and get its slot IDs',
    description:
      'Advanced compatibility route; creates a job and returns slot IDs, to be polled with GET /v1/decisions/{slot_id}. The body is flat (JobRequest), or has contract_version and an object job (BrowserJobRequest).',
    stability: 'advanced',
    body: z.union([JobRequest, BrowserJobRequest]),
    branch: (body) => (isBrowserBranch(body) ? BrowserJobRequest : JobRequest),
    misplaced: (body) =>
      isBrowserBranch(body)
        ? { places: browserPlaces, ignoresOthers: true }
        : { places: { contract_version: noContract }, ignoresOthers: false },
    status: 201,
    response: JobAccepted,
    response_headers: ['x-sandbox-warning'],
    errors: [
      'project_mismatch',
      'formats_empty',
      'format_unsupported',
      'format_combination_unsupported',
      'slots_requested_out_of_range',
      'contract_version_unsupported',
      'callback_url_refused',
      'callback_key_missing',
    ],
  },
  'decisions.get': {
    ...publicApi,
    method: 'GET',
    path: '/v1/decisions/{slot_id}',
    summary: 'Poll a slot for its decision',
    description:
      'Returns the placement response; decision is null while pending. A slot that is unknown or belongs to another project gets a 404.',
    stability: 'advanced',
    params: strictObject(() => ({ slot_id: slotIdParam })),
    query: strictObject(() => ({
      wait_ms: observed(WaitMsQuery.optional(), 'A36', 'Long-poll wait, milliseconds; 0 when absent, clamped to 5000.'),
    })),
    response: assumed(PlacementResponse, 'A36', 'The placement response object.'),
    response_headers: ['date', 'x-sandbox-warning'],
    errors: ['not_found'],
  },
})
