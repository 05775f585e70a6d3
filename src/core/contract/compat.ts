/**
 * Endpoints that existing clients need beyond the API document: other paths and shapes of the same operations, the report of a
 * generation, and decisions pushed over WebSocket. Off with --strict.
 */
import { z } from 'zod'
import { declareEndpoints, type EndpointEntry, publicApi } from './endpoint.ts'
import { ContractVersion, Currency, Format, Opaque, slotIdParam, WaitMsQuery } from './fields.ts'
import { limits } from './limits.ts'
import { looseObject, observed, strictObject } from './objects.ts'
import { BeaconResult, v1 as beacons, OldBeaconId } from './resources/beacons.ts'
import { v1 as browser } from './resources/browser.ts'
import { v1 as jobs } from './resources/jobs.ts'
import { Constraints, DecisionMetadata } from './resources/placements.ts'

const alias = {
  stability: 'deprecated',
  provenance: 'observed',
  rate: 'default',
  body_limit_bytes: limits.body_bytes,
  status: 200,
} as const satisfies Partial<EndpointEntry>

/** Common to the aliases for servers, under `/public/wrapper/v1/`. `successor`: the path that replaces them. */
const onWrapper = (successor: string) => ({ ...alias, successor, credentials: ['secret_key'] }) as const

/** Common to the aliases for browsers, under `/public/browser/v1/`. `successor`: the path that replaces them. */
const onBrowser = (successor: string) => ({ ...alias, successor, credentials: ['activation_token'] }) as const

const job = jobs['jobs.create']

const slotParams = strictObject(() => ({ slot_id: slotIdParam }))
const absentOrText = z.string().min(1).optional()
const url = z.string().max(2048)

/** `csl_wrapper_decision/v1`: the contract of a decision in this shape. */
export const legacyDecisionVersion = 'csl_wrapper_decision/v1'

const LegacyCreative = strictObject(() => ({
  url: observed(url, 'C03', 'The creative; the main image of a native fill.'),
  type: observed(Format, 'C03', 'banner, clip or native.'),
  duration_ms: observed(z.number(), 'C03', 'Length of a clip, milliseconds; 3000 for formats that do not play.'),
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

/** All eleven fields are always present; most are null for no-fills and pending slots. */
export const LegacyDecision = strictObject(() => ({
  contract_version: observed(z.literal(legacyDecisionVersion), 'C03', 'Contract of this decision.'),
  slot_id: observed(z.string(), 'C03', 'Slot identifier.'),
  status: observed(z.enum(['pending', 'ready']), 'C03', 'pending, or ready. An expired slot is a ready no-fill.'),
  fill: observed(z.boolean().nullable(), 'C03', 'Whether there is a creative; null while pending.'),
  reason: observed(z.string().min(1).nullable(), 'C03', 'no_fill for a no-fill.'),
  no_fill_reason: observed(z.string().min(1).nullable(), 'C03', 'Stable reason code of a no-fill.'),
  creative: observed(LegacyCreative.nullable(), 'C03', 'The creative of a fill.'),
  asset_token: observed(z.string().nullable(), 'C03', 'Token of the fill, sent with beacons.'),
  constraints: observed(Constraints.nullable(), 'C03', 'Rendering constraints.'),
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
    'The decision in the shape that old clients read. A slot that is unknown or belongs to another project gets a 404; an expired one is a ready no-fill slot_expired. Use GET /v1/decisions/{slot_id}.',
  params: slotParams,
  query: strictObject(() => ({
    wait_ms: observed(WaitMsQuery.optional(), 'C03', 'Long-poll wait, milliseconds; 0 when absent, clamped to 5000.'),
  })),
  response: LegacyDecision,
  response_headers: ['date', 'deprecation', 'link', 'x-sandbox-warning'],
  errors: ['not_found'],
} as const

export const DecisionTicket = strictObject(() => ({
  ticket: observed(
    z.string(),
    'C04',
    'Opens one socket for the decision of this slot, within 60 seconds, on this surface and from this origin.',
  ),
}))
export type DecisionTicket = z.infer<typeof DecisionTicket>

const ticket = {
  method: 'POST',
  description:
    'A handshake cannot carry an Authorization header in a browser: a ticket takes its place. The request has no body. A slot that is unknown or belongs to another project gets a 404. Use GET /v1/decisions/{slot_id} with wait_ms.',
  params: slotParams,
  response: DecisionTicket,
  response_headers: ['deprecation', 'link', 'x-sandbox-warning'],
  errors: ['not_found'],
} as const

const socket = {
  method: 'GET',
  description:
    'The handshake of a WebSocket, version 13 (RFC 6455), without a subprotocol. Exactly one text frame follows as soon as the slot is decided: the decision as GET .../decision returns it, never pending. The client closes the socket. The ticket is the only credential: a bad, missing, used or foreign one gets a 401, a request that is not a handshake a 426.',
  credentials: [],
  rate: null,
  status: 101,
  params: slotParams,
  query: looseObject(() => ({
    ticket: observed(z.string().optional(), 'C04', 'The ticket of this slot. Other parameters are ignored.'),
  })),
  response: { media_type: 'websocket' },
  errors: ['ticket_invalid', 'upgrade_required', 'too_many_sockets'],
} as const

/** The events of a generation. */
export const generationEvents = ['started', 'finished', 'failed'] as const
export type GenerationEvent = (typeof generationEvents)[number]

const text = z.string().max(256)

/** The path for reporting a generation, which replaces the paths of old clients. */
const reportPath = '/v1/jobs/{job_id}/generation/{event}'

const jobIdParam = observed(z.string(), 'C05', 'Job identifier, as returned by POST /v1/jobs.')

const generationFields = () => ({
  generation_id: observed(text.optional(), 'C05', "The integrator's identifier of the generation."),
  model_id: observed(text.optional(), 'C05', 'The model that generates.'),
  usage_json: observed(z.unknown().optional(), 'C05', 'Its usage; journalled.'),
  error: observed(z.unknown().optional(), 'C05', 'Why it failed; journalled.'),
})

export const GenerationReport = looseObject(generationFields)
export type GenerationReport = z.infer<typeof GenerationReport>

export const LegacyGenerationReport = looseObject(() => ({
  contract_version: observed(ContractVersion.optional(), 'C05', 'csl_wrapper_generation_event/v1.'),
  generation_event: observed(z.enum(generationEvents), 'C05', 'What happened.'),
  ...generationFields(),
}))
export type LegacyGenerationReport = z.infer<typeof LegacyGenerationReport>

export const GenerationAccepted = strictObject(() => ({ accepted: observed(z.literal(true), 'C05', 'Always true.') }))

const report = {
  method: 'POST',
  params: strictObject(() => ({ job_id: jobIdParam })),
  status: 200,
  response: GenerationAccepted,
} as const

const aliased = {
  ...report,
  description:
    'Records that a generation of a job started, finished or failed. Use POST /v1/jobs/{job_id}/generation/{event}.',
  body: LegacyGenerationReport,
  response_headers: ['deprecation', 'link', 'x-sandbox-warning'],
  errors: ['not_found', 'contract_version_unsupported'],
} as const

export const legacyBeaconTypes = [
  'rendered',
  'on_view',
  'visible_started',
  'visible_ended',
  'heartbeat',
  'play_started',
  'play_completed',
  'clicked',
] as const

export const LegacyBeacon = strictObject(() => ({
  contract_version: observed(ContractVersion.optional(), 'C06', 'csl_wrapper_beacon/v1.'),
  beacon_id: observed(OldBeaconId, 'C06', 'Idempotency key, on this route and on POST /v1/beacons.'),
  asset_token: observed(z.string().min(1).max(256), 'C06', 'Token of the fill.'),
  beacon_type: observed(z.enum(legacyBeaconTypes), 'C06', 'What happened; stored as the canonical event.'),
  occurred_at_ms_client: observed(
    z.number().min(0),
    'C06',
    "When it happened by the client's clock, Unix epoch milliseconds; shifted when the sandbox clock was moved.",
  ),
  measurements: observed(Opaque.optional(), 'C06', 'Known ones as in POST /v1/beacons; others become metadata.'),
}))
export type LegacyBeacon = z.infer<typeof LegacyBeacon>

const sent = beacons['beacons.send']

const beacon = {
  method: 'POST',
  rate: 'beacons',
  description: 'Records a beacon in the shape that old clients send. Use POST /v1/beacons.',
  body_limit_bytes: limits.beacon_body_bytes,
  body: LegacyBeacon,
  misplaced: () => ({ places: {}, ignoresOthers: true }),
  response: BeaconResult,
  response_headers: [...sent.response_headers, 'deprecation', 'link'],
  errors: sent.errors,
} as const

const activation = browser['browser.activate']

export const endpoints = declareEndpoints({
  'browser.activation': {
    ...onBrowser('/v1/browser/activate'),
    method: activation.method,
    path: '/public/browser/v1/activate',
    summary: 'Exchange a publishable key for an activation token, as an old browser client',
    description: 'The same as POST /v1/browser/activate, which replaces it.',
    credentials: activation.credentials,
    rate: activation.rate,
    body: activation.body,
    credential_fields: activation.credential_fields,
    request_headers: activation.request_headers,
    response: activation.response,
    response_headers: [...activation.response_headers, 'deprecation', 'link'],
    errors: activation.errors,
  },
  'wrapper.job': {
    ...onWrapper('/v1/jobs'),
    method: job.method,
    path: '/public/wrapper/v1/jobs',
    summary: 'Create a job, as an old server client',
    description: 'The same as POST /v1/jobs, which replaces it.',
    body: job.body,
    branch: job.branch,
    misplaced: job.misplaced,
    status: 201,
    response: job.response,
    response_headers: [...job.response_headers, 'deprecation', 'link'],
    errors: job.errors,
  },
  'wrapper.decision': {
    ...onWrapper('/v1/decisions/{slot_id}'),
    ...decision,
    path: '/public/wrapper/v1/slots/{slot_id}/decision',
    summary: 'Poll a slot for its decision, as an old server client',
  },
  'browser.decision': {
    ...onBrowser('/v1/decisions/{slot_id}'),
    ...decision,
    path: '/public/browser/v1/slots/{slot_id}/decision',
    summary: 'Poll a slot for its decision, as an old browser client',
  },
  'wrapper.ticket': {
    ...onWrapper('/v1/decisions/{slot_id}'),
    ...ticket,
    path: '/public/wrapper/v1/slots/{slot_id}/decision-ticket',
    summary: 'Get a ticket for the decision socket of a slot, as an old server client',
  },
  'browser.ticket': {
    ...onBrowser('/v1/decisions/{slot_id}'),
    ...ticket,
    path: '/public/browser/v1/slots/{slot_id}/decision-ticket',
    summary: 'Get a ticket for the decision socket of a slot, as an old browser client',
  },
  'wrapper.socket': {
    ...onWrapper('/v1/decisions/{slot_id}'),
    ...socket,
    path: '/public/wrapper/v1/slots/{slot_id}/decision/ws',
    summary: 'Have the decision of a slot pushed, as an old server client',
  },
  'browser.socket': {
    ...onBrowser('/v1/decisions/{slot_id}'),
    ...socket,
    path: '/public/browser/v1/slots/{slot_id}/decision/ws',
    summary: 'Have the decision of a slot pushed, as an old browser client',
  },
  'generation.report': {
    ...publicApi,
    ...report,
    path: reportPath,
    summary: 'Report that a generation started, finished or failed',
    description:
      'Records in the journal what happens to a generation of a job. Not in the API document; existing clients send it. Off with --strict.',
    stability: 'advanced',
    provenance: 'observed',
    params: strictObject(() => ({
      job_id: jobIdParam,
      event: observed(z.string(), 'C05', 'started, finished or failed; anything else is a 404.'),
    })),
    body: GenerationReport,
    response_headers: ['x-sandbox-warning'],
    errors: ['not_found'],
  },
  'wrapper.generation': {
    ...onWrapper(reportPath),
    ...aliased,
    path: '/public/wrapper/v1/jobs/{job_id}/generation',
    summary: 'Report a generation, as an old server client',
  },
  'browser.generation': {
    ...onBrowser(reportPath),
    ...aliased,
    path: '/public/browser/v1/jobs/{job_id}/generation',
    summary: 'Report a generation, as an old browser client',
  },
  'wrapper.beacon': {
    ...onWrapper('/v1/beacons'),
    ...beacon,
    path: '/public/wrapper/v1/beacons',
    summary: 'Record a beacon, as an old server client',
  },
  'browser.beacon': {
    ...onBrowser('/v1/beacons'),
    ...beacon,
    path: '/public/browser/v1/beacons',
    summary: 'Record a beacon, as an old browser client',
  },
})
