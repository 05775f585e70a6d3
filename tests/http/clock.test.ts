/** The clock moved over HTTP: no test sleeps, and no clock is passed in. */
import { describe, expect, test } from 'vitest'
import { createClient } from '#client/index.ts'
import type { SandboxEvent } from '#contract/resources/events.ts'
import type { Sandbox, SandboxOptions } from '#sandbox/index.ts'
import { type Api, connect } from './call.ts'
import { activate, asked, day_ms, fill, folder, key, origin, startSandbox } from './stage.ts'

interface Steered extends AsyncDisposable {
  sandbox: Sandbox
  api: Api
  advance(by_ms: number): Promise<number>
  now(): Promise<number>
}

const minute_ms = 60_000
const session = { client_id: 'proj_demo', session_id: 'sess_1' }

/** A sandbox on its own clock, like that of `svc start`. It must have reported no failure when it ends. */
async function steered(options: SandboxOptions = {}): Promise<Steered> {
  const reports: unknown[] = []
  const sandbox = await startSandbox({ ...options, report: (error) => reports.push(error) })
  const api = connect(sandbox)
  return {
    sandbox,
    api,
    advance: async (by_ms) => (await api.accept('clock.advance', { body: { by_ms } })).body.now_ms,
    now: async () => (await api.accept('clock.show')).body.now_ms,
    async [Symbol.asyncDispose]() {
      await sandbox.close()
      expect(reports).toEqual([])
    },
  }
}

/** The same with a frozen clock, so that expiries are exact to the millisecond. */
async function frozen(options: SandboxOptions = {}): Promise<Steered> {
  const on = await steered(options)
  await on.api.accept('clock.freeze', { body: {} })
  return on
}

async function pending(api: Api): Promise<string> {
  return (await api.accept('jobs.create', { as: key, body: session })).body.slot_ids[0]!
}

async function poll(api: Api, slot_id: string, wait_ms = 0) {
  return (await api.accept('decisions.get', { as: key, params: { slot_id }, query: { wait_ms } })).body
}

describe('by advancing the clock alone:', () => {
  test('an activation token is valid for ten minutes', async () => {
    await using on = await frozen()
    const as = await activate(on.api)
    await on.advance(10 * minute_ms - 1)
    await on.api.accept('placements.create', { as, origin, body: asked() })
    await on.advance(1)
    const { body } = await on.api.refuse('placements.create', { as, origin, body: asked() })
    expect(body.reason_code).toBe('activation_token_expired')
  })

  test('a consent snapshot expires, and with it the fills it is bound to', async () => {
    await using on = await frozen()
    const expires_at_ms = (await on.now()) + 2 * minute_ms
    await on.api.accept('consent.set', { as: key, body: { ...session, expires_at_ms } })
    const { asset_token } = await fill(on.api)
    const params = { asset_token }
    await on.api.accept('render.frame', { params })
    expect(await on.advance(2 * minute_ms)).toBe(expires_at_ms)
    expect((await on.api.refusePage('render.frame', { params })).reason_code).toBe('consent_expired')
    const { body } = await on.api.accept('placements.create', { as: key, body: asked() })
    expect(body.authoritative_consent?.lifecycle_state).toBe('expired')
    expect(body.decision).toMatchObject({ fill: false, no_fill_reason: 'consent_not_granted' })
  })

  test('an asset token can be loaded within five minutes, and again for half an hour', async () => {
    await using on = await frozen()
    const late = { asset_token: (await fill(on.api)).asset_token }
    const intime = { asset_token: (await fill(on.api)).asset_token }
    await on.advance(5 * minute_ms)
    await on.api.accept('render.frame', { params: intime })
    await on.advance(1)
    expect((await on.api.refusePage('render.frame', { params: late })).reason_code).toBe('asset_token_expired')
    await on.advance(30 * minute_ms - 1)
    await on.api.accept('render.frame', { params: intime })
    await on.advance(1)
    expect((await on.api.refusePage('render.frame', { params: intime })).reason_code).toBe('asset_token_expired')
  })

  test('a rate bucket is refilled', async () => {
    await using on = await frozen({ rate_limit: '1/min' })
    const call = { as: key, params: { client_id: 'proj_demo' } }
    await on.api.accept('projects.config', call)
    expect((await on.api.refuse('projects.config', call)).headers['retry-after']).toBe('60')
    await on.advance(30_000)
    expect((await on.api.refuse('projects.config', call)).headers['retry-after']).toBe('30')
    await on.advance(30_000)
    await on.api.accept('projects.config', call)
  })

  test('a pending decision is made before advance responds, and expires', async () => {
    await using on = await frozen({ decision_latency_ms: minute_ms })
    const slot_id = await pending(on.api)
    await on.advance(minute_ms - 1)
    expect((await poll(on.api, slot_id)).status).toBe('pending')
    await on.advance(1)
    expect(await poll(on.api, slot_id)).toMatchObject({ status: 'ready', decision: { fill: true } })
    await on.advance(10 * minute_ms)
    expect((await poll(on.api, slot_id)).status).toBe('expired')
  })

  test('a daily frequency cap ends after a day', async () => {
    await using on = await frozen()
    const outcome = async () => {
      const body = asked({ overrides: { frequency_cap: { user_per_day: 1 } } })
      const { decision } = (await on.api.accept('placements.create', { as: key, body })).body
      return decision?.fill === false ? decision.no_fill_reason : 'filled'
    }
    expect(await outcome()).toBe('filled')
    await on.advance(day_ms - 1)
    expect(await outcome()).toBe('frequency_cap_exceeded')
    await on.advance(2)
    expect(await outcome()).toBe('filled')
  })

  test('a beacon is stale when the clock has advanced', async () => {
    await using on = await frozen()
    const { asset_token } = await fill(on.api)
    const send = {
      as: key,
      body: { beacon_id: 'beacon-stale', asset_token, event: 'render', occurred_at_ms: await on.now() },
    }
    await on.api.accept('render.frame', { params: { asset_token } })
    await on.advance(5 * minute_ms + 1)
    expect((await on.api.refuse('beacons.send', send)).body.reason_code).toBe('beacon_stale')
  })
})

describe('a frozen clock', () => {
  test('stops time: no decision is made, nothing expires', async () => {
    await using on = await frozen({ decision_latency_ms: 1 })
    const before = await on.now()
    const slot_id = await pending(on.api)
    expect((await poll(on.api, slot_id, 20)).status).toBe('pending')
    expect((await on.api.accept('clock.show')).body).toMatchObject({ now_ms: before, frozen: true })
    await on.api.accept('clock.resume', { body: {} })
    expect((await poll(on.api, slot_id, 5_000)).status).toBe('ready')
  })

  test('resumes from where it stopped, not from the time of the host', async () => {
    await using on = await frozen()
    const to_ms = Date.UTC(2030, 0, 1)
    expect((await on.api.accept('clock.set', { body: { to_ms } })).body).toMatchObject({ now_ms: to_ms, frozen: true })
    const { body } = await on.api.accept('clock.resume', { body: {} })
    expect(body.frozen).toBe(false)
    expect(body.now_ms - to_ms).toBeGreaterThanOrEqual(0)
    expect(body.now_ms - to_ms).toBeLessThan(minute_ms)
  })
})

describe('a move', () => {
  test('wakes every long poll on the decisions that it makes due', async () => {
    await using on = await frozen({ decision_latency_ms: 2 * minute_ms })
    const slots = [await pending(on.api), await pending(on.api), await pending(on.api)]
    const waiting = slots.flatMap((slot_id) => [poll(on.api, slot_id, 5_000), poll(on.api, slot_id, 5_000)])
    const placement = on.api.accept('placements.create', { as: key, query: { wait_ms: 5_000 }, body: asked() })
    while ((await on.api.accept('placements.list')).body.items.length < 4) await on.now()
    await on.advance(2 * minute_ms)
    for (const { status } of await Promise.all(waiting)) expect(status).toBe('ready')
    expect((await placement).body.status).toBe('ready')
  })

  test('adds up with parallel moves, and none is lost', async () => {
    await using on = await frozen()
    const start = await on.now()
    const reached = await Promise.all(Array.from({ length: 20 }, () => on.advance(1_000)))
    expect(reached.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => start + (index + 1) * 1_000))
    expect(await on.now()).toBe(start + 20_000)
  })

  test('is in the Date header from its own response on, and in info', async () => {
    await using on = await frozen()
    const to_ms = Date.UTC(2027, 0, 1)
    const set = await on.api.accept('clock.set', { body: { to_ms } })
    expect(set.headers.date).toBe('Fri, 01 Jan 2027 00:00:00 GMT')
    const info = await on.api.accept('sandbox.info')
    expect(info.headers.date).toBe('Fri, 01 Jan 2027 00:00:00 GMT')
    expect(info.body.clock).toMatchObject({ now_ms: to_ms, frozen: true })
    expect((await on.api.accept('health.live')).headers.date).toBe('Fri, 01 Jan 2027 00:00:00 GMT')
  })

  test('to the earliest or latest time leaves everything working, and a placement fills', async () => {
    await using on = await steered()
    for (const to_ms of [221_845_392_000_000, 0]) {
      await on.api.accept('clock.set', { body: { to_ms } })
      await activate(on.api)
      await on.api.accept('consent.set', { as: key, body: session })
      const { asset_token, slot_id } = await fill(on.api)
      await on.api.accept('render.frame', { params: { asset_token } })
      await on.api.accept('placements.explain', { params: { slot_id } })
      const { body } = await on.api.accept('placements.list', { query: { since: '10m' } })
      expect(body.items.map((item) => item.slot_id)).toContain(slot_id)
      expect((await on.api.accept('evidence.verify')).body.ok).toBe(true)
    }
  })

  test('back makes a token live longer, and to null returns to the time of the host', async () => {
    await using on = await frozen()
    const as = await activate(on.api)
    const expired_ms = await on.advance(10 * minute_ms)
    await on.api.refuse('placements.create', { as, origin, body: asked() })
    await on.api.accept('clock.set', { body: { to_ms: expired_ms - 1 } })
    await on.api.accept('placements.create', { as, origin, body: asked() })
    await on.api.accept('clock.resume', { body: {} })
    const { body } = await on.api.accept('clock.set', { body: { to_ms: null } })
    expect([body.offset_ms, body.frozen]).toEqual([0, false])
  })

  test('of a running clock keeps it running with the same offset', async () => {
    await using on = await steered()
    await on.advance(day_ms)
    expect((await on.api.accept('clock.show')).body).toMatchObject({ offset_ms: day_ms, frozen: false })
    await on.advance(minute_ms)
    expect((await on.api.accept('sandbox.info')).body.clock).toMatchObject({ offset_ms: day_ms + minute_ms })
  })

  test('emits an event, at the time it has moved to', async () => {
    await using on = await frozen()
    const now_ms = await on.advance(1_000)
    await on.api.accept('clock.resume', { body: {} })
    const events: SandboxEvent[] = []
    const stream = createClient({ base_url: on.sandbox.url }).events.stream({
      query: { since_seq: 0, type: 'clock.*' },
    })
    for await (const event of stream) if (events.push(event) === 3) break
    expect(events.map(({ data }) => data.frozen)).toEqual([true, true, false])
    expect(events[1]).toMatchObject({ type: 'clock.changed', at_ms: now_ms, slot_id: null, data: { now_ms } })
  })

  test('that is invalid is rejected and changes nothing', async () => {
    await using on = await frozen()
    const before = await on.now()
    const reason = async (id: 'clock.advance' | 'clock.set' | 'clock.freeze', body: unknown) =>
      (await on.api.refuse(id, { body })).body.reason_code
    for (const by_ms of [-1, 0.5, '31m', null, 221_845_392_000_000]) {
      expect([by_ms, await reason('clock.advance', { by_ms })]).toEqual([by_ms, 'schema_invalid'])
    }
    for (const to_ms of [-1, 0.5, '2027-01-01', 221_845_392_000_001]) {
      expect([to_ms, await reason('clock.set', { to_ms })]).toEqual([to_ms, 'schema_invalid'])
    }
    expect(await reason('clock.set', {})).toBe('schema_invalid')
    expect(await reason('clock.freeze', { now: true })).toBe('field_unknown')
    const stranger = { origin: 'https://evil.example', body: { by_ms: day_ms } }
    expect((await on.api.refuse('clock.advance', stranger)).body.reason_code).toBe('origin_refused')
    expect(await on.now()).toBe(before)
  })
})

describe('a restart', () => {
  test('restores the clock, and the decisions that are pending on it', async () => {
    using dir = folder()
    const options = { database: `${dir.path}/sandbox.db`, decision_latency_ms: minute_ms }
    let slot_id: string
    let stood_ms: number
    {
      await using on = await frozen(options)
      expect(on.sandbox.warnings).toEqual([])
      stood_ms = await on.advance(7 * day_ms)
      slot_id = await pending(on.api)
    }
    {
      await using on = await steered(options)
      expect(on.sandbox.warnings).toEqual(['the clock was moved: svc sandbox clock show'])
      expect((await on.api.accept('clock.show')).body).toMatchObject({ now_ms: stood_ms, frozen: true })
      expect((await poll(on.api, slot_id)).status).toBe('pending')
      await on.advance(minute_ms)
      expect((await poll(on.api, slot_id)).status).toBe('ready')
      await on.api.accept('clock.set', { body: { to_ms: null } })
      await on.api.accept('clock.resume', { body: {} })
      await on.api.accept('clock.set', { body: { to_ms: null } })
      await on.advance(day_ms)
    }
    await using on = await steered(options)
    expect((await on.api.accept('clock.show')).body).toMatchObject({ offset_ms: day_ms, frozen: false })
  })

  test('and an import take times after the latest of the clock: it has run on, and consent may never expire', async () => {
    using dir = folder()
    const options = { database: `${dir.path}/sandbox.db` }
    let stopped_ms: number
    {
      await using on = await steered(options)
      await on.api.accept('clock.set', { body: { to_ms: 221_845_392_000_000 } })
      await new Promise((resolve) => setTimeout(resolve, 5))
      stopped_ms = (await on.api.accept('clock.freeze', { body: {} })).body.now_ms
      await fill(on.api)
      await on.api.accept('consent.set', { as: key, body: { ...session, expires_at_ms: Number.MAX_SAFE_INTEGER } })
    }
    await using on = await steered(options)
    const clock = { now_ms: stopped_ms, frozen: true }
    expect((await on.api.accept('clock.show')).body).toMatchObject(clock)
    const exported = await (await fetch(`${on.sandbox.url}/_sandbox/export`)).arrayBuffer()
    const file = { method: 'POST', headers: { 'content-type': 'application/gzip' }, body: exported }
    const imported = await fetch(`${on.sandbox.url}/_sandbox/import`, file)
    expect([imported.status, await imported.json()]).toMatchObject([200, { ok: true }])
    expect((await on.api.accept('clock.show')).body).toMatchObject(clock)
  })

  test('and a reset use the time of the host when the clock was not moved since', async () => {
    using dir = folder()
    const options = { database: `${dir.path}/sandbox.db` }
    const machine = { offset_ms: 0, frozen: false }
    {
      await using on = await frozen(options)
      await on.advance(day_ms)
      await on.api.accept('sandbox.reset', { body: {} })
      expect((await on.api.accept('clock.show')).body).toMatchObject(machine)
    }
    await using on = await steered(options)
    expect(on.sandbox.warnings).toEqual([])
    expect((await on.api.accept('clock.show')).body).toMatchObject(machine)
  })
})
