import { get, type IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { contract } from '#contract/index.ts'
import { openapiDocument } from '#contract/openapi/document.ts'
import { SandboxEvent as EventSchema, type SandboxEvent } from '#contract/resources/events.ts'
import type { SandboxInfo } from '#contract/resources/sandbox/sandbox.ts'
import type { JsonObject } from '#foundation/json.ts'
import type { Call } from './call.ts'
import {
  activate,
  asked,
  beacon,
  fill,
  folder,
  key,
  origin,
  otherKey,
  publishable,
  type Stage,
  stage,
  strictKey,
  withoutTimeouts,
} from './stage.ts'

/** Follows the event stream; `next` waits for one more event. */
async function follow(on: Stage, query = '', headers: Record<string, string> = {}) {
  const events: SandboxEvent[] = []
  let text = ''
  let wake: (() => void) | undefined
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = get(`${on.sandbox.url}/_sandbox/events${query}`, { headers }, resolve)
    request.on('error', reject)
  })
  expect(response.headers['content-type']).toBe('text/event-stream')
  expect(response.headers['cache-control']).toBe('no-store')
  expect(response.headers['x-request-id']).toMatch(/^req_/)
  response.on('error', () => {})
  response.on('data', (chunk) => {
    text += String(chunk)
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n')
      text = text.slice(end + 2)
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = field('data')
      if (data === undefined) continue
      const event = EventSchema.parse(JSON.parse(data))
      expect([field('id'), field('event')]).toEqual([String(event.seq), event.type])
      events.push(event)
      wake?.()
    }
  })
  return {
    events,
    async until(count: number) {
      while (events.length < count) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return events
    },
    stop: () => response.destroy(),
  }
}

describe('health and info', () => {
  test('live and ready respond, info describes this sandbox', async () => {
    await using on = await stage({ seed: 3 })
    expect((await on.api.accept('health.live')).body).toEqual({ ok: true })
    expect((await on.api.accept('health.ready')).body).toEqual({ ok: true })
    await fill(on.api)
    const { body } = await on.api.accept('sandbox.info')
    expect(body).toMatchObject({
      version: on.sandbox.version,
      pid: process.pid,
      url: on.sandbox.url,
      inspector_url: `${on.sandbox.url}/_sandbox/`,
      database: on.sandbox.database,
      seed: 3,
      clock: { now_ms: on.clock.now(), frozen: true },
      journal: { enabled: true, limit: 50_000, size: 1, dropped: 0 },
      events: { limit: 100_000, size: 1, dropped: 0, last_dropped_seq: 0 },
    })
    expect(body.projects.map(({ client_id }) => client_id)).toEqual(['proj_demo', 'proj_other', 'proj_strict'])
    expect(JSON.stringify(body)).not.toMatch(/(sk|pk)_/)
  })

  test('the contract and its OpenAPI document are served', async () => {
    await using on = await stage()
    const { body } = await on.api.accept('contract.show')
    expect(body.endpoints).toHaveLength(Object.keys(contract).length)
    expect((await on.api.accept('contract.openapi')).body).toMatchObject({ openapi: '3.1.0' })
  })

  test('the home of the control plane is a page with a strict policy', async () => {
    await using on = await stage()
    const { status, headers } = await on.api.send('GET', '/_sandbox/')
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(headers['x-content-type-options']).toBe('nosniff')
    for (const path of ['/', '/_sandbox']) {
      const home = await on.api.send('GET', path)
      expect([path, home.status, home.headers.location]).toEqual([path, 302, '/_sandbox/'])
    }
  })

  test('a path that has a page too shows it where an address is opened, and the JSON to anybody else', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    const opened = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    const readType = async (path: string, headers: NonNullable<Call['headers']>) => {
      const { status, headers: received } = await on.api.open(path, headers)
      return `${status} ${received['content-type']?.split(';')[0]}`
    }
    for (const path of [
      'placements',
      `placements/${slot_id}`,
      'beacons',
      'requests',
      'callbacks',
      'consent',
      'evidence',
      'billing',
      'projects',
      'projects/proj_demo',
    ]) {
      const url = `/_sandbox/${path}`
      expect([path, await readType(url, opened)]).toEqual([path, '200 text/html'])
      // A browser from before Sec-Fetch-Mode.
      expect([path, await readType(url, { accept: 'text/html,*/*' })]).toEqual([path, '200 text/html'])
      expect([path, await readType(`${url}?raw`, opened)]).toEqual([path, '200 application/json'])
      expect([path, await readType(`${url}?raw`, { accept: '*/*' })]).toEqual([path, '200 application/json'])
      expect([path, await readType(url, { accept: '*/*' })]).toEqual([path, '200 application/json'])
      expect([path, await readType(url, { accept: 'application/json' })]).toEqual([path, '200 application/json'])
      expect([path, await readType(url, { ...opened, 'sec-fetch-mode': 'cors' })]).toEqual([
        path,
        '200 application/json',
      ])
    }
    for (const path of ['', `jobs/x`, 'sessions/x', 'id/x', 'playground', 'controls', 'reference']) {
      expect([path, await readType(`/_sandbox/${path}`, { accept: '*/*' })]).toEqual([path, '200 text/html'])
    }
    for (const path of ['nothing', 'sessions', 'demo/nothing', 'placements/slot_1/nothing']) {
      expect([path, await readType(`/_sandbox/${path}`, opened)]).toEqual([path, '404 text/html'])
      expect([path, await readType(`/_sandbox/${path}`, { accept: 'text/html,*/*' })]).toEqual([path, '404 text/html'])
      expect([path, await readType(`/_sandbox/${path}`, { accept: '*/*' })]).toEqual([path, '404 application/json'])
    }
    expect(await readType('/_sandbox/reset', opened)).toBe('405 application/json')
    expect(await readType('/v1/nothing', opened)).toBe('404 application/json')
    const elsewhere = await on.api.send('GET', '/_sandbox/beacons?event=click', {
      headers: { ...opened, host: `localhost:${on.sandbox.port}` },
    })
    expect([elsewhere.status, elsewhere.headers.location]).toEqual([
      302,
      `${on.sandbox.url}/_sandbox/beacons?event=click`,
    ])
  })

  test('without JavaScript the page links to lists that respond with JSON', async () => {
    await using on = await stage()
    const html = await (await fetch(`${on.sandbox.url}/_sandbox/`)).text()
    const links = [...(/<noscript>.*<\/noscript>/.exec(html)?.[0] ?? '').matchAll(/href="([^"]+)"/g)]
    expect(links.map(([, path]) => path)).toContain('/_sandbox/placements?raw')
    for (const [, path] of links) {
      const { status, headers } = await on.api.open(path!, { 'sec-fetch-mode': 'navigate' })
      expect([path, status, headers['content-type']]).toEqual([path, 200, 'application/json; charset=utf-8'])
    }
  })

  test('unknown paths, methods and fields are rejected as everywhere', async () => {
    await using on = await stage()
    expect((await on.api.send('GET', '/_sandbox/nothing')).status).toBe(404)
    const { status, headers } = await on.api.send('POST', '/_sandbox/info')
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS'])
    expect((await on.api.refuse('sandbox.info', { query: { v: 1 } })).body.reason_code).toBe('field_unknown')
    expect((await on.api.refuse('placements.list', { query: { limit: 0 } })).body.reason_code).toBe('schema_invalid')
    expect((await on.api.refuse('placements.list', { query: { limit: 1001 } })).body.reason_code).toBe('schema_invalid')
    expect((await on.api.refuse('placements.list', { query: { cursor: '!' } })).body.reason_code).toBe('schema_invalid')
    expect((await on.api.refuse('placements.list', { query: { since: 'soon' } })).body.reason_code).toBe(
      'schema_invalid',
    )
  })
})

describe('lists', () => {
  test('are newest first, and cursors lead through all without a gap or a repetition', async () => {
    await using on = await stage()
    const made: string[] = []
    for (let count = 0; count < 7; count++) made.unshift((await fill(on.api)).slot_id)
    const walked: string[] = []
    let cursor: string | null = null
    do {
      const query: Record<string, string | number> = cursor === null ? { limit: 3 } : { limit: 3, cursor }
      const { body } = await on.api.accept('placements.list', { query })
      expect(body.items.length).toBeLessThanOrEqual(3)
      walked.push(...body.items.map(({ slot_id }) => slot_id))
      cursor = body.next_cursor
    } while (cursor !== null)
    expect(walked).toEqual(made)
    const exact = await on.api.accept('placements.list', { query: { limit: 7 } })
    expect(exact.body.next_cursor).toBeNull()
  })

  test('of placements filter by project, session, campaign, format, outcome and time', async () => {
    await using on = await stage()
    const early = on.clock.now()
    await fill(on.api, { format: 'banner', body: asked({ session_id: 'a' }) })
    await fill(on.api, { format: 'clip', body: asked({ session_id: 'b' }) })
    on.clock.advance(600_000)
    await on.api.accept('placements.create', { as: key, body: asked({ session_id: 'a', test_outcome: 'no_fill' }) })
    await fill(on.api, { as: otherKey, format: 'banner', body: asked({ client_id: 'proj_other', session_id: 'a' }) })
    const count = async (query: Record<string, string | number>) =>
      (await on.api.accept('placements.list', { query })).body.items.length
    expect(await count({})).toBe(4)
    expect(await count({ client_id: 'proj_demo' })).toBe(3)
    expect(await count({ client_id: 'proj_nobody' })).toBe(0)
    expect(await count({ session_id: 'a' })).toBe(3)
    expect(await count({ session_id: 'a', client_id: 'proj_other' })).toBe(1)
    const { items } = (await on.api.accept('placements.list')).body
    const ofOne = items.filter(({ campaign_id }) => campaign_id === items.at(-1)!.campaign_id)
    expect(await count({ campaign_id: items.at(-1)!.campaign_id! })).toBe(ofOne.length)
    expect(await count({ campaign_id: 'cmp_nobody' })).toBe(0)
    expect((await on.api.refuse('placements.list', { query: { campaign_id: 'nobody' } })).status).toBe(400)
    expect(await count({ session_id: 'nobody' })).toBe(0)
    expect(await count({ format: 'banner' })).toBe(2)
    expect(await count({ fill: 'true' })).toBe(3)
    expect(await count({ fill: 'false' })).toBe(1)
    expect(await count({ since: '10m' })).toBe(4)
    expect(await count({ since: '599s' })).toBe(2)
    expect(await count({ since: early + 1 })).toBe(2)
    const { body } = await on.api.accept('placements.list', { query: { fill: 'false' } })
    expect(body.items[0]).toEqual({
      slot_id: expect.any(String),
      job_id: expect.any(String),
      client_id: 'proj_demo',
      session_id: 'a',
      job_type: 'chat',
      mode: 'test',
      format: null,
      status: 'ready',
      fill: false,
      no_fill_reason: 'test_forced',
      campaign_id: null,
      created_at_ms: early + 600_000,
      decided_at_ms: early + 600_000,
    })
  })

  test('of beacons contain accepted, duplicate and rejected ones, and filter', async () => {
    await using on = await stage()
    const banner = await fill(on.api, { format: 'banner', body: asked({ session_id: 'a' }) })
    const clip = await fill(on.api, { format: 'clip', body: asked({ session_id: 'b' }) })
    const render = beacon(on.clock, banner, 'render')
    await on.api.accept('beacons.send', { as: key, body: render })
    await on.api.accept('beacons.send', { as: key, body: render })
    await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, clip, 'play_started') })
    await on.api.refuse('beacons.send', { as: key, body: beacon(on.clock, banner, 'play_started') })
    await on.api.refuse('beacons.send', { as: key, body: { ...render, asset_token: 'x' } })
    await on.api.refuse('beacons.send', { as: key, body: {} })
    const listed = async (query: Record<string, string | number> = {}) =>
      (await on.api.accept('beacons.list', { query })).body.items.map(({ verdict }) => verdict)
    expect(await listed()).toEqual(['rejected', 'rejected', 'rejected', 'accepted', 'duplicate', 'accepted'])
    expect(await listed({ slot_id: banner.slot_id })).toEqual(['rejected', 'duplicate', 'accepted'])
    expect(await listed({ event: 'play_started' })).toEqual(['rejected', 'accepted'])
    expect(await listed({ verdict: 'duplicate' })).toEqual(['duplicate'])
    expect(await listed({ format: 'clip' })).toEqual(['accepted'])
    expect(await listed({ session_id: 'a' })).toEqual(['rejected', 'duplicate', 'accepted'])
    expect(await listed({ client_id: 'proj_other' })).toEqual([])
    expect(await listed({ slot_id: 'slot_00000000000' })).toEqual([])
    expect((await on.api.refuse('beacons.list', { query: { slot_id: 'nonsense' } })).body.reason_code).toBe(
      'schema_invalid',
    )
    const walked: string[] = []
    let cursor: string | null = null
    do {
      const query: Record<string, string | number> = cursor === null ? { limit: 1 } : { limit: 1, cursor }
      const { body } = await on.api.accept('beacons.list', { query })
      walked.push(...body.items.map(({ verdict }) => verdict))
      cursor = body.next_cursor
    } while (cursor !== null)
    expect(walked).toEqual(['rejected', 'rejected', 'rejected', 'accepted', 'duplicate', 'accepted'])
  })

  test('of requests contain every exchange of v1, errors included, and filter', async () => {
    await using on = await stage()
    const created = await on.api.accept('placements.create', { as: key, body: asked() })
    const refused = await on.api.refuse('placements.create', { body: asked() })
    const missing = await on.api.send('GET', '/v1/nothing')
    await on.api.accept('sandbox.info')
    const { body } = await on.api.accept('requests.list')
    expect(body.items.map(({ request_id }) => request_id)).toEqual(
      [missing, refused, created].map(({ headers }) => headers['x-request-id']),
    )
    expect(body.items.at(-1)).toMatchObject({
      method: 'POST',
      path: '/v1/placements',
      status: 200,
      reason_code: null,
      client_id: 'proj_demo',
      session_id: 'sess_1',
      slot_id: created.body.slot_id,
    })
    const count = async (query: Record<string, string | number>) =>
      (await on.api.accept('requests.list', { query })).body.items.length
    expect(await count({ status: 401 })).toBe(1)
    expect(await count({ method: 'get' })).toBe(1)
    expect(await count({ path: '/v1/pl' })).toBe(2)
    expect(await count({ reason: 'credential_missing' })).toBe(1)
    expect(await count({ session_id: 'sess_1' })).toBe(1)
    expect(await count({ limit: 2 })).toBe(2)
  })

  test('the journal is bounded, and counts what it dropped', async () => {
    await using on = await stage({ journal_limit: 10 })
    for (let count = 0; count < 100; count++) await on.api.send('GET', '/v1/nothing')
    const { items } = (await on.api.accept('requests.list', { query: { limit: 1000 } })).body
    const { journal } = (await on.api.accept('sandbox.info')).body
    expect(journal.size).toBe(items.length)
    expect(journal.size + journal.dropped).toBe(100)
    expect(journal.dropped).toBeGreaterThan(0)
  })

  test('events are bounded; a client that resumes too late learns what was dropped', { tags: 'depth' }, async () => {
    using dir = folder()
    const options = { database: `${dir.path}/sandbox.db`, event_limit: 10, rate_limit: 'off' }
    const session = (count: number) => ({ client_id: 'proj_demo', session_id: `sess_${count}` })
    let events: SandboxInfo['events']
    {
      await using on = await stage(options)
      for (let count = 1; count <= 300; count++) {
        await on.api.accept('consent.set', { as: key, body: session(count) })
      }
      events = (await on.api.accept('sandbox.info')).body.events
      expect(events).toMatchObject({ limit: 10, last_dropped_seq: events.dropped })
      expect(events.size + events.dropped).toBe(300)
      expect(events.dropped).toBeGreaterThan(7)
    }
    await using on = await stage(options)
    expect((await on.api.accept('sandbox.info')).body.events).toEqual(events)
    const { dropped } = events
    const late = await follow(on, '?since_seq=7&type=beacon.*')
    expect((await late.until(1))[0]).toMatchObject({ seq: dropped, type: 'events.dropped', data: { after_seq: 7 } })
    late.stop()
    const resumed = await follow(on, '', { 'last-event-id': '7' })
    const [gap, first] = await resumed.until(2)
    expect([gap?.seq, first?.seq, first?.type]).toEqual([dropped, dropped + 1, 'consent.changed'])
    resumed.stop()
    const since = await follow(on, '?since=1h')
    expect((await since.until(1))[0]).toMatchObject({ seq: dropped, type: 'events.dropped' })
    since.stop()
    const inTime = await follow(on, `?since_seq=${dropped}`)
    expect((await inTime.until(1))[0]).toMatchObject({ seq: dropped + 1, type: 'consent.changed' })
    inTime.stop()
    await on.api.accept('sandbox.reset')
    expect((await on.api.accept('sandbox.info')).body.events).toMatchObject({ dropped: 0, last_dropped_seq: 0 })
    const after = await follow(on, '?since_seq=7')
    expect(await after.until(1)).toMatchObject([{ seq: 301, type: 'sandbox.reset' }])
    after.stop()
  })

  test('a journal that is off stores nothing', async () => {
    await using on = await stage({ journal_limit: 0 })
    await fill(on.api)
    expect((await on.api.accept('requests.list')).body.items).toEqual([])
    expect((await on.api.accept('sandbox.info')).body.journal).toMatchObject({ enabled: false, size: 0 })
  })
})

describe('one request', () => {
  test('shows both sides, with the credential and the tokens redacted', async () => {
    await using on = await stage()
    const { headers, body } = await on.api.accept('placements.create', { as: key, body: asked() })
    const request_id = String(headers['x-request-id'])
    const { body: detail } = await on.api.accept('requests.show', { params: { request_id } })
    expect(detail.request_headers.authorization).toBe('Bearer sk_test_redacted')
    expect(JSON.parse(detail.request_body!)).toEqual(asked())
    expect(detail.response_headers['x-request-id']).toBe(request_id)
    const answered = JSON.parse(detail.response_body!) as { slot_id: string; decision: { asset_token: string } }
    expect(answered.slot_id).toBe(body.slot_id)
    expect(answered.decision.asset_token).toMatch(/^ast_[0-9a-z]{11}_redacted$/)
    for (const unknown of ['req_00000000000', 'x']) {
      expect((await on.api.refuse('requests.show', { params: { request_id: unknown } })).status).toBe(404)
    }
  })
})

describe('explaining a placement', () => {
  test('names each campaign and the rule that removed it, and the request to partners', async () => {
    await using on = await stage()
    const body = asked({
      prompt: { topic: 'coffee' },
      consent: { semantic_targeting: true, gdpr_applies: true },
      slot_hint: { max_width: 400, max_height: 300 },
      overrides: {
        allowed_formats: ['banner'],
        bidfloor: 1,
        bidfloor_currency: 'EUR',
        blocked_categories: ['IAB25'],
        blocked_domains: ['notewick.example'],
      },
    })
    const filled = await fill(on.api, { body: { ...body } })
    const { body: detail } = await on.api.accept('placements.explain', { params: { slot_id: filled.slot_id } })
    expect(detail).toMatchObject({
      slot_id: filled.slot_id,
      topic: 'coffee',
      campaign_id: 'cmp_larkfield_coffee',
      fill: true,
    })
    expect(detail.trace.filter(({ outcome }) => outcome === 'won').map(({ campaign_id }) => campaign_id)).toEqual([
      'cmp_larkfield_coffee',
    ])
    const removed = Object.fromEntries(detail.trace.map(({ campaign_id, rule }) => [campaign_id, rule]))
    expect(removed).toMatchObject({
      cmp_notewick: 'blocked_domain',
      cmp_kilnworth_home: 'floor',
      cmp_sorrelbox: 'topic',
      cmp_hoshimine_tea: 'country',
      cmp_small_wonders_museum: 'flight',
      cmp_tessmark: 'job_type',
    })
    for (const { explanation } of detail.trace) expect(explanation).toMatch(/\.$/)
    expect(detail.partner_request).toEqual({
      job_type: 'chat',
      formats: ['banner'],
      topic: 'coffee',
      country: null,
      max_width: 400,
      max_height: 300,
      floors: { banner: 1, clip: 1, native: 1 },
      floor_currency: 'EUR',
      blocked_categories: ['IAB25'],
      blocked_domains: ['notewick.example'],
      gdpr_applies: true,
    })
    expect(detail.consent).toMatchObject({ lifecycle_state: 'granted', purposes: { semantic_targeting: true } })
    expect(detail.evidence.map(({ kind }) => kind)).toEqual(['decision'])
    expect(detail.billing).toMatchObject({ metric: 'viewable_impression', would_bill: false, gross_cpm: 4.2 })
    expect(detail.decision?.asset_token).toMatch(/redacted$/)
  })

  test('of a policy no-fill has no trace, of a pending slot no decision; an unknown slot is 404', async () => {
    await using on = await stage({ decision_latency_ms: 1_000 })
    const { body } = await on.api.accept('jobs.create', { as: key, body: { client_id: 'proj_demo' } })
    const params = { slot_id: body.slot_ids[0]! }
    const pending = (await on.api.accept('placements.explain', { params })).body
    expect(pending).toMatchObject({
      status: 'pending',
      fill: null,
      decision: null,
      trace: [],
      partner_request: null,
      billing: null,
    })
    await using now = await stage()
    const forced = await now.api.accept('placements.create', { as: key, body: asked({ test_outcome: 'no_fill' }) })
    const detail = (await now.api.accept('placements.explain', { params: { slot_id: forced.body.slot_id } })).body
    expect(detail).toMatchObject({ fill: false, trace: [], partner_request: null, billing: null })
    expect((await now.api.refuse('placements.explain', { params: { slot_id: 'slot_x' } })).status).toBe(404)
  })

  test('shows when the frame was first loaded', async () => {
    await using on = await stage()
    const { slot_id, asset_token } = await fill(on.api)
    const read = async () => (await on.api.accept('placements.explain', { params: { slot_id } })).body.first_frame_at_ms
    expect(await read()).toBeNull()
    on.clock.advance(5_000)
    await on.api.accept('render.frame', { params: { asset_token } })
    const first = on.clock.now()
    on.clock.advance(5_000)
    await on.api.accept('render.frame', { params: { asset_token } })
    expect(await read()).toBe(first)
  })
})

describe('reset', () => {
  test('leaves the seeded rows and nothing else; old tokens, slots and sessions are gone', async () => {
    await using on = await stage()
    const token = await activate(on.api)
    await on.api.accept('consent.set', { as: key, body: { client_id: 'proj_demo', session_id: 'sess_1' } })
    const filled = await fill(on.api)
    await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
    expect((await on.api.accept('sandbox.reset', { body: {} })).body).toEqual({ ok: true })
    expect((await on.api.accept('placements.list')).body.items).toEqual([])
    expect((await on.api.accept('beacons.list')).body.items).toEqual([])
    expect((await on.api.accept('requests.list')).body.items).toEqual([])
    expect((await on.api.accept('evidence.verify')).body.chains.map(({ entries }) => entries)).toEqual([0, 0, 0])
    const stale = await on.api.refuse('placements.create', { as: token, origin, body: asked() })
    expect(stale.body.reason_code).toBe('activation_token_invalid')
    expect((await on.api.refuse('decisions.get', { as: key, params: { slot_id: filled.slot_id } })).status).toBe(404)
    expect((await on.api.refusePage('render.frame', { params: { asset_token: filled.asset_token } })).status).toBe(404)
    const old = beacon(on.clock, filled, 'visible')
    expect((await on.api.refuse('beacons.send', { as: key, body: old })).body.reason_code).toBe('asset_token_invalid')
    const fresh = await fill(on.api)
    expect(fresh.slot_id > filled.slot_id).toBe(true)
    const { body } = await on.api.accept('decisions.get', { as: key, params: { slot_id: fresh.slot_id } })
    expect(body.authoritative_consent?.source).toBe('none')
  })

  test('refills the rate buckets, and event numbers keep growing', async () => {
    await using on = await stage({ rate_limit: '1/min' })
    const before = await follow(on, '?since_seq=0')
    await on.api.accept('placements.create', { as: key, body: asked() })
    await before.until(1)
    await on.api.accept('sandbox.reset')
    await on.api.accept('placements.create', { as: key, body: asked() })
    const events = await before.until(3)
    before.stop()
    expect(events.map(({ type }) => type)).toEqual(['placement.decided', 'sandbox.reset', 'placement.decided'])
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3])
  })

  test('event numbers keep growing after a restart', async () => {
    using dir = folder()
    const database = `${dir.path}/sandbox.db`
    {
      await using on = await stage({ database })
      await fill(on.api)
      await on.api.accept('sandbox.reset')
    }
    await using on = await stage({ database })
    await fill(on.api)
    const stream = await follow(on, '?since_seq=0')
    const events = await stream.until(2)
    stream.stop()
    expect(events.map(({ seq, type }) => [seq, type])).toEqual([
      [2, 'sandbox.reset'],
      [3, 'placement.decided'],
    ])
  })

  test('drops pending decisions, and responds to requests that wait for them', async () => {
    await using on = await stage({ decision_latency_ms: 1_000 })
    const { body } = await on.api.accept('jobs.create', { as: key, body: { client_id: 'proj_demo' } })
    const call = { as: key, params: { slot_id: body.slot_ids[0]! }, query: { wait_ms: 5000 } }
    await withoutTimeouts(async () => {
      const waiting = on.api.accept('decisions.get', call)
      for (let round = 0; round < 10; round++) await on.api.accept('health.live')
      await on.api.accept('sandbox.reset')
      expect((await waiting).body.status).toBe('pending')
    })
    on.clock.advance(1_000)
    expect((await on.api.accept('placements.list')).body.items).toEqual([])
  })
})

describe('events', () => {
  test('are emitted in order, each with the item it is about', async () => {
    await using on = await stage()
    const stream = await follow(on)
    await activate(on.api)
    await on.api.accept('consent.set', { as: key, body: { client_id: 'proj_demo', session_id: 'sess_1' } })
    const filled = await fill(on.api)
    await on.api.accept('render.frame', { params: { asset_token: filled.asset_token } })
    const render = beacon(on.clock, filled, 'render')
    await on.api.accept('beacons.send', { as: key, body: render })
    await on.api.accept('beacons.send', { as: key, body: render })
    await on.api.refuse('beacons.send', { as: key, body: { ...render, event: 'click' } })
    const events = await stream.until(7)
    stream.stop()
    expect(events.map(({ type }) => type)).toEqual([
      'browser.activated',
      'consent.changed',
      'placement.decided',
      'frame.loaded',
      'beacon.accepted',
      'beacon.duplicate',
      'beacon.rejected',
    ])
    for (const event of events) expect([event.client_id, event.at_ms]).toEqual(['proj_demo', on.clock.now()])
    const { slot_id } = filled
    expect(events.slice(2).map((event) => event.slot_id)).toEqual(Array(5).fill(slot_id))
    expect(events[2]!.data).toMatchObject({ slot_id, status: 'ready', fill: true })
    expect(events[4]!.data).toMatchObject({ slot_id, verdict: 'accepted', event: 'render' })
    expect(events[6]!.data).toMatchObject({ slot_id, verdict: 'rejected', reason_code: 'beacon_id_conflict' })
    expect(JSON.stringify(events)).not.toMatch(/(ast|at|bt)_[0-9a-z]{11}_[A-Za-z0-9_-]{20}/)
  })

  test('a pending job is one event, its decision another', async () => {
    await using on = await stage({ decision_latency_ms: 1_000 })
    const stream = await follow(on)
    await on.api.accept('jobs.create', { as: key, body: { client_id: 'proj_demo' } })
    await stream.until(1)
    on.clock.advance(1_000)
    const events = await stream.until(2)
    stream.stop()
    expect(events.map(({ type }) => type)).toEqual(['job.created', 'placement.decided'])
  })

  test('resume after the last one received, and start at any number', async () => {
    await using on = await stage()
    for (let count = 0; count < 5; count++) await fill(on.api)
    const seqs = async (query: string, headers: Record<string, string>, count: number) => {
      const stream = await follow(on, query, headers)
      const events = await stream.until(count)
      stream.stop()
      return events.map(({ seq }) => seq)
    }
    expect(await seqs('?since_seq=0', {}, 5)).toEqual([1, 2, 3, 4, 5])
    expect(await seqs('?since_seq=3', {}, 2)).toEqual([4, 5])
    expect(await seqs('?since_seq=0', { 'last-event-id': '4' }, 1)).toEqual([5])
    const live = await follow(on)
    await fill(on.api)
    expect((await live.until(1)).map(({ seq }) => seq)).toEqual([6])
    live.stop()
  })

  test('of a follower of an earlier start begin with a reset, then with the first event of this one', async () => {
    await using on = await stage()
    const ahead = [
      ['', { 'last-event-id': '7000' }],
      ['?since_seq=7000&type=placement.*', {}],
    ] as const
    for (const [query, headers] of ahead) {
      const early = await follow(on, query, headers)
      const [reset] = await early.until(1)
      expect(reset).toEqual({
        seq: 0,
        type: 'sandbox.reset',
        at_ms: on.clock.now(),
        client_id: null,
        slot_id: null,
        data: {},
      })
      early.stop()
    }
    await fill(on.api)
    for (const [query, headers] of ahead) {
      const late = await follow(on, query, headers)
      expect((await late.until(2)).map(({ seq, type }) => [seq, type])).toEqual([
        [0, 'sandbox.reset'],
        [1, 'placement.decided'],
      ])
      late.stop()
    }
    const inTime = await follow(on, '', { 'last-event-id': '1' })
    await fill(on.api)
    expect((await inTime.until(1))[0]?.seq).toBe(2)
    inTime.stop()
  })

  test('filter by type, kind, project and slot', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
    await on.api.refuse('beacons.send', { as: key, body: { ...beacon(on.clock, filled, 'render'), slot_id: 'x' } })
    await fill(on.api, { as: otherKey, body: asked({ client_id: 'proj_other' }) })
    const types = async (query: string, count: number) => {
      const stream = await follow(on, `?since_seq=0&${query}`)
      const events = await stream.until(count)
      stream.stop()
      return events.map(({ type }) => type)
    }
    expect(await types('type=beacon.*', 2)).toEqual(['beacon.accepted', 'beacon.rejected'])
    expect(await types('type=beacon.rejected,placement.decided', 3)).toEqual([
      'placement.decided',
      'beacon.rejected',
      'placement.decided',
    ])
    expect(await types('client_id=proj_other', 1)).toEqual(['placement.decided'])
    expect(await types(`slot_id=${filled.slot_id}`, 3)).toHaveLength(3)
    expect((await on.api.refuse('events.stream', { query: { since_seq: -1 } })).body.reason_code).toBe('schema_invalid')
    expect((await on.api.refuse('events.stream', { query: { after: 1 } })).body.reason_code).toBe('field_unknown')
  })

  test('an open stream does not prevent the sandbox from closing', async () => {
    const on = await stage()
    await follow(on)
    await withoutTimeouts(() => on[Symbol.asyncDispose]())
  })
})

describe('callers', () => {
  const strangers: Call[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin },
    { headers: { 'sec-fetch-site': 'cross-site' } },
    { headers: { 'sec-fetch-site': 'same-site' } },
  ]

  test('no page of another origin reads anything or gets CORS headers', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    const paths = Object.values(contract)
      .map(({ path }) => path)
      .filter((path) => path.startsWith('/_sandbox/'))
      .map((path) => path.replaceAll('{slot_id}', slot_id).replaceAll(/\{\w+\}/g, 'x'))
    for (const call of strangers) {
      for (const path of [...paths, '/_sandbox/', '/_sandbox', '/_sandbox/nothing']) {
        const { status, headers, body } = await on.api.send('GET', path, call)
        expect([path, call, status]).toEqual([path, call, 403])
        expect(body).toMatchObject({ reason_code: 'origin_refused' })
        expect(headers['access-control-allow-origin']).toBeUndefined()
      }
      const preflight = { ...call, headers: { ...call.headers, 'access-control-request-method': 'POST' } }
      const { status, headers } = await on.api.send('OPTIONS', '/_sandbox/reset', preflight)
      expect([call, status]).toEqual([call, 403])
      expect(headers['access-control-allow-origin']).toBeUndefined()
    }
  })

  test('the routes of the console are the only ones for pages, in any spelling, and each has its own check', async () => {
    await using on = await stage()
    const { asset_token } = await fill(on.api)
    const pages = '/_sandbox/console/page'
    const calls = [
      { path: `${pages}/slots`, body: { asset_tokens: [asset_token] }, allowed: 200 },
      { path: `${pages}/ask`, body: {}, allowed: 201 },
      { path: `${pages}/claim`, body: { grant_id: 'x', secret: 'x' }, allowed: 200 },
      { path: `${pages}/act`, body: { action: 'no_fill', on: true }, allowed: 401 },
    ]
    for (const { path, body, allowed } of calls) {
      for (const spelling of [path, path.replace('_', '%5F'), `${on.sandbox.url}${path}`, `${path}?x=1`]) {
        const own = await on.api.send('POST', spelling, { origin, body })
        expect([spelling, own.status, own.headers['access-control-allow-origin']]).toEqual([spelling, allowed, origin])
        for (const call of strangers.filter((each) => each.origin !== origin)) {
          const { status, headers } = await on.api.send('POST', spelling, { ...call, body })
          const cors = headers['access-control-allow-origin']
          expect([spelling, call, status, cors]).toEqual([spelling, call, 403, undefined])
        }
      }
      for (const method of ['GET', 'PUT', 'DELETE']) {
        expect([method, path, (await on.api.send(method, path, { origin })).status]).toEqual([method, path, 403])
      }
    }
    for (const path of ['', '/', '/reset', '/slots/x', '/../grants', '/%2e%2e/grants', '/..%2f..%2freset']) {
      const { status } = await on.api.send('POST', pages + path, { origin, body: {} })
      expect([path, status >= 400]).toEqual([path, true])
    }
    // The module has nothing of this sandbox in it, and is for every page, as render.js is.
    const { status } = await on.api.send('GET', '/_sandbox/console.js', { origin: 'https://evil.example' })
    expect(status).toBe(200)
    expect((await on.api.accept('scenario.list')).body.items.filter(({ active }) => active)).toEqual([])
  })

  test('a link elsewhere opens the home page and the documentation, and nothing that a page could use', async () => {
    await using on = await stage()
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    const readStatus = async (method: string, path: string, headers: Call['headers'] = link) =>
      (await on.api.send(method, path, { headers })).status
    expect(await readStatus('GET', '/_sandbox/')).toBe(200)
    expect(await readStatus('GET', '/_sandbox/docs')).toBe(302)
    for (const headers of [
      { ...link, 'sec-fetch-dest': 'iframe' },
      { ...link, 'sec-fetch-dest': 'script', 'sec-fetch-mode': 'no-cors' },
      { ...link, 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
      { ...link, 'sec-purpose': 'prefetch;prerender' },
      { ...link, origin: 'https://evil.example' },
    ]) {
      expect([headers, await readStatus('GET', '/_sandbox/', headers)]).toEqual([headers, 403])
    }
    // The page in place of a list, which is the same for all of them; never the list.
    const page = await on.api.send('GET', '/_sandbox/placements', { headers: link })
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    const closed = ['info', 'demo', 'export', 'events', 'inspector/session', 'placements?raw']
    for (const path of closed.map((name) => `/_sandbox/${name}`)) {
      expect([path, await readStatus('GET', path)]).toEqual([path, 403])
    }
    // Nor does it tell which addresses there are.
    const unknown = await on.api.open('/_sandbox/none', link)
    expect([unknown.status, unknown.text]).toEqual([404, page.text])
    for (const method of ['POST', 'HEAD']) expect(await readStatus(method, '/_sandbox/')).toBe(403)
  })

  test('requests of pages that no project allows are counted and kept apart, the last 100', async () => {
    await using on = await stage({ journal_limit: 10 })
    const journal = async () => (await on.api.accept('sandbox.info')).body.journal
    const foreign = async (query = {}) =>
      (await on.api.accept('requests.list', { query: { foreign: 'true', ...query } })).body.items
    await fill(on.api)
    const evil = 'https://evil.example'
    const elsewhere = { 'sec-fetch-site': 'cross-site' }
    for (let count = 0; count < 60; count++) {
      await on.api.refuse('browser.activate', { origin: evil, body: { publishable_key: publishable } })
      await on.api.send('GET', '/v1/render.js', { headers: { ...elsewhere, referer: `${evil}/x` } })
    }
    await on.api.send('OPTIONS', '/v1/placements', {
      origin: evil,
      headers: { 'access-control-request-method': 'POST' },
    })
    await on.api.send('POST', '/v1/none', { headers: elsewhere, raw: 'x' })
    expect(await journal()).toMatchObject({ size: 1, dropped: 0, foreign: 122 })
    const kept = await foreign()
    expect(kept.length).toBe(100)
    expect(kept.slice(0, 2).map(({ path, status }) => [path, status])).toEqual([
      ['/v1/none', 404],
      ['/v1/placements', 403],
    ])
    const { request_id } = kept[2]!
    expect((await on.api.accept('requests.show', { params: { request_id } })).body.request_headers).toMatchObject({
      referer: evil,
    })
    expect(await foreign({ reason: 'origin_not_allowed', limit: 3, details: 'true' })).toHaveLength(3)
    expect(await foreign({ after: request_id })).toHaveLength(2)
    // Pages that are allowed, of whatever site, and programs are in the journal.
    await on.api.refuse('browser.activate', { origin, body: { publishable_key: 'pk_test_none' } })
    await on.api.send('GET', '/v1/render.js', { headers: { ...elsewhere, referer: 'http://127.0.0.1:3000/' } })
    expect(await journal()).toMatchObject({ size: 3, foreign: 122 })
    await on.api.accept('sandbox.reset', { body: {} })
    expect([await journal(), await foreign()]).toMatchObject([{ foreign: 0 }, []])
  })

  test('a write of a page has no effect, in any spelling of the path', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    const spellings = [
      '/_sandbox/reset',
      '/%5Fsandbox/reset',
      '/_sandbo%78/reset',
      '/_sandbox/%72eset',
      '//_sandbox/reset',
      '/./_sandbox/reset',
      '/_SANDBOX/reset',
      '/_sandbox/reset?x',
      '/_sandbox/reset#x',
      `${on.sandbox.url}/_sandbox/reset`,
    ]
    for (const call of [
      ...strangers,
      { origin: on.sandbox.url },
      { origin: on.sandbox.url, headers: { 'x-sandbox-token': 'sbx_guess' } },
    ]) {
      for (const path of spellings) {
        const { status } = await on.api.send('POST', path, call)
        expect([path, call, status >= 400]).toEqual([path, call, true])
      }
    }
    await on.api.accept('decisions.get', { as: key, params: { slot_id } })
  })

  test('no page reads by another spelling of the path either', async () => {
    await using on = await stage()
    for (const path of [
      '/%5Fsandbox/info',
      '/_sandbo%78/info',
      '/_sandbox%2Finfo',
      '/%5Fsandbox/events',
      '/%5Fsandbox/',
    ]) {
      const { status } = await on.api.send('GET', path, { origin: 'https://evil.example' })
      expect([path, status >= 400]).toEqual([path, true])
    }
  })

  test('the page of the sandbox itself reads, and writes with the token of this start', async () => {
    await using on = await stage()
    const own = { origin: on.sandbox.url, headers: { 'sec-fetch-site': 'same-origin' } }
    await on.api.accept('sandbox.info', own)
    await on.api.accept('sandbox.info', { headers: { 'sec-fetch-site': 'none' } })
    expect((await on.api.refuse('sandbox.reset', own)).body.reason_code).toBe('origin_refused')
    const headers = { ...own.headers, 'x-sandbox-token': on.sandbox.admin_token }
    await on.api.accept('sandbox.reset', { ...own, headers })
    const elsewhere = { origin: 'https://evil.example', headers }
    expect((await on.api.refuse('sandbox.reset', elsewhere)).body.reason_code).toBe('origin_refused')
  })

  test('a program needs no token; a write needs JSON', async () => {
    await using on = await stage()
    await on.api.accept('sandbox.reset')
    const form = { raw: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    expect((await on.api.refuse('sandbox.reset', form)).status).toBe(415)
    expect((await on.api.refuse('sandbox.reset', { body: { all: true } })).body.reason_code).toBe('field_unknown')
  })

  test('a Host that does not name this sandbox is misdirected, for v1 and the control plane', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    for (const host of [
      'evil.example',
      'evil.example:4010',
      'localhost.evil.example',
      '127.0.0.1.nip.example',
      '0.0.0.0',
      'localhost:65536',
    ]) {
      for (const [method, path] of [
        ['GET', '/_sandbox/'],
        ['GET', '/_sandbox/info'],
        ['POST', '/_sandbox/reset'],
        ['POST', '/v1/placements'],
        ['GET', '/v1/render.js'],
        ['GET', '/nothing'],
      ] as const) {
        const { status, body } = await on.api.send(method, path, { headers: { host } })
        expect([host, path, status]).toEqual([host, path, 421])
        expect(body).toMatchObject({ error: 'misdirected_request', reason_code: 'host_not_allowed' })
      }
    }
    for (const host of ['localhost', `localhost:${on.sandbox.port}`, '127.0.0.1:1', '[::1]:80', 'LOCALHOST']) {
      await on.api.accept('sandbox.info', { headers: { host } })
    }
    await on.api.accept('decisions.get', { as: key, params: { slot_id } })
  })

  test('a key of v1 gives no further access', async () => {
    await using on = await stage()
    for (const as of [key, strictKey, publishable]) {
      const call = { as, origin: 'https://evil.example' }
      expect((await on.api.refuse('sandbox.info', call)).body.reason_code).toBe('origin_refused')
    }
  })
})

test('a body may be empty where the OpenAPI document calls it optional, and only there', async () => {
  await using on = await stage()
  const { paths } = openapiDocument({ server_url: on.sandbox.url })
  const params: Record<string, string> = { client_id: 'proj_demo', name: 'banner_ok', key_id: 'key_00000000zzz' }
  const called: string[] = []
  for (const [path, item] of Object.entries(paths as Record<string, Record<string, JsonObject>>)) {
    for (const [method, { requestBody }] of Object.entries(item)) {
      const { required, content } = (requestBody ?? {}) as { required?: boolean; content?: object }
      if (content === undefined || !('application/json' in content)) continue
      const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? 'none')
      const { status } = await on.api.send(method.toUpperCase(), url, path.startsWith('/_sandbox') ? {} : { as: key })
      called.push(`${path} ${required ? 'required' : 'optional'}`)
      if (required === true) expect(status, path).toBeGreaterThanOrEqual(400)
      else expect([200, 201, 404], path).toContain(status)
    }
  }
  expect(called.filter((line) => line.endsWith('optional')).length).toBeGreaterThan(10)
  expect(called.filter((line) => line.endsWith('required')).length).toBeGreaterThan(5)
})

describe('the funnel', () => {
  test('counts how far fills of each format have come, and why the others were not filled', async () => {
    await using on = await stage()
    const filled = await fill(on.api, { format: 'banner' })
    const unframed = await fill(on.api, { format: 'native' })
    await on.api.accept('placements.create', { as: key, body: asked({ test_outcome: 'no_fill' }) })
    const none = { decided: 0, framed: 0, rendered: 0, visible: 0, billable: 0 }
    const funnel = async (query = {}) => (await on.api.accept('placements.funnel', { query })).body
    expect(await funnel()).toEqual({
      placements: 3,
      is_complete: true,
      oldest_slot_id: filled.slot_id,
      pending: 0,
      fills: 2,
      no_fills: 1,
      no_fill_reasons: [{ no_fill_reason: 'test_forced', count: 1 }],
      formats: [
        { format: 'banner', ...none, decided: 1 },
        { format: 'clip', ...none },
        { format: 'native', ...none, decided: 1 },
      ],
    })
    await on.api.accept('render.frame', { params: { asset_token: filled.asset_token } })
    const send = (slot: typeof filled, event: string, measurements?: object) =>
      on.api.accept('beacons.send', {
        as: key,
        body: beacon(on.clock, slot, event, measurements === undefined ? {} : { measurements }),
      })
    for (const slot of [filled, unframed]) await send(slot, 'render')
    on.clock.advance(2_000)
    const measured = { visible_ratio: 1, visible_ms: 1_500, page_visible: true }
    for (const slot of [filled, unframed]) await send(slot, 'visible', measured)
    const { formats } = await funnel()
    const counted = { decided: 1, rendered: 1, visible: 1, billable: 1 }
    expect(formats[0]).toEqual({ format: 'banner', ...counted, framed: 1 })
    // Drawn by the client itself, from the fields of the response.
    expect(formats[2]).toEqual({ format: 'native', ...counted, framed: 0 })
    expect((await funnel({ session_id: 'nobody' })).placements).toBe(0)
    expect((await funnel({ client_id: 'proj_other' })).placements).toBe(0)
  })

  test('a slot is previewed without a token, and that is no load', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api, { format: 'banner' })
    const preview = await on.api.send('GET', `/_sandbox/placements/${slot_id}/preview`)
    expect([preview.status, preview.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(preview.headers['content-security-policy']).toContain(`frame-ancestors ${on.sandbox.url}`)
    const { first_frame_at_ms, beacons } = (await on.api.accept('placements.explain', { params: { slot_id } })).body
    expect([first_frame_at_ms, beacons]).toEqual([null, []])
    expect((await on.api.send('GET', '/_sandbox/placements/slot_00000000000/preview')).status).toBe(404)
  })

  test('lists find the slots of a job and the beacons of a beacon_id', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    await fill(on.api)
    const { job_id } = (await on.api.accept('placements.explain', { params: { slot_id } })).body
    const { items } = (await on.api.accept('placements.list', { query: { job_id } })).body
    expect(items.map((item) => item.slot_id)).toEqual([slot_id])
    expect((await on.api.accept('placements.list', { query: { job_id: 'job_00000000000' } })).body.items).toEqual([])
    const sent = { beacon_id: 'beacon-of-this-test', asset_token: 'ast_0', event: 'render', occurred_at_ms: 1 }
    await on.api.send('POST', '/v1/beacons', { as: key, body: sent })
    await on.api.send('POST', '/v1/beacons', { as: key, body: { ...sent, beacon_id: 'beacon-of-another' } })
    const found = (await on.api.accept('beacons.list', { query: { beacon_id: sent.beacon_id } })).body.items
    expect(found.map(({ beacon_id }) => beacon_id)).toEqual([sent.beacon_id])
  })
})
