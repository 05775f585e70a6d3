/**
 * The components of the OpenAPI 3.1 document: examples, and the JSON Schema of every schema of the contract.
 * There is one component for each schema that a file exports, and for each body and response of an operation, under the
 * names of `schemaName`.
 */
import { z } from 'zod'
import type { Json, JsonObject } from '#foundation/json.ts'
import type { Endpoint, Input } from '../endpoint.ts'
import { ErrorBody } from '../errors.ts'
import { type Contract, type EndpointId, schemaName } from '../index.ts'

/** The schemas of one document. */
export interface Schemas {
  /** The schemas of an endpoint's parts, by endpoint id and part: `placements.create body`. */
  parts: ReadonlyMap<string, JsonObject>
  /** By name, in alphabetical order. */
  components: Readonly<Record<string, JsonObject>>
}

/** Returns the JSON Schema of every params, query, body and response, and the components that they refer to. */
export function openapiSchemas(endpoints: readonly Endpoint[]): Schemas {
  const parts: Record<string, z.ZodType> = { ErrorBody }
  const names = new Map<unknown, string>()
  for (const { id, params, query, body, response } of endpoints) {
    for (const [part, schema] of Object.entries({ params, query, body, response })) {
      if (!(schema instanceof z.ZodType)) continue
      parts[`${id} ${part}`] = schema
      // An alias has the schemas of the endpoint that replaces it.
      if (names.has(schema) || hasNamedOrigin(schema)) continue
      if (part === 'body') names.set(schema, `${pascalCase(id)}Request`)
      if (part === 'response') names.set(schema, `${pascalCase(id)}Response`)
    }
  }
  const { $defs = {}, properties = {} } = z.toJSONSchema(z.object(parts), { metadata: new NamedSchemas(names) })
  const components = Object.entries({ ...($defs as Schemas['components']), Json: { description: 'Any JSON value.' } })
    .filter(([name]) => !isAnyJson(name))
    .map(([name, schema]): [string, JsonObject] => [name, openapiSchema(schema)])
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    parts: new Map(
      Object.entries(properties as Schemas['components']).map(([name, schema]) => [name, openapiSchema(schema)]),
    ),
    components: Object.fromEntries(components),
  }
}

/** `placements.create` becomes `PlacementsCreate`. */
export function pascalCase(id: string): string {
  return id.replace(/(?:^|[._-])([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** The metadata of schemas, with the name that makes them components as their `id`. */
class NamedSchemas extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  readonly #names: ReadonlyMap<unknown, string>

  constructor(names: ReadonlyMap<unknown, string>) {
    super()
    this.#names = names
  }

  override get<S extends z.core.$ZodType>(schema: S): z.core.$replace<z.core.GlobalMeta, S> | undefined {
    const meta = z.globalRegistry.get(schema)
    const id = schemaName(schema) ?? this.#names.get(schema)
    return id === undefined ? meta : ({ ...meta, id } as z.core.$replace<z.core.GlobalMeta, S>)
  }
}

/** A described copy of a named schema refers to it, and needs no separate name. */
function hasNamedOrigin(schema: z.core.$ZodType): boolean {
  const parent = schema._zod.parent
  return parent !== undefined && (schemaName(parent) !== null || hasNamedOrigin(parent))
}

/** zod numbers unnamed recursive schemas; in the contract the only one is any JSON value. */
function isAnyJson(name: string): boolean {
  return name.startsWith('__schema')
}

/** Returns a zod schema in the form that OpenAPI uses, at every level. */
function openapiSchema(schema: JsonObject): JsonObject {
  const { provenance, decision, keywords, ...own } = schema
  const isMarked = typeof provenance === 'string'
  const written = Object.fromEntries(
    Object.entries(isMarked ? own : schema).flatMap(([key, value]) => writeKeyword(own, key, value)),
  )
  return {
    ...withInt64(withNull({ ...written, ...(own.$ref === undefined ? (keywords as JsonObject) : {}) })),
    ...(isMarked ? { 'x-provenance': { provenance, decision: decision ?? null } } : {}),
  }
}

function openapiValue(value: Json): Json {
  if (Array.isArray(value)) return value.map(openapiValue)
  return typeof value === 'object' && value !== null ? openapiSchema(value) : value
}

function writeKeyword(schema: JsonObject, key: string, value: Json): [string, Json][] {
  if (key === 'keywords') return []
  if (key === 'properties') {
    const fields = Object.entries(value as Schemas['components'])
    return [[key, Object.fromEntries(fields.map(([name, field]) => [name, openapiSchema(field)]))]]
  }
  if (key === '$ref' && typeof value === 'string') {
    const name = value.replace('#/$defs/', '')
    return [[key, `#/components/schemas/${isAnyJson(name) ? 'Json' : name}`]]
  }
  if (key === 'pattern' && schema.format === 'date-time') return []
  // A format that only zod knows comes with a pattern that says the same.
  if (key === 'format' && value !== 'date-time') return []
  return [[key, openapiValue(value)]]
}

/** Writes a nullable plain type as one schema, as generators prefer, with null only once. */
function withNull(schema: JsonObject): JsonObject {
  const { anyOf, ...others } = schema
  if (!Array.isArray(anyOf)) return schema
  const options = anyOf as JsonObject[]
  const [first, last] = options
  if (options.length !== 2 || first === undefined || last?.type !== 'null') return schema
  if (Array.isArray(first.anyOf)) return { ...first, ...others }
  if (Array.isArray(first.type)) return { ...first, ...others }
  if (typeof first.type !== 'string' || first.type === 'object' || 'enum' in first || 'const' in first) return schema
  return { ...first, ...others, type: [first.type, 'null'] }
}

/** Marks an integer that can exceed 32 bits. Bounds that only JavaScript has are left out. */
function withInt64(schema: JsonObject): JsonObject {
  const isInteger = schema.type === 'integer' || (Array.isArray(schema.type) && schema.type.includes('integer'))
  if (!isInteger) return schema
  const { minimum, maximum, ...others } = schema
  const isLong = typeof maximum === 'number' && maximum > 0x7fffffff
  return {
    ...others,
    ...(isLong ? { format: 'int64' } : {}),
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
  }
}

/* Examples of bodies and responses, by endpoint and name. A test parses each with its schema. */

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
