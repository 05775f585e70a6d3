import { z } from 'zod'
import { commonErrors, declareEndpoints } from '../endpoint.ts'
import { EpochMs, Format, Mode, NativeTemplateId, Position, requestIdField, Timing } from '../fields.ts'
import { limits } from '../limits.ts'
import { assumed, documented, observed } from '../provenance.ts'

const purpose = z.enum(['semantic_targeting', 'prompt_shared'])

export const ProjectConfig = z.strictObject({
  client_id: observed(z.string(), 'A80', 'Project ID.'),
  mode: assumed(Mode, 'A80', 'Of the credential that asked: test or live.'),
  enabled: assumed(z.boolean(), 'A80', 'false makes every decision a no-fill policy_block.'),
  defaults: observed(
    z.strictObject({
      allowed_formats: assumed(z.array(Format), 'A80', 'Formats when a request names none.'),
      native_template_id: assumed(NativeTemplateId, 'A80', 'Layout of native fills.'),
      timing: assumed(Timing, 'A80', 'When the placement shows.'),
      position: assumed(Position, 'A80', 'Where the slot is.'),
      max_width: assumed(z.int().nullable(), 'A80', 'Widest creative, CSS pixels; null: no bound.'),
      max_height: assumed(z.int().nullable(), 'A80', 'Highest creative, CSS pixels; null: no bound.'),
      decision_delivery: assumed(z.literal('polling'), 'A80', 'How decisions are delivered.'),
    }),
    'A80',
    'Format hints.',
  ),
  disclosure: assumed(
    z.strictObject({
      label_text: assumed(z.string(), 'A80', 'The ad label.'),
      label_required: assumed(z.boolean(), 'A80', 'Whether the label must be drawn.'),
    }),
    'A80',
    'Disclosure labels.',
  ),
  consent: assumed(
    z.strictObject({
      required: assumed(z.boolean(), 'A80', 'Whether a placement needs consent.'),
      mechanism: assumed(z.enum(['none', 'wrapper_cmp', 'svc_consent']), 'A80', 'Consent mechanism of the project.'),
      required_purposes: assumed(z.array(purpose), 'A80', 'Purposes that make a grant.'),
      ttl_ms: assumed(z.int(), 'A80', 'Lifetime of a grant, milliseconds.'),
    }),
    'A80',
    'Consent-related defaults.',
  ),
  viewability: assumed(
    z.strictObject({
      ratio: assumed(z.number(), 'A76', 'Share of the pixels.'),
      duration_ms: assumed(z.int(), 'A76', 'Continuous time, milliseconds.'),
      large_area_px2: assumed(z.int(), 'A76', 'From this area on, large_ratio applies; CSS pixels squared.'),
      large_ratio: assumed(z.number(), 'A76', 'Share of the pixels of a large creative.'),
      clip_ratio: assumed(z.number(), 'A76', 'Share of the pixels of a clip.'),
      clip_duration_ms: assumed(z.int(), 'A76', 'Continuous playing time of a clip, milliseconds.'),
      billing_model: assumed(z.enum(['cpm_viewable', 'cpm_render', 'cpc', 'cpcv']), 'A76', 'What is billed.'),
    }),
    'A76',
    'When an impression is viewable.',
  ),
  beacons: assumed(
    z.strictObject({
      max_age_ms: assumed(z.int(), 'A73', 'Older beacons are stale.'),
      max_future_skew_ms: assumed(z.int(), 'A73', 'Beacons further ahead are in the future.'),
      heartbeat_interval_ms: assumed(z.int(), 'A80', 'Time between two heartbeats.'),
    }),
    'A80',
    'Bounds of beacons.',
  ),
  allowed_origins: observed(z.array(z.string()), 'A80', 'Origins that may activate and embed.'),
  renderer: assumed(
    z.strictObject({
      script_url: assumed(z.string(), 'A80', 'Address of render.js.'),
      version: assumed(z.string(), 'A80', 'Version of render.js.'),
    }),
    'A80',
    'The browser renderer.',
  ),
  server_time_ms: assumed(EpochMs, 'A80', 'Time of the answer, Unix epoch milliseconds.'),
  config_revision: assumed(z.int(), 'A80', 'Grows with every change of the settings.'),
  request_id: assumed(requestIdField, 'A80', 'Support identifier, equal to the x-request-id header.'),
})
export type ProjectConfig = z.infer<typeof ProjectConfig>

export const endpoints = declareEndpoints({
  'projects.config': {
    method: 'GET',
    path: '/v1/projects/{client_id}/config',
    summary: 'Read the runtime configuration of a project',
    description: 'Non-secret runtime configuration for browser renderers and debug tooling. Never a key.',
    stability: 'stable',
    provenance: 'documented',
    credentials: ['secret_key', 'activation_token'],
    rate: 'default',
    body_limit_bytes: limits.body_bytes,
    params: z.strictObject({ client_id: documented(z.string(), 'Project ID.') }),
    query: z.strictObject({}),
    status: 200,
    response: ProjectConfig,
    response_headers: ['x-sandbox-warning', 'etag', 'cache-control'],
    errors: [...commonErrors, 'not_found'],
  },
})
