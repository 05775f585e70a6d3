import { describe, expect, test } from 'vitest'
import type { EndpointId } from '#contract/index.ts'
import type { Api, Call } from './call.ts'
import {
  activate,
  asked,
  beacon,
  fill,
  key,
  liveKey,
  origin,
  otherKey,
  publishable,
  stage,
  stageWith,
} from './stage.ts'

/** Calls until the limit refuses, and returns how many passed and the refusal. */
async function exhaust(api: Api, id: EndpointId, call: Call, most = 1_500) {
  const { method, path } = await import('#contract/index.ts').then(({ contract }) => contract[id])
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => call.params![name]!)
  let passed = 0
  for (; passed < most; passed += 50) {
    const answers = await Promise.all(Array.from({ length: 50 }, () => api.send(method, url, call)))
    const refused = answers.filter(({ status }) => status === 429)
    if (refused.length > 0) return { passed: passed + 50 - refused.length, refused: await api.refuse(id, call) }
  }
  throw new Error(`${id} was never limited`)
}

describe('the limits of a key', () => {
  test('are 200 at once and 100 a second for placements, jobs, decisions, consent and config together', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    const params = { slot_id, client_id: 'proj_demo' }
    const { passed, refused } = await exhaust(on.api, 'decisions.get', { as: key, params })
    expect(passed).toBe(199)
    expect([refused.status, refused.body.error, refused.body.retryable]).toEqual([429, 'rate_limited', true])
    for (const id of ['placements.create', 'jobs.create', 'consent.set'] as const) {
      expect((await on.api.refuse(id, { as: key, body: {} })).body.reason_code).toBe('rate_limited')
    }
    expect((await on.api.refuse('projects.config', { as: key, params })).body.reason_code).toBe('rate_limited')
    on.clock.advance(1_000)
    expect((await exhaust(on.api, 'decisions.get', { as: key, params })).passed).toBe(100)
  })

  test('are 1000 at once and 500 a second for beacons, apart from the others', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const body = beacon(on.clock, filled, 'render')
    const { passed } = await exhaust(on.api, 'beacons.send', { as: key, body })
    expect(passed).toBe(1_000)
    await fill(on.api)
    on.clock.advance(100)
    expect((await exhaust(on.api, 'beacons.send', { as: key, body })).passed).toBe(50)
  })

  test('are 40 at once and 20 a second for activation', async () => {
    await using on = await stage()
    const call = { origin, body: { publishable_key: publishable } }
    expect((await exhaust(on.api, 'browser.activate', call)).passed).toBe(40)
    on.clock.advance(1_000)
    expect((await exhaust(on.api, 'browser.activate', call)).passed).toBe(20)
  })

  test('are its own: another key, mode or project has tokens left; every token of a publishable key shares', async () => {
    await using on = await stage({ rate_limit: '1/min' })
    const params = { client_id: 'proj_demo' }
    await on.api.accept('projects.config', { as: key, params })
    await on.api.refuse('projects.config', { as: key, params })
    await on.api.accept('projects.config', { as: liveKey, params })
    await on.api.accept('projects.config', { as: otherKey, params: { client_id: 'proj_other' } })
    const one = await activate(on.api)
    on.clock.advance(60_000)
    const two = await activate(on.api)
    await on.api.accept('projects.config', { as: one, origin, params })
    const refused = await on.api.refuse('projects.config', { as: two, origin, params })
    expect(refused.body.reason_code).toBe('rate_limited')
  })

  test('are not drawn by what is refused before them', async () => {
    await using on = await stage({ rate_limit: '1/min' })
    for (const call of [{}, { as: 'sk_test_nobody' }, { as: publishable }, { as: key, origin }]) {
      await on.api.refuse('placements.create', { ...call, body: asked() })
    }
    await on.api.accept('placements.create', { as: key, body: asked() })
    const body = { publishable_key: publishable }
    for (const from of [{}, { origin: 'https://evil.example' }]) {
      await on.api.refuse('browser.activate', { ...from, body })
    }
    await on.api.accept('browser.activate', { origin, body })
  })

  test('are drawn by a request that is refused after them', async () => {
    await using on = await stage({ rate_limit: '1/min' })
    await on.api.refuse('placements.create', { as: key, body: {} })
    expect((await on.api.refuse('placements.create', { as: key, body: asked() })).status).toBe(429)
  })
})

describe('a refusal', () => {
  test('says in whole seconds when to come back, and then the request passes', async () => {
    await using on = await stage({ rate_limit: '1/min' })
    await on.api.accept('placements.create', { as: key, body: asked() })
    for (const [passed_ms, retry_after] of [
      [0, '60'],
      [500, '60'],
      [30_000, '30'],
      [29_400, '1'],
    ] as const) {
      on.clock.advance(passed_ms)
      const { headers } = await on.api.refuse('placements.create', { as: key, body: asked() })
      expect(headers['retry-after']).toBe(retry_after)
    }
    on.clock.advance(1_000)
    await on.api.accept('placements.create', { as: key, body: asked() })
  })

  test('asks for at least one second, and carries the RateLimit headers of the draft', async () => {
    await using on = await stage({ rate_limit: '5/s' })
    const { passed, refused } = await exhaust(on.api, 'placements.create', { as: key, body: asked() })
    expect(passed).toBe(10)
    expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/)
    expect(refused.headers.ratelimit).toMatch(/^"[a-z]+";r=0;t=\d+$/)
    expect(refused.headers['ratelimit-policy']).toMatch(/^"[a-z]+";q=10;w=[1-9]\d*$/)
  })
})

describe('settings', () => {
  test('the rate of the start wins for every class; off means off', async () => {
    await using on = await stage({ rate_limit: 'off' })
    const answers = await Promise.all(
      Array.from({ length: 300 }, () => on.api.send('GET', '/v1/projects/proj_demo/config', { as: key })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  })

  test('a project has rates of its own, by class', async () => {
    await using on = await stageWith({ rate_limits: { default: '1/min', beacons: 'off', activate: null } })
    const filled = await fill(on.api)
    expect((await on.api.refuse('placements.create', { as: key, body: asked() })).headers['retry-after']).toBe('60')
    for (let count = 0; count < 5; count++) {
      await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'heartbeat') })
    }
    const { passed } = await exhaust(on.api, 'browser.activate', { origin, body: { publishable_key: publishable } })
    expect(passed).toBe(40)
  })

  test('a rate that cannot be read does not start', async () => {
    await expect(stage({ rate_limit: 'fast' })).rejects.toMatchObject({ code: 'option_invalid' })
  })
})
