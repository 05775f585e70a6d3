import { describe, expect, test } from 'vitest'
import type { ConsoleSlots } from '#contract/resources/sandbox/console-slots.ts'
import type { Api, Call } from './call.ts'
import { asked, beacon, fill, key, liveKey, origin, otherKey, stage, strictKey } from './stage.ts'

const strictOrigin = 'https://app.example.com'
const stranger = 'https://stranger.example'
const slotsPath = '/_sandbox/console/page/slots'

const readSlots = async (api: Api, asset_tokens: unknown, call: Call = { origin }) => {
  const { status, headers, body } = await api.send('POST', slotsPath, { ...call, body: { asset_tokens } })
  return { status, headers, body: body as ConsoleSlots }
}

describe('the slots of a page', () => {
  test('are those of its asset tokens, with beacons, billing and consent as the sandbox has them', async () => {
    await using on = await stage()
    const { asset_token, slot_id, placement } = await fill(on.api, { format: 'banner' })
    const bare = await readSlots(on.api, [asset_token])
    expect(bare.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'cache-control': 'no-store',
      vary: 'Origin',
    })
    const decided_at_ms = on.clock.now()
    expect(bare.body).toEqual({
      server_time_ms: decided_at_ms,
      slots: [
        {
          asset_token,
          slot_id,
          session_id: 'sess_1',
          format: 'banner',
          sponsor_name: placement.sponsor_name,
          requested_at_ms: decided_at_ms,
          decided_at_ms,
          frame_loaded_at_ms: null,
          is_forced: false,
          expires_at_ms: decided_at_ms + 2_100_000,
          beacons: [],
          billing: {
            would_bill: false,
            metric: 'viewable_impression',
            gross_cpm: expect.any(Number),
            currency: 'USD',
            explanation: 'No viewable impression: no visible beacon was accepted.',
            missing: expect.stringContaining('frame_url'),
          },
          consent: {
            state: 'granted',
            revision: 1,
            expires_at_ms: expect.any(Number),
            current_state: null,
            current_revision: null,
          },
          inspector_url: `${on.sandbox.url}/_sandbox/placements/${slot_id}`,
        },
      ],
    })
    on.clock.advance(1_000)
    await on.api.send('GET', `/v1/render/${asset_token}`)
    on.clock.advance(1_000)
    await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, { asset_token }, 'render') })
    await on.api.send('POST', '/v1/beacons', {
      as: key,
      body: beacon(on.clock, { asset_token }, 'visible', { contract_version: 'other/v2' }),
    })
    await on.api.accept('consent.set', {
      as: key,
      body: { client_id: 'proj_demo', session_id: 'sess_1', decision: 'withdrawn' },
    })
    const [slot] = (await readSlots(on.api, [asset_token])).body.slots
    expect(slot).toMatchObject({
      frame_loaded_at_ms: decided_at_ms + 1_000,
      consent: { state: 'granted', current_state: 'withdrawn', current_revision: 1 },
    })
    expect(slot!.expires_at_ms).toBeGreaterThan(decided_at_ms + 1_000)
    expect(slot!.beacons).toEqual([
      {
        event: 'render',
        at_ms: decided_at_ms + 2_000,
        verdict: 'accepted',
        reason_code: 'OK',
        meaning: 'it counts',
        would_bill: false,
        metric: 'rendered_impression',
      },
      {
        event: 'visible',
        at_ms: decided_at_ms + 2_000,
        verdict: 'rejected',
        reason_code: 'contract_version_unsupported',
        meaning: expect.any(String),
        would_bill: false,
        metric: null,
      },
    ])
  })

  test('carry nothing of the request: no topic, no prompt, no metadata, no key', async () => {
    await using on = await stage()
    const body = asked({ prompt: { topic: 'sailing-topic', text: 'sailing-prompt' } })
    const { asset_token } = await fill(on.api, { body })
    await on.api.accept('beacons.send', {
      as: key,
      body: beacon(on.clock, { asset_token }, 'render', { metadata: { note: 'private-note' } }),
    })
    const { body: read } = await readSlots(on.api, [asset_token])
    expect(read.slots).toHaveLength(1)
    expect(JSON.stringify(read)).not.toMatch(/sailing|private-note|sk_test|pk_test|bt_|at_0/)
  })

  test('leave out tokens that are unknown, malformed, forged or of a project that does not allow the origin', async () => {
    await using on = await stage()
    const own = await fill(on.api)
    const strict = asked({ client_id: 'proj_strict', consent: { semantic_targeting: true } })
    const other = await fill(on.api, { as: strictKey, body: strict })
    const live = await fill(on.api, { as: liveKey })
    const forged = `${own.asset_token.slice(0, -1)}${own.asset_token.endsWith('A') ? 'B' : 'A'}`
    const tokens = [other.asset_token, live.asset_token, forged, `ast_00000000001_${'x'.repeat(43)}`, '', own.slot_id]
    expect((await readSlots(on.api, tokens)).body.slots).toEqual([])
    const mixed = await readSlots(on.api, [...tokens, own.asset_token, own.asset_token])
    expect(mixed.body.slots.map(({ slot_id }) => slot_id)).toEqual([own.slot_id])
    const theirs = await readSlots(on.api, [...tokens, own.asset_token], { origin: strictOrigin })
    expect(theirs.body.slots.map(({ slot_id }) => slot_id)).toEqual([other.slot_id])
  })

  test('are refused to an origin that no project allows, and to a request without one', async () => {
    await using on = await stage()
    const { asset_token } = await fill(on.api)
    for (const from of [stranger, 'null', undefined, 'http://localhost.evil.example']) {
      const call = from === undefined ? {} : { origin: from }
      const { status, headers, body } = await readSlots(on.api, [asset_token], call)
      expect([from, status]).toEqual([from, 403])
      expect(body).toMatchObject({ reason_code: 'origin_not_allowed' })
      expect(headers['access-control-allow-origin']).toBeUndefined()
    }
  })

  test('are refused with a readable error to an allowed page whose request is wrong', async () => {
    await using on = await stage()
    const send = (call: Call) => on.api.send('POST', slotsPath, { origin, ...call })
    const many = { asset_tokens: Array.from({ length: 101 }, () => 'ast_x') }
    for (const [call, reason_code] of [
      [{ body: {} }, 'schema_invalid'],
      [{ body: many }, 'schema_invalid'],
      [{ body: { asset_tokens: [], more: 1 } }, 'field_unknown'],
      [{ raw: '{' }, 'json_malformed'],
      [{ raw: ' '.repeat(65_537) }, 'payload_too_large'],
      // A page can send this type without a preflight.
      [{ raw: '{"asset_tokens":[]}', headers: { 'content-type': 'text/plain' } }, 'content_type_unsupported'],
    ] as const) {
      const { headers, body } = await send(call)
      expect(body).toMatchObject({ reason_code })
      expect(headers['access-control-allow-origin']).toBe(origin)
    }
  })

  test('have a preflight for the origins that may read them, and for no other route of the control plane', async () => {
    await using on = await stage()
    const ask = (from: string, path = slotsPath) =>
      on.api.send('OPTIONS', path, { origin: from, headers: { 'access-control-request-method': 'POST' } })
    expect((await ask(origin)).headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'POST',
    })
    for (const [from, path] of [
      [stranger, slotsPath],
      [origin, '/_sandbox/console/page/other'],
      [origin, '/_sandbox/console/grants'],
      [origin, '/_sandbox/reset'],
    ] as const) {
      const { status, headers } = await ask(from, path)
      expect([path, status, headers['access-control-allow-methods']]).toEqual([path, 403, undefined])
    }
  })

  test('leave nothing in the journal', async () => {
    await using on = await stage()
    const { asset_token } = await fill(on.api, { as: otherKey, body: asked({ client_id: 'proj_other' }) })
    const before = (await on.api.accept('requests.count', { body: {} })).body
    await readSlots(on.api, [asset_token])
    expect((await on.api.accept('requests.count', { body: {} })).body).toEqual(before)
  })
})

test('the module is served to every page as render.js is, and takes no other method', async () => {
  await using on = await stage()
  const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'script', 'accept-encoding': 'br' }
  const get = (more: object = {}) =>
    on.api.send('GET', '/_sandbox/console.js', { origin: stranger, headers: { ...headers, ...more } })
  const { status, headers: received } = await get()
  expect([status, received]).toMatchObject([
    200,
    {
      'content-type': 'text/javascript; charset=utf-8',
      'content-encoding': 'br',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
    },
  ])
  expect((await get({ 'if-none-match': received.etag })).status).toBe(304)
  expect((await on.api.send('POST', '/_sandbox/console.js', { origin: stranger, body: {} })).status).toBe(403)
})
