import { describe, expect, test } from 'vitest'
import type { FaultDraft } from '#contract/resources/sandbox/faults.ts'
import { asked, key, liveKey, origin, publishable, type Stage, stage } from './stage.ts'

type Draft = Partial<FaultDraft>

async function add(on: Stage, body: Draft = {}) {
  return (await on.api.accept('faults.add', { body })).body
}

/** A placement request with any outcome. */
function place(on: Stage, more: Record<string, unknown> = {}, as = key) {
  return on.api.send('POST', '/v1/placements', { as, body: asked(more) })
}

async function listStatuses(on: Stage, count: number): Promise<number[]> {
  const statuses: number[] = []
  for (let index = 0; index < count; index++) statuses.push((await place(on)).status)
  return statuses
}

describe('a fault rule', () => {
  test('comes before the credential and the rate, as a broken network would', async () => {
    await using on = await stage({ rate_limit: '1/min' })
    await add(on, { times: 3 })
    expect((await place(on, {}, 'sk_test_unknown')).status).toBe(503)
    expect((await place(on)).status).toBe(503)
    expect((await place(on)).status).toBe(503)
    expect((await place(on)).status).toBe(200)
    expect((await place(on)).status).toBe(429)
  })

  test('never affects the control plane', async () => {
    await using on = await stage()
    await add(on)
    await on.api.accept('health.ready')
    expect((await on.api.send('GET', '/demo')).status).not.toBe(503)
  })
})

describe('a fault rule matches', () => {
  test('the prefix of the key, also the publishable key of an activation', async () => {
    await using on = await stage()
    await add(on, { key: 'sk_live_' })
    await add(on, { key: 'pk_test_' })
    expect((await place(on, {}, liveKey)).status).toBe(503)
    expect((await place(on)).status).toBe(200)
    const refused = await on.api.refuse('browser.activate', { origin, body: { publishable_key: publishable } })
    expect(refused.body.reason_code).toBe('injected_fault')
  })

  test('files: render.js, test assets and creatives, with an error that any page may read', async () => {
    await using on = await stage()
    await add(on, { path: '/v1/render.js', status: 500 })
    await add(on, { path: '/v1/test-assets', reason_code: 'not_found' })
    await add(on, { path: '/assets/creatives', reason_code: 'not_found' })
    const cases: [string, number][] = [
      ['/v1/render.js', 500],
      ['/v1/test-assets/banner', 404],
      ['/assets/creatives/any/file.png', 404],
    ]
    for (const [path, expected] of cases) {
      const { status, headers } = await on.api.send('GET', path, { origin: 'https://any.example' })
      expect([path, status, headers['access-control-allow-origin']]).toEqual([path, expected, '*'])
    }
  })
})

describe('a fault rule responds', () => {
  test('with rewritten fields of a response without a body: HEAD and 304 stay as they are', async () => {
    await using on = await stage()
    const path = `${on.sandbox.url}/v1/projects/proj_demo/config`
    const headers = { authorization: `Bearer ${key}` }
    const etag = (await fetch(path, { headers })).headers.get('etag')!
    await add(on, { effect: 'rewrite', rewrite: { mode: 'live' } })
    const head = await fetch(path, { method: 'HEAD', headers })
    const unchanged = await fetch(path, { headers: { ...headers, 'if-none-match': etag } })
    expect([head.status, await head.text(), unchanged.status, await unchanged.text()]).toEqual([200, '', 304, ''])
    expect(await (await fetch(path, { headers })).json()).toMatchObject({ mode: 'live' })
  })

  test('to requests of the sandbox itself: those of the backend of the demo host', async () => {
    await using on = await stage()
    const placeFromDemo = () =>
      on.api.send('POST', '/_sandbox/demo/api/placement', { body: { session_id: 's', job_type: 'chat' } })
    await add(on, { status: 500, times: 1, path: '/v1/placements' })
    expect([(await placeFromDemo()).status, (await placeFromDemo()).status]).toEqual([500, 200])
    await add(on, { effect: 'drop', times: 1, path: '/v1/placements' })
    await expect(placeFromDemo()).rejects.toThrow('socket hang up')
  })

  test('with broken files', async () => {
    await using on = await stage()
    const whole = await on.api.send('GET', '/v1/render.js')
    const { fault_id } = await add(on, { effect: 'garble', served: true, path: '/v1/render.js' })
    const { status, headers, text } = await on.api.send('GET', '/v1/render.js')
    expect([status, headers['x-sandbox-fault'], headers.etag]).toEqual([200, fault_id, whole.headers.etag])
    expect(text).not.toBe(whole.text)
    expect(headers['content-length']).toBe(whole.headers['content-length'])
    expect((await on.api.send('HEAD', '/v1/render.js')).status).toBe(200)
  })
})

describe('fault rules', () => {
  test('are listed newest first with their counts, secrets redacted, and the newest applies first', async () => {
    await using on = await stage()
    const first = await add(on, { status: 500 })
    const second = await add(on, { after: 1, times: 1, key })
    expect(await listStatuses(on, 3)).toEqual([500, 503, 500])
    const { items } = (await on.api.accept('faults.list')).body
    expect(items).toMatchObject([
      { fault_id: second.fault_id, matched: 3, injected: 1, key: 'sk_test_redacted', scenario: null },
      { fault_id: first.fault_id, matched: 2, injected: 2, effect: 'error', status: 500 },
    ])
  })

  test('are removed one by one, all at once, or with a reset', async () => {
    await using on = await stage()
    const { fault_id } = await add(on)
    await add(on)
    await add(on)
    expect((await on.api.accept('faults.remove', { params: { fault_id } })).body).toEqual({ cleared: 1 })
    expect((await on.api.refuse('faults.remove', { params: { fault_id } })).body.reason_code).toBe('not_found')
    expect((await on.api.accept('faults.clear')).body).toEqual({ cleared: 2 })
    await add(on)
    await on.api.accept('sandbox.reset', { body: {} })
    expect((await on.api.accept('faults.list')).body.items).toEqual([])
    expect((await place(on)).status).toBe(200)
  })

  test('are rejected when invalid, and beyond a hundred', async () => {
    await using on = await stage()
    const wrong = [
      { effect: 'explode' },
      { status: 200 },
      { rate: 2 },
      { times: 0 },
      { path: 'v1' },
      { effect: 'rewrite' },
      { rewrite: { a: 1 } },
      { latency_ms: 60_001 },
    ]
    for (const body of wrong) {
      expect((await on.api.refuse('faults.add', { body })).body.reason_code).toBe('schema_invalid')
    }
    expect((await on.api.refuse('faults.add', { body: { nonsense: 1 } })).body.reason_code).toBe('field_unknown')
    for (let count = 0; count < 100; count++) await add(on, { times: 1 })
    expect((await on.api.refuse('faults.add', { body: {} })).body.message).toContain('100')
  })

  test('are named in the journal, with a response or without', async () => {
    await using on = await stage()
    const lost = await add(on, { effect: 'drop', served: true, times: 1 })
    const dropped = await add(on, { effect: 'drop', times: 1 })
    const broken = await add(on, { times: 1 })
    expect((await place(on)).status).toBe(503)
    await expect(place(on)).rejects.toThrow('socket hang up')
    await expect(place(on)).rejects.toThrow('socket hang up')
    const { items } = (await on.api.accept('requests.list')).body
    expect(items.map(({ status, reason_code }) => [status, reason_code])).toEqual([
      [200, null],
      [0, null],
      [503, 'injected_fault'],
    ])
    const named: unknown[] = []
    for (const { request_id } of items) {
      const { body } = await on.api.accept('requests.show', { params: { request_id } })
      named.push(body.response_headers['x-sandbox-fault'])
    }
    expect(named).toEqual([lost.fault_id, dropped.fault_id, broken.fault_id])
  })
})
