import { z } from 'zod'
import { findEntry } from '#foundation/table-entry.ts'
import { declareEndpoints, fileRequestHeaders, publicApi, reading, writing } from '../endpoint.ts'
import {
  ClientId,
  ConsentMechanism,
  EpochMs,
  Format,
  formats,
  JobType,
  jobTypes,
  Mode,
  NativeTemplateId,
  Position,
  Purpose,
  page,
  pageQuery,
  requestIdField,
  Timing,
} from '../fields.ts'
import { limits } from '../limits.ts'
import {
  assumed,
  assumedFields,
  assumedObject,
  documented,
  listShape,
  observed,
  readSource,
  strictObject,
} from '../objects.ts'

/* Groups of settings that the configuration shows unchanged. */

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
  large_area_px2: z.int().min(1).describe('At this area and above, large_ratio applies; CSS pixels squared.'),
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
      formats: observed(z.array(Format), 'A80', 'The same list as allowed_formats.'),
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

export const v1 = declareEndpoints({
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

/* The control plane: projects with all settings, and their keys. Times in milliseconds. */

/** Latency of decisions, by the sandbox clock (A44). */
export const Latency = z.union([
  z.number().min(0).max(600_000),
  assumedObject('A44', () => ({
    distribution: z.literal('uniform').describe('Every value between the bounds is equally likely.'),
    min_ms: z.number().min(0).max(600_000).describe('Shortest, milliseconds.'),
    max_ms: z.number().min(0).max(600_000).describe('Longest, milliseconds.'),
  })),
  assumedObject('A44', () => ({
    distribution: z.literal('lognormal').describe('Many short latencies, few long ones.'),
    median_ms: z.number().min(0).max(600_000).describe('Median, milliseconds.'),
    sigma: z.number().min(0).max(4).describe('Standard deviation of the logarithm.'),
  })),
])
export type Latency = z.infer<typeof Latency>

/** `5/s`, `1/min`, `3600/h` or `off`. */
export const RateText = z
  .string()
  .regex(/^(off|[1-9][0-9]{0,6}\/(s|m|min|h))$/, 'must be a rate such as 5/s or 1/min, or off')

const span = z.int().min(1)

export const PlacementDefaults = strictObject(placementDefaults)
export const ViewabilityRules = strictObject(viewabilityRules)
export const RateLimits = assumedObject('A20', () => ({
  default: RateText.nullable().describe('null: 100/s, burst 200.'),
  beacons: RateText.nullable().describe('null: 500/s, burst 1000.'),
  activate: RateText.nullable().describe('null: 20/s, burst 40.'),
}))
/** How to treat a secret key that is sent with an Origin. */
export const SecretKeyInBrowser = z.enum(['reject', 'warn'])
/** How to treat personal data in session ids, topics, metadata and labels. */
export const PersonalDataRule = z.enum(['warn', 'reject'])

export const ProjectSettings = assumedObject('A80', () => ({
  enabled: z.boolean().describe('false makes every decision a no-fill policy_block.'),
  job_types: assumed(z.array(JobType), 'A43', 'Job types that may fill; others are unsupported_surface.'),
  allowed_origins: assumed(z.array(z.string()), 'A100', 'Origins that may activate and embed.'),
  defaults: PlacementDefaults.describe('Defaults for fields that a request leaves out.'),
  label_text: z.string().min(1).max(64).describe('The ad label.'),
  label_required: z.boolean().describe('Whether the label must be drawn.'),
  consent: assumed(ConsentRules, 'A61', 'Consent.'),
  billing_model: assumed(BillingModel, 'A76', 'What is billed.'),
  viewability: assumed(ViewabilityRules, 'A76', 'When an impression is viewable.'),
  publisher_share: assumed(z.number().min(0).max(1), 'A32', "Publisher's share of the price."),
  fill_rate: assumed(z.number().min(0).max(1), 'A43', 'Share of opportunities that demand bids on.'),
  decision_latency_ms: assumed(Latency, 'A44', 'Latency of decisions.'),
  activation_ttl_ms: assumed(z.int().min(5_000).max(3_600_000), 'A04', 'Lifetime of an activation token.'),
  frame_load_within_ms: assumed(span, 'A05', 'Maximum time from the decision to the first load of the frame.'),
  beacons_after_load_ms: assumed(span, 'A05', 'Time after the first load in which beacons are accepted.'),
  click_after_load_ms: assumed(span, 'A05', 'Time after the first load in which a click is accepted.'),
  decision_ttl_ms: assumed(span, 'A30', 'Lifetime of a decision.'),
  beacon_max_age_ms: assumed(span, 'A73', 'Older beacons are stale.'),
  beacon_max_future_skew_ms: assumed(z.int().min(0), 'A73', 'Beacons further ahead are in the future.'),
  heartbeat_interval_ms: span.describe('Time between two heartbeats.'),
  rate_limits: assumed(RateLimits, 'A20', 'Rate limits per key.'),
  secret_key_in_browser: assumed(SecretKeyInBrowser, 'A92', 'How to treat a secret key that is sent with an Origin.'),
  personal_data: assumed(
    PersonalDataRule,
    'A116',
    'How to treat personal data in session ids, topics, metadata and labels: warn of it, or refuse the request.',
  ),
}))
export type ProjectSettings = z.infer<typeof ProjectSettings>

/** The settings of a project that sets nothing itself. */
export const defaultSettings: ProjectSettings = {
  enabled: true,
  job_types: [...jobTypes],
  allowed_origins: [],
  defaults: {
    allowed_formats: [...formats],
    native_template_id: 'card',
    timing: 'during',
    position: 'inline',
    max_width: null,
    max_height: null,
  },
  label_text: 'Sponsored',
  label_required: true,
  consent: { required: false, mechanism: 'none', required_purposes: [], ttl_ms: limits.consent_ttl_ms },
  billing_model: 'cpm_viewable',
  viewability: { ...limits.viewability },
  publisher_share: 0.7,
  fill_rate: 1,
  decision_latency_ms: 0,
  activation_ttl_ms: limits.activation_token_ttl_ms,
  frame_load_within_ms: limits.frame_load_within_ms,
  beacons_after_load_ms: limits.beacons_after_load_ms,
  click_after_load_ms: limits.click_after_load_ms,
  decision_ttl_ms: limits.decision_ttl_ms,
  beacon_max_age_ms: limits.beacon_max_age_ms,
  beacon_max_future_skew_ms: limits.beacon_max_future_skew_ms,
  heartbeat_interval_ms: limits.heartbeat_interval_ms,
  rate_limits: { default: null, beacons: null, activate: null },
  secret_key_in_browser: 'reject',
  personal_data: 'warn',
}

/** Returns all settings of a project: its own, and defaults for the others. */
export function withDefaults(own: Partial<ProjectSettings>): ProjectSettings {
  return {
    ...defaultSettings,
    ...own,
    defaults: { ...defaultSettings.defaults, ...own.defaults },
    consent: { ...defaultSettings.consent, ...own.consent },
    viewability: { ...defaultSettings.viewability, ...own.viewability },
    rate_limits: { ...defaultSettings.rate_limits, ...own.rate_limits },
  }
}

type Patched<Shape extends z.ZodRawShape> = {
  [Name in keyof Shape]: Shape[Name] extends z.ZodObject<infer Inner extends z.ZodRawShape>
    ? z.ZodOptional<z.ZodNullable<z.ZodObject<Patched<Inner>, z.core.$strict>>>
    : Shape[Name] extends z.ZodType
      ? z.ZodOptional<z.ZodNullable<Shape[Name]>>
      : never
}

/** Returns the merge patch of an object (RFC 7396): any field may be left out, null resets it to its default. */
function createPatch<Shape extends z.ZodRawShape>(object: z.ZodObject<Shape>) {
  return strictObject(() => {
    const fields = listShape(object).map(([name, schema]) => {
      const { decision = 'A80', description = name } = readSource(schema) ?? {}
      return [name, assumed((findEntry(patches, name) ?? schema).nullable().optional(), decision, description)]
    })
    return Object.fromEntries(fields) as Patched<Shape>
  })
}

export const PlacementDefaultsPatch = createPatch(PlacementDefaults)
export const ConsentRulesPatch = createPatch(ConsentRules)
export const ViewabilityRulesPatch = createPatch(ViewabilityRules)
export const RateLimitsPatch = createPatch(RateLimits)

type Settings = (typeof ProjectSettings)['shape']
type ObjectSetting = { [Name in keyof Settings]: Settings[Name] extends z.ZodObject ? Name : never }[keyof Settings]

/** The patches of the settings that are objects. */
const patches: Readonly<Record<string, z.ZodType>> = {
  defaults: PlacementDefaultsPatch,
  consent: ConsentRulesPatch,
  viewability: ViewabilityRulesPatch,
  rate_limits: RateLimitsPatch,
} satisfies Record<ObjectSetting, z.ZodType>

export const ProjectSettingsPatch = createPatch(ProjectSettings)
export type ProjectSettingsPatch = z.infer<typeof ProjectSettingsPatch>

export const ProjectCreation = assumedObject('A01', () => ({
  client_id: ClientId.describe('Project ID: proj_ and a name.'),
  ...ProjectSettingsPatch.shape,
}))
export type ProjectCreation = z.infer<typeof ProjectCreation>

export const ProjectItem = assumedObject('A80', () => ({
  client_id: assumed(z.string(), 'A93', 'Project ID.'),
  enabled: z.boolean().describe('false makes every decision a no-fill policy_block.'),
  billing_model: assumed(ProjectSettings.shape.billing_model, 'A76', 'What is billed.'),
  consent_required: assumed(z.boolean(), 'A64', 'Whether a placement needs consent.'),
  allowed_origins: assumed(z.array(z.string()), 'A100', 'Origins that may activate and embed.'),
  config_revision: z.int().describe('Incremented by every change of the settings.'),
}))
export type ProjectItem = z.infer<typeof ProjectItem>

const detail = assumedFields('A93', () => ({
  client_id: z.string().describe('Project ID.'),
  wrapper_tenant_id: z.string().describe('Tenant, as activation returns it.'),
  config_revision: assumed(z.int(), 'A80', 'Incremented by every change of the settings.'),
  settings: assumed(ProjectSettings, 'A80', 'Every setting, including defaults.'),
}))

export const ProjectDetail = strictObject(detail)
export type ProjectDetail = z.infer<typeof ProjectDetail>

export const ProjectCreated = assumedObject('A02', () => ({
  ...detail(),
  keys: assumedObject('A02', () => ({
    secret_key: z.string().describe('Server Test Key.'),
    live_secret_key: z.string().describe('Production secret key.'),
    publishable_key: z.string().describe('Publishable key, test mode.'),
  })).describe('Shown only here: the sandbox stores their hashes.'),
}))
export type ProjectCreated = z.infer<typeof ProjectCreated>

export const projectParams = strictObject(() => ({ client_id: documented(z.string(), 'Project ID.') }))

export const control = declareEndpoints({
  'projects.list': {
    ...reading,
    path: '/_sandbox/projects',
    summary: 'List projects',
    description: 'The seeded projects and those created later.',
    query: strictObject(pageQuery),
    response: page(ProjectItem),
  },
  'projects.show': {
    ...reading,
    path: '/_sandbox/projects/{client_id}',
    summary: 'Show the settings of a project',
    description: "Every setting of the project, including the emulator's own. Never a key.",
    params: projectParams,
    response: ProjectDetail,
    errors: ['not_found'],
  },
  'projects.create': {
    ...writing,
    path: '/_sandbox/projects',
    summary: 'Create a project',
    description: 'With three new keys. Settings that are left out, or null, get their defaults.',
    body: ProjectCreation,
    status: 201,
    response: ProjectCreated,
    response_headers: ['x-sandbox-warning'],
    errors: ['format_unsupported'],
  },
  'projects.update': {
    ...writing,
    method: 'PATCH',
    path: '/_sandbox/projects/{client_id}',
    summary: 'Change settings of a project',
    description:
      'A merge patch of the settings (RFC 7396): a setting that is left out stays, null resets it to its default. In force from the next request on; config_revision is incremented when something has changed.',
    params: projectParams,
    body: ProjectSettingsPatch,
    response: ProjectDetail,
    response_headers: ['x-sandbox-warning'],
    errors: ['format_unsupported', 'not_found'],
  },
})
