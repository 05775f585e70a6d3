import { describe, expect, test } from 'vitest'
import { v1 } from '#contract/index.ts'
import { activate, asked, beacon, fill, key, origin, publishable, stage } from '../stage.ts'

const strictOrigin = 'https://app.example.com'
const stranger = 'https://stranger.example'
const exposed = ['x-request-id', 'date', 'retry-after', 'ratelimit', 'ratelimit-policy', 'x-sandbox-warning']

const preflight = (from: string, method = 'POST', more = {}) => ({
  origin: from,
  headers: {
    'access-control-request-method': method,
    'access-control-request-headers': 'authorization,content-type',
    ...more,
  },
})

const browserPaths = Object.values(v1)
  .filter(({ credentials, id }) => credentials.length > 0 || id === 'browser.activate')
  .map(({ method, path }) => [method, path.replaceAll(/\{\w+\}/g, 'x')] as const)

describe('preflight', () => {
  test('answers every origin that some project allows, at every endpoint that a browser calls', async () => {
    await using on = await stage()
    for (const [method, path] of browserPaths) {
      for (const from of [origin, 'http://127.0.0.1:9', strictOrigin]) {
        const { status, headers, text } = await on.api.send('OPTIONS', path, preflight(from, method))
        expect([path, status, text]).toEqual([path, 204, ''])
        expect(headers['access-control-allow-origin']).toBe(from)
        expect(headers['access-control-allow-methods']?.split(', ')).toContain(method)
        const allowed = headers['access-control-allow-headers']?.split(', ')
        for (const name of ['authorization', 'content-type']) expect(allowed).toContain(name)
        expect(headers.vary).toContain('Origin')
        expect(Number(headers['access-control-max-age'])).toBeGreaterThan(0)
      }
    }
  })

  test('refuses an origin that no project allows, and grants it nothing', async () => {
    await using on = await stage()
    for (const from of [stranger, 'null', 'http://app.example.com', 'http://localhost.evil.example']) {
      for (const path of ['/v1/placements', '/v1/beacons']) {
        const { status, headers, body } = await on.api.send('OPTIONS', path, preflight(from))
        expect([from, path, status]).toEqual([from, path, 403])
        expect(body).toMatchObject({ reason_code: 'origin_not_allowed' })
        expect(headers['access-control-allow-origin']).toBeUndefined()
        expect(headers['access-control-allow-methods']).toBeUndefined()
        expect(headers.vary).toContain('Origin')
      }
    }
  })

  test('lets a page reach this private network when the browser asks', async () => {
    await using on = await stage()
    const ask = preflight(origin, 'POST', { 'access-control-request-private-network': 'true' })
    const { headers } = await on.api.send('OPTIONS', '/v1/placements', ask)
    expect(headers['access-control-allow-private-network']).toBe('true')
    const without = await on.api.send('OPTIONS', '/v1/placements', preflight(origin))
    expect(without.headers['access-control-allow-private-network']).toBeUndefined()
  })

  test('costs no token of the rate limit', async () => {
    await using on = await stage({ rate_limit: '1/min' })
    for (let count = 0; count < 5; count++) {
      expect((await on.api.send('OPTIONS', '/v1/placements', preflight(origin))).status).toBe(204)
    }
  })
})

describe('activation', () => {
  test('is readable by its caller, even when it is refused', async () => {
    await using on = await stage()
    const accepted = await on.api.accept('browser.activate', { origin, body: { publishable_key: publishable } })
    expect(accepted.headers['access-control-allow-origin']).toBe(origin)
    const refused = await on.api.refuse('browser.activate', {
      origin: stranger,
      body: { publishable_key: publishable },
    })
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([403, stranger])
    const unknown = await on.api.refuse('browser.activate', {
      origin: stranger,
      body: { publishable_key: 'pk_test_x' },
    })
    expect([unknown.status, unknown.headers['access-control-allow-origin']]).toEqual([401, stranger])
  })
})

describe('answers to pages', () => {
  test('are readable on the bound origin, with the headers that a client needs', async () => {
    await using on = await stage()
    const as = await activate(on.api)
    const filled = await fill(on.api)
    const answers = [
      await on.api.accept('placements.create', { as, origin, body: asked() }),
      await on.api.accept('decisions.get', { as, origin, params: { slot_id: filled.slot_id } }),
      await on.api.accept('beacons.send', { as, origin, body: beacon(on.clock, filled, 'render') }),
      await on.api.accept('projects.config', { as, origin, params: { client_id: 'proj_demo' } }),
      await on.api.refuse('placements.create', { as, origin, body: {} }),
      await on.api.refuse('placements.create', { as: 'at_x', origin, body: asked() }),
      await on.api.refuse('placements.create', { as: key, origin, body: asked() }),
    ]
    for (const { headers } of answers) {
      expect(headers['access-control-allow-origin']).toBe(origin)
      expect(headers.vary).toContain('Origin')
      const names = headers['access-control-expose-headers']?.split(', ')
      for (const name of exposed) expect(names).toContain(name)
    }
  })

  test('are not readable on another origin than the bound one, nor by strangers', async () => {
    await using on = await stage()
    const as = await activate(on.api)
    for (const from of ['http://localhost:3001', strictOrigin, stranger]) {
      const { headers, body } = await on.api.refuse('placements.create', { as, origin: from, body: asked() })
      expect([from, body.reason_code]).toEqual([from, 'origin_mismatch'])
      expect(headers['access-control-allow-origin']).toBeUndefined()
      expect(headers.vary).toContain('Origin')
    }
    const { headers } = await on.api.refuse('placements.create', { as: 'at_x', origin: stranger, body: asked() })
    expect(headers['access-control-allow-origin']).toBeUndefined()
  })

  test('without an Origin carry no grant, but still vary by it', async () => {
    await using on = await stage()
    const { headers } = await on.api.accept('placements.create', { as: key, body: asked() })
    expect(headers['access-control-allow-origin']).toBeUndefined()
    expect(headers.vary).toContain('Origin')
  })

  test('that come before any endpoint are readable too: a developer must see the 404, 405 and 413', async () => {
    await using on = await stage()
    const answers = [
      await on.api.send('POST', '/v1/placement', { origin }),
      await on.api.send('PUT', '/v1/placements', { origin }),
      await on.api.send('POST', '/v1/placements', { origin, raw: 'x'.repeat(70_000) }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([404, 405, 413])
    for (const { headers } of answers) expect(headers['access-control-allow-origin']).toBe(origin)
  })
})

describe('files', () => {
  test('may be loaded by any page', async () => {
    await using on = await stage()
    const { decision } = await fill(on.api, { format: 'native' })
    for (const path of ['/v1/render.js', '/v1/test-assets/banner', new URL(decision.assets!.icon_url).pathname]) {
      const { status, headers } = await on.api.send('GET', path, { origin: stranger })
      expect([path, status]).toEqual([path, 200])
      expect(headers['access-control-allow-origin']).toBe('*')
      expect(headers['cross-origin-resource-policy']).toBe('cross-origin')
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers.etag).toMatch(/^"/)
    }
  })
})

test("an answer carries the sandbox clock's time, for browsers whose own is wrong", async () => {
  await using on = await stage()
  on.clock.advance(40 * 86_400_000)
  const accepted = await on.api.send('POST', '/v1/placements', { as: key, body: asked() })
  const refused = await on.api.send('POST', '/v1/placements', { as: 'sk_test_none', body: asked() })
  expect([accepted.status, refused.status]).toEqual([200, 401])
  for (const { headers } of [accepted, refused]) {
    expect(Date.parse(`${headers.date}`)).toBe(Math.floor(on.clock.now() / 1_000) * 1_000)
  }
})
