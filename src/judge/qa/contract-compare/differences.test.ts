/** What two responses to one request differ in, and who breaks the contract: every kind once, and what is no difference. */
import { describe, expect, test } from 'vitest'
import type { Endpoint } from '#contract/endpoint.ts'
import { v1 } from '#contract/index.ts'
import { type Json, type JsonObject, parseJson } from '#foundation/json.ts'
import { type ComparedResponse, compareResponses } from './differences.ts'
import { compareExchanges, type ExchangePair } from './findings.ts'
import { reportMarkdown } from './report.ts'

const config: JsonObject = {
  client_id: 'proj_demo',
  mode: 'test',
  enabled: true,
  defaults: {
    allowed_formats: ['banner', 'clip'],
    native_template_id: 'card',
    timing: 'during',
    position: 'inline',
    max_width: null,
    max_height: null,
    formats: ['banner', 'clip'],
    decision_delivery: 'polling',
  },
  disclosure: { label_text: 'Sponsored', label_required: true },
  consent: { required: false, mechanism: 'none', required_purposes: [], ttl_ms: 5 },
  viewability: {
    ratio: 0.5,
    duration_ms: 1_000,
    large_area_px2: 242_000,
    large_ratio: 0.3,
    clip_ratio: 0.5,
    clip_duration_ms: 2_000,
    billing_model: 'cpm_viewable',
  },
  beacons: { max_age_ms: 1, max_future_skew_ms: 1, heartbeat_interval_ms: 1 },
  allowed_origins: ['http://localhost:3000'],
  renderer: { script_url: 'http://localhost/v1/render.js', version: '1' },
  server_time_ms: 1_769_860_800_000,
  config_revision: 1,
  request_id: 'req_00000000001',
}

const headers = {
  'x-request-id': 'req_00000000001',
  'content-type': 'application/json',
  etag: '"1"',
  'cache-control': 'private, max-age=60',
}

function toResponse(json: Json, more: Partial<ComparedResponse> = {}): ComparedResponse {
  return { status: 200, headers, json, text: JSON.stringify(json), ...more }
}

/** Compares a config as the service has it with the one above. */
function compareConfig(service: Json, more: Partial<ComparedResponse> = {}) {
  const { differences } = compareResponses(v1['projects.config'], toResponse(service, more), toResponse(config))
  return differences.map(({ weight, what, expected, observed, breaks }) => [weight, what, expected, observed, breaks])
}

function withFields(group: string, fields: JsonObject): JsonObject {
  return { ...config, [group]: { ...(config[group] as JsonObject), ...fields } }
}

test('identifiers, times, counts and addresses are no difference, and neither is the order of a list', () => {
  const service = {
    ...withFields('defaults', { allowed_formats: ['clip', 'banner'] }),
    ...{ client_id: 'proj_mine', request_id: 'req_00000000002', server_time_ms: 1_700_000_000_000, config_revision: 9 },
    renderer: { script_url: 'https://ads.example.com/v1/render.js', version: '1' },
    allowed_origins: ['https://app.example'],
  }
  const other = { ...headers, 'x-request-id': 'req_00000000002', etag: '"2"' }
  expect(compareConfig(service, { headers: other })).toEqual([])
})

test.each<[name: string, service: Json, expected: unknown[]]>([
  [
    'another value',
    withFields('disclosure', { label_text: 'Ad' }),
    ['assumed', 'response disclosure.label_text', 'Sponsored', 'Ad', 'neither'],
  ],
  [
    'another type',
    withFields('beacons', { max_age_ms: '1' }),
    ['assumed', 'response beacons.max_age_ms', '1', '1', 'service'],
  ],
  [
    'a value instead of null',
    withFields('defaults', { max_width: 640 }),
    ['assumed', 'response defaults.max_width', 'null', '640', 'neither'],
  ],
  [
    'a field that is missing',
    withFields('disclosure', { label_required: undefined as never }),
    ['assumed', 'response disclosure.label_required', 'true', 'missing', 'service'],
  ],
  ['a field that is new', { ...config, region: 'eu' }, ['addition', 'response region', 'missing', 'eu', 'service']],
  [
    'a value that the contract does not list',
    withFields('viewability', { billing_model: 'cpa' }),
    ['assumed', 'response viewability.billing_model', 'cpm_viewable', 'cpa', 'service'],
  ],
  [
    'another list',
    withFields('defaults', { formats: ['banner'] }),
    ['observed', 'response defaults.formats', '["banner","clip"]', '["banner"]', 'neither'],
  ],
])('%s', (_, service, expected) => {
  expect(compareConfig(JSON.parse(JSON.stringify(service)) as Json)).toEqual([expected])
})

test('a header of the contract that is missing, and one that says something else', () => {
  const { etag: _, ...others } = headers
  expect(compareConfig(config, { headers: { ...others, 'cache-control': 'no-store' } })).toEqual([
    ['assumed', 'header etag', '"1"', 'missing', 'service'],
    ['assumed', 'header cache-control', 'private, max-age=60', 'no-store', 'neither'],
  ])
})

test('another status is one difference; which side breaks the document is not always known', () => {
  const error = { error: 'not_found', message: 'm', request_id: 'req_00000000001', reason_code: 'not_found' }
  const refused = toResponse({ ...error, hint: 'h', fields: [], retryable: false, docs_url: 'd' }, { status: 404 })
  const { differences } = compareResponses(v1['projects.config'], refused, toResponse(config))
  expect(differences).toMatchObject([
    { weight: 'documented', what: 'status', expected: '200', observed: '404 not_found', breaks: 'either' },
  ])
})

test('of an error the code and the cause are compared, not the words; a recording without bodies has its headers', () => {
  const error = { error: 'not_found', message: 'm', request_id: 'req_00000000001', reason_code: 'not_found' }
  const whole = { ...error, hint: 'h', fields: [], retryable: false, docs_url: 'd' }
  const compare = (service: ComparedResponse) =>
    compareResponses(v1['projects.config'], service, toResponse(whole, { status: 404 })).differences
  expect(
    compare(toResponse({ ...whole, message: 'No such thing', hint: 'x', docs_url: 'y' }, { status: 404 })),
  ).toEqual([])
  expect(compare(toResponse({ ...whole, reason_code: 'project_unknown' }, { status: 404 }))).toMatchObject([
    {
      weight: 'assumed',
      what: 'error.reason_code',
      expected: 'not_found',
      observed: 'project_unknown',
      breaks: 'service',
    },
  ])
  expect(compare({ status: 404, headers, text: null, json: undefined })).toEqual([])
})

const id = 'req_00000000001'
const slot = { slot_id: 'slot_00000000aaa', status: 'ready' }
const nothing = { placement: null, decision: null }

function toFailure(status: number, error: string, reason_code = error) {
  const body = { error, message: 'm', request_id: id, reason_code, hint: 'h', fields: [], docs_url: 'd' }
  const json = { ...body, retryable: status === 429 || status >= 500 }
  const more = { 'www-authenticate': 'Bearer', 'retry-after': '1', ratelimit: '1', 'ratelimit-policy': '1' }
  return toResponse(json, { status, headers: { ...headers, ...more } })
}

/** A response with this text, whether it is JSON or not. */
function toText(text: string, status: number): ComparedResponse {
  return { status, headers, text, json: parseJson(text) }
}

const failing = (endpoint: Endpoint, service: ComparedResponse, other: ComparedResponse) =>
  compareResponses(endpoint, service, other)
    .differences.filter(({ weight, breaks }) => weight === 'documented' && breaks !== 'neither')
    .map(({ what, breaks }) => `${what} ${breaks}`)

describe('the statuses of both sides differ', () => {
  const unknown = toFailure(404, 'not_found')
  const poll = (service: ComparedResponse) => failing(v1['decisions.get'], service, unknown)

  test.each<[name: string, service: ComparedResponse]>([
    ['a placement', toResponse({ ...slot, ...nothing, status: 'pending' })],
    ['a placement with a status of its own', toResponse({ ...slot, ...nothing, status: 'banana', more: 1 })],
    ['an error of the document', toFailure(401, 'unauthorized', 'credential_missing')],
    ['a rate limit', toFailure(429, 'rate_limited')],
    ['a fault', toFailure(500, 'internal_error')],
    ['a file without the body', { ...toResponse(null), text: null, json: undefined }],
  ])('%s in place of a 404 is no failure', (_, service) => {
    expect(poll(service)).toEqual([])
  })

  test.each<[text: string, what: string]>([
    ['{"slot_id":5,"status":"banana"}', 'response slot_id service'],
    ['{}', 'response slot_id service'],
    ['null', 'response body service'],
    ['[]', 'response body service'],
    ['<p>', 'body service'],
    ['{"a":', 'body service'],
    ['', 'body service'],
  ])('%s in place of a 404 is one, with its field', (text, what) => {
    expect(poll(toText(text, 200))).toContain(what)
  })

  test.each<[text: string, what: string]>([
    ['null', 'error.body service'],
    ['{}', 'error.error service'],
    ['<p>', 'body service'],
  ])('%s as the body of an error is one', (text, what) => {
    expect(poll(toText(text, 401))).toContain(what)
  })
})

test('the config is only assumed; a body that has nothing of it is no config', () => {
  const { disclosure: _, ...others } = config
  expect(failing(v1['projects.config'], toResponse(others), toResponse(config))).toEqual([])
  expect(failing(v1['projects.config'], toResponse({ a: 1 }), toResponse(config))).toEqual(['response body service'])
})

test('what is no JSON on both sides is like nothing', () => {
  expect(failing(v1['projects.config'], toText('<p>', 200), toText('<p>', 200))).toEqual(['body both'])
})

describe('a status', () => {
  const placed = toResponse({ ...slot, ...nothing, status: 'pending' })
  const place = (service: ComparedResponse, other = placed) => failing(v1['placements.create'], service, other)

  test('that contract.md decides is no failure', () => {
    const job = { job_id: 'job_00000000001', slot_ids: ['slot_00000000001'], request_id: id, status: 'accepted' }
    const path = { poll_path_template: '/v1/decisions/{slot_id}' }
    const delivery = { expires_at: '2026-11-01T10:00:00Z', decision_delivery: { mode: 'polling', ...path } }
    const created = toResponse({ ...job, ...path, ...delivery }, { status: 201 })
    const jobs = v1['jobs.create']
    expect(failing(jobs, { ...created, status: 200 }, created)).toEqual([])
    expect(failing(jobs, created, { ...created, status: 200 })).toEqual([])
    expect(failing(v1['projects.config'], { ...toText('', 304) }, toResponse(config))).toEqual([])
    const refused = toFailure(400, 'validation_error', 'schema_invalid')
    expect(place(toFailure(413, 'payload_too_large'), toFailure(404, 'not_found'))).toEqual([])
    expect(place(refused, toFailure(404, 'not_found'))).toEqual([])
  })

  test.each([100, 201, 202, 204, 206, 302, 402, 418])('%d of a placement is one, and says so', (status) => {
    const pair = { endpoint: 'placements.create' as const, entry: 1, service: { ...placed, status }, other: placed }
    expect(place(pair.service)).toContain('status service')
    const comparison = compareExchanges([pair])
    const report = {
      service: 'a.har',
      other: 'the sandbox',
      comparison,
      not_compared: [],
      left_out: [],
      renderer: null,
    }
    expect(reportMarkdown(report)).toContain(`The contract has no status ${status} for placements.create`)
  })

  test('frames are compared without their bodies; where every other exchange has none either, nothing is', () => {
    const none: ComparedResponse = { ...placed, text: null, json: undefined }
    const frame = { endpoint: 'render.frame' as const, entry: 1, service: none, other: none }
    const whole = { endpoint: 'placements.create' as const, entry: 2, service: placed, other: placed }
    const compared = (...pairs: ExchangePair[]) => compareExchanges(pairs).compared
    expect(compared(frame)).toBe(1)
    expect(compared(frame, whole, { ...whole, other: none })).toBe(2)
    expect(compared(frame, { ...whole, service: none, other: none })).toBe(0)
    expect(compared(frame, { ...whole, other: none })).toBe(0)
  })
})
