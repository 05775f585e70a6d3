/** Everything old clients rely on (C01 to C08), by a client written for it; with `strict` each row responds as before. */
import { describe, expect, test } from 'vitest'
import { v1 } from '#contract/index.ts'
import { createOldClient, type OldClient, type OldClientOptions } from './old-client.ts'
import { activate, fill, key, origin, otherKey, publishable, type Stage, stage } from './stage.ts'

const old = { 'x-csl-wrapper-version': '3.2.1' }

const startServer = (on: Stage, more: Partial<OldClientOptions> = {}): OldClient =>
  createOldClient({ base_url: on.sandbox.url, secret_key: key, ...more })

/** A page sends its origin by itself. */
const pageOf = (on: Stage, from = origin): OldClient =>
  createOldClient({
    base_url: on.sandbox.url,
    publishable_key: publishable,
    fetch: (url, init) => fetch(url, { ...init, headers: { ...(init?.headers as object), origin: from } }),
  })

const flat = { job_type: 'chat', slots_requested: 1 }
const contractForm = (more: object = {}) => ({
  contract_version: 'csl_wrapper_ingress_create/v1',
  job: { job_type: 'chat', slots_requested: 1 },
  delivery: { mode: 'polling', callback_url: null },
  ...more,
})

async function explain(on: Stage, slot_id: string) {
  return (await on.api.accept('placements.explain', { params: { slot_id } })).body
}

describe('1. CORS', () => {
  const asked = (from: string, method = 'POST') => ({
    origin: from,
    headers: {
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type,x-csl-wrapper-version,traceparent',
    },
  })
  const allowed =
    'authorization, content-type, if-none-match, x-csl-wrapper-version, traceparent, tracestate, sentry-trace, baggage'

  test('every preflight allows the headers of old clients and of tracing', async () => {
    await using on = await stage()
    const paths = ['/v1/jobs', '/v1/beacons', '/public/browser/v1/beacons', '/public/wrapper/v1/jobs']
    for (const path of paths) {
      const { status, headers } = await on.api.send('OPTIONS', path, asked(origin))
      expect([path, status]).toEqual([path, 204])
      expect(headers['access-control-allow-headers']).toBe(allowed)
      expect(headers['access-control-allow-origin']).toBe(origin)
    }
    const decision = await on.api.send('OPTIONS', '/public/browser/v1/slots/slot_x/decision', asked(origin, 'GET'))
    expect(decision.headers['access-control-allow-methods']).toContain('GET')
  })

  test('errors of the aliases are readable by the page, and no other origin gets a preflight', async () => {
    await using on = await stage()
    const refused = await on.api.refuse('browser.decision', { origin, params: { slot_id: 'slot_x' } })
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([401, origin])
    const stranger = await on.api.send('OPTIONS', '/public/browser/v1/beacons', asked('https://stranger.example'))
    expect([stranger.status, stranger.headers['access-control-allow-origin']]).toEqual([403, undefined])
  })

  test('activation: a preflight of any http origin, then a 403 that the page can read', async () => {
    await using on = await stage()
    const stranger = 'https://stranger.example'
    const preflight = await on.api.send('OPTIONS', '/v1/browser/activate', asked(stranger))
    expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([204, stranger])
    const body = { publishable_key: publishable }
    const refused = await on.api.refuse('browser.activate', { origin: stranger, headers: old, body })
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([403, stranger])
    for (const from of ['null', 'file://', 'ftp://abc']) {
      expect((await on.api.send('OPTIONS', '/v1/browser/activate', asked(from))).status).toBe(403)
    }
  })
})

describe('2. jobs', () => {
  test('the flat form: only job_type is certain', async () => {
    await using on = await stage()
    const client = startServer(on)
    for (const path of ['/v1/jobs', '/public/wrapper/v1/jobs']) {
      const { status, headers, body } = await client.call('POST', path, flat)
      expect([path, status, headers.get('x-sandbox-warning')]).toEqual([path, 201, 'client_id_from_key'])
      expect(body).toMatchObject({
        decision_delivery: { mode: 'polling', poll_path_template: '/v1/decisions/{slot_id}' },
      })
      expect((await explain(on, (body.slot_ids as string[])[0]!)).client_id).toBe('proj_demo')
    }
    // The document wins for everyone else.
    const refused = await on.api.refuse('jobs.create', { as: key, body: flat })
    expect(refused.body.fields[0]?.path).toBe('client_id')
    const wrong = await client.call('POST', '/v1/jobs', { ...flat, job_type: 'poem' })
    expect(wrong.status).toBe(400)
  })

  test('the contract form with everything that it may have', async () => {
    await using on = await stage()
    const client = startServer(on)
    const body = contractForm({
      job: { job_type: 'code', slots_requested: 2, model_id: 'm-1', locale: 'en' },
      prompt: { text: 'not shared', token_count_estimate: 12.5 },
      consent: { semantic_targeting: true, prompt_shared: false, consent_source: 'acme_consent' },
      context: {
        client_id: 'proj_demo',
        chat_session_id: 'chat-9',
        topic: 'coffee',
        geo: { country: 'de' },
        device: {},
      },
      latency_hint: { predicted_latency_ms: 4_000 },
      routing_hint: { preferred_partner_id: 'partner_a', candidate_partner_ids: ['partner_a'] },
      publisher: { app_name: 'App', categories: ['technology'] },
      slot_config: {
        allowed_formats: ['native'],
        native_template_id: 'list-item',
        bidfloors: { default: 0.01, native: 0.02 },
      },
      brand_safety: { blocked_categories: ['gambling'] },
      verification: { device: { kind: 'none' }, human: { score: 1 } },
      frequency_cap: { session: 5 },
      targeting: {},
      pacing: {},
      something_new: { deep: true },
    })
    const { status, headers, body: answer } = await client.call('POST', '/public/wrapper/v1/jobs', body)
    expect(status, JSON.stringify(answer)).toBe(201)
    expect(headers.get('x-sandbox-warning')?.split(', ').toSorted()).toEqual([
      'category_unknown',
      'fields_ignored',
      'prompt_text_discarded',
    ])
    expect(answer).toMatchObject({
      contract_version: 'csl_wrapper_ingress_accepted/v1',
      status: 'accepted',
      decision_delivery: { mode: 'polling', decision_path_template: '/v1/decisions/{slot_id}' },
    })
    const slot = await explain(on, (answer.slot_ids as string[])[1]!)
    expect(slot).toMatchObject({
      session_id: 'chat-9',
      job_type: 'code',
      format: 'native',
      consent: { source: 'svc_consent' },
    })
    expect(slot.decision).toMatchObject({
      metadata: {
        timing: 'during',
        inference: { estimated_window_ms: 4_000, fallback_mode: null, allowed_modes: ['native'] },
      },
    })
    const [frame] = [slot.decision?.fill === true ? slot.decision.asset_token : null]
    expect(frame).not.toBeNull()
  })

  test('a field in the place of the canonical form is ignored for an old client, and named for any other', async () => {
    await using on = await stage()
    const body = contractForm({ session_id: 's-1' })
    expect((await startServer(on).call('POST', '/v1/jobs', body)).status).toBe(201)
    const refused = await on.api.refuse('jobs.create', { as: key, body })
    expect(refused.body.fields[0]?.expected).toContain('context.chat_session_id')
  })

  test('a topic that is empty is absent, one that is too long is cut', async () => {
    await using on = await stage()
    const consent = { semantic_targeting: true }
    const topics = [
      ['', null, null],
      ['x'.repeat(300), 'x'.repeat(200), 'topic_cut'],
      ['😀'.repeat(200), '😀'.repeat(200), null],
      ['😀'.repeat(201), '😀'.repeat(200), 'topic_cut'],
    ] as const
    for (const [topic, stored, warning] of topics) {
      for (const body of [
        { ...flat, client_id: 'proj_demo', consent, context: { topic } },
        contractForm({ consent, context: { client_id: 'proj_demo', topic } }),
      ]) {
        const { status, headers, body: answer } = await startServer(on).call('POST', '/v1/jobs', body)
        expect([status, headers.get('x-sandbox-warning')]).toEqual([201, warning])
        expect((await explain(on, (answer.slot_ids as string[])[0]!)).topic).toBe(stored)
      }
    }
  })

  test('floors by format, unknown categories and list-item have their canonical meaning', async () => {
    await using on = await stage()
    const decide = async (slot_config: object, more: object = {}) => {
      const job = await startServer(on).createJob({ ...flat, slot_config, ...more })
      return explain(on, job.slot_ids[0]!)
    }
    expect((await decide({ bidfloors: { default: 900 } })).no_fill_reason).toBe('below_floor')
    expect((await decide({ allowed_formats: ['banner'], bidfloors: { banner: 0 } })).fill).toBe(true)
    expect((await decide({}, { brand_safety: { blocked_categories: ['sports'] } })).fill).toBe(true)
    const { slot_id } = await decide({ allowed_formats: ['native'], native_template_id: 'list-item' })
    const { body } = await on.api.accept('decisions.get', { as: key, params: { slot_id } })
    expect(body.placement?.render.native_template_id).toBe('list_item')
  })

  test.each([
    ['none', 'none'],
    ['svc_consent', 'svc_consent'],
    ['acme_consent', 'svc_consent'],
    ['wrapper_cmp', 'wrapper_cmp'],
  ])('consent_source %s is stored as %s, and permits beacons', async (consent_source, stored) => {
    await using on = await stage()
    const client = startServer(on)
    const consent = { semantic_targeting: false, prompt_shared: false, consent_source }
    const job = await client.createJob({ ...flat, chat_session_id: `s-${stored}`, consent })
    expect((await explain(on, job.slot_ids[0]!)).consent?.source).toBe(stored)
    const { asset_token } = await client.getDecision(job.slot_ids[0]!)
    const sent = await client.sendBeacon({ beacon_id: 'r', asset_token, beacon_type: 'rendered' })
    expect(sent.body).toMatchObject({ accepted: true, reason_code: 'OK' })
  })

  test('the delivery is what was asked for', async () => {
    await using on = await stage()
    const readMode = async (delivery: object) =>
      (await startServer(on).createJob(contractForm({ delivery }))).decision_delivery.mode
    expect(await readMode({ mode: 'polling' })).toBe('polling')
    expect(await readMode({ mode: 'websocket', callback_url: null })).toBe('websocket')
  })
})

describe('3. decisions', () => {
  test('fills of each format, on both surfaces', async () => {
    await using on = await stage()
    for (const client of [startServer(on), pageOf(on)]) {
      for (const format of ['banner', 'clip', 'native']) {
        const job = await client.createJob(contractForm({ slot_config: { allowed_formats: [format] } }))
        const { creative, constraints, revenue_estimate } = await client.poll(job.slot_ids[0]!)
        expect(creative?.type).toBe(format)
        expect(creative?.duration_ms).toBe(format === 'clip' ? 15_000 : 3_000)
        expect(constraints?.creative_duration_ms).toBe(format === 'clip' ? 15_000 : 0)
        expect(revenue_estimate).toMatchObject({ currency: 'USD' })
        expect((await fetch(creative!.url)).ok).toBe(true)
      }
    }
  })

  test('pending, then polled until it is decided, in the time that the client takes', async () => {
    await using on = await stage({ decision_latency_ms: 5_000 })
    const client = startServer(on, {
      long_poll_ms: 20,
      sleep: async (ms) => on.clock.advance(Math.round(ms)),
    })
    const job = await client.createJob(flat)
    const [slot_id] = job.slot_ids
    expect(await client.getDecision(slot_id!)).toMatchObject({ status: 'pending', fill: null, cs_declaration: null })
    expect((await client.poll(slot_id!)).fill).toBe(true)
    expect(client.pauses.slice(0, 3)).toEqual([250, 375, 562.5])
  })

  test('a long poll returns with the decision', async () => {
    await using on = await stage({ decision_latency_ms: 1_000 })
    const client = startServer(on)
    const job = await client.createJob(flat)
    const waiting = client.getDecision(job.slot_ids[0]!, 5_000)
    await expect.poll(async () => (await on.api.accept('sandbox.info')).status).toBe(200)
    on.clock.advance(1_000)
    expect((await waiting).status).toBe('ready')
  })

  test('a no-fill has its reasons', async () => {
    await using on = await stage()
    const job = await startServer(on).createJob({ ...flat, slot_config: { bidfloor: 900 } })
    expect(await startServer(on).getDecision(job.slot_ids[0]!)).toMatchObject({
      status: 'ready',
      fill: false,
      reason: 'no_fill',
      no_fill_reason: 'below_floor',
      cs_declaration: 'CS-S (S0/P0)',
    })
  })

  test('an expired slot is a no-fill for old clients, on both routes', async () => {
    await using on = await stage()
    const client = startServer(on)
    const job = await client.createJob(flat)
    on.clock.advance(600_000)
    const slot_id = job.slot_ids[0]!
    expect(await client.getDecision(slot_id)).toMatchObject({ fill: false, no_fill_reason: 'slot_expired' })
    const canonical = await on.api.accept('decisions.get', { as: key, headers: old, params: { slot_id } })
    expect(canonical.body).toMatchObject({
      status: 'ready',
      placement: null,
      decision: { fill: false, no_fill_reason: 'slot_expired' },
    })
    const others = await on.api.accept('decisions.get', { as: key, params: { slot_id } })
    expect(others.body.status).toBe('expired')
  })

  test('metadata where the job says how long its generation takes', async () => {
    await using on = await stage()
    const client = startServer(on)
    const job = await client.createJob({ ...flat, predicted_latency_ms: 8_000, slot_config: { timing: 'before' } })
    expect((await client.getDecision(job.slot_ids[0]!)).metadata).toEqual({
      timing: 'before',
      inference: {
        estimated_window_ms: 8_000,
        max_creative_duration_ms: 8_000,
        fallback_mode: 'banner',
        allowed_modes: ['banner', 'clip', 'native'],
      },
    })
    const plain = await client.createJob(flat)
    expect((await client.getDecision(plain.slot_ids[0]!)).metadata).toBeUndefined()
  })

  test('unknown and foreign slots are 404, a credential of the other surface is 403', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    for (const call of [
      { as: key, params: { slot_id: 'slot_00000000000' } },
      { as: otherKey, params: { slot_id } },
    ]) {
      expect((await on.api.refuse('wrapper.decision', call)).status).toBe(404)
    }
    // Its prefix tells the class: an unknown one is of the wrong class too.
    for (const [id, as] of [
      ['wrapper.decision', await activate(on.api)],
      ['wrapper.decision', 'at_nobody'],
      ['browser.decision', key],
      ['browser.decision', 'sk_test_nobody'],
    ] as const) {
      const { status, body } = await on.api.refuse(id, { as, origin, params: { slot_id } })
      expect([id, as, status, body.reason_code]).toEqual([id, as, 403, 'key_class'])
    }
  })
})

describe('5. generation events', () => {
  test('are accepted for a job of the project, on every route', async () => {
    await using on = await stage()
    for (const client of [startServer(on), pageOf(on)]) {
      const job = await client.createJob(contractForm({ context: { chat_session_id: 'chat-1' } }))
      for (const event of ['started', 'finished', 'failed']) {
        const more = { generation_id: 'g-1', model_id: 'm', usage_json: { tokens: 3 }, error: 'late' }
        const sent = await client.reportGeneration(job.job_id, event, more)
        expect([sent.status, sent.body]).toEqual([200, { accepted: true }])
        expect(sent.headers.get('link')).toBe(`</v1/jobs/${job.job_id}/generation/${event}>; rel="successor-version"`)
        const direct = await client.call('POST', `/v1/jobs/${job.job_id}/generation/${event}`, {})
        expect([direct.status, direct.body, direct.headers.get('deprecation')]).toEqual([200, { accepted: true }, null])
      }
    }
    const { body } = await on.api.accept('requests.list', { query: { session_id: 'chat-1', path: '/v1/jobs/*' } })
    expect(body.items).toHaveLength(6)
  })

  test('an unknown job or event, and another project, are refused', async () => {
    await using on = await stage()
    const client = startServer(on)
    const { job_id } = await client.createJob(flat)
    expect((await client.reportGeneration('job_00000000000', 'started')).status).toBe(404)
    expect((await client.reportGeneration(job_id, 'paused')).status).toBe(400)
    expect((await client.call('POST', `/v1/jobs/${job_id}/generation/paused`, {})).status).toBe(404)
    expect((await startServer(on, { secret_key: otherKey }).reportGeneration(job_id, 'started')).status).toBe(404)
    const version = { contract_version: 'csl_wrapper_generation_event/v2' }
    expect((await client.reportGeneration(job_id, 'started', version)).body.reason_code).toBe(
      'contract_version_unsupported',
    )
  })
})

describe('6. beacons', () => {
  test('every type is stored as its canonical event; unknown measurements become metadata', async () => {
    await using on = await stage()
    const client = startServer(on)
    const { asset_token, slot_id } = await fill(on.api, { format: 'clip' })
    const types = {
      rendered: 'render',
      on_view: 'visible',
      visible_started: 'visible',
      visible_ended: 'heartbeat',
      heartbeat: 'heartbeat',
      play_started: 'play_started',
      play_completed: 'play_completed',
      clicked: 'click',
    }
    for (const [index, beacon_type] of Object.keys(types).entries()) {
      const measurements = { visible_ratio: 0.9, visible_ms: 10, viewport: 'wide', muted: 'perhaps' }
      const sent = await client.sendBeacon({ beacon_id: `${index}`, asset_token, beacon_type, measurements })
      expect([beacon_type, sent.status]).toEqual([beacon_type, 200])
      expect(sent.body).toMatchObject({ contract_version: 'csl_wrapper_beacon/v1', accepted: true })
    }
    const { beacons } = await explain(on, slot_id)
    expect(beacons.map(({ event }) => event)).toEqual(Object.values(types))
  })

  test('the same beacon on both routes is a duplicate, another one under its id a conflict', async () => {
    await using on = await stage()
    const client = startServer(on)
    const { asset_token } = await fill(on.api)
    const at_ms = Date.now()
    const sendOlder = (beacon_id: string, more: object = {}) =>
      client.sendBeacon({ beacon_id, asset_token, beacon_type: 'rendered', occurred_at_ms_client: at_ms, ...more })
    const sendNewer = (beacon_id: string, more: object = {}) =>
      client.call('POST', '/v1/beacons', { beacon_id, asset_token, event: 'render', occurred_at_ms: at_ms, ...more })

    expect((await sendOlder('beacon-one')).body).toMatchObject({ duplicate: false })
    expect((await sendNewer('beacon-one')).body).toMatchObject({ duplicate: true, reason_code: 'DUPLICATE' })
    expect((await sendNewer('beacon-two', { measurements: { visible_ratio: 1 } })).body).toMatchObject({
      accepted: true,
    })
    expect((await sendOlder('beacon-two')).body).toMatchObject({ duplicate: true })

    const conflicts = [
      await sendNewer('beacon-one', { event: 'click' }),
      await sendNewer('beacon-one', { occurred_at_ms: at_ms - 1 }),
      await sendOlder('beacon-two', { occurred_at_ms_client: at_ms - 1 }),
      // On one route any difference is one.
      await sendOlder('beacon-one', { measurements: { visible_ratio: 1 } }),
      await sendNewer('beacon-two', { measurements: { visible_ratio: 0.5 } }),
    ]
    for (const { body } of conflicts) expect(body.reason_code).toBe('beacon_id_conflict')
  })

  test('what is wrong is refused and kept for QA', async () => {
    await using on = await stage()
    const client = startServer(on)
    const { asset_token } = await fill(on.api)
    const refusals = [
      [{ beacon_type: 'seen' }, 'schema_invalid'],
      [{ beacon_id: '' }, 'schema_invalid'],
      [{ beacon_type: 'play_started' }, 'event_not_supported_for_format'],
      [{ asset_token: 'ast_nothing' }, 'asset_token_invalid'],
      [{ occurred_at_ms_client: Date.now() - 400_000 }, 'beacon_stale'],
      [{ occurred_at_ms_client: Math.floor(Date.now() / 1000) }, 'occurred_at_in_seconds'],
      [{ occurred_at_ms_client: 1e300 }, 'beacon_in_future'],
      [{ contract_version: 'csl_wrapper_beacon/v2' }, 'contract_version_unsupported'],
    ] as const
    for (const [more, reason_code] of refusals) {
      const sent = await client.sendBeacon({ beacon_id: 'b', asset_token, beacon_type: 'rendered', ...more })
      expect([more, sent.body.reason_code]).toEqual([more, reason_code])
    }
    const { body } = await on.api.accept('beacons.list', { query: { verdict: 'rejected' } })
    expect(body.items.map(({ reason_code }) => reason_code).toReversed()).toEqual(refusals.map(([, reason]) => reason))
    const ignored = await client.sendBeacon({ beacon_id: 'c', asset_token, beacon_type: 'rendered', extra: 1 })
    expect([ignored.status, ignored.headers.get('x-sandbox-warning')]).toEqual([200, 'fields_ignored'])
  })

  test('times of old clients are shifted with the sandbox clock, on both routes', async () => {
    await using on = await stage()
    on.clock.set(Date.now() + 7 * 86_400_000)
    const { asset_token } = await fill(on.api)
    const client = startServer(on)
    const older = await client.sendBeacon({ beacon_id: 'a', asset_token, beacon_type: 'rendered' })
    expect(older.body).toMatchObject({ accepted: true })
    const body = { beacon_id: 'beacon-b', asset_token, event: 'visible', occurred_at: new Date().toISOString() }
    expect((await client.call('POST', '/v1/beacons', body)).body).toMatchObject({ accepted: true })
    // The same again is the same beacon, whatever the clock says meanwhile.
    expect((await client.call('POST', '/v1/beacons', body)).body).toMatchObject({ duplicate: true })
    const others = await on.api.refuse('beacons.send', { as: key, body: { ...body, beacon_id: 'beacon-c' } })
    expect(others.body.reason_code).toBe('beacon_stale')
    const latest = {
      beacon_id: 'd',
      asset_token,
      beacon_type: 'rendered',
      occurred_at_ms_client: Number.MAX_SAFE_INTEGER,
    }
    expect((await client.sendBeacon(latest)).body.reason_code).toBe('beacon_in_future')
    const { items } = (await on.api.accept('beacons.list', { query: { beacon_id: 'd' } })).body
    expect(items[0]?.occurred_at_ms).toBe(Number.MAX_SAFE_INTEGER)
  })
})

describe('aliases', () => {
  test('respond with Deprecation and a Link to their successor, failures too', async () => {
    await using on = await stage()
    const client = startServer(on)
    const { headers, body } = await client.call('POST', '/public/wrapper/v1/jobs', flat)
    const rel = '; rel="successor-version"'
    expect([headers.get('deprecation'), headers.get('link')]).toEqual(['true', `</v1/jobs>${rel}`])
    const slot_id = (body.slot_ids as string[])[0]!
    const decision = await client.call('GET', `/public/wrapper/v1/slots/${slot_id}/decision`)
    expect(decision.headers.get('link')).toBe(`</v1/decisions/${slot_id}>${rel}`)
    const refused = await client.call('POST', '/public/wrapper/v1/beacons', {}, 'sk_test_unknown')
    expect([refused.status, refused.headers.get('link')]).toEqual([401, `</v1/beacons>${rel}`])
    const canonical = await client.call('POST', '/v1/jobs', flat)
    expect([canonical.headers.get('deprecation'), canonical.headers.get('link')]).toEqual([null, null])
  })

  test('are marked in the journal, with the client', async () => {
    await using on = await stage()
    const client = startServer(on)
    const job = await client.createJob(flat, '/public/wrapper/v1/jobs')
    await client.getDecision(job.slot_ids[0]!, 0)
    await client.call('POST', '/v1/jobs', flat)
    await fill(on.api)
    const marks = ({ alias, old_client }: { alias?: string | undefined; old_client?: string | undefined }) => [
      alias,
      old_client,
    ]
    for (const details of ['false', 'true']) {
      const { body } = await on.api.accept('requests.list', { query: { details } })
      expect(body.items.map(marks)).toEqual([
        [undefined, undefined],
        [undefined, '3.2.1'],
        ['wrapper.decision', '3.2.1'],
        ['wrapper.job', '3.2.1'],
      ])
      const shown = await on.api.accept('requests.show', { params: { request_id: body.items[2]!.request_id } })
      expect(marks(shown.body)).toEqual(['wrapper.decision', '3.2.1'])
    }
  })

  test('meet fault rules as their successors do, and are replayed', async () => {
    await using on = await stage()
    const client = startServer(on)
    await client.createJob(flat, '/public/wrapper/v1/jobs')
    const { body } = await on.api.accept('requests.list')
    const replayed = await on.api.accept('requests.replay', {
      params: { request_id: body.items[0]!.request_id },
      body: {},
    })
    expect(replayed.body.exchange).toMatchObject({ status: 201, alias: 'wrapper.job', old_client: '3.2.1' })
    await on.api.accept('faults.add', { body: { path: '/public/', status: 503 } })
    expect((await client.call('POST', '/public/wrapper/v1/jobs', flat)).status).toBe(503)
    await on.api.accept('faults.clear', { body: {} })
    await on.api.accept('faults.add', { body: { format: 'clip', status: 503 } })
    const clips = { ...flat, slot_config: { allowed_formats: ['clip'] } }
    for (const path of ['/v1/jobs', '/public/wrapper/v1/jobs']) {
      expect([path, (await client.call('POST', path, clips)).status]).toEqual([path, 503])
    }
  })
})

describe('strict', () => {
  const param = 'x0000000000'
  const aliases = [
    ['POST', '/public/wrapper/v1/jobs'],
    ['GET', `/public/wrapper/v1/slots/slot_${param}/decision`],
    ['GET', `/public/browser/v1/slots/slot_${param}/decision`],
    ['POST', `/public/wrapper/v1/slots/slot_${param}/decision-ticket`],
    ['POST', `/public/browser/v1/slots/slot_${param}/decision-ticket`],
    ['GET', `/public/wrapper/v1/slots/slot_${param}/decision/ws`],
    ['GET', `/public/browser/v1/slots/slot_${param}/decision/ws`],
    ['POST', `/v1/jobs/job_${param}/generation/started`],
    ['POST', `/public/wrapper/v1/jobs/job_${param}/generation`],
    ['POST', `/public/browser/v1/jobs/job_${param}/generation`],
    ['POST', '/public/wrapper/v1/beacons'],
    ['POST', '/public/browser/v1/beacons'],
  ] as const

  test('no alias exists', async () => {
    await using on = await stage({ strict: true })
    for (const [method, path] of aliases) {
      const body = method === 'POST' ? { body: {} } : {}
      const sent = await on.api.send(method, path, { as: key, origin, headers: old, ...body })
      expect([path, sent.status, sent.body]).toMatchObject([path, 404, { reason_code: 'not_found' }])
      expect(sent.body).toMatchObject({
        message: expect.stringContaining('strict'),
        hint: expect.stringMatching(/--strict/),
      })
      expect([sent.headers.deprecation, sent.headers.link]).toEqual([undefined, undefined])
      if (!path.startsWith('/public/')) continue
      expect(sent.headers['access-control-allow-origin']).toBeUndefined()
      const preflight = { origin, headers: { 'access-control-request-method': method } }
      expect((await on.api.send('OPTIONS', path, preflight)).status).toBe(403)
    }
  })

  test('a path that nobody has is not blamed on it', async () => {
    await using on = await stage({ strict: true })
    const { body } = await on.api.send('GET', '/v1/nothing')
    expect(body).toMatchObject({ reason_code: 'not_found', message: 'No such path.' })
  })

  test('an old client is a client like any other: the document wins', async () => {
    await using on = await stage({ strict: true })
    const client = startServer(on)
    const anonymous = await client.call('POST', '/v1/jobs', flat)
    expect([anonymous.status, anonymous.body.reason_code]).toEqual([400, 'schema_invalid'])
    const misplaced = await client.call('POST', '/v1/jobs', contractForm({ session_id: 's-1' }))
    expect([misplaced.status, misplaced.body.reason_code]).toEqual([400, 'field_unknown'])
    const { body } = await client.call('POST', '/v1/jobs', { ...flat, client_id: 'proj_demo' })
    const slot_id = (body.slot_ids as string[])[0]!
    const { asset_token } = await fill(on.api)
    const late = { beacon_id: 'beacon-1', asset_token, event: 'render', occurred_at_ms: Date.now() }
    on.clock.set(Date.now() + 7 * 86_400_000)
    expect((await client.call('GET', `/v1/decisions/${slot_id}`)).body.status).toBe('expired')
    expect((await client.call('POST', '/v1/beacons', late)).body.reason_code).toBe('asset_token_expired')
    const { asset_token: fresh } = await fill(on.api, {
      body: { client_id: 'proj_demo', session_id: 's', job_type: 'chat' },
    })
    const stale = await client.call('POST', '/v1/beacons', { ...late, asset_token: fresh })
    expect(stale.body.reason_code).toBe('beacon_stale')
  })

  test('C01: the headers of a preflight are those of the document, and an activation is for origins that are allowed', async () => {
    await using on = await stage({ strict: true })
    const headers = { 'access-control-request-method': 'POST' }
    const preflight = await on.api.send('OPTIONS', '/v1/browser/activate', { origin, headers })
    expect(preflight.status).toBe(204)
    expect(preflight.headers['access-control-allow-headers']).toBe('authorization, content-type, if-none-match')
    const stranger = { origin: 'https://stranger.example', headers }
    expect((await on.api.send('OPTIONS', '/v1/browser/activate', stranger)).status).toBe(403)
  })

  test.each([
    ['slot_config.bidfloors', { slot_config: { bidfloors: { native: 0 } } }, 'field_unknown'],
    ['prompt.token_count_estimate', { prompt: { topic: 'a', token_count_estimate: 3 } }, 'field_unknown'],
    ['slot_config.native_template_id', { slot_config: { native_template_id: 'list-item' } }, 'schema_invalid'],
    ['context.topic', { context: { topic: '' } }, 'schema_invalid'],
    ['context.topic', { context: { topic: 'x'.repeat(201) } }, 'schema_invalid'],
    ['brand_safety.blocked_categories', { brand_safety: { blocked_categories: ['sports'] } }, 'schema_invalid'],
    ['publisher.categories', { publisher: { categories: ['IAB1', 'sports'] } }, 'schema_invalid'],
    ['overrides.blocked_categories', { overrides: { blocked_categories: ['sports'] } }, 'schema_invalid'],
  ])('C02: %s is refused in a flat job', async (path, more, reason_code) => {
    const body = { ...flat, client_id: 'proj_demo', ...more }
    await using lenient = await stage()
    expect((await startServer(lenient).call('POST', '/v1/jobs', body)).status).toBe(201)
    await using on = await stage({ strict: true })
    const refused = await startServer(on).call('POST', '/v1/jobs', body)
    expect([refused.status, refused.body.reason_code]).toEqual([400, reason_code])
    expect(refused.body.fields).toMatchObject([{ path }])
  })

  test('C02: a placement takes categories of the IAB alone', async () => {
    await using on = await stage({ strict: true })
    const body = { client_id: 'proj_demo', session_id: 's', job_type: 'chat' } as const
    const send = (blocked_categories: string[]) =>
      on.api.send('POST', '/v1/placements', { as: key, body: { ...body, overrides: { blocked_categories } } })
    expect((await send(['IAB8-5'])).status).toBe(200)
    expect(await send(['sports'])).toMatchObject({ status: 400, body: { reason_code: 'schema_invalid' } })
  })

  test('C02, C03, C07: in a job of the contract form the other fields are ignored, and the response says so', async () => {
    await using on = await stage({ strict: true })
    const body = contractForm({
      context: { client_id: 'proj_demo', topic: '😀'.repeat(200) },
      latency_hint: { predicted_latency_ms: 9_000 },
      routing_hint: { preferred_partner_id: 'nobody' },
      slot_config: { allowed_formats: ['native'], bidfloors: { native: 1_000 } },
      verification: { device: {} },
      delivery: { mode: 'callback', callback_url: 'https://example.com/decided' },
    })
    const { status, headers, body: accepted } = await startServer(on).call('POST', '/v1/jobs', body)
    expect([status, headers.get('x-sandbox-warning')]).toEqual([201, 'fields_ignored, callback_ignored'])
    expect(accepted.decision_delivery).toMatchObject({ mode: 'callback' })
    const slot_id = (accepted.slot_ids as string[])[0]!
    const { body: decided } = await startServer(on).call('GET', `/v1/decisions/${slot_id}`)
    expect(decided.decision).toMatchObject({ fill: true, format: 'native' })
    expect(decided.decision).not.toHaveProperty('metadata')
    expect((await on.api.accept('callbacks.list')).body.items).toEqual([])
  })

  test('C03, C07: a flat job may say how long it takes and where to call, which has no effect', async () => {
    await using on = await stage({ strict: true })
    const body = { ...flat, client_id: 'proj_demo', predicted_latency_ms: 9_000, callback_url: 'https://example.com/' }
    const { status, headers, body: accepted } = await startServer(on).call('POST', '/v1/jobs', body)
    expect([status, headers.get('x-sandbox-warning')]).toEqual([201, 'callback_ignored'])
    const { body: decided } = await startServer(on).call('GET', `/v1/decisions/${(accepted.slot_ids as string[])[0]}`)
    expect(decided.decision).not.toHaveProperty('metadata')
  })

  test('every route of the document is there', async () => {
    await using on = await stage({ strict: true })
    for (const { id, method, path } of Object.values(v1)) {
      if (id === 'render.frame') continue
      const { status, body } = await on.api.send(method, path.replaceAll(/\{\w+\}/g, 'x'), { headers: old })
      expect([path, status, (body as { message?: string }).message]).not.toEqual([path, 404, 'No such path.'])
    }
  })
})
