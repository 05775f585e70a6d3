/** The examples of the OpenAPI document: a body, and a response, of each operation that has them. */
import type { z } from 'zod'
import type { Json } from '#foundation/json.ts'
import type { Input } from '../endpoint.ts'
import type { Contract, EndpointId } from '../index.ts'

type ResponseOf<Id extends EndpointId> = Contract[Id]['response'] extends z.ZodType
  ? z.input<Contract[Id]['response']>
  : never

type Examples = {
  readonly [Id in EndpointId]?: {
    readonly body?: Readonly<Record<string, Input<Contract[Id]>['body']>>
    readonly response?: Readonly<Record<string, ResponseOf<Id>>>
  }
}

const client_id = 'proj_demo'
const session_id = 'session-42'
const slot_id = 'slot_00b1k2m3n4p'
const request_id = 'req_00b1k2m3n4r'
const asset_token = 'ast_example'
const decided_at_ms = 1_767_225_600_000
const consent = {
  lifecycle_state: 'granted',
  revision: 1,
  updated_at_ms: decided_at_ms,
  expires_at_ms: decided_at_ms + 15_552_000_000,
  source: 'wrapper_cmp',
  purposes: { semantic_targeting: true, prompt_shared: false },
} as const
const click_url = 'https://sponsor.example/offer'
const delivery_url = 'http://127.0.0.1:4010/v1/test-assets/banner?width=300&height=250'

export const examples: Examples = {
  'placements.create': {
    body: {
      smallest: { client_id, session_id, job_type: 'chat' },
      with_topic_and_consent: {
        client_id,
        session_id,
        job_type: 'code',
        wait_ms: 1_500,
        prompt: { topic: 'travel backpacks' },
        slot_hint: { position: 'inline', max_width: 300, max_height: 250 },
        overrides: { allowed_formats: ['banner', 'native'] },
        consent: { semantic_targeting: true, prompt_shared: false },
      },
      forced_no_fill: { client_id, session_id, job_type: 'chat', test_outcome: 'no_fill' },
    },
    response: {
      fill: {
        slot_id,
        status: 'ready',
        placement: {
          image_url: delivery_url,
          video_url: null,
          click_url,
          sponsor_name: 'Example Sponsor',
          width: 300,
          height: 250,
          format: 'banner',
          asset_token,
          ad_label_text: 'Sponsored',
          render: {
            strategy: 'hosted_frame',
            frame_url: `http://127.0.0.1:4010/v1/render/${asset_token}`,
            script_url: 'http://127.0.0.1:4010/v1/render.js',
            media_type: 'image',
            width: 300,
            height: 250,
            aspect_ratio: '300/250',
            label_text: 'Sponsored',
            sponsor_name: 'Example Sponsor',
            click_url,
          },
        },
        decision: {
          fill: true,
          format: 'banner',
          asset_token,
          delivery_url,
          assets: null,
          click_url,
          sponsor_name: 'Example Sponsor',
          ad_label_text: 'Sponsored',
          mime_type: 'image/png',
          dimensions: { width: 300, height: 250 },
          duration_ms: null,
          constraints: {
            mode: 'banner',
            ruleset_id: 'mrc_display',
            ruleset_version: 1,
            max_render_delay_ms: 300_000,
            require_viewability_ms: 1_000,
            creative_duration_ms: 0,
          },
          cs_declaration: 'CS-S (S1/P0)',
          revenue_estimate: { gross_cpm: 4, estimated_net_per_impression: 0.0028, currency: 'USD' },
        },
        authoritative_consent: consent,
      },
      no_fill: {
        slot_id,
        status: 'ready',
        placement: null,
        decision: {
          fill: false,
          format: null,
          asset_token: null,
          delivery_url: null,
          assets: null,
          reason: 'no_fill',
          no_fill_reason: 'no_demand',
          reason_origin: 'partner',
          nbr: 0,
          retryable: true,
          ad_label_text: 'Sponsored',
          cs_declaration: 'CS-S (S1/P0)',
        },
        authoritative_consent: consent,
      },
      pending: { slot_id, status: 'pending', placement: null, decision: null },
    },
  },
  'jobs.create': {
    body: {
      canonical: { client_id, session_id, job_type: 'agent', slots_requested: 2 },
      browser: {
        contract_version: 'csl_wrapper_ingress_create/v1',
        job: { job_type: 'chat', slots_requested: 1 },
        context: { chat_session_id: session_id, topic: 'travel' },
        delivery: { mode: 'polling' },
      },
    },
    response: {
      accepted: {
        job_id: 'job_00b1k2m3n4s',
        slot_ids: [slot_id],
        status: 'accepted',
        poll_path_template: '/v1/decisions/{slot_id}',
        expires_at: '2026-01-01T00:10:00.000Z',
        decision_delivery: { mode: 'polling', poll_path_template: '/v1/decisions/{slot_id}' },
        request_id,
      },
    },
  },
  'generation.report': {
    body: { generation: { generation_id: 'generation-1', model_id: 'my-model' } },
    response: { accepted: { accepted: true } },
  },
  'browser.activation': { body: { page: { publishable_key: 'pk_test_sandbox_demo' } } },
  'wrapper.generation': { body: { started: { generation_event: 'started', model_id: 'my-model' } } },
  'browser.generation': { body: { started: { generation_event: 'started', model_id: 'my-model' } } },
  'decisions.get': {
    response: { pending: { slot_id, status: 'pending', placement: null, decision: null } },
  },
  'browser.activate': {
    body: { page: { publishable_key: 'pk_test_sandbox_demo' } },
    response: {
      activated: {
        ok: true,
        activation_token: 'at_example',
        expires_at_ms: decided_at_ms + 600_000,
        key_id: 'key_00000000003',
        wrapper_tenant_id: 'ten_00000000001',
        project_id: client_id,
      },
    },
  },
  'beacons.send': {
    body: {
      render: {
        beacon_id: 'beacon-0001',
        asset_token,
        event: 'render',
        occurred_at: '2026-01-01T00:00:01.000Z',
      },
      visible: {
        beacon_id: 'beacon-0002',
        asset_token,
        event: 'visible',
        occurred_at_ms: decided_at_ms + 2_000,
        measurements: { visible_ratio: 1, visible_ms: 1_000 },
      },
    },
    response: {
      accepted: {
        ok: true,
        accepted: true,
        duplicate: false,
        billable: false,
        reason_code: 'OK',
        contract_version: 'csl_wrapper_beacon/v1',
        request_id,
      },
    },
  },
  'consent.set': {
    body: {
      granted: { client_id, session_id, purposes: { semantic_targeting: true, prompt_shared: false } },
      withdrawn: { client_id, session_id, decision: 'withdrawn' },
    },
    response: { stored: { ok: true, consent_id: 'cns_00b1k2m3n4t', authoritative_consent: consent, request_id } },
  },
  'clock.advance': { body: { ten_minutes: { by_ms: 600_000 } } },
  'clock.set': { body: { time: { to_ms: decided_at_ms }, system_time: { to_ms: null } } },
  'projects.create': {
    body: { with_origin: { client_id: 'proj_shop', allowed_origins: ['https://shop.example'], fill_rate: 0.8 } },
  },
  'projects.update': { body: { slower: { decision_latency_ms: 2_000, label_text: null } } },
  'keys.create': { body: { publishable: { class: 'publishable', mode: 'test' } } },
  'snapshots.save': { body: { replace: { replace: true } } },
  'requests.find': { body: { rejected_beacons: { path: '/v1/beacons', status_class: '4xx', limit: 20 } } },
  'requests.count': { body: { beacons_of_clips: { path: '/v1/beacons', body: { event: 'play_completed' } } } },
  'requests.nearest': { body: { placement: { path: '/v1/placements', status: 200, body: { job_type: 'chat' } } } },
  'requests.replay': { body: { with_another_floor: { set: { 'overrides.bidfloor': 12 } } } },
  'faults.add': {
    body: {
      half_of_the_placements: { path: '/v1/placements', status: 503, rate: 0.5 },
      lost_acknowledgements: { path: '/v1/beacons', effect: 'drop', served: true, times: 3 },
    },
  },
}

/** Returns the examples of a body or response by their names, such as `smallest`; none for an endpoint without. */
export function findExamples(id: string, part: 'body' | 'response'): Readonly<Record<string, Json>> {
  return (examples[id as EndpointId]?.[part] ?? {}) as Record<string, Json>
}
