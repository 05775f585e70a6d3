/** One well-formed request for every route, v1 and control: what the fuzzing starts from. */
import type { Endpoint } from '#contract/endpoint.ts'
import { contract, type EndpointId } from '#contract/index.ts'

export interface Sample {
  /** The endpoint it is meant for; null for assets and pages that the contract does not list. */
  endpoint: Endpoint | null
  method: string
  path: string
  headers: Record<string, string>
  /** Created for each request, so that identifiers are used once. */
  body: (() => object) | undefined
  /** Weight among the others. Expensive requests have less. */
  weight: number
}

export interface Known {
  slot_id: string
  asset_token: string
  clip_slot_id: string
  clip_asset_token: string
  activation_token: string
  beacon_token: string
  request_id: string
  origin: string
}

const secretKey = 'Bearer sk_test_sandbox_demo'
const json = { 'content-type': 'application/json' }

export function samples(known: Known, now_ms: () => number): Sample[] {
  const server = { ...json, authorization: secretKey }
  const browser = { ...json, authorization: `Bearer ${known.activation_token}`, origin: known.origin }
  const consent = { semantic_targeting: true, prompt_shared: true, gdpr_applies: false, consent_source: 'svc_consent' }
  const publisher = { app_name: 'Notes', app_domain: 'notes.example', categories: ['IAB19'] }
  const overrides = {
    allowed_formats: ['banner', 'clip', 'native'],
    native_template_id: 'card',
    timing: 'after',
    bidfloor: 0.5,
    bidfloor_currency: 'USD',
    bidfloors: { default: 0.1, banner: 0.2 },
    publisher,
    blocked_categories: ['IAB7', 'IAB8-5'],
    blocked_domains: ['blocked.example.com'],
    frequency_cap: { session: 1_000_000, prompt_interval: 1 },
    targeting: { segment: ['a', 1, null] },
    pacing: { even: true },
    preferred_partner_id: 'partner-a',
    gdpr_applies: false,
  }
  const placement = {
    client_id: 'proj_demo',
    session_id: 'fuzz:1',
    job_type: 'chat',
    prompt: { topic: 'garden tools', text: 'which spade' },
    slot_hint: { position: 'below', max_width: 728, max_height: 360 },
    overrides,
    consent,
    slots_requested: 2,
    wait_ms: 10,
  }
  let beacons = 0
  const beacon = () => ({
    beacon_id: `fuzz.${++beacons}.beacon`,
    asset_token: known.clip_asset_token,
    event: 'render',
    occurred_at_ms: now_ms(),
    slot_id: known.clip_slot_id,
    render_instance_id: 'frame-1',
    seq: 1,
    consent_revision: 1,
    measurements: { visible_ratio: 0.5, visible_ms: 1000, width_px: 640, height_px: 360, page_visible: true },
    metadata: { note: 'x', nested: { deep: [1, 2, { three: null }] } },
    contract_version: 'csl_wrapper_beacon/v1',
  })
  const variantJob = {
    context: { topic: 'garden tools', prompt_text: 'which spade', geo: { country: 'DE' }, device: { type: 'desktop' } },
    chat_session_id: 'fuzz:2',
    job_type: 'agent',
    model_id: 'model-1',
    predicted_latency_ms: 1200,
    publisher,
    slot_config: { allowed_formats: ['native'], native_template_id: 'minimal', bidfloor: 0, timing: 'during' },
    brand_safety: { blocked_categories: ['IAB26'], blocked_domains: ['blocked.example.com'] },
    delivery: { mode: 'polling' },
    callback_url: 'http://localhost:9/callback',
    frequency_cap: { session: 10_000 },
    targeting: {},
    timing: 'before',
  }
  const browserJob = {
    contract_version: 'csl_wrapper_ingress_create/v1',
    job: { job_type: 'chat', model_id: 'model-1', locale: 'en', slots_requested: 1 },
    context: { client_id: 'proj_demo', chat_session_id: 'fuzz:3', topic: 'garden tools' },
    prompt: 'which spade',
    consent,
    publisher,
    slot_config: { allowed_formats: ['banner'], max_width: 300, max_height: 250, position_hint: 'inline' },
    delivery: { mode: 'polling' },
  }
  const of = (id: EndpointId, weight: number, changes: Partial<Sample> = {}): Sample => {
    const endpoint = contract[id] as Endpoint
    return { endpoint, method: endpoint.method, path: endpoint.path, headers: {}, body: undefined, weight, ...changes }
  }
  const page = (path: string, weight = 1): Sample => ({
    endpoint: null,
    method: 'GET',
    path,
    headers: {},
    body: undefined,
    weight,
  })
  const list = 'limit=5&since=10m'
  return [
    of('placements.create', 12, { headers: server, body: () => placement, path: '/v1/placements?wait_ms=10' }),
    of('placements.create', 6, { headers: browser, body: () => placement }),
    of('jobs.create', 5, { headers: server, body: () => ({ ...placement, wait_ms: undefined }) }),
    of('jobs.create', 8, { headers: server, body: () => variantJob }),
    of('jobs.create', 8, { headers: browser, body: () => browserJob }),
    of('decisions.get', 5, { headers: server, path: `/v1/decisions/${known.slot_id}?wait_ms=10` }),
    of('browser.activate', 5, {
      headers: { ...json, origin: known.origin },
      body: () => ({ publishable_key: 'pk_test_sandbox_demo' }),
    }),
    of('beacons.send', 12, { headers: server, body: beacon }),
    of('beacons.send', 6, {
      headers: { ...json, authorization: `Bearer ${known.beacon_token}`, origin: known.origin },
      body: () => ({ ...beacon(), occurred_at_ms: undefined, occurred_at: new Date(now_ms()).toISOString() }),
    }),
    of('consent.set', 8, {
      headers: server,
      body: () => ({
        client_id: 'proj_demo',
        session_id: 'fuzz:4',
        source: 'wrapper_cmp',
        purposes: { semantic_targeting: true, prompt_shared: false, ads: true },
        decision: 'granted',
        gdpr_applies: true,
        tcf_string: 'CP',
        gpp_string: 'DB',
        expires_at_ms: now_ms() + 3_600_000,
      }),
    }),
    of('projects.config', 3, { headers: server, path: '/v1/projects/proj_demo/config' }),
    of('render.script', 1),
    of('render.frame', 3, { path: `/v1/render/${known.asset_token}` }),
    of('health.live', 1),
    of('health.ready', 1),
    of('sandbox.info', 1),
    of('sandbox.reset', 2, { headers: json, body: () => ({ member: 'that reset does not know' }) }),
    of('sandbox.stop', 0.5, { headers: json, body: () => ({}) }),
    of('snapshots.list', 1),
    of('snapshots.save', 0.2, {
      headers: json,
      path: '/_sandbox/snapshots/fuzz',
      body: () => ({ replace: 'not a boolean' }),
    }),
    of('snapshots.restore', 0.2, { headers: json, path: '/_sandbox/snapshots/none/restore', body: () => ({}) }),
    of('snapshots.delete', 1, { path: '/_sandbox/snapshots/none' }),
    of('sandbox.import', 1, { headers: json, body: () => ({ member: 'that is no gzip' }) }),
    of('clock.show', 1),
    of('clock.freeze', 1, { headers: json, body: () => ({ member: 'that freeze does not know' }) }),
    of('clock.resume', 1, { headers: json, body: () => ({}) }),
    of('placements.list', 1, { path: `/_sandbox/placements?${list}&client_id=proj_demo&format=banner&fill=true` }),
    of('placements.explain', 1, { path: `/_sandbox/placements/${known.slot_id}` }),
    of('beacons.list', 1, { path: `/_sandbox/beacons?${list}&event=render&verdict=rejected` }),
    of('evidence.verify', 0.02),
    of('requests.list', 1, { path: `/_sandbox/requests?${list}&method=POST&path=/v1/&status=400` }),
    of('requests.show', 1, { path: `/_sandbox/requests/${known.request_id}` }),
    of('requests.replay', 1, {
      headers: json,
      path: `/_sandbox/requests/${known.request_id}/replay`,
      body: () => ({ set: { 'overrides.allowed_formats.0': 'clip', session_id: 'again' }, key_id: 'key_00000000001' }),
    }),
    of('events.stream', 0.5, { path: '/_sandbox/events?since_seq=0&type=beacon.*&client_id=proj_demo' }),
    of('contract.show', 0.1),
    of('contract.openapi', 0.1),
    page('/_sandbox/'),
    page('/'),
    page('/v1/test-assets/banner?width=300&height=250'),
    page('/v1/test-assets/clip?width=640&height=360&duration_ms=6000&poster=true'),
    page('/assets/creatives/alderway-trust/banner-300x250.webp'),
  ]
}
