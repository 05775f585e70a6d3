/**
 * Turns by format and outcome: what the emulator counted, what it would bill, and what the host page could see.
 * The host's own turn is the same whether or not an ad shows: `runTurn` expects that every time.
 *
 * Over 300 lines because every outcome of a turn is tested here.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import type { RendererEvent } from '#renderer/host/events.ts'
import { manualClock } from '#sandbox/index.ts'
import { letTimeSkip, openSlowStage } from './slow-stage.ts'
import { type Host, openStage, type Stage } from './stage.ts'
import {
  endTurn,
  expectNothing,
  frameLoads,
  nothing,
  runTurn,
  startTurn,
  turnState,
  untilCalled,
  view,
  warnings,
} from './turns.ts'

vi.setConfig({ maxConcurrency: 3 })

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

/** Returns a response of the integrator's backend that is an error of the service. */
const refusal = (status: number, reason_code: string, headers: Record<string, string> = {}) => ({
  status,
  headers,
  body: JSON.stringify({ error: reason_code, reason_code, message: 'refused', request_id: 'req_1' }),
})

describe.concurrent('a turn that is filled', () => {
  test.concurrent('before its dwell is met leaves a rendering that is not billed, when it is cancelled', {
    tags: 'depth',
  }, async () => {
    await using host = await stage.open({ html: '<div id="slot" style="margin-top:3000px"></div>' })
    await startTurn(host, { place: { format: 'banner' } })
    const { slot_id } = await host.waitForEvent('beacon', { event: 'render', accepted: true })
    await endTurn(host, 'cancel')
    expect(await turnState(host)).toBe('cancelled')
    expect(await view(host)).toEqual(nothing)
    expect(await host.ledger()).toEqual(['render accepted OK'])
    const { billing } = await stage.client.placements.explain({ params: { slot_id: slot_id! } })
    expect(billing).toMatchObject({ would_bill: false })
  })

  test.concurrent('sends the headers that the host asks for, to its own backend only', async () => {
    await using host = await stage.open()
    const sent = host.page.waitForRequest((request) => request.url().endsWith(host.endpoint))
    const headers = { 'X-CSRF-Token': 'token-1', 'Content-Type': 'application/json' }
    await startTurn(host, { headers, place: { format: 'banner' } })
    expect(await (await sent).allHeaders()).toMatchObject({
      'x-csrf-token': 'token-1',
      'content-type': 'application/json',
    })
    await host.waitForEvent('rendered')
    for (const request of host.requests) expect(await request.allHeaders()).not.toHaveProperty('x-csrf-token')
  })

  test.concurrent('passes an exception of the host through', { tags: 'depth' }, async () => {
    await using host = await stage.open()
    const message = await host.page.evaluate(
      (options) =>
        window
          .SponsoredPlacement!.withTurn(options, () => {
            throw new RangeError('of the host')
          })
          .catch((problem: unknown) => String(problem)),
      { target: '#slot', endpoint: host.endpoint, body: host.body() },
    )
    expect(message).toBe('RangeError: of the host')
  })
})

describe.concurrent('a turn that is not filled', () => {
  test.concurrent.each([
    ['test_forced', 'test', { test_outcome: 'no_fill' }],
    ['below_floor', 'partner', { overrides: { bidfloor: 1_000 } }],
    ['size_mismatch', 'core_policy', { slot_hint: { max_width: 10, max_height: 10 } }],
    ['content_safety', 'core_policy', { prompt: { topic: 'weapons' }, consent: { semantic_targeting: true } }],
  ])(
    'says %s, which %s decided, and leaves the page empty',
    { tags: 'depth' },
    async (no_fill_reason, reason_origin, more) => {
      await using host = await stage.open()
      await runTurn(host, { place: { more } })
      expect(await host.events()).toMatchObject([
        { type: 'turn:started' },
        { type: 'decision', status: 'ready', fill: false },
        { type: 'no_fill', no_fill_reason },
        { type: 'turn:finished' },
      ])
      expect(await turnState(host)).toBe('no_fill')
      await expectNothing(host)
      expect(frameLoads(host)).toEqual([])
      const [{ slot_id = '' } = {}] = (await host.events()).slice(1)
      const explained = await stage.client.placements.explain({ params: { slot_id } })
      expect(explained).toMatchObject({ decision: { reason_origin }, billing: null })
      expect(host.console_lines).toEqual([])
    },
  )

  test.concurrent('for a session that has denied is a no-fill too', async () => {
    await using host = await stage.open()
    const { client_id } = stage.sandbox.keys
    await stage.client.consent.set({ body: { client_id, session_id: host.session_id, decision: 'denied' } })
    await runTurn(host)
    await host.waitForEvent('no_fill', { no_fill_reason: 'consent_not_granted' })
    await expectNothing(host)
  })

  test.concurrent('where the project requires consent and none was given, the refusal is emitted', {
    tags: 'depth',
  }, async () => {
    await using host = await stage.open()
    const strict = stage.sandbox.projects.find(({ client_id }) => client_id === 'proj_strict')!
    const refused = await fetch(`${stage.sandbox.url}/v1/placements`, {
      method: 'POST',
      headers: { authorization: `Bearer ${strict.secret_key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...host.body(), client_id: strict.client_id }),
    })
    host.backend_responses.push({ status: refused.status, body: await refused.text() })
    await runTurn(host)
    await host.waitForEvent('error', { code: 'request_failed', status: 400, reason_code: 'consent_required' })
    await expectNothing(host)
  })
})

describe.concurrent('a turn whose decision is pending', () => {
  const place = { format: 'banner', more: { wait_ms: 0 } } as const

  test.concurrent('polls the slot until it is ready, then shows it', async () => {
    const { slow, clock } = await openSlowStage()
    await using _ = slow
    await using host = await slow.open()
    await startTurn(host, { place })
    await untilCalled(host, 2)
    expect(await turnState(host)).toBe('requesting')
    expect(await view(host)).toMatchObject({ frames: 0, labels: [] })
    clock.advance(60_000)
    const { slot_id } = await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    expect(host.backend_calls[0]).toBe('POST ')
    expect(new Set(host.backend_calls.slice(1))).toEqual(new Set([`GET ?slot_id=${slot_id}&wait_ms=2000`]))
    expect((await host.events()).filter(({ type }) => type === 'decision')).toMatchObject([
      { status: 'ready', fill: true },
    ])
    expect(await host.ledger()).toEqual(['render accepted OK', 'visible accepted OK +viewable_impression'])
    expect(host.console_lines).toEqual([])
  })

  test.concurrent('that ends before it is decided drops the late decision: nothing is mounted or counted', {
    tags: 'depth',
  }, async () => {
    const { slow, clock } = await openSlowStage()
    await using _ = slow
    await using host = await slow.open()
    await startTurn(host, { place })
    await untilCalled(host, 2)
    await endTurn(host)
    clock.advance(60_000)
    const { items } = await slow.client.placements.list({ query: { session_id: host.session_id } })
    expect(items).toMatchObject([{ status: 'ready', fill: true }])
    await host.page.evaluate(() => window.hostTurn!.decision)
    const types = await host.types()
    expect(types.slice(0, 2)).toEqual(['turn:started', 'turn:finished'])
    expect((await host.events()).slice(2)).toMatchObject(types.length > 2 ? [{ code: 'late_decision' }] : [])
    expect(await turnState(host)).toBe('cleared')
    expect(frameLoads(host)).toEqual([])
    await expectNothing(host)
    expect(host.backend_calls).toHaveLength(2)
    const detail = await slow.client.placements.explain({ params: { slot_id: items[0]!.slot_id } })
    expect(detail).toMatchObject({ first_frame_at_ms: null, billing: { would_bill: false } })
  })

  test.concurrent('that ends between two polls stops polling', { tags: 'depth' }, async () => {
    await using host = await stage.open()
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const pending = { ...(await host.place({ format: 'banner' })), status: 'pending', placement: null, decision: null }
    host.backend_responses.push({ body: JSON.stringify(pending) }, { body: JSON.stringify(pending), after: held })
    await startTurn(host)
    await untilCalled(host, 2)
    await endTurn(host)
    release()
    await host.page.evaluate(() => window.hostTurn!.decision)
    expect(host.backend_calls).toHaveLength(2)
    expect(await host.types()).toEqual(['turn:started', 'turn:finished'])
    await expectNothing(host)
  })

  test.concurrent('is polled past a cache that would repeat it, and takes a URL and Headers', {
    tags: 'depth',
  }, async () => {
    await using host = await stage.open()
    const response = await host.place({ format: 'banner' })
    const pending = JSON.stringify({ ...response, status: 'pending', placement: null, decision: null })
    const headers = { 'cache-control': 'public, max-age=60' }
    const sent = host.page.waitForRequest((request) => request.url().endsWith(host.endpoint))
    host.backend_responses.push({ body: pending }, { body: pending, headers }, { body: JSON.stringify(response) })
    await host.page.evaluate(
      ({ endpoint, body }) => {
        const headers = new Headers({ 'x-csrf-token': 'token-1' })
        const options = { target: '#slot', endpoint: new URL(endpoint, location.href), body, headers }
        window.SponsoredPlacement!.startTurn(options)
      },
      { endpoint: host.endpoint, body: host.body() },
    )
    expect(await (await sent).allHeaders()).toMatchObject({ 'x-csrf-token': 'token-1' })
    await host.waitForEvent('rendered')
    expect(host.backend_calls).toHaveLength(3)
  })

  test.concurrent('that is never decided is given up after half a minute', async () => {
    const { slow } = await openSlowStage()
    await using _ = slow
    await using host = await slow.open({ before: (page) => page.addInitScript(letTimeSkip) })
    await startTurn(host, { place })
    await untilCalled(host, 2)
    await host.page.evaluate(() => {
      window.skipped_ms = 31_000
    })
    await host.waitForEvent('error', { code: 'decision_pending' })
    expect(await turnState(host)).toBe('failed')
    expect((await host.types()).filter((type) => type === 'error')).toHaveLength(1)
    await expectNothing(host)
  })

  test.concurrent.each([
    ['an error', refusal(404, 'not_found'), { code: 'request_failed', status: 404, reason_code: 'not_found' }],
    ['what cannot be read', { body: '<h1>Log in</h1>' }, { code: 'response_unreadable' }],
    ['a slot that has expired', { body: '{"slot_id":"slot_1","status":"expired"}' }, { code: 'decision_expired' }],
  ] as const)('and then is %s ends without an ad', async (_, answer, error) => {
    await using host = await stage.open()
    host.backend_responses.push({ body: '{"slot_id":"slot_1","status":"pending"}' }, answer)
    await runTurn(host)
    await host.waitForEvent('error', error)
    expect(host.backend_calls).toEqual(['POST ', 'GET ?slot_id=slot_1&wait_ms=2000'])
    await expectNothing(host)
  })

  test.concurrent('respects a rate limit between two polls', { tags: 'depth' }, async () => {
    await using host = await stage.open()
    const response = await host.place({ format: 'banner' })
    host.backend_responses.push(
      { body: JSON.stringify({ ...response, status: 'pending', placement: null, decision: null }) },
      refusal(429, 'rate_limited', { 'retry-after': '1' }),
    )
    await startTurn(host)
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
    const look = `GET ?slot_id=${response.slot_id}&wait_ms=2000`
    expect(host.backend_calls).toEqual(['POST ', look, look])
    const [started, decided] = [await host.waitForEvent('turn:started'), await host.waitForEvent('decision')]
    expect(decided.at_ms - started.at_ms).toBeGreaterThan(1_200)
  })

  test.concurrent('may still become a no-fill', { tags: 'depth' }, async () => {
    const { slow, clock } = await openSlowStage()
    await using _ = slow
    await using host = await slow.open()
    await startTurn(host, { place })
    await untilCalled(host, 2)
    const { client_id } = slow.sandbox.keys
    await slow.client.consent.set({ body: { client_id, session_id: host.session_id, decision: 'withdrawn' } })
    clock.advance(60_000)
    await host.waitForEvent('no_fill', { no_fill_reason: 'consent_not_granted' })
    expect(await turnState(host)).toBe('no_fill')
    await expectNothing(host)
  })
})

describe.concurrent('a backend that is limited or down', () => {
  const banner = { place: { format: 'banner' } } as const
  /** Returns the time that the page waited for the decision, milliseconds. */
  async function waited(host: Host): Promise<number> {
    const [started, decided] = [await host.waitForEvent('turn:started'), await host.waitForEvent('decision')]
    return decided.at_ms - started.at_ms
  }

  test.concurrent.each([
    ['429', 'seconds', () => '1'],
    ['429', 'an HTTP date', () => new Date(Date.now() + 8_000).toUTCString()],
    ['503', 'seconds', () => '1'],
  ])('with %s is asked again after Retry-After in %s', { tags: 'depth' }, async (status, _, retry_after) => {
    await using host = await stage.open()
    host.backend_responses.push(refusal(Number(status), 'rate_limited', { 'retry-after': retry_after() }))
    await startTurn(host, banner)
    expect(await waited(host)).toBeGreaterThan(900)
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
    expect(host.backend_calls).toEqual(['POST ', 'POST '])
    expect(await host.types()).not.toContain('error')
  })

  test.concurrent('gets three requests at most', async () => {
    await using host = await stage.open()
    const down = refusal(503, 'injected_fault', { 'retry-after': '0' })
    host.backend_responses.push(down, down, down, down)
    await runTurn(host)
    await host.waitForEvent('error', { code: 'request_failed', status: 503, reason_code: 'injected_fault' })
    expect(host.backend_calls).toEqual(['POST ', 'POST ', 'POST '])
    await expectNothing(host)
  })

  test.concurrent.each([
    [429, 'rate_limited', {}],
    [429, 'rate_limited', { 'retry-after': '11' }],
    [429, 'rate_limited', { 'retry-after': 'soon' }],
    [503, 'injected_fault', {}],
    [500, 'internal_error', {}],
    [401, 'key_unknown', {}],
    [403, 'project_mismatch', {}],
  ])('with %i %s %o is not asked again', { tags: 'depth' }, async (status, reason_code, headers) => {
    await using host = await stage.open()
    host.backend_responses.push(refusal(status, reason_code, headers as Record<string, string>))
    await runTurn(host)
    expect(await host.events()).toMatchObject([
      { type: 'turn:started' },
      { type: 'error', code: 'request_failed', status, reason_code },
      { type: 'turn:finished' },
    ])
    expect(host.backend_calls).toEqual(['POST '])
    expect(await turnState(host)).toBe('failed')
    await expectNothing(host)
  })

  test.concurrent("with an error that is not the service's names the status", { tags: 'depth' }, async () => {
    await using host = await stage.open()
    host.backend_responses.push({ status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad gateway</h1>' })
    await runTurn(host)
    const found = { status: 502, reason_code: 'http_502', request: `POST ${host.endpoint}`, content_type: 'text/html' }
    await host.waitForEvent('error', { code: 'request_failed', ...found })
    await expectNothing(host)
  })

  test.concurrent('gets no more requests after the turn has ended', { tags: 'depth' }, async () => {
    await using host = await stage.open()
    host.backend_responses.push(refusal(429, 'rate_limited', { 'retry-after': '9' }))
    const answered = host.page.waitForResponse((response) => response.url().endsWith(host.endpoint))
    await startTurn(host)
    await (await answered).finished()
    await endTurn(host)
    await host.page.evaluate(() => window.hostTurn!.decision)
    expect(await host.types()).toEqual(['turn:started', 'turn:finished'])
    expect(host.backend_calls).toEqual(['POST '])
    await expectNothing(host)
  })

  test.concurrent('by the emulator: a second turn within the same second waits', { tags: 'depth' }, async () => {
    const clock = manualClock(Date.now())
    await using limited = await openStage({ clock, rate_limit: '1/s' })
    await using host = await limited.open()
    await host.place()
    const refused = host.page.waitForResponse((response) => response.url().endsWith(host.endpoint))
    await startTurn(host, banner)
    const answer = await refused
    expect([answer.status(), answer.headers()['retry-after']]).toEqual([429, '1'])
    clock.advance(1_000)
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
    expect(host.backend_calls).toEqual(['POST ', 'POST '])
    expect(await host.types()).not.toContain('error')
  })

  test.concurrent('by the emulator for a minute: the turn continues without an ad', { tags: 'depth' }, async () => {
    await using limited = await openStage({ rate_limit: '1/min' })
    await using host = await limited.open()
    await host.place()
    await runTurn(host)
    await host.waitForEvent('error', { code: 'request_failed', status: 429, reason_code: 'rate_limited' })
    expect(host.backend_calls).toEqual(['POST '])
    await expectNothing(host)
  })

  test.concurrent('that cannot be reached is an error', async () => {
    await using host = await stage.open()
    await host.context.route(`**${host.endpoint}`, (route) => route.abort())
    await runTurn(host)
    expect(await host.waitForEvent('error', { code: 'request_failed' })).toMatchObject({
      message: expect.stringMatching(/\w/),
    })
    expect(await turnState(host)).toBe('failed')
    await expectNothing(host)
  })
})

describe.concurrent('a response that cannot be read', () => {
  test.concurrent('because it is no JSON', async () => {
    await using host = await stage.open()
    for (const body of ['', 'not json', '{"slot_id": "slot_1", "placement": {', '<!doctype html><h1>Log in</h1>']) {
      host.backend_responses.push({ body })
      await runTurn(host)
    }
    const errors = (await host.events()).filter(({ type }) => type === 'error')
    expect(errors).toHaveLength(4)
    for (const error of errors) expect(error).toMatchObject({ code: 'response_unreadable', got: [expect.any(String)] })
    await expectNothing(host)
  })

  type Reshape = (response: PlacementResponse) => unknown
  const ofPlacement =
    (change: (placement: NonNullable<PlacementResponse['placement']>) => object): Reshape =>
    (response) => ({ ...response, placement: change(response.placement!) })
  const ofRender = (change: object): Reshape =>
    ofPlacement((placement) => ({ ...placement, render: { ...placement.render, ...change } }))

  const reshaped: Record<string, [Reshape, string[]]> = {
    null: [() => null, ['string: null']],
    'a number': [() => 5, ['number: 5']],
    'a string': [() => 'slot_1', ['string: slot_1']],
    'an array': [(response) => [response], ['object: [object Object]']],
    'an empty object': [() => ({}), []],
    wrapped: [(response) => ({ data: response, meta: {} }), ['data', 'meta']],
    'camel case': [({ slot_id, status }) => ({ slotId: slot_id, status, ad: {} }), ['slotId', 'status', 'ad']],
    'a fill without a placement': [
      (response) => ({ ...response, placement: null }),
      ['slot_id', 'status', 'placement', 'decision', 'authoritative_consent'],
    ],
    'pending without a slot': [() => ({ status: 'pending', placement: null }), ['status', 'placement']],
    'a status of another kind': [() => ({ slot_id: 'slot_1', status: 'done' }), ['slot_id', 'status']],
    'a placement without render': [ofPlacement(() => ({ asset_token: 'ast_1' })), ['placement.asset_token']],
    'a token of another name': [
      ofPlacement(({ asset_token, render }) => ({ token: asset_token, render })),
      ['placement.token', 'placement.render'],
    ],
  }
  const badRender: Record<string, Reshape> = {
    'another strategy': ofRender({ strategy: 'inline_html', html: '<b>buy</b>' }),
    'a relative address': ofRender({ frame_url: '/v1/render/ast_1' }),
    'a script for an address': ofRender({ frame_url: 'javascript:alert(1)' }),
    'no address': ofRender({ frame_url: undefined }),
    'a width in text': ofRender({ width: '300' }),
    'a height of zero': ofRender({ height: 0 }),
    'a media type of another kind': ofRender({ media_type: 'audio' }),
    'no label': ofRender({ label_text: '  ' }),
    'no sponsor': ofRender({ sponsor_name: null }),
  }

  test.concurrent('because it has another shape: its fields are reported', { tags: 'depth' }, async () => {
    await using host = await stage.open()
    const response = await host.place({ format: 'banner' })
    for (const [reshape] of Object.values(reshaped)) {
      host.backend_responses.push({ body: JSON.stringify(reshape(response)) })
      await runTurn(host)
    }
    const errors = (await host.events()).filter(({ type }) => type === 'error')
    expect(
      errors.map((error) => [(error as RendererEvent<'error'>).code, (error as RendererEvent<'error'>).got]),
    ).toEqual(Object.values(reshaped).map(([, got]) => ['response_unreadable', got]))
    await expectNothing(host)
    expect(frameLoads(host)).toEqual([])
    expect(warnings(host)).toHaveLength(Object.keys(reshaped).length)
    expect(host.console_lines).toEqual(warnings(host))
  })

  test.concurrent('because its placement cannot be rendered', { tags: 'depth' }, async () => {
    await using host = await stage.open()
    const response = await host.place({ format: 'banner' })
    const got = Object.keys(response.placement!).map((name) => `placement.${name}`)
    for (const reshape of Object.values(badRender)) {
      host.backend_responses.push({ body: JSON.stringify(reshape(response)) })
      await runTurn(host)
    }
    const errors = (await host.events()).filter(({ type }) => type === 'error')
    expect(errors).toHaveLength(Object.keys(badRender).length)
    for (const error of errors) expect(error).toMatchObject({ code: 'response_unreadable', got })
    await expectNothing(host)
    expect(frameLoads(host)).toEqual([])
  })
})
