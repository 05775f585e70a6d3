/** The calls that every integration needs, against a real sandbox: decisions, beacons, retries, silence, signatures. */
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { createClient as createBrowserClient } from './browser.ts'
import {
  type BeaconResult,
  type Client,
  createClient,
  type JobAccepted,
  normalizePlacement,
  type PlacementResponse,
  ServiceError,
  type SilentClient,
  UnreachableError,
  verifyCallback,
} from './index.ts'
import { backoff } from './integration.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(async () => {
  await sandbox.close()
})

const job = { client_id: 'proj_demo', session_id: 'sdk', job_type: 'chat' } as const
const server = (more: object = {}): Client =>
  createClient({ base_url: sandbox.url, credential: sandbox.keys.secret_key, ...more })

/** The number of calls to each route since the last reset of the journal. */
async function calls(): Promise<Record<string, number>> {
  const { items } = await server().requests.list({ query: { limit: 1000 } })
  const counts: Record<string, number> = {}
  for (const { method, path, status } of items) {
    const name = `${method} ${path.split('?')[0]?.replace(/(slot|job)_\w+/, '$1')} ${status}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

/** Runs with fault rules and its own journal. */
async function withFault(rule: object, run: () => Promise<void>): Promise<void> {
  const client = server()
  await client.sandbox.reset({ body: {} })
  await client.faults.add({ body: rule })
  try {
    await run()
  } finally {
    await client.faults.clear({})
  }
}

async function setLatency(decision_latency_ms: number): Promise<void> {
  await server().projects.update({ params: { client_id: 'proj_demo' }, body: { decision_latency_ms } })
}

/** Lets the time that decisions take pass, then returns to the host's time. */
async function decideAll(): Promise<void> {
  await server().clock.advance({ body: { by_ms: 60_000 } })
  await server().clock.set({ body: { to_ms: null } })
  await setLatency(0)
}

describe('getDecision', () => {
  test('waits for a pending slot in long polls', async () => {
    await server().sandbox.reset({ body: {} })
    await setLatency(60_000)
    const { slot_ids } = await server().createJob(job)
    const deciding = server().getDecision(slot_ids[0]!, { wait_ms: 60, timeout_ms: 60_000 })
    const polls = async () => (await calls())['GET /v1/decisions/slot 200'] ?? 0
    await expect.poll(polls).toBeGreaterThan(1)
    await decideAll()
    expect(await deciding).toMatchObject({ status: 'ready', decision: { fill: true } })
  })

  test('with push it waits on a socket and polls once', async () => {
    await server().sandbox.reset({ body: {} })
    await setLatency(60_000)
    const { slot_ids } = await server().createJob(job)
    const deciding = server().getDecision(slot_ids[0]!, { push: true, timeout_ms: 60_000 })
    await expect
      .poll(async () => await calls())
      .toMatchObject({ 'POST /public/wrapper/v1/slots/slot/decision-ticket 200': 1 })
    await decideAll()
    expect(await deciding).toMatchObject({ status: 'ready', decision: { fill: true } })
    expect((await calls())['GET /v1/decisions/slot 200']).toBe(1)
  })

  test('returns the pending slot when its time is up', async () => {
    await server().sandbox.reset({ body: {} })
    await setLatency(60_000)
    const { slot_ids } = await server().createJob(job)
    const response = await server().getDecision(slot_ids[0]!, { wait_ms: 50, timeout_ms: 150 })
    expect(normalizePlacement(response)).toEqual({ status: 'pending', slot_id: slot_ids[0] })
    await setLatency(0)
  })

  test('is aborted in the middle of a wait, with the reason of the signal', async () => {
    await server().sandbox.reset({ body: {} })
    await setLatency(60_000)
    const { slot_ids } = await server().createJob(job)
    const controller = new AbortController()
    const waiting = server().getDecision(slot_ids[0]!, { signal: controller.signal })
    setTimeout(() => controller.abort(new Error('the turn is over')), 50)
    await expect(waiting).rejects.toThrow('the turn is over')
    await setLatency(0)
  })

  test('polls again after failures', async () => {
    const { slot_ids } = await server().createJob(job)
    await withFault({ path: '/v1/decisions/', status: 503, times: 2, retry_after_s: 0 }, async () => {
      const created = await server().createJob(job)
      expect((await server().getDecision(created.slot_ids[0]!)).status).toBe('ready')
      expect(await calls()).toMatchObject({ 'GET /v1/decisions/slot 503': 2, 'GET /v1/decisions/slot 200': 1 })
    })
    expect(slot_ids).toHaveLength(1)
  })

  test('falls back to polling when push is refused, or its socket breaks', async () => {
    await server().sandbox.reset({ body: {} })
    const { slot_ids } = await server().createJob(job)
    class Broken {
      readonly #listeners = new Map<string, () => void>()
      addEventListener(type: string, listener: () => void) {
        this.#listeners.set(type, listener)
        if (type === 'error') queueMicrotask(listener)
      }
      close() {}
    }
    for (const credential of [sandbox.keys.secret_key]) {
      const client = server({ credential, WebSocket: Broken })
      expect((await client.getDecision(slot_ids[0]!, { push: true })).status).toBe('ready')
    }
    const strict = await startSandbox({ strict: true })
    const client = createClient({ base_url: strict.url, credential: strict.keys.secret_key })
    const created = await client.createJob(job)
    expect((await client.getDecision(created.slot_ids[0]!, { push: true })).status).toBe('ready')
    await strict.close()
  })
})

describe('retries', () => {
  test('a placement is never doubled: a 503, or a lost response, is not repeated', async () => {
    for (const rule of [
      { path: '/v1/jobs', status: 503, served: true },
      { path: '/v1/jobs', effect: 'drop', served: true },
    ]) {
      await withFault(rule, async () => {
        await expect(server().createJob(job)).rejects.toThrow()
        const { items } = await server().placements.list()
        expect(items).toHaveLength(1)
      })
    }
  })

  test('a rate-limited job is sent again, after Retry-After', async () => {
    await withFault({ path: '/v1/jobs', status: 429, retry_after_s: 1, times: 1 }, async () => {
      const started = performance.now()
      expect((await server().createJob(job)).slot_ids).toHaveLength(1)
      expect(performance.now() - started).toBeGreaterThan(950)
      expect((await server().placements.list()).items).toHaveLength(1)
    })
  })

  test.each([
    ['seconds', '7'],
    ['a date, by the clock of the service', 'Thu, 01 Jan 2026 00:00:07 GMT'],
  ])('Retry-After as %s', async (_, value) => {
    const date = 'Thu, 01 Jan 2026 00:00:00 GMT'
    const fetch = async () => new Response('{}', { status: 429, headers: { 'retry-after': value, date } })
    const error = await createClient({ base_url: 'http://service', fetch, max_pause_ms: 5_000 })
      .createJob(job)
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ServiceError)
    expect((error as ServiceError).retry_after_s).toBe(7)
  })

  test('a request that never reached the service is sent again; one that may have arrived is not', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => closed.once('listening', resolve))
    const { port } = closed.address() as AddressInfo
    await new Promise((resolve) => closed.close(resolve))
    let attempts = 0
    const counted = (url: string, init: object) => {
      attempts++
      return fetch(url, init)
    }
    const lost = createClient({ base_url: `http://127.0.0.1:${port}`, fetch: counted, retries: 1 })
    await expect(lost.createJob(job)).rejects.toBeInstanceOf(UnreachableError)
    expect(attempts).toBe(2)

    let received = 0
    const dropping = createServer((_, response) => {
      received++
      response.destroy()
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => dropping.once('listening', resolve))
    const base_url = `http://127.0.0.1:${(dropping.address() as AddressInfo).port}`
    await expect(createClient({ base_url, retries: 3 }).createJob(job)).rejects.toBeInstanceOf(UnreachableError)
    expect(received).toBe(1)
    await expect(
      createClient({ base_url, retries: 1 }).sendBeacon({ asset_token: 'ast_x', event: 'render' }),
    ).rejects.toBeInstanceOf(UnreachableError)
    expect(received).toBe(3)
    await new Promise((resolve) => dropping.close(resolve))
  })

  test('a beacon is sent four times in all: after a half, one and two seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const at: number[] = []
    const fetch = async () => {
      at.push(performance.now())
      return new Response('{}', { status: 503 })
    }
    const client = createClient({ base_url: 'http://service', fetch })
    const sent = expect(client.sendBeacon({ asset_token: 'ast_x', event: 'render' })).rejects.toMatchObject({
      status: 503,
    })
    await vi.advanceTimersByTimeAsync(10_000)
    await sent
    const pauses = at.slice(1).map((time, index) => (time - at[index]!) / (500 * 2 ** index))
    expect(pauses.map((pause) => pause >= 1 && pause <= 1.26)).toEqual([true, true, true])
  })

  test('pauses grow up to two seconds, and differ', () => {
    for (const [count, least] of [
      [0, 500],
      [1, 1_000],
      [2, 2_000],
      [20, 2_000],
    ] as const) {
      const pauses = Array.from({ length: 50 }, () => backoff(count))
      expect(Math.min(...pauses)).toBeGreaterThanOrEqual(least)
      expect(Math.max(...pauses)).toBeLessThanOrEqual(least * 1.25)
      expect(new Set(pauses).size).toBeGreaterThan(1)
    }
  })
})

describe('sendBeacon and reportGeneration', () => {
  test('a beacon gets its id and time, and a retry is the same beacon', async () => {
    await withFault({ path: '/v1/beacons', effect: 'drop', served: true, times: 1 }, async () => {
      const { slot_ids } = await server().createJob(job)
      const filled = normalizePlacement(await server().getDecision(slot_ids[0]!))
      if (filled?.status !== 'filled') throw new Error('no fill')
      const { asset_token } = filled
      expect(await server().sendBeacon({ asset_token, event: 'render' })).toMatchObject({ duplicate: true })
      const own = { beacon_id: 'beacon-own', asset_token, event: 'visible', occurred_at_ms: Date.now() } as const
      expect(await server().sendBeacon(own)).toMatchObject({ accepted: true, duplicate: false })
      expect(await server().sendBeacon(own)).toMatchObject({ duplicate: true })
    })
  })

  test('a generation is reported', async () => {
    const { job_id } = await server().createJob(job)
    expect(await server().reportGeneration(job_id, 'started')).toEqual({ accepted: true })
    expect(await server().reportGeneration(job_id, 'failed', { error: 'overloaded' })).toEqual({ accepted: true })
  })
})

describe('fail-silent mode', () => {
  test('null and the error, from each method; a handler that throws changes nothing', async () => {
    const seen: string[] = []
    const onError = (error: Error, method: string) => {
      seen.push(`${method} ${error.name}`)
      throw new Error('the handler fails')
    }
    const client = createClient({ base_url: sandbox.url, credential: 'sk_test_unknown', onError })
    expect(await client.createJob(job)).toBeNull()
    expect(await client.getDecision('slot_00000000000')).toBeNull()
    expect(await client.sendBeacon({ asset_token: 'ast_x', event: 'render' })).toBeNull()
    expect(await client.reportGeneration('job_00000000000', 'started')).toBeNull()
    expect(seen).toEqual([
      'createJob ServiceError',
      'getDecision ServiceError',
      'sendBeacon ServiceError',
      'reportGeneration ServiceError',
    ])
    await expect(client.jobs.create({ body: job })).rejects.toBeInstanceOf(ServiceError)
  })

  test('your own abort is not an error', async () => {
    const seen: unknown[] = []
    const client = createClient({ base_url: sandbox.url, onError: (error) => seen.push(error) })
    expect(await client.createJob(job, { signal: AbortSignal.abort() })).toBeNull()
    expect(await client.reportGeneration('job_x', 'started', {}, { signal: AbortSignal.abort() })).toBeNull()
    expect(seen).toEqual([])
  })

  test('its types say so', () => {
    expectTypeOf<Client['createJob']>().returns.resolves.toEqualTypeOf<JobAccepted>()
    expectTypeOf<SilentClient['createJob']>().returns.resolves.toEqualTypeOf<JobAccepted | null>()
    expectTypeOf<SilentClient['getDecision']>().returns.resolves.toEqualTypeOf<PlacementResponse | null>()
    expectTypeOf<SilentClient['sendBeacon']>().returns.resolves.toEqualTypeOf<BeaconResult | null>()
    const silent = createClient({ base_url: '', onError: (error, method) => [error.message, method.length] })
    expectTypeOf(silent).toEqualTypeOf<SilentClient>()
    expectTypeOf(createClient({ base_url: '' })).toEqualTypeOf<Client>()
    expectTypeOf<Parameters<Client['reportGeneration']>[1]>().toEqualTypeOf<'started' | 'finished' | 'failed'>()
    const page = createBrowserClient({ base_url: '' })
    expectTypeOf(page).toHaveProperty('placements')
    expectTypeOf(page).not.toHaveProperty('snapshots')
    expectTypeOf(page.getDecision).returns.resolves.toEqualTypeOf<PlacementResponse>()
  })
})

describe('normalizePlacement', () => {
  test.each(['banner', 'clip', 'native'] as const)('%s: the same from v1 and from the older shape', async (format) => {
    const { slot_ids } = await server().createJob({ ...job, overrides: { allowed_formats: [format] } })
    const slot_id = slot_ids[0]!
    const canonical = normalizePlacement(await server().getDecision(slot_id))
    const older = normalizePlacement(await server().wrapper.decision({ params: { slot_id } }))
    if (canonical?.status !== 'filled' || older?.status !== 'filled') throw new Error('no fill')
    expect(canonical.label_text).toBe('Sponsored')
    expect(canonical.frame_url).toContain('/v1/render/')
    expect(older).toEqual({ ...canonical, label_text: null, frame_url: null })
    expect(canonical.native === null).toBe(format !== 'native')
    expect(canonical.duration_ms === null).toBe(format !== 'clip')
  })

  test('no-fill, expired, and values that are not a placement', async () => {
    const { slot_ids } = await server().createJob({ ...job, overrides: { bidfloor: 900 } })
    const slot_id = slot_ids[0]!
    const noFill = { status: 'no_fill', slot_id, reason: 'below_floor', retryable: false }
    expect(normalizePlacement(await server().getDecision(slot_id))).toEqual(noFill)
    expect(normalizePlacement(await server().wrapper.decision({ params: { slot_id } }))).toEqual(noFill)
    expect(normalizePlacement({ slot_id, status: 'expired', placement: null, decision: null })).toEqual({
      status: 'expired',
      slot_id,
    })
    const expired = { slot_id, status: 'ready', fill: false, reason: 'no_fill', no_fill_reason: 'slot_expired' }
    expect(normalizePlacement(expired)).toEqual({ status: 'expired', slot_id })
    const broken = { slot_id, status: 'ready', fill: true, creative: { url: '', type: 'banner' }, asset_token: 'ast_x' }
    for (const value of [null, 'text', [], {}, { slot_id: 1 }, { slot_id, status: 'ready' }, broken]) {
      expect(normalizePlacement(value)).toBeNull()
    }
  })
})

describe('verifyCallback', () => {
  const key = 'sk_test_sandbox_demo'
  const body = '{"slot_id":"slot_1","status":"ready"}'
  const sign = (text: string | Uint8Array, as = key) => `sha256=${createHmac('sha256', as).update(text).digest('hex')}`

  test('accepts only the signature of the exact bytes', async () => {
    expect(await verifyCallback(body, sign(body), key)).toBe(true)
    expect(await verifyCallback(new TextEncoder().encode(body), sign(body), key)).toBe(true)
    expect(await verifyCallback(Buffer.from(body), sign(body), key)).toBe(true)
    const bytes = Uint8Array.of(0xff, 0x00, 0x80)
    expect(await verifyCallback(bytes, sign(bytes), key)).toBe(true)
    expect(await verifyCallback(`${body} `, sign(body), key)).toBe(false)
    expect(await verifyCallback(body, sign(body, 'sk_test_other'), key)).toBe(false)
  })

  test('anything that is not a signature is false, never an error', async () => {
    const right = sign(body)
    const wrong = [null, undefined, '', 'sha256=', right.slice(7), right.toUpperCase(), `${right}0`, right.slice(0, -1)]
    for (const signature of wrong) expect(await verifyCallback(body, signature, key)).toBe(false)
    expect(await verifyCallback(body, right, '')).toBe(false)
  })
})
