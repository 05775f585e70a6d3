/**
 * What the API document states about v1, written down by hand from it. What it marks as "not shown" is left out.
 * A type of null: the document names the field without a type. A required of null: it does not state whether.
 */
import type { Credential, Stability } from '#contract/endpoint.ts'

export const documentedEndpoints: readonly {
  id: string
  method: string
  path: string
  /** Null where the document does not list it. */
  credentials: readonly Credential[] | null
  stability: Stability
}[] = [
  { id: 'browser.activate', method: 'POST', path: '/v1/browser/activate', credentials: [], stability: 'stable' },
  {
    id: 'placements.create',
    method: 'POST',
    path: '/v1/placements',
    credentials: ['secret_key', 'activation_token'],
    stability: 'stable',
  },
  {
    id: 'jobs.create',
    method: 'POST',
    path: '/v1/jobs',
    credentials: ['secret_key', 'activation_token'],
    stability: 'advanced',
  },
  {
    id: 'decisions.get',
    method: 'GET',
    path: '/v1/decisions/{slot_id}',
    credentials: ['secret_key', 'activation_token'],
    stability: 'advanced',
  },
  { id: 'render.script', method: 'GET', path: '/v1/render.js', credentials: [], stability: 'stable' },
  { id: 'render.frame', method: 'GET', path: '/v1/render/{asset_token}', credentials: [], stability: 'stable' },
  {
    id: 'beacons.send',
    method: 'POST',
    path: '/v1/beacons',
    credentials: ['secret_key', 'activation_token'],
    stability: 'stable',
  },
  { id: 'consent.set', method: 'POST', path: '/v1/consent', credentials: null, stability: 'may_change' },
  {
    id: 'projects.config',
    method: 'GET',
    path: '/v1/projects/{client_id}/config',
    credentials: ['secret_key', 'activation_token'],
    stability: 'stable',
  },
]

type Row = readonly [path: string, type: string | null, required: boolean | null, values?: readonly string[]]

const jobTypes = ['chat', 'code', 'image', 'voice', 'agent']
const formats = ['banner', 'clip', 'native']

const consentRows: readonly Row[] = [
  ['consent', 'object', false],
  ['consent.semantic_targeting', 'boolean', null],
  ['consent.prompt_shared', 'boolean', null],
  ['consent.gdpr_applies', 'boolean', null],
  ['consent.consent_source', 'string', null],
]

const promptRows: readonly Row[] = [
  ['prompt', 'object | string', false],
  ['prompt.topic', null, null],
  ['prompt.text', null, null],
]

const consentSnapshotRows: readonly Row[] = [
  ['authoritative_consent', 'object', false],
  ['authoritative_consent.lifecycle_state', 'string', null],
  ['authoritative_consent.revision', 'integer', null],
  ['authoritative_consent.updated_at_ms', 'integer', null],
  ['authoritative_consent.expires_at_ms', 'integer', null],
  ['authoritative_consent.source', 'string', null],
  ['authoritative_consent.purposes', 'object', null],
  ['authoritative_consent.purposes.semantic_targeting', 'boolean', null],
  ['authoritative_consent.purposes.prompt_shared', 'boolean', null],
]

/** Fields by endpoint and place; a third word names the variant, where a value has several. */
export const documentedFields: Readonly<Record<string, readonly Row[]>> = {
  'placements.create query': [['wait_ms', 'integer', false]],
  'placements.create body': [
    ['wait_ms', 'integer', false],
    ['test_outcome', 'string', false, ['no_fill']],
    ['client_id', 'string', true],
    ['session_id', 'string', true],
    ['job_type', 'string', true, jobTypes],
    ...promptRows,
    ['slot_hint', 'object', false],
    ['slot_hint.position', 'string', null],
    ['slot_hint.max_width', 'integer', null],
    ['slot_hint.max_height', 'integer', null],
    ['overrides', 'object', false],
    ['overrides.allowed_formats', 'string[]', null, formats],
    ['overrides.native_template_id', 'string', null],
    ['overrides.timing', 'string', null],
    ['overrides.bidfloor', null, null],
    ['overrides.bidfloor_currency', null, null],
    ['overrides.publisher', null, null],
    ['overrides.blocked_categories', null, null],
    ...consentRows,
    ['slots_requested', null, null],
  ],
  'placements.create response': [
    ['slot_id', 'string', true],
    ['status', 'string', true],
    ['placement', 'object | null', true],
    ['placement.image_url', 'string | null', null],
    ['placement.video_url', 'string | null', null],
    ['placement.click_url', 'string', null],
    ['placement.sponsor_name', 'string', null],
    ['placement.width', 'integer', null],
    ['placement.height', 'integer', null],
    ['placement.format', 'string', null, formats],
    ['placement.asset_token', 'string', null],
    ['placement.ad_label_text', 'string', null],
    ['placement.render', 'object', null],
    ['placement.render.strategy', 'string', null, ['hosted_frame']],
    ['placement.render.frame_url', 'string', null],
    ['placement.render.script_url', 'string', null],
    ['placement.render.media_type', 'string', null, ['image', 'video', 'native']],
    ['placement.render.width', 'integer', null],
    ['placement.render.height', 'integer', null],
    ['placement.render.aspect_ratio', 'string', null],
    ['placement.render.label_text', 'string', null],
    ['placement.render.sponsor_name', 'string', null],
    ['placement.render.click_url', 'string', null],
    ['placement.render.native_template_id', 'string', false],
    ['decision', 'object | null', true],
    ...consentSnapshotRows,
  ],
  'placements.create response FillDecision': [
    ['decision.fill', 'boolean', null],
    ['decision.format', 'string', null, formats],
    ['decision.asset_token', 'string', null],
    ['decision.delivery_url', 'string | null', null],
    ['decision.assets', 'object | null', null],
    ['decision.assets.title', 'string', null],
    ['decision.assets.image_url', 'string', null],
    ['decision.assets.description', 'string', false],
    ['decision.assets.cta_text', 'string', null],
    ['decision.assets.icon_url', 'string', null],
  ],
  'placements.create response NoFillDecision': [['decision.fill', 'boolean', null]],
  'jobs.create body JobRequest': [
    ['client_id', 'string', true],
    ['session_id', 'string', false],
    ['job_type', 'string', false, jobTypes],
    ['slots_requested', 'integer', false],
    ...promptRows,
    ...consentRows,
  ],
  'jobs.create body BrowserJobRequest': [
    ['contract_version', null, null],
    ['job', null, null],
    ['job.job_type', 'string', null, jobTypes],
  ],
  'jobs.create response': [
    ['job_id', 'string', true],
    ['slot_ids', 'string[]', true],
    ['poll_path_template', 'string', true],
    ['request_id', 'string', true],
  ],
  'decisions.get params': [['slot_id', null, true]],
  'browser.activate body': [['publishable_key', 'string', true]],
  'browser.activate response': [
    ['ok', 'boolean', null],
    ['activation_token', 'string', null],
    ['expires_at_ms', 'integer', null],
    ['key_id', 'string', null],
    ['wrapper_tenant_id', 'string', null],
    ['project_id', 'string', null],
  ],
  'beacons.send body': [['asset_token', null, true]],
  'projects.config params': [['client_id', null, true]],
  'render.frame params': [['asset_token', null, true]],
}

export const documentedErrors: Readonly<Record<string, number>> = {
  validation_error: 400,
  unauthorized: 401,
  forbidden: 403,
  unsupported_media_type: 415,
  rate_limited: 429,
}

export const documentedBeaconKinds: readonly string[] = [
  'render',
  'visible',
  'click',
  'completion',
  'heartbeat',
  'play_started',
  'play_completed',
]
