/** Metrics of a node (A111): valid in both formats, equal to what was sent, and without identifiers. */
import { once } from 'node:events'
import { get } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { chooseFormat } from '#pipeline/pages/metrics.ts'
import { createHistogram } from '#runtime/metrics/counts.ts'
import { formatMetrics } from '#runtime/metrics/exposition.ts'
import { findValue, readExposition } from './exposition.ts'
import { receiver } from './receiver.ts'
import { asked, beacon, fill, key, type Stage, stage } from './stage.ts'

type Labels = Record<string, string>

async function scrape(on: Pick<Stage, 'sandbox'>, headers: Record<string, string> = {}) {
  const response = await fetch(`${on.sandbox.url}/_sandbox/metrics`, { headers })
  const media_type = response.headers.get('content-type') ?? ''
  const text = await response.text()
  expect(response.status, text).toBe(200)
  const format = media_type.startsWith('application/openmetrics-text') ? 'openmetrics' : 'prometheus'
  const families = readExposition(text, format)
  return { media_type, text, families, value: (name: string, labels: Labels = {}) => findValue(families, name, labels) }
}

/** Resolves to what the metrics say once it is what is wanted. */
async function eventually(on: Stage, name: string, labels: Labels, wanted: number): Promise<number> {
  while ((await scrape(on)).value(name, labels) !== wanted) await wait(10)
  return wanted
}

/** Turns of every outcome, in known numbers. */
async function runTurns(on: Stage): Promise<string[]> {
  const filled = await fill(on.api, { format: 'banner' })
  await fill(on.api, { format: 'clip' })
  expect((await fetch(`${on.sandbox.url}/v1/render/${filled.asset_token}`)).status).toBe(200)
  await on.api.accept('placements.create', { as: key, body: asked({ test_outcome: 'no_fill' }) })
  await on.api.refuse('placements.create', { as: key, body: asked({ unknown_field: 1 }) })
  await on.api.refuse('placements.create', { as: 'sk_test_nobody', body: asked() })
  const sent = beacon(on.clock, filled, 'render')
  await on.api.accept('beacons.send', { as: key, body: sent })
  await on.api.accept('beacons.send', { as: key, body: sent })
  await on.api.refuse('beacons.send', { as: key, body: beacon(on.clock, filled, 'play_started') })
  await on.api.refuse('beacons.send', { as: key, body: { asset_token: filled.asset_token, event: 'nothing' } })
  return [filled.slot_id, filled.asset_token, 'proj_demo', 'sess_1', String(sent.beacon_id)]
}

const expected: readonly [name: string, labels: Labels, value: number][] = [
  ['svc_requests_total', { endpoint: 'placements.create', status: '2xx' }, 3],
  ['svc_requests_total', { endpoint: 'placements.create', status: '4xx' }, 2],
  ['svc_requests_total', { endpoint: 'placements.create', status: '5xx' }, 0],
  ['svc_requests_total', { endpoint: 'render.frame', status: '2xx' }, 1],
  ['svc_requests_total', { endpoint: 'beacons.send', status: '2xx' }, 2],
  ['svc_requests_total', { endpoint: 'beacons.send', status: '4xx' }, 2],
  ['svc_requests_total', { endpoint: 'jobs.create', status: '2xx' }, 0],
  ['svc_request_errors_total', { endpoint: 'placements.create', reason_code: 'field_unknown' }, 1],
  ['svc_request_errors_total', { endpoint: 'placements.create', reason_code: 'key_unknown' }, 1],
  ['svc_request_duration_seconds_count', { endpoint: 'placements.create' }, 5],
  ['svc_slots_total', { state: 'decided' }, 3],
  ['svc_slots_total', { state: 'pending' }, 0],
  ['svc_fills_total', { format: 'banner' }, 1],
  ['svc_fills_total', { format: 'clip' }, 1],
  ['svc_fills_total', { format: 'native' }, 0],
  ['svc_no_fills_total', { reason: 'test_forced' }, 1],
  ['svc_no_fills_total', { reason: 'no_demand' }, 0],
  ['svc_beacons_total', { event: 'render', verdict: 'duplicate', reason_code: 'DUPLICATE' }, 1],
  [
    'svc_beacons_total',
    { event: 'play_started', verdict: 'rejected', reason_code: 'event_not_supported_for_format' },
    1,
  ],
  ['svc_beacons_total', { event: 'unknown', verdict: 'rejected', reason_code: 'schema_invalid' }, 1],
  ['svc_pending_decisions', {}, 0],
  ['svc_callback_attempts_total', { result: 'delivered' }, 0],
  ['svc_store_failed_transactions_total', {}, 0],
  ['svc_store_up', {}, 1],
  ['svc_trace_spans_total', { result: 'dropped' }, 0],
]

describe('the counts of a node', () => {
  test('are those of what was sent, in both formats, and no label identifies anything', async () => {
    await using on = await stage()
    const identifiers = await runTurns(on)
    const plain = await scrape(on)
    const open = await scrape(on, { accept: 'application/openmetrics-text; version=1.0.0' })
    expect([plain.media_type, open.media_type]).toEqual([
      'text/plain; version=0.0.4; charset=utf-8',
      'application/openmetrics-text; version=1.0.0; charset=utf-8',
    ])
    for (const { value } of [plain, open]) {
      expect(expected.map(([name, labels]) => [name, labels, value(name, labels)])).toEqual(expected)
      expect(value('svc_store_transaction_duration_seconds_count')).toBeGreaterThan(0)
      expect(value('svc_store_size_bytes')).toBeGreaterThan(4_096)
      expect(value('process_resident_memory_bytes')).toBeGreaterThan(1e6)
      expect(value('process_cpu_seconds_total')).toBeGreaterThan(0)
    }
    for (const identifier of identifiers) for (const { text } of [plain, open]) expect(text).not.toContain(identifier)
    const { journal } = (await on.api.accept('sandbox.info')).body
    expect((await scrape(on)).value('svc_journal_entries')).toBe(journal.size)
    expect(open.families.get('svc_build')?.samples[0]?.labels.version).toBe(on.sandbox.version)
  })

  test('grow with pending decisions, and with the attempts of callbacks', async () => {
    await using on = await stage({ decision_latency_ms: 1_000 })
    await using hook = await receiver([500])
    const job = { client_id: 'proj_demo', session_id: 's', job_type: 'chat', callback_url: hook.url }
    const [slot_id] = (await on.api.accept('jobs.create', { as: key, body: job })).body.slot_ids
    expect((await scrape(on)).value('svc_pending_decisions')).toBe(1)
    expect((await scrape(on)).value('svc_slots_total', { state: 'pending' })).toBe(1)
    const poll = on.api.accept('decisions.get', { as: key, params: { slot_id: slot_id! }, query: { wait_ms: 10_000 } })
    expect(await eventually(on, 'svc_open_streams', { kind: 'long_poll' }, 1)).toBe(1)
    on.clock.advance(1_000)
    await poll
    const after = await scrape(on)
    expect(after.value('svc_pending_decisions')).toBe(0)
    expect(after.value('svc_open_streams', { kind: 'long_poll' })).toBe(0)
    const decided = after.families.get('svc_fills_total')!.samples.reduce((sum, { value }) => sum + value, 0)
    expect(decided).toBe(1)
    expect(await eventually(on, 'svc_callback_attempts_total', { result: 'delivered' }, 1)).toBe(1)
    expect((await scrape(on)).value('svc_callback_attempts_total', { result: 'retrying' })).toBe(1)
  })

  test('of open event streams fall when their clients leave', async () => {
    await using on = await stage()
    const request = get(`${on.sandbox.url}/_sandbox/events`)
    await once(request, 'response')
    const stream = { kind: 'event_stream' }
    expect((await scrape(on)).value('svc_open_streams', stream)).toBe(1)
    request.on('error', () => {}).destroy()
    expect(await eventually(on, 'svc_open_streams', stream, 0)).toBe(0)
  })

  test('name pages, preflights and paths that do not exist without an endpoint', async () => {
    await using on = await stage()
    await fetch(`${on.sandbox.url}/v1/nowhere`, { method: 'POST' })
    await fetch(`${on.sandbox.url}/_sandbox/docs/`)
    await fetch(`${on.sandbox.url}/v1/placements`, {
      method: 'OPTIONS',
      headers: { origin: 'http://localhost:3000', 'access-control-request-method': 'POST' },
    })
    const { value } = await scrape(on)
    expect(value('svc_requests_total', { endpoint: 'none', status: '4xx' })).toBe(1)
    expect(value('svc_requests_total', { endpoint: 'pages', status: '2xx' })).toBe(1)
    expect(value('svc_requests_total', { endpoint: 'preflight', status: '2xx' })).toBe(1)
  })
})

test('where the control plane needs a token, a scraper sends it as Bearer, and a named one of the role read will do', async () => {
  await using on = await stage({ public_url: 'http://192.168.1.5:4010' })
  const admin = { 'x-sandbox-token': on.sandbox.admin_token }
  const name = `prometheus-${on.sandbox.port}`
  const { token } = (await on.api.accept('tokens.create', { headers: admin, body: { name } })).body
  await on.api.refuse('sandbox.metrics')
  await on.api.refuse('sandbox.metrics', { headers: { authorization: 'Bearer nothing' } })
  await scrape(on, { authorization: `Bearer ${token}` })
  await scrape(on, { 'x-sandbox-token': token })
  // Elsewhere that header has keys of the API.
  expect((await on.api.refuse('sandbox.info', { headers: { authorization: `Bearer ${token}` } })).status).toBe(403)
})

test('the format is the one that the Accept header prefers', () => {
  const prometheus3 =
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2'
  for (const accept of [prometheus3, 'application/openmetrics-text', 'Application/OpenMetrics-Text; version="1.0.0"'])
    expect(chooseFormat(accept), accept).toBe('openmetrics')
  for (const accept of [
    undefined,
    '*/*',
    'text/html',
    'text/plain;q=1,application/openmetrics-text;q=0.5',
    'application/openmetrics-text;q=0',
    'application/openmetrics-text;version=9.0.0',
  ])
    expect(chooseFormat(accept), accept).toBe('prometheus')
})

describe('an exposition', () => {
  const { read, observe } = createHistogram([0.5, 1])
  for (const duration_s of [0.1, 0.5, 0.7, 30]) observe(duration_s)
  const families = [
    { name: 'a', type: 'counter', help: 'Of \\ two\nlines.', samples: [{ labels: { of: 'x"\\\n' }, value: 3 }] },
    { name: 'b_seconds', type: 'histogram', help: 'Durations.', series: [{ labels: {}, reading: read() }] },
  ] as const

  test('of Prometheus names the samples of a counter, and escapes what has to be', () => {
    expect(formatMetrics(families, 'prometheus')).toBe(`# HELP a_total Of \\\\ two\\nlines.
# TYPE a_total counter
a_total{of="x\\"\\\\\\n"} 3
# HELP b_seconds Durations.
# TYPE b_seconds histogram
b_seconds_bucket{le="0.5"} 2
b_seconds_bucket{le="1.0"} 3
b_seconds_bucket{le="+Inf"} 4
b_seconds_sum 31.3
b_seconds_count 4
`)
  })

  test('of OpenMetrics names the family, has units, and ends', () => {
    const lines = formatMetrics(families, 'openmetrics').split('\n')
    expect(lines.slice(0, 2)).toEqual(['# HELP a Of \\\\ two\\nlines.', '# TYPE a counter'])
    expect(lines).toContain('# UNIT b_seconds seconds')
    expect(lines.slice(-2)).toEqual(['# EOF', ''])
  })

  test('that breaks a rule is refused by the reader of these tests', () => {
    const sound = formatMetrics(families, 'openmetrics')
    expect(readExposition(sound, 'openmetrics').size).toBe(2)
    for (const broken of [
      sound.replace('# EOF\n', ''),
      sound.replace('le="1.0"', 'le="1"'),
      sound.replace('_bucket{le="+Inf"} 4', '_bucket{le="+Inf"} 5'),
      sound.replace('a_total{of="x\\"', 'a_total{of="x"'),
      sound.replace('a_total{', 'a{'),
      sound.replace('} 3\n', '} -3\n'),
      sound.replace('# EOF', 'a_total{of="x\\"\\\\\\n"} 3\n# EOF'),
    ]) {
      expect(broken).not.toBe(sound)
      expect(() => readExposition(broken, 'openmetrics'), broken).toThrow()
    }
  })
})
