import { z } from 'zod'
import { declareEndpoints, fileRequestHeaders, publicApi } from '../endpoint.ts'
import {
  ConsentMechanism,
  EpochMs,
  Format,
  Mode,
  NativeTemplateId,
  Position,
  Purpose,
  requestIdField,
  Timing,
} from '../fields.ts'
import { assumed, assumedFields, assumedObject, documented, observed, strictObject } from '../objects.ts'

/* Groups of settings that the configuration shows as they are. */

export const placementDefaults = assumedFields('A38', () => ({
  allowed_formats: assumed(z.array(Format).min(1), 'A80', 'Formats when a request names none.'),
  native_template_id: assumed(NativeTemplateId, 'A39', 'Layout of native fills.'),
  timing: assumed(Timing, 'A39', 'When the placement shows.'),
  position: Position.describe('Where the slot is.'),
  max_width: z.int().min(1).max(4096).nullable().describe('Maximum width of the creative, CSS pixels; null: no limit.'),
  max_height: z
    .int()
    .min(1)
    .max(4096)
    .nullable()
    .describe('Maximum height of the creative, CSS pixels; null: no limit.'),
}))

export const ConsentRules = assumedObject('A64', () => ({
  required: z.boolean().describe('Whether a placement needs consent.'),
  mechanism: assumed(ConsentMechanism, 'A63', 'Consent mechanism of the project.'),
  required_purposes: assumed(z.array(Purpose), 'A61', 'Purposes that a grant needs.'),
  ttl_ms: assumed(z.int().min(1), 'A62', 'Lifetime of a grant, milliseconds.'),
}))

export const viewabilityRules = assumedFields('A76', () => ({
  ratio: z.number().min(0).max(1).describe('Share of the pixels.'),
  duration_ms: z.int().min(0).describe('Continuous time, milliseconds.'),
  large_area_px2: z.int().min(1).describe('From this area on, large_ratio applies; CSS pixels squared.'),
  large_ratio: z.number().min(0).max(1).describe('Share of the pixels of a large creative.'),
  clip_ratio: z.number().min(0).max(1).describe('Share of the pixels of a clip.'),
  clip_duration_ms: z.int().min(0).describe('Continuous playing time of a clip, milliseconds.'),
}))

export const BillingModel = z.enum(['cpm_viewable', 'cpm_render', 'cpc', 'cpcv'])

export const ProjectConfig = assumedObject('A80', () => ({
  client_id: observed(z.string(), 'A80', 'Project ID.'),
  mode: Mode.describe('Mode of the credential: test or live.'),
  enabled: z.boolean().describe('false makes every decision a no-fill policy_block.'),
  defaults: observed(
    assumedObject('A80', () => ({
      ...placementDefaults(),
      decision_delivery: z.literal('polling').describe('How decisions are delivered.'),
    })),
    'A80',
    'Format hints.',
  ),
  disclosure: assumedObject('A80', () => ({
    label_text: z.string().describe('The ad label.'),
    label_required: z.boolean().describe('Whether the label must be drawn.'),
  })).describe('Disclosure labels.'),
  consent: ConsentRules.describe('Consent-related defaults.'),
  viewability: assumed(
    assumedObject('A76', () => ({ ...viewabilityRules(), billing_model: BillingModel.describe('What is billed.') })),
    'A76',
    'When an impression is viewable.',
  ),
  beacons: assumedObject('A73', () => ({
    max_age_ms: z.int().describe('Older beacons are stale.'),
    max_future_skew_ms: z.int().describe('Beacons further ahead are in the future.'),
    heartbeat_interval_ms: assumed(z.int(), 'A80', 'Time between two heartbeats.'),
  })).describe('Limits of beacons.'),
  allowed_origins: observed(z.array(z.string()), 'A80', 'Origins that may activate and embed.'),
  renderer: assumedObject('A80', () => ({
    script_url: z.string().describe('Address of render.js.'),
    version: z.string().describe('Version of render.js.'),
  })).describe('The browser renderer.'),
  server_time_ms: EpochMs.describe('Time of the response, Unix epoch milliseconds.'),
  config_revision: z.int().describe('Incremented by every change of the settings.'),
  request_id: assumed(requestIdField, 'A80', 'Support identifier, equal to the x-request-id header.'),
}))
export type ProjectConfig = z.infer<typeof ProjectConfig>

export const endpoints = declareEndpoints({
  'projects.config': {
    ...publicApi,
    method: 'GET',
    path: '/v1/projects/{client_id}/config',
    summary: 'Read the runtime configuration of a project',
    description: 'Non-secret runtime configuration for browser renderers and debug tooling. Never a key.',
    params: strictObject(() => ({ client_id: documented(z.string(), 'Project ID.') })),
    query: strictObject(() => ({})),
    request_headers: { 'If-None-Match': fileRequestHeaders['If-None-Match'] },
    response: ProjectConfig,
    response_headers: ['x-sandbox-warning', 'etag', 'cache-control'],
    errors: ['not_found'],
  },
})
