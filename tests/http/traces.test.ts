/** Traces (A112): the context of W3C in the journal and in callbacks, and one trace of OTLP for each turn. */
import { setTimeout as wait } from 'node:timers/promises'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createCounts } from '#runtime/metrics/counts.ts'
import { readTraceContext } from '#runtime/traces/trace-context.ts'
import { createSpanQueue } from '../../sandbox/server/tracing/span-queue.ts'
import { findValue, readExposition } from './exposition.ts'
import { type ReceivedSpan, receiveOtlp } from './otlp-receiver.ts'
import { receiver } from './receiver.ts'
import { asked, beacon, fill, key, type Stage, stage, startSandbox } from './stage.ts'

const app = { trace_id: '4bf92f3577b34da6a3ce929d0e0e4736', span_id: '00f067aa0ba902b7' }
const other_trace = '0af7651916cd43dd8448eb211c80319c'
const traceparent = `00-${app.trace_id}-${app.span_id}-01`
const sent = { headers: { traceparent, tracestate: 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7' } }

afterEach(() => {
  vi.unstubAllEnvs()
})

const journal = async (on: Stage, query: Record<string, string> = {}) =>
  (await on.api.accept('requests.list', { query })).body.items

async function loadFrame(on: Stage, asset_token: string, headers: Record<string, string> = {}): Promise<Response> {
  const response = await fetch(`${on.sandbox.url}/v1/render/${asset_token}`, { headers })
  expect(response.status).toBe(200)
  return response
}

describe('without a receiver, a traceparent', () => {
  test('is kept with the placement: its polls, frame and beacons are in its trace, and the journal finds them', async () => {
    await using on = await stage()
    const filled = await fill(on.api, sent)
    await on.api.accept('decisions.get', { as: key, params: { slot_id: filled.slot_id } })
    const frame = await loadFrame(on, filled.asset_token)
    expect(frame.headers.get('x-sandbox-trace')).toBe(app.trace_id)
    const accepted = await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
    expect(accepted.headers['x-sandbox-trace']).toBe(app.trace_id)
    await on.api.refuse('beacons.send', { as: key, body: beacon(on.clock, filled, 'play_started') })
    await on.api.refuse('placements.create', { as: key, body: asked({ unknown: 1 }), ...sent })
    const apart = await fill(on.api)
    expect((await journal(on)).at(0)?.trace_id).toBeUndefined()

    const found = await journal(on, { trace_id: app.trace_id })
    expect(found.map(({ method, status }) => [method, status]).reverse()).toEqual([
      ['POST', 200],
      ['GET', 200],
      ['GET', 200],
      ['POST', 200],
      ['POST', 400],
      ['POST', 400],
    ])
    expect(new Set(found.map(({ trace_id }) => trace_id))).toEqual(new Set([app.trace_id]))
    expect(await journal(on, { trace_id: other_trace })).toEqual([])
    const match = { trace_id: app.trace_id, status: 400 }
    expect((await on.api.accept('requests.count', { body: match })).body.count).toBe(2)
    expect(
      (await on.api.accept('requests.find', { body: { ...match, body: { unknown: 1 } } })).body.items,
    ).toHaveLength(1)
    const details = await on.api.accept('requests.list', { query: { trace_id: app.trace_id, details: 'true' } })
    expect(details.body.items).toHaveLength(6)
    const { request_id } = found[0]!
    const shown = (await on.api.accept('requests.show', { params: { request_id } })).body
    expect(shown).toMatchObject({ trace_id: app.trace_id, request_headers: { traceparent } })
    expect(apart.slot_id).not.toBe(filled.slot_id)
  })

  test('goes out with callbacks, with a span of its own and the same tracestate', async () => {
    await using on = await stage()
    await using hook = await receiver([500])
    const body = { client_id: 'proj_demo', session_id: 's', job_type: 'chat', callback_url: hook.url }
    await on.api.accept('jobs.create', { as: key, body, ...sent })
    while (hook.received.length < 2) await wait(10)
    const parents = hook.received.map(({ headers }) => readTraceContext(String(headers.traceparent), undefined))
    expect(parents.map((parent) => parent?.trace_id)).toEqual([app.trace_id, app.trace_id])
    expect(new Set([app.span_id, ...parents.map((parent) => parent?.span_id)]).size).toBe(3)
    expect(hook.received.map(({ headers }) => headers.tracestate)).toEqual(Array(2).fill(sent.headers.tracestate))
    const path = 'http'
    const deliveries = async () => journal(on, { path, trace_id: app.trace_id })
    while ((await deliveries()).length < 2) await wait(10)
    expect((await deliveries()).map(({ status }) => status)).toEqual([200, 500])
  })

  test('that is malformed counts as none, and the request succeeds', async () => {
    await using on = await stage()
    for (const headers of [
      { traceparent: 'nothing' },
      { traceparent: `${traceparent}, ${traceparent}` },
      { tracestate: 'a=b' },
    ]) {
      const { headers: received } = await on.api.accept('placements.create', { as: key, body: asked(), headers })
      expect(received['x-sandbox-trace']).toBeUndefined()
    }
    expect((await journal(on)).every(({ trace_id }) => trace_id === undefined)).toBe(true)
  })
})

test('a context is read by the rules of the specification', () => {
  const read = (parent: string, state?: string) => readTraceContext(parent, state)
  const [trace, span] = [app.trace_id, app.span_id]
  expect(read(traceparent)).toEqual({ ...app, flags: 1, state: null })
  expect(read(`00-${trace}-${span}-00`)?.flags).toBe(0)
  expect(read(`cc-${trace}-${span}-01`)).toMatchObject(app)
  expect(read(`cc-${trace}-${span}-01-what-comes-later`)).toMatchObject(app)
  for (const malformed of [
    `ff-${trace}-${span}-01`,
    `00-${trace}-${span}-01-more`,
    `cc-${trace}-${span}-01.more`,
    `00-${trace.toUpperCase()}-${span}-01`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace}-${span}-1`,
    `00-${trace}-${span}`,
    `00-${trace.slice(1)}-${span}-01`,
    `00-${trace}-${span}-0x`,
    '',
  ])
    expect(read(malformed), malformed).toBeNull()
  const state = (text: string) => read(traceparent, text)?.state
  expect(state('a=1,b@vendor=2')).toBe('a=1,b@vendor=2')
  expect(state(' a=1 , ,b=2\t')).toBe('a=1,b=2')
  for (const malformed of [
    '',
    'A=1',
    'a',
    'a=1,a=2',
    'a=\u00e9',
    Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(','),
  ])
    expect(state(malformed), malformed).toBeNull()
  const long = Array.from({ length: 10 }, (_, n) => `k${n}=${'x'.repeat(100)}`)
  expect(state(long.join(','))).toBe(long.slice(0, 4).join(','))
})

/** A sandbox that sends its traces, and the receiver of them. */
async function traced(options = {}) {
  const otlp = await receiveOtlp()
  const on = await stage({ ...options, otlp: otlp.url })
  return {
    ...on,
    otlp,
    /** Stops the sandbox, and returns what it has sent. */
    async finish(): Promise<ReceivedSpan[]> {
      await on[Symbol.asyncDispose]()
      expect(otlp.problems).toEqual([])
      return otlp.spans
    },
    async [Symbol.asyncDispose]() {
      await on.sandbox.close()
      await otlp[Symbol.asyncDispose]()
    },
  }
}

/** Returns the spans below a span as a tree of their names, in alphabetical order with those that have children last. */
function tree(spans: readonly ReceivedSpan[], parent: string | null): unknown[] {
  const children = spans.filter(({ parent_id }) => parent_id === parent)
  const nodes = children.map(({ name, span_id }) => {
    const below = tree(spans, span_id)
    return below.length === 0 ? name : [name, ...below]
  })
  return nodes.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
}

const named = (spans: readonly ReceivedSpan[], name: string) => spans.filter((span) => span.name === name)

describe('with --otlp a turn is one trace', () => {
  test('below the span of the app: placement with its decision, frame, beacons and billing verdict', async () => {
    await using on = await traced()
    const body = asked({ prompt: { text: 'buy me red shoes' }, session_id: 'jo@example.com' })
    const filled = await fill(on.api, { ...sent, format: 'banner', body })
    await loadFrame(on, filled.asset_token)
    const measurements = { visible_ratio: 1, visible_ms: 2_500, page_visible: true }
    await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
    on.clock.advance(3_000)
    const visible = beacon(on.clock, filled, 'visible', { measurements })
    await on.api.accept('beacons.send', { as: key, body: visible })
    await on.api.accept('beacons.send', { as: key, body: visible })
    await on.api.refuse('beacons.send', { as: key, body: beacon(on.clock, filled, 'play_started') })
    const spans = await on.finish()

    expect(new Set(spans.map(({ trace_id }) => trace_id))).toEqual(new Set([app.trace_id]))
    const judged = ['POST /v1/beacons', 'billing verdict']
    expect(tree(spans, app.span_id)).toEqual([
      [
        'POST /v1/placements',
        'GET /v1/render/{asset_token}',
        'POST /v1/beacons',
        'POST /v1/beacons',
        'decision',
        judged,
        judged,
      ],
    ])
    const [placement] = named(spans, 'POST /v1/placements')
    expect(placement).toMatchObject({ kind: 2, is_failed: false, links: [] })
    expect(placement?.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/v1/placements',
      'http.response.status_code': 200,
      'server.port': on.sandbox.port,
      'svc.client_id': 'proj_demo',
      'svc.slot_id': filled.slot_id,
    })
    expect(named(spans, 'decision')[0]?.attributes).toMatchObject({
      'svc.decision.outcome': 'fill',
      'svc.decision.format': 'banner',
      'svc.slot_id': filled.slot_id,
    })
    const verdicts = named(spans, 'POST /v1/beacons').map(({ attributes }) => [
      attributes['svc.beacon.event'],
      attributes['svc.beacon.verdict'],
      attributes['svc.beacon.reason_code'],
    ])
    expect(verdicts).toEqual([
      ['render', 'accepted', 'OK'],
      ['visible', 'accepted', 'OK'],
      ['visible', 'duplicate', 'DUPLICATE'],
      ['play_started', 'rejected', 'event_not_supported_for_format'],
    ])
    const [rendered, seen] = named(spans, 'billing verdict')
    expect(rendered?.attributes['svc.billing.would_bill']).toBe(false)
    expect(seen?.attributes).toEqual({
      'svc.billing.would_bill': true,
      'svc.billing.metric': 'viewable_impression',
      'svc.billing.reason_code': 'OK',
    })
    expect(spans.every(({ duration_ns }) => duration_ns >= 0n)).toBe(true)
    expect(on.otlp.resource).toMatchObject({ 'service.name': 'svc-sandbox', 'service.version': on.sandbox.version })
    const text = on.otlp.texts.join('')
    for (const secret of ['red shoes', 'jo@example', filled.asset_token, key, 'beacon_id'])
      expect(text).not.toContain(secret)
  })

  test('with the name and the headers that the variables of OpenTelemetry give it', async () => {
    vi.stubEnv('OTEL_SERVICE_NAME', 'ads-staging')
    vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name=staging')
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'x-tenant=ads')
    await using on = await traced()
    await fill(on.api)
    await on.finish()
    expect(on.otlp.headers['x-tenant']).toBe('ads')
    const names = { 'service.name': 'ads-staging', 'deployment.environment.name': 'staging' }
    expect(on.otlp.resource).toMatchObject(names)
  })

  test('of its own without one, whatever its outcome: no-fill, refused', async () => {
    await using on = await traced()
    await on.api.accept('placements.create', { as: key, body: asked({ test_outcome: 'no_fill' }) })
    await on.api.refuse('placements.create', { as: key, body: asked({ unknown: 1 }) })
    await on.api.accept('sandbox.info')
    const spans = await on.finish()
    expect(tree(spans, null)).toEqual(['POST /v1/placements', ['POST /v1/placements', 'decision']])
    expect(new Set(spans.map(({ trace_id }) => trace_id)).size).toBe(2)
    expect(named(spans, 'decision')[0]?.attributes).toMatchObject({
      'svc.decision.outcome': 'no_fill',
      'svc.decision.no_fill_reason': 'test_forced',
    })
    const [refused] = spans.filter(({ attributes }) => attributes['http.response.status_code'] === 400)
    expect(refused).toMatchObject({ is_failed: false, attributes: { 'svc.reason_code': 'field_unknown' } })
  })

  test('a decision that was pending, its poll and its callback are in the trace of the request that asked for it', async () => {
    await using on = await traced({ decision_latency_ms: 1_000 })
    await using hook = await receiver()
    const body = { client_id: 'proj_demo', session_id: 's', job_type: 'chat', callback_url: hook.url }
    const [slot_id] = (await on.api.accept('jobs.create', { as: key, body, ...sent })).body.slot_ids
    on.clock.advance(1_000)
    await on.api.accept('decisions.get', { as: key, params: { slot_id: slot_id! }, query: { wait_ms: 5_000 } })
    while (hook.received.length === 0) await wait(10)
    const spans = await on.finish()
    expect(tree(spans, app.span_id)).toEqual([
      ['POST /v1/jobs', 'GET /v1/decisions/{slot_id}', 'POST callback', 'decision'],
    ])
    expect(named(spans, 'POST /v1/jobs')[0]?.attributes['svc.decision.outcome']).toBe('pending')
    expect(named(spans, 'decision')[0]?.attributes['svc.decision.waited_ms']).toBe(1_000)
    const [callback] = named(spans, 'POST callback')
    expect(hook.received[0]?.headers.traceparent).toBe(`00-${app.trace_id}-${callback?.span_id}-01`)
  })

  test('a frame that a page loads in a trace of its own belongs to that of the turn, with a link to its own', async () => {
    await using on = await traced()
    const filled = await fill(on.api, sent)
    await loadFrame(on, filled.asset_token, { traceparent: `00-${other_trace}-${app.span_id}-01` })
    const [frame] = named(await on.finish(), 'GET /v1/render/{asset_token}')
    expect(frame).toMatchObject({ trace_id: app.trace_id, links: [other_trace] })
  })

  test('what the app does not record is not recorded, and keeps its trace', async () => {
    await using on = await traced()
    const filled = await fill(on.api, { headers: { traceparent: traceparent.replace(/01$/, '00') } })
    const frame = await loadFrame(on, filled.asset_token)
    expect(frame.headers.get('x-sandbox-trace')).toBe(app.trace_id)
    expect(await on.finish()).toEqual([])
  })
})

describe('a receiver', () => {
  test.each([
    ['http://127.0.0.1:1', ''],
    ['http://127.0.0.1:4317', ' Port 4317 is that of OTLP over gRPC; over HTTP, receivers listen on 4318.'],
  ])('that is gone costs no request: one warning, and a count of what is lost: %s', async (otlp, advice) => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '300')
    const reports: unknown[] = []
    await using on = await stage({ otlp, report: (error) => reports.push(error) })
    for (let count = 0; count < 3; count++) await fill(on.api)
    const failed = async () => {
      const text = await (await fetch(`${on.sandbox.url}/_sandbox/metrics`)).text()
      return findValue(readExposition(text, 'prometheus'), 'svc_trace_spans_total', { result: 'failed' })
    }
    while ((await failed()) !== 6) await wait(10)
    await fill(on.api)
    await on.sandbox.close()
    expect(reports.map(String)).toEqual([
      `TraceWarning: traces do not reach ${otlp}/v1/traces: nothing listens there.${advice} The sandbox goes on without them: svc_trace_spans_total of its metrics counts what is lost.`,
    ])
  })

  test('that is slow is sent no more than fits in its queue: the rest is dropped and counted', async () => {
    const spans = createCounts('result')
    const held: ((result: { code: number }) => void)[] = []
    const exporter = {
      export: (_: unknown, done: (result: { code: number }) => void) => void held.push(done),
      shutdown: async () => {},
    }
    const queue = createSpanQueue({ exporter, spans, onFailure() {} })
    const provider = new TracerProvider({ spanProcessors: [queue] })
    const tracer = provider.getTracer('test')
    for (let count = 0; count < 3_000; count++) tracer.startSpan('one').end()
    expect(spans.list().map(({ values, count }) => [...values, count])).toEqual([['dropped', 3_000 - 2_048]])
    const stopped = provider.shutdown()
    while (held.length < 4) await wait(1)
    for (const done of held) done({ code: 0 })
    await stopped
    expect(spans.list().map(({ values, count }) => [...values, count])).toEqual([
      ['dropped', 952],
      ['exported', 2_048],
    ])
  })

  test('is refused by its form at the start', async () => {
    await expect(startSandbox({ otlp: '127.0.0.1:4318' })).rejects.toMatchObject({
      code: 'option_invalid',
      message: '127.0.0.1:4318 is not the URL of a receiver of traces.',
    })
  })
})
