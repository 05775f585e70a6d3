import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ReplayResult, RequestDetail } from '#contract/resources/requests.ts'
import { startSandbox } from '#sandbox/index.ts'
import type { Api } from './call.ts'
import { activate, asked, beacon, fill, folder, key, liveKey, origin, publishable, type Stage, stage } from './stage.ts'

/** The newest exchange of the journal with this path. */
async function newest(api: Api, path: string): Promise<RequestDetail> {
  const { body } = await api.accept('requests.list', { query: { path, limit: 1 } })
  return (await api.accept('requests.show', { params: { request_id: body.items[0]!.request_id } })).body
}

/** Sends the newest exchange of a path again. */
async function replay(api: Api, path: string, body: Record<string, unknown> = {}): Promise<ReplayResult> {
  const { request_id } = await newest(api, path)
  return (await api.accept('requests.replay', { params: { request_id }, body })).body
}

async function refusal(api: Api, path: string, body: Record<string, unknown> = {}): Promise<string[]> {
  const { request_id } = await newest(api, path)
  const response = await api.refuse('requests.replay', { params: { request_id }, body })
  expect(response.body.reason_code).toBe('replay_incomplete')
  return response.body.fields.map(({ path, message }) => `${path} ${message}`)
}

const readResponse = ({ exchange }: ReplayResult) => JSON.parse(exchange.response_body!) as Record<string, unknown>
const journalSize = async (api: Api) => (await api.accept('sandbox.info')).body.journal.size

/** A placement and its render beacon in the journal. */
async function withBeacon(on: Stage, more: Record<string, unknown> = {}) {
  const filled = await fill(on.api, { format: 'banner' })
  await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render', more) })
  return filled
}

describe('a replay', () => {
  test('of a beacon needs no token: it is a duplicate, and with another id a second beacon', async () => {
    await using on = await stage()
    await withBeacon(on)
    const before = await newest(on.api, '/v1/beacons')
    const again = await replay(on.api, '/v1/beacons')
    expect(again).toMatchObject({ replayed: before.request_id, status_before: 200, not_restored: [] })
    expect(readResponse(again)).toMatchObject({ duplicate: true, reason_code: 'DUPLICATE' })
    expect(again.exchange).toMatchObject({
      key: 'sk_test',
      key_id: before.key_id,
      slot_id: before.slot_id,
      request_body: before.request_body,
      request_headers: { authorization: 'Bearer sk_test_redacted', 'x-sandbox-replay': before.request_id },
    })
    expect(again.exchange.request_id).not.toBe(before.request_id)
    const changed = await replay(on.api, '/v1/beacons', {
      set: { beacon_id: 'replayed-1', 'measurements.visible_ms': 7, 'metadata.tags.0': 'again' },
    })
    expect(readResponse(changed)).toMatchObject({ duplicate: false })
    expect(JSON.parse(changed.exchange.request_body!)).toMatchObject({
      beacon_id: 'replayed-1',
      measurements: { visible_ms: 7 },
      metadata: { tags: ['again'] },
    })
  })

  test('shows no secret, neither of the request nor of the response', async () => {
    await using on = await stage()
    const { asset_token } = await withBeacon(on)
    await replay(on.api, '/v1/beacons')
    await replay(on.api, '/v1/placements')
    const surfaces = [
      JSON.stringify(await replay(on.api, '/v1/placements')),
      JSON.stringify(await newest(on.api, '/v1/')),
      (await on.api.accept('requests.list')).text,
    ].join('\n')
    expect(surfaces).toContain('_redacted')
    expect(surfaces).not.toMatch(/(ast|at|bt)_[0-9a-z]{11}_[\w-]{43}/)
    expect(surfaces).not.toContain(asset_token)
    expect(surfaces).not.toContain(key)
    expect(surfaces).not.toMatch(/"x-sandbox-replay":"[\w-]{43}"/)
  })

  test('of a placement leaves out its prompt text, and reports it', async () => {
    await using on = await stage()
    await fill(on.api, { body: asked({ prompt: { topic: 'coffee', text: 'which beans are best' } }) })
    const again = await replay(on.api, '/v1/placements')
    expect(again.exchange.status).toBe(200)
    expect(again.not_restored).toEqual([{ path: 'prompt', message: 'Left out: prompt text is never kept.' }])
    expect(JSON.parse(again.exchange.request_body!)).not.toHaveProperty('prompt')
    const given = await replay(on.api, '/v1/placements', { set: { prompt: 'which beans' } })
    expect(given.not_restored).toEqual([])
  })

  test('of a page uses its publishable key, from the same origin', async () => {
    await using on = await stage()
    const { asset_token } = await fill(on.api, { format: 'banner' })
    const token = await activate(on.api)
    await on.api.accept('beacons.send', { as: token, origin, body: beacon(on.clock, { asset_token }, 'render') })
    const before = await newest(on.api, '/v1/beacons')
    const again = await replay(on.api, '/v1/beacons')
    expect(again.not_restored).toEqual([
      { path: 'authorization', message: expect.stringContaining('activation token') },
    ])
    expect(again.exchange).toMatchObject({ status: 200, key: 'at', key_id: before.key_id })
    expect(again.exchange.request_headers).toMatchObject({ origin, authorization: 'Bearer at_redacted' })
    await on.api.accept('projects.update', {
      params: { client_id: 'proj_demo' },
      body: { allowed_origins: ['https://elsewhere.example'] },
    })
    expect((await replay(on.api, '/v1/beacons')).exchange).toMatchObject({
      status: 403,
      reason_code: 'origin_not_allowed',
    })
  })

  test('of a frame uses the slot of its beacon token, and no other', async () => {
    await using on = await stage()
    const { asset_token } = await fill(on.api, { format: 'banner' })
    const { text } = await on.api.send('GET', `/v1/render/${asset_token}`)
    const [token] = /bt_[0-9a-z]{11}_[\w-]{43}/.exec(text)!
    await on.api.accept('beacons.send', { as: token, origin, body: beacon(on.clock, { asset_token }, 'render') })
    const again = await replay(on.api, '/v1/beacons')
    expect(again.exchange).toMatchObject({ status: 200, key: 'bt', request_headers: { origin } })
    expect(again.not_restored).toEqual([{ path: 'authorization', message: expect.stringContaining('beacon token') }])
    const other = await fill(on.api, { format: 'banner', body: asked({ session_id: 'sess_2' }) })
    const foreign = await replay(on.api, '/v1/beacons', { set: { asset_token: other.asset_token } })
    expect(foreign.exchange).toMatchObject({ status: 400, reason_code: 'asset_token_invalid' })
  })

  test('of a frame restores the token in the path', async () => {
    await using on = await stage()
    const { asset_token } = await fill(on.api, { format: 'banner' })
    await on.api.send('GET', `/v1/render/${asset_token}`)
    expect((await replay(on.api, '/v1/render/')).exchange.status).toBe(200)
  })

  test('is subject to present faults, rates and settings', async () => {
    await using on = await stage()
    await withBeacon(on)
    await on.api.accept('faults.add', { body: { path: '/v1/beacons', key: 'sk_test', effect: 'drop', times: 1 } })
    const { request_id } = await newest(on.api, '/v1/beacons')
    const call = { params: { request_id }, body: {} }
    const dropped = (await on.api.accept('requests.replay', call)).body
    expect(dropped.exchange).toMatchObject({ status: 0, response_headers: { 'x-sandbox-fault': 'flt_1' } })
    await on.api.accept('projects.update', {
      params: { client_id: 'proj_demo' },
      body: { rate_limits: { beacons: '1/min' } },
    })
    const statuses = []
    for (let tries = 0; tries < 2; tries++) {
      statuses.push((await on.api.accept('requests.replay', call)).body.exchange.status)
    }
    expect(statuses).toEqual([200, 429])
  })

  test('with a revoked key is rejected like the key, and works with another one', async () => {
    await using on = await stage()
    const made = await on.api.accept('keys.create', {
      params: { client_id: 'proj_demo' },
      body: { class: 'secret', mode: 'test' },
    })
    await on.api.accept('placements.create', { as: made.body.key, body: asked() })
    const kept = await newest(on.api, '/v1/placements')
    await on.api.accept('keys.revoke', { params: { key_id: kept.key_id! } })
    const call = (body: Record<string, unknown>) =>
      on.api.accept('requests.replay', { params: { request_id: kept.request_id }, body })
    expect((await call({})).body.exchange).toMatchObject({ status: 401, reason_code: 'key_revoked' })
    await on.api.accept('placements.create', { as: liveKey, body: asked() })
    const other = (await newest(on.api, '/v1/placements')).key_id!
    expect((await call({ key_id: other })).body.exchange).toMatchObject({ status: 200, key: 'sk_live', key_id: other })
  })

  test('is not sent when something is missing, and names it', async () => {
    await using on = await stage()
    await on.api.refuse('placements.create', { as: 'sk_test_nobody', body: asked({ session_id: 'x y' }) })
    expect(await refusal(on.api, '/v1/placements')).toEqual(['session_id is not kept', 'authorization is not kept'])
    await on.api.send('POST', '/v1/placements', { as: key, raw: '{"half' })
    expect(await refusal(on.api, '/v1/placements')).toEqual(['body is not kept'])
    const { asset_token } = await fill(on.api, { format: 'banner' })
    const forged = `${asset_token.slice(0, -1)}${asset_token.endsWith('A') ? 'B' : 'A'}`
    await on.api.refuse('beacons.send', { as: key, body: beacon(on.clock, { asset_token: forged }, 'render') })
    const size = await journalSize(on.api)
    expect(await refusal(on.api, '/v1/beacons')).toEqual(['asset_token is not kept'])
    expect(await refusal(on.api, '/v1/beacons', { set: { asset_token, 'metadata.tags.7': 1 } })).toEqual([
      'metadata.tags.7 cannot be set',
    ])
    expect(await journalSize(on.api)).toBe(size)
    await on.api.accept('browser.activate', { origin, body: { publishable_key: publishable } })
    expect(await refusal(on.api, '/v1/browser/activate')).toEqual(['publishable_key is not kept'])
    const again = await replay(on.api, '/v1/browser/activate', { set: { publishable_key: publishable } })
    expect(again.exchange.status).toBe(200)
  })

  test('of an unknown request, or with an unknown key, is an error', async () => {
    await using on = await stage()
    await on.api.refuse('requests.replay', { params: { request_id: 'req_00000000001' }, body: {} })
    await fill(on.api)
    expect(await refusal(on.api, '/v1/placements', { key_id: 'key_zzzzzzzzzzz' })).toEqual([
      'key_id is key_zzzzzzzzzzz, which this sandbox does not have',
    ])
    const { request_id } = await newest(on.api, '/v1/placements')
    const path = `/_sandbox/requests/${request_id}/replay`
    expect((await on.api.send('POST', path, { origin, body: {} })).status).toBe(403)
  })

  test('does not wait for a reset, and a reset does not wait for a replay', async () => {
    await using on = await stage()
    await fill(on.api)
    const { request_id } = await newest(on.api, '/v1/placements')
    await on.api.accept('faults.add', { body: { path: '/v1/placements', effect: 'delay', latency_ms: 400 } })
    const replaying = on.api.send('POST', `/_sandbox/requests/${request_id}/replay`, { body: {} })
    await expect.poll(async () => (await on.api.accept('faults.list')).body.items[0]!.injected, { interval: 5 }).toBe(1)
    await on.api.accept('sandbox.reset', { body: {} })
    expect((await replaying).status).toBeLessThan(500)
  })

  test('of a token from another install is not sent', async () => {
    using dir = folder()
    const database = join(dir.path, 'a.db')
    await using on = await stage({ database })
    await withBeacon(on)
    const state = await fetch(`${on.sandbox.url}/_sandbox/export`).then((response) => response.arrayBuffer())
    await using elsewhere = await startSandbox({ database: join(dir.path, 'b.db'), clock: on.clock })
    const { connect } = await import('./call.ts')
    const api = connect(elsewhere)
    const imported = await fetch(`${elsewhere.url}/_sandbox/import`, {
      method: 'POST',
      headers: { 'content-type': 'application/gzip' },
      body: state,
    })
    expect(imported.status).toBe(200)
    expect(await refusal(api, '/v1/beacons')).toEqual(['asset_token is not kept'])
  })

  test('an unknown ticket is only a header', async () => {
    await using on = await stage()
    const headers = { 'x-sandbox-replay': 'A'.repeat(43) }
    await on.api.refuse('placements.create', { headers, body: asked() })
  })
})
