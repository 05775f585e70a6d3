import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { manualClock } from '#sandbox/index.ts'
import type { Api } from './call.ts'
import { folder, key, type Stage, stage, stageWith, withoutTimeouts } from './stage.ts'

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
    await on[Symbol.asyncDispose]()
  })

  test('a sandbox that closes responds to waiting requests', async () => {
    const on = await stage({ decision_latency_ms: 60_000 })
    const slot_id = await pending(on.api)
    await withoutTimeouts(async () => {
      const waiting = poll(on, slot_id, 5_000)
      await waitUntilAllWait(on, 1)
      expect(vi.getTimerCount()).toBeGreaterThan(0)
      await Promise.all([waiting, on[Symbol.asyncDispose]()])
      expect((await waiting).body.status).toBe('pending')
    })
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

/** Resolves when that many polls are waiting, as other responses of the sandbox show. */
async function waitUntilAllWait(on: Stage, count: number): Promise<void> {
  for (let round = 0; round < 40 * count; round++) {
    await on.api.accept('health.live')
    await turn()
  }
}
