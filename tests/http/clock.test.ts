/** The clock moved over HTTP: no test sleeps, and no clock is passed in. */
import { describe, expect, test } from 'vitest'
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
      while ((await on.now()) <= 221_845_392_000_000) await on.now()
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
