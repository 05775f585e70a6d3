import { z } from 'zod'
import { isObject } from '#foundation/json.ts'
import { declareEndpoints, publicApi } from '../endpoint.ts'
import {
  ClientId,
  ContractVersion,
  JobId,
  JobType,
  Overrides,
  promptField,
  RequestConsent,
  requestIdField,
  SessionId,
  SlotHint,
  SlotId,
  slotsRequested,
} from '../fields.ts'
import { documented, observed, requiredByRule, strictObject, withKeywords } from '../objects.ts'
import {
  contextFields,
  Delivery,
  DeliveryMode,
  latency_ms,
  localeField,
  surfaceFields,
  targetingFields,
  text,
  variantFields,
} from '../variant-fields.ts'

export const JobRequest = strictObject(() => ({
  client_id: requiredByRule(
    documented(
      ClientId.optional(),
      "Project ID. Required, except in a body with a field of choice A34, such as chat_session_id: then the key's project.",
    ),
  ),
  session_id: documented(SessionId.optional(), 'Stable publisher session identifier.', 'A01'),
  job_type: documented(JobType.optional(), 'Workload category; a missing value normalizes to chat.'),
  slots_requested: documented(slotsRequested.optional(), 'Number of slots, 1 to 4; default one.', 'A21'),
  prompt: promptField,
  consent: documented(RequestConsent.optional(), 'semantic_targeting, prompt_shared, gdpr_applies, consent_source.'),
  slot_hint: observed(SlotHint.optional(), 'A34', 'Position and maximum dimensions.'),
  overrides: observed(Overrides.optional(), 'A34', 'Advanced controls.'),
  locale: localeField,
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
  prompt: observed(promptField, 'A35', 'Optional context.'),
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
})
