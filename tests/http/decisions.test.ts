import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { manualClock } from '#sandbox/index.ts'
import type { Api } from './call.ts'
import { activate, asked, fill, folder, key, origin, otherKey, type Stage, stage, stageWith } from './stage.ts'

/** A job whose decision is not due yet. */
async function pending(api: Api): Promise<string> {
  const { body } = await api.accept('jobs.create', { as: key, body: { client_id: 'proj_demo', session_id: 's' } })
  return body.slot_ids[0]!
}

const poll = (on: Stage, slot_id: string, wait_ms?: number) =>
  on.api.accept('decisions.get', {
    as: key,
    params: { slot_id },
    ...(wait_ms === undefined ? {} : { query: { wait_ms } }),
  })

describe('a decision with latency', () => {
  test('is pending, then ready, on the sandbox clock and not before', async () => {
    await using on = await stage({ decision_latency_ms: 2_000 })
    const slot_id = await pending(on.api)
    expect((await poll(on, slot_id)).body).toEqual({ slot_id, status: 'pending', placement: null, decision: null })
    on.clock.advance(1_999)
    expect((await poll(on, slot_id)).body.status).toBe('pending')
    on.clock.advance(1)
    const { body } = await poll(on, slot_id, 5_000)
    expect(body).toMatchObject({ slot_id, status: 'ready', decision: { fill: true } })
    expect(body.placement?.asset_token).toBe(body.decision?.asset_token)
    expect((await poll(on, slot_id)).body).toEqual(body)
  })

  test('wakes every request that waits for it, long before their wait is over', async () => {
    await using on = await stage({ decision_latency_ms: 2_000 })
    const slot_id = await pending(on.api)
    const started = performance.now()
    const waiting = Array.from({ length: 5 }, () => poll(on, slot_id, 5_000))
    await waitUntilAllWait(on, waiting.length)
    on.clock.advance(2_000)
    for (const { body } of await Promise.all(waiting)) expect(body.status).toBe('ready')
    expect(performance.now() - started).toBeLessThan(2_000)
  })

  test('completes a placement request that waits for it', async () => {
    await using on = await stage({ decision_latency_ms: 1_000 })
    const started = performance.now()
    const waiting = on.api.accept('placements.create', { as: key, query: { wait_ms: 5_000 }, body: asked() })
    await waitUntilListed(on, 1)
    on.clock.advance(1_000)
    const { body } = await waiting
    expect([body.status, body.decision?.fill]).toEqual(['ready', true])
    expect(performance.now() - started).toBeLessThan(3_000)
  })

  test('is 200 and pending when the wait is over', async () => {
    await using on = await stage({ decision_latency_ms: 2_000 })
    const slot_id = await pending(on.api)
    const started = performance.now()
    const { status, body } = await poll(on, slot_id, 100)
    expect([status, body.status]).toEqual([200, 'pending'])
    expect(performance.now() - started).toBeGreaterThan(90)
  })

  test('does not wait by default', async () => {
    await using on = await stage({ decision_latency_ms: 2_000 })
    const slot_id = await pending(on.api)
    const started = performance.now()
    await poll(on, slot_id)
    expect(performance.now() - started).toBeLessThan(1_000)
  })

  test('a client that disconnects leaves nothing behind: the slot is decided, other requests complete, the sandbox closes', async () => {
    const on = await stage({ decision_latency_ms: 2_000 })
    const slot_id = await pending(on.api)
    const gone = new AbortController()
    const abandoned = on.api.accept('decisions.get', {
      as: key,
      params: { slot_id },
      query: { wait_ms: 5_000 },
      signal: gone.signal,
    })
    const staying = poll(on, slot_id, 5_000)
    await waitUntilAllWait(on, 2)
    gone.abort()
    await expect(abandoned).rejects.toThrow()
    on.clock.advance(2_000)
    expect((await staying).body.status).toBe('ready')
    const started = performance.now()
    await on[Symbol.asyncDispose]()
    expect(performance.now() - started).toBeLessThan(1_000)
  })

  test('a sandbox that closes responds to waiting requests', async () => {
    const on = await stage({ decision_latency_ms: 60_000 })
    const slot_id = await pending(on.api)
    const waiting = poll(on, slot_id, 5_000)
    await waitUntilAllWait(on, 1)
    const started = performance.now()
    await Promise.all([waiting, on[Symbol.asyncDispose]()])
    expect((await waiting).body.status).toBe('pending')
    // Before its wait is over.
    expect(performance.now() - started).toBeLessThan(4_500)
  })

  test('is resumed after a restart', async () => {
    using dir = folder()
    const options = { database: `${dir.path}/sandbox.db`, decision_latency_ms: 10_000, clock: manualClock() }
    let slot_id: string
    {
      await using on = await stage(options)
      slot_id = await pending(on.api)
    }
    options.clock.advance(20_000)
    await using on = await stage(options)
    expect((await poll(on, slot_id, 5_000)).body).toMatchObject({ status: 'ready', decision: { fill: true } })
  })

  test('each slot of a job has its own', async () => {
    await using on = await stageWith(
      { decision_latency_ms: { distribution: 'uniform', min_ms: 1_000, max_ms: 9_000 } },
      { seed: 4 },
    )
    const body = { client_id: 'proj_demo', slots_requested: 4 }
    const { slot_ids } = (await on.api.accept('jobs.create', { as: key, body })).body
    on.clock.advance(999)
    for (const slot_id of slot_ids) expect((await poll(on, slot_id)).body.status).toBe('pending')
    on.clock.advance(8_001)
    for (const slot_id of slot_ids) expect((await poll(on, slot_id, 5_000)).body.status).toBe('ready')
  })
})

describe('wait_ms of a poll', () => {
  test('is an integer from 0, clamped to 5000 with a warning', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    for (const wait_ms of ['-1', '1.5', 'x', '1e9999']) {
      const refused = await on.api.refuse('decisions.get', { as: key, params: { slot_id }, query: { wait_ms } })
      expect([wait_ms, refused.body.reason_code]).toEqual([wait_ms, 'schema_invalid'])
    }
    expect((await poll(on, slot_id, 5_000)).warnings).toEqual([])
    expect((await poll(on, slot_id, 5_001)).warnings).toEqual(['wait_ms_clamped'])
  })
})

describe('the lifetime of a decision', () => {
  test('a fill is ready for 600 s, then expired without a placement; its decision stays', async () => {
    await using on = await stage()
    const { slot_id, decision } = await fill(on.api)
    on.clock.advance(599_999)
    expect((await poll(on, slot_id)).body.status).toBe('ready')
    on.clock.advance(1)
    const { body } = await poll(on, slot_id, 5_000)
    expect(body).toMatchObject({ slot_id, status: 'expired', placement: null })
    expect(body.decision).toEqual(decision)
  })

  test('a no-fill is ready, and expires like a fill', async () => {
    await using on = await stage()
    const forced = await on.api.accept('placements.create', { as: key, body: asked({ test_outcome: 'no_fill' }) })
    expect(forced.body.status).toBe('ready')
    on.clock.advance(600_000)
    expect((await poll(on, forced.body.slot_id)).body).toMatchObject({ status: 'expired', decision: { fill: false } })
  })

  test('another request gets the same response', async () => {
    await using on = await stage()
    const first = await on.api.accept('placements.create', { as: key, body: asked() })
    const again = await poll(on, first.body.slot_id)
    expect(again.body).toEqual(first.body)
  })
})

describe('ownership of a slot', () => {
  test('unknown, malformed and foreign slots are all 404', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    for (const id of [
      'slot_00000000000',
      'slot_zzzzzzzzzzz',
      'slot_',
      'x',
      'job_00000000001',
      '%00',
      'slot_0;--',
      slot_id.toUpperCase(),
      `${slot_id}0`,
    ]) {
      const { status, body } = await on.api.refuse('decisions.get', { as: key, params: { slot_id: id } })
      expect([id, status, body.reason_code]).toEqual([id, 404, 'not_found'])
    }
    expect((await on.api.refuse('decisions.get', { as: otherKey, params: { slot_id } })).status).toBe(404)
    const as = await activate(on.api)
    await on.api.accept('decisions.get', { as, origin, params: { slot_id } })
  })
})

/** Resolves when that many polls are waiting, as other responses of the sandbox show. */
async function waitUntilAllWait(on: Stage, count: number): Promise<void> {
  for (let round = 0; round < 40 * count; round++) {
    await on.api.accept('health.live')
    await turn()
  }
}

async function waitUntilListed(on: Stage, count: number): Promise<void> {
  while ((await on.api.accept('placements.list')).body.items.length < count) await turn()
  await waitUntilAllWait(on, 1)
}
