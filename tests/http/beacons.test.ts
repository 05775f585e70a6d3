import { describe, expect, test } from 'vitest'
import { beaconEventSpellings, beaconEvents } from '#contract/resources/beacons.ts'
import { createDice } from '#tests/reliability/dice.ts'
import type { Api, Call } from './call.ts'
import {
  activate,
  asked,
  beacon,
  day_ms,
  fill,
  key,
  liveKey,
  origin,
  otherKey,
  type Stage,
  stage,
  stageWith,
  strictKey,
} from './stage.ts'

const seen = { visible_ratio: 0.5, visible_ms: 1000, page_visible: true }

async function send(api: Api, body: unknown, call: Call = { as: key }) {
  const response = await api.accept('beacons.send', { ...call, body })
  const { reason_code, duplicate } = response.body
  return { ...response, reason_code, duplicate, would_bill: response.headers['x-sandbox-would-bill'] }
}

async function refusal(api: Api, body: unknown, call: Call = { as: key }) {
  return (await api.refuse('beacons.send', { ...call, body })).body.reason_code
}

/** The beacon token of a loaded frame, as its script gets it. */
async function beaconToken(on: Stage, asset_token: string): Promise<string> {
  const { text } = await on.api.accept('render.frame', { params: { asset_token } })
  return /bt_[0-9a-z]{11}_[A-Za-z0-9_-]{43}/.exec(text)![0]
}

describe('an accepted beacon', () => {
  test('gets the response of the contract, and is never billed here', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const { body, headers } = await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
    expect(body).toEqual({
      ok: true,
      accepted: true,
      duplicate: false,
      billable: false,
      reason_code: 'OK',
      contract_version: 'csl_wrapper_beacon/v1',
      request_id: headers['x-request-id'],
    })
  })

  test('every kind and every spelling of public clients is stored as its canonical kind', async () => {
    await using on = await stage()
    const filled = await fill(on.api, { format: 'clip' })
    for (const event of beaconEvents)
      await send(on.api, beacon(on.clock, filled, event, { beacon_id: `kind-${event}` }))
    for (const event of Object.keys(beaconEventSpellings)) {
      await send(on.api, beacon(on.clock, filled, event, { beacon_id: `spelling-${event}` }))
    }
    const { body } = await on.api.accept('beacons.list', { query: { slot_id: filled.slot_id } })
    const stored = Object.fromEntries(body.items.map((item) => [item.beacon_id, item.event]))
    expect(stored).toEqual({
      ...Object.fromEntries(beaconEvents.map((event) => [`kind-${event}`, event])),
      ...Object.fromEntries(Object.entries(beaconEventSpellings).map(([name, event]) => [`spelling-${name}`, event])),
    })
  })

  test('takes its time as RFC 3339 with any offset or as epoch milliseconds; one of them is required', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const { occurred_at_ms: _, ...timeless } = beacon(on.clock, filled, 'heartbeat')
    const at = new Date(on.clock.now()).toISOString()
    for (const [index, occurred_at] of [at, at.replace('Z', '+00:00'), '2026-01-01T01:00:00+01:00'].entries()) {
      await send(on.api, { ...timeless, beacon_id: `heartbeat-${index}`, occurred_at })
    }
    const { body } = await on.api.accept('beacons.list', { query: { slot_id: filled.slot_id } })
    for (const item of body.items) expect(item.occurred_at_ms).toBe(on.clock.now())
    const refused = await on.api.refuse('beacons.send', { as: key, body: timeless })
    expect([refused.body.reason_code, refused.body.fields[0]?.path]).toEqual(['schema_invalid', 'occurred_at_ms'])
    for (const occurred_at of ['yesterday', '2026-01-01', '2026-01-01T00:00:00', '2026-02-30T00:00:00Z', 1]) {
      expect(await refusal(on.api, { ...timeless, occurred_at })).toBe('schema_invalid')
    }
  })

  test('may carry everything the contract lists', async () => {
    await using on = await stage()
    const filled = await fill(on.api, { format: 'clip' })
    await send(
      on.api,
      beacon(on.clock, filled, 'play_started', {
        slot_id: filled.slot_id,
        render_instance_id: 'instance-1',
        seq: 0,
        consent_revision: 1,
        contract_version: 'csl_wrapper_beacon/v1',
        metadata: { campaign: 'spring', nested: { list: [1, null, 'x'] } },
        measurements: {
          ...seen,
          width_px: 640,
          height_px: 360,
          position_ms: 0,
          duration_ms: 6000,
          muted: true,
          user_activated: false,
        },
      }),
    )
    const version = { contract_version: 'csl_wrapper_beacon/v2' }
    expect(await refusal(on.api, beacon(on.clock, filled, 'render', version))).toBe('contract_version_unsupported')
  })

  test('identifiers are 8 to 128 characters of a small alphabet', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    for (const beacon_id of ['x'.repeat(8), 'a.b_c:d-', 'x'.repeat(128)]) {
      await send(on.api, beacon(on.clock, filled, 'heartbeat', { beacon_id }))
    }
    for (const beacon_id of ['x'.repeat(7), 'x'.repeat(129), 'with space', 'ünïcödé-', 12345678]) {
      expect(await refusal(on.api, beacon(on.clock, filled, 'heartbeat', { beacon_id }))).toBe('schema_invalid')
    }
  })

  test('an array is not a batch', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    expect(await refusal(on.api, [beacon(on.clock, filled, 'render')])).toBe('batch_not_supported')
    expect(await refusal(on.api, [])).toBe('batch_not_supported')
  })
})

describe('the order of checks', () => {
  test('token, slot, format, beacon_id, time, consent: each mistake hides the next ones', async () => {
    await using on = await stage()
    const strict = {
      client_id: 'proj_strict',
      session_id: 'sess_1',
      job_type: 'chat',
      consent: { semantic_targeting: true },
    }
    const filled = await fill(on.api, { as: strictKey, format: 'banner', body: strict })
    const call = { as: strictKey }
    const known = beacon(on.clock, filled, 'render', { beacon_id: 'known-beacon' })
    await send(on.api, known, call)
    const withdrawn = { client_id: 'proj_strict', session_id: 'sess_1', decision: 'withdrawn' }
    await on.api.accept('consent.set', { as: strictKey, body: withdrawn })
    on.clock.advance(300_001)
    let body: Record<string, unknown> = {
      ...known,
      asset_token: `${filled.asset_token.slice(0, -1)}_`,
      slot_id: 'slot_00000000000',
      event: 'play_started',
    }
    expect(await refusal(on.api, body, call)).toBe('asset_token_invalid')
    body = { ...body, asset_token: filled.asset_token }
    expect(await refusal(on.api, body, call)).toBe('slot_mismatch')
    body = { ...body, slot_id: filled.slot_id }
    expect(await refusal(on.api, body, call)).toBe('event_not_supported_for_format')
    body = { ...body, event: 'render' }
    expect(await refusal(on.api, body, call)).toBe('beacon_id_conflict')
    expect((await send(on.api, known, call)).duplicate).toBe(true)
    body = { ...body, beacon_id: 'fresh-beacon' }
    expect(await refusal(on.api, body, call)).toBe('beacon_stale')
    body = { ...body, occurred_at_ms: on.clock.now() }
    expect(await refusal(on.api, body, call)).toBe('consent_not_granted')
  })
})

describe('asset tokens', () => {
  test('malformed, forged, foreign and of the other mode are all invalid', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const body = beacon(on.clock, filled, 'render')
    const flipped = filled.asset_token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
    const tokens = [
      'x',
      'ast_',
      'at_1',
      filled.slot_id,
      flipped,
      filled.asset_token.toUpperCase(),
      `${filled.asset_token} `,
    ]
    for (const asset_token of tokens) {
      expect([asset_token, await refusal(on.api, { ...body, asset_token })]).toEqual([
        asset_token,
        'asset_token_invalid',
      ])
    }
    expect(await refusal(on.api, body, { as: otherKey })).toBe('asset_token_invalid')
    expect(await refusal(on.api, body, { as: liveKey })).toBe('asset_token_invalid')
    const live = await fill(on.api, { as: liveKey })
    expect(await refusal(on.api, beacon(on.clock, live, 'render'))).toBe('asset_token_invalid')
    await send(on.api, beacon(on.clock, live, 'render'), { as: liveKey })
  })

  test('a no-fill has no asset token, and its slot cannot be guessed into one', async () => {
    await using on = await stage()
    const { body } = await on.api.accept('placements.create', { as: key, body: asked({ test_outcome: 'no_fill' }) })
    const asset_token = `${body.slot_id.replace('slot', 'ast')}_${'A'.repeat(43)}`
    expect(await refusal(on.api, beacon(on.clock, { asset_token }, 'render'))).toBe('asset_token_invalid')
  })

  test('beacons are accepted for 1800 s after the first frame load, a click for 24 h', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    on.clock.advance(200_000)
    await on.api.accept('render.frame', { params: { asset_token: filled.asset_token } })
    on.clock.advance(1_800_000)
    await send(on.api, beacon(on.clock, filled, 'heartbeat'))
    on.clock.advance(1)
    expect(await refusal(on.api, beacon(on.clock, filled, 'heartbeat'))).toBe('asset_token_expired')
    await send(on.api, beacon(on.clock, filled, 'click'))
    on.clock.advance(86_400_000 - 1_800_001)
    await send(on.api, beacon(on.clock, filled, 'clicked'))
    on.clock.advance(1)
    expect(await refusal(on.api, beacon(on.clock, filled, 'click'))).toBe('asset_token_expired')
  })

  test('a slot_id must be the slot of the token', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const other = await fill(on.api)
    for (const slot_id of [other.slot_id, 'slot_', 'x', '']) {
      expect(await refusal(on.api, beacon(on.clock, filled, 'render', { slot_id }))).toBe('slot_mismatch')
    }
    await send(on.api, beacon(on.clock, filled, 'render', { slot_id: filled.slot_id }))
  })

  test('playback and completion are for clip', async () => {
    await using on = await stage()
    for (const format of ['banner', 'native'] as const) {
      const filled = await fill(on.api, { format })
      for (const event of ['play_started', 'play_completed', 'completion', 'completed']) {
        expect(await refusal(on.api, beacon(on.clock, filled, event))).toBe('event_not_supported_for_format')
      }
    }
  })
})

describe('idempotency', () => {
  test('the same beacon again is a duplicate, another body under its id a conflict', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const body = beacon(on.clock, filled, 'render')
    expect(await send(on.api, body)).toMatchObject({ duplicate: false, reason_code: 'OK' })
    expect(await send(on.api, body)).toMatchObject({ duplicate: true, reason_code: 'DUPLICATE' })
    const reordered = Object.fromEntries(Object.entries(body).reverse())
    expect(await send(on.api, reordered)).toMatchObject({ duplicate: true })
    expect(await refusal(on.api, { ...body, event: 'visible' })).toBe('beacon_id_conflict')
    expect(await refusal(on.api, { ...body, metadata: { retry: 1 } })).toBe('beacon_id_conflict')
    const { body: list } = await on.api.accept('beacons.list', { query: { slot_id: filled.slot_id } })
    expect(list.items.map(({ verdict }) => verdict)).toEqual([
      'rejected',
      'rejected',
      'duplicate',
      'duplicate',
      'accepted',
    ])
  })

  test('a late retry is still a duplicate, not stale', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const body = beacon(on.clock, filled, 'render')
    await send(on.api, body)
    on.clock.advance(400_000)
    expect(await send(on.api, body)).toMatchObject({ duplicate: true })
  })

  test('of identical beacons in parallel one is counted, the others are duplicates', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const body = beacon(on.clock, filled, 'render')
    const responses = await Promise.all(Array.from({ length: 20 }, () => send(on.api, body)))
    expect(responses.filter(({ duplicate }) => !duplicate)).toHaveLength(1)
    const { body: detail } = await on.api.accept('placements.explain', { params: { slot_id: filled.slot_id } })
    expect(detail.beacons.filter(({ verdict }) => verdict === 'accepted')).toHaveLength(1)
    expect(detail.evidence.filter(({ kind }) => kind === 'beacon')).toHaveLength(1)
  })

  test('of different bodies in parallel under one id one is accepted, the others conflict', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const body = beacon(on.clock, filled, 'render')
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, seq) => on.api.send('POST', '/v1/beacons', { as: key, body: { ...body, seq } })),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(400)])
    for (const { status, body: error } of responses) {
      if (status === 400) expect(error).toMatchObject({ reason_code: 'beacon_id_conflict' })
    }
  })
})

describe('time', () => {
  test('older than 300 s is stale, ahead by more than 60 s is in the future; the bounds pass', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    on.clock.advance(400_000)
    const at = (offset_ms: number) =>
      beacon(on.clock, filled, 'heartbeat', { occurred_at_ms: on.clock.now() + offset_ms })
    await send(on.api, at(-300_000))
    expect(await refusal(on.api, at(-300_001))).toBe('beacon_stale')
    await send(on.api, at(60_000))
    expect(await refusal(on.api, at(60_001))).toBe('beacon_in_future')
  })

  test('a beacon cannot have happened more than a second before its decision', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const early = (ms: number) => ({ occurred_at_ms: on.clock.now() - ms })
    expect(await refusal(on.api, beacon(on.clock, filled, 'render', early(1_001)))).toBe('beacon_before_decision')
    await send(on.api, beacon(on.clock, filled, 'render', early(1_000)))
  })

  test('an occurred_at in whole seconds is compared as whole seconds', async () => {
    await using on = await stage()
    on.clock.advance(999)
    const filled = await fill(on.api)
    const at = (ms: number) => ({
      occurred_at_ms: undefined,
      occurred_at: `${new Date(Math.floor((on.clock.now() - ms) / 1_000) * 1_000).toISOString().slice(0, 19)}Z`,
    })
    expect(await refusal(on.api, beacon(on.clock, filled, 'render', at(2_000)))).toBe('beacon_before_decision')
    await send(on.api, beacon(on.clock, filled, 'render', at(1_000)))
  })

  test('an occurred_at may have t and z in lower case, as RFC 3339 allows', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const occurred_at = new Date(on.clock.now()).toISOString().toLowerCase()
    await send(on.api, beacon(on.clock, filled, 'render', { occurred_at_ms: undefined, occurred_at }))
    const spaced = { occurred_at_ms: undefined, occurred_at: occurred_at.replace('t', ' ') }
    expect(await refusal(on.api, beacon(on.clock, filled, 'click', spaced))).toBe('schema_invalid')
  })

  test('two times that differ are a conflict, at the precision of the text', async () => {
    await using on = await stage()
    on.clock.advance(999)
    const filled = await fill(on.api)
    const text = (ms: number) => ({ occurred_at: new Date(on.clock.now() + ms).toISOString() })
    const seconds = (ms: number) => ({ occurred_at: `${text(ms).occurred_at.slice(0, 19)}Z` })
    for (const same of [text(0), seconds(0)]) await send(on.api, beacon(on.clock, filled, 'render', same))
    for (const other of [text(1), text(-5_000), seconds(-1_000)]) {
      expect(await refusal(on.api, beacon(on.clock, filled, 'render', other))).toBe('occurred_at_conflict')
    }
  })

  test('a consent_revision that is not the bound one is refused', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const seen = (consent_revision: number) => beacon(on.clock, filled, 'render', { consent_revision })
    await send(on.api, seen(1))
    expect(await refusal(on.api, seen(2))).toBe('consent_revision_mismatch')
    const { body } = await on.api.accept('beacons.list', { query: { verdict: 'rejected' } })
    expect(body.items).toMatchObject([{ slot_id: filled.slot_id, reason_code: 'consent_revision_mismatch' }])
  })

  test('seconds sent as milliseconds are recognized', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const seconds = { occurred_at_ms: Math.floor(on.clock.now() / 1000) }
    expect(await refusal(on.api, beacon(on.clock, filled, 'render', seconds))).toBe('occurred_at_in_seconds')
  })

  test('an old date in RFC 3339 is stale, never seconds, and is listed', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const { occurred_at_ms: _, ...timeless } = beacon(on.clock, filled, 'render')
    for (const occurred_at of ['1999-12-31T23:59:59Z', '1969-12-31T23:59:59Z']) {
      expect(await refusal(on.api, { ...timeless, occurred_at })).toBe('beacon_stale')
    }
    const { body } = await on.api.accept('beacons.list')
    expect(body.items).toHaveLength(2)
  })
})

describe('consent at the time of the beacon', () => {
  const session = { client_id: 'proj_demo', session_id: 'sess_1' }

  test('denied or withdrawn since: not granted; changed since: superseded; past its end: expired', async () => {
    await using on = await stage()
    const grant = { ...session, purposes: { semantic_targeting: true }, expires_at_ms: on.clock.now() + 1_000 }
    await on.api.accept('consent.set', { as: key, body: grant })
    const filled = await fill(on.api)
    await send(on.api, beacon(on.clock, filled, 'render'))
    on.clock.advance(999)
    await send(on.api, beacon(on.clock, filled, 'heartbeat'))
    on.clock.advance(1)
    expect(await refusal(on.api, beacon(on.clock, filled, 'heartbeat'))).toBe('consent_expired')
    await on.api.accept('consent.set', { as: key, body: { ...session, purposes: { prompt_shared: true } } })
    expect(await refusal(on.api, beacon(on.clock, filled, 'heartbeat'))).toBe('consent_superseded')
    for (const decision of ['denied', 'withdrawn']) {
      await on.api.accept('consent.set', { as: key, body: { ...session, decision } })
      const { status, body } = await on.api.refuse('beacons.send', {
        as: key,
        body: beacon(on.clock, filled, 'heartbeat'),
      })
      expect([status, body.error, body.reason_code]).toEqual([403, 'forbidden', 'consent_not_granted'])
    }
  })

  test('a decision under the implied grant is superseded by the first consent of its session', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    await send(on.api, beacon(on.clock, filled, 'render'))
    await on.api.accept('consent.set', { as: key, body: { ...session, decision: 'granted' } })
    expect(await refusal(on.api, beacon(on.clock, filled, 'visible'))).toBe('consent_superseded')
  })
})

describe('what production would bill', () => {
  test('is in a header, at most once per metric', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const visible = (more = {}) => beacon(on.clock, filled, 'visible', { measurements: { ...seen, ...more } })
    expect(await send(on.api, beacon(on.clock, filled, 'render'))).toMatchObject({
      reason_code: 'OK',
      would_bill: 'false; metric=rendered_impression',
    })
    expect(await send(on.api, beacon(on.clock, filled, 'visible'))).toMatchObject({
      reason_code: 'VISIBILITY_UNMEASURED',
      would_bill: 'false',
    })
    expect(await send(on.api, visible())).toMatchObject({ reason_code: 'MEASUREMENT_IMPLAUSIBLE', would_bill: 'false' })
    on.clock.advance(1_000)
    expect(await send(on.api, visible({ page_visible: false }))).toMatchObject({
      reason_code: 'PAGE_HIDDEN',
      would_bill: 'false',
    })
    expect(await send(on.api, visible({ visible_ratio: 0.49 }))).toMatchObject({ reason_code: 'BELOW_THRESHOLD' })
    expect(await send(on.api, visible({ visible_ms: 999 }))).toMatchObject({ reason_code: 'BELOW_THRESHOLD' })
    expect(await send(on.api, visible())).toMatchObject({
      reason_code: 'OK',
      would_bill: 'true; metric=viewable_impression',
    })
    expect(await send(on.api, visible())).toMatchObject({ reason_code: 'ALREADY_COUNTED', would_bill: 'false' })
    const { body } = await on.api.accept('placements.explain', { params: { slot_id: filled.slot_id } })
    expect(body.billing).toMatchObject({ metric: 'viewable_impression', would_bill: true })
    expect(body.beacons.filter(({ would_bill }) => would_bill)).toHaveLength(1)
  })

  test('production traffic gets the same header, and is not billed either', async () => {
    await using on = await stage()
    const filled = await fill(on.api, { as: liveKey })
    await send(on.api, beacon(on.clock, filled, 'render'), { as: liveKey })
    on.clock.advance(1_000)
    const response = await send(on.api, beacon(on.clock, filled, 'visible', { measurements: seen }), { as: liveKey })
    expect([response.would_bill, response.body.billable]).toEqual(['true; metric=viewable_impression', false])
  })

  test('visible and click before their render wait for it, in any order', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const { slot_id } = filled
    expect(await send(on.api, beacon(on.clock, filled, 'visible', { measurements: seen }))).toMatchObject({
      reason_code: 'AWAITING_RENDER',
      would_bill: 'false',
    })
    expect(await send(on.api, beacon(on.clock, filled, 'click'))).toMatchObject({ reason_code: 'AWAITING_RENDER' })
    const before = (await on.api.accept('placements.explain', { params: { slot_id } })).body
    expect(before.billing?.would_bill).toBe(false)
    await send(on.api, beacon(on.clock, filled, 'render', { occurred_at_ms: on.clock.now() - 1_000 }))
    const after = (await on.api.accept('placements.explain', { params: { slot_id } })).body
    expect(after.billing?.would_bill).toBe(true)
    expect(after.beacons.map(({ reason_code }) => reason_code)).toEqual(['OK', 'OK', 'OK'])
  })

  test('a clip must have had time to play', async () => {
    await using on = await stage()
    const filled = await fill(on.api, { format: 'clip' })
    await send(on.api, beacon(on.clock, filled, 'render'))
    await send(on.api, beacon(on.clock, filled, 'play_started'))
    on.clock.advance(1_000)
    expect(await send(on.api, beacon(on.clock, filled, 'play_completed'))).toMatchObject({
      reason_code: 'COMPLETED_TOO_FAST',
    })
    on.clock.advance(filled.decision.duration_ms!)
    expect(await send(on.api, beacon(on.clock, filled, 'play_completed'))).toMatchObject({
      reason_code: 'OK',
      would_bill: 'false; metric=completed_view',
    })
    expect(await send(on.api, beacon(on.clock, filled, 'completion'))).toMatchObject({ reason_code: 'ALREADY_COUNTED' })
  })

  test('a large banner needs 30 % of its pixels, a clip 2000 ms', async () => {
    await using on = await stageWith({
      viewability: {
        ratio: 0.5,
        duration_ms: 1000,
        large_area_px2: 242_500,
        large_ratio: 0.3,
        clip_ratio: 0.5,
        clip_duration_ms: 2000,
      },
    })
    const large = await fill(on.api, { format: 'banner', body: asked({ slot_hint: { max_width: 970 } }) })
    await send(on.api, beacon(on.clock, large, 'render'))
    on.clock.advance(1_000)
    const measurements = { ...seen, visible_ratio: 0.3 }
    expect((await send(on.api, beacon(on.clock, large, 'visible', { measurements }))).reason_code).toBe('OK')
    const clip = await fill(on.api, { format: 'clip' })
    await send(on.api, beacon(on.clock, clip, 'render'))
    on.clock.advance(2_000)
    const one = await send(on.api, beacon(on.clock, clip, 'visible', { measurements: { ...seen, visible_ms: 1999 } }))
    const two = await send(on.api, beacon(on.clock, clip, 'visible', { measurements: { ...seen, visible_ms: 2000 } }))
    expect([one.reason_code, two.reason_code]).toEqual(['BELOW_THRESHOLD', 'OK'])
  })
})

describe('beacon tokens', () => {
  test('the first beacon pins its origin, which must be allowed', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const as = await beaconToken(on, filled.asset_token)
    const body = () => beacon(on.clock, filled, 'heartbeat')
    expect(await refusal(on.api, body(), { as })).toBe('origin_not_allowed')
    for (const from of ['https://evil.example', 'null']) {
      expect(await refusal(on.api, body(), { as, origin: from })).toBe('origin_not_allowed')
    }
    await send(on.api, body(), { as, origin })
    await send(on.api, body(), { as, origin })
    expect(await refusal(on.api, body(), { as, origin: 'http://localhost:4000' })).toBe('origin_mismatch')
    const again = await beaconToken(on, filled.asset_token)
    await send(on.api, body(), { as: again, origin: 'http://localhost:4000' })
  })

  test('of two first beacons in parallel from two origins one wins', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const as = await beaconToken(on, filled.asset_token)
    const responses = await Promise.all(
      ['http://localhost:1001', 'http://localhost:1002'].map((from) =>
        on.api.send('POST', '/v1/beacons', { as, origin: from, body: beacon(on.clock, filled, 'heartbeat') }),
      ),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 403])
  })

  test('is valid for beacons of its own asset token only, and for 1800 s', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const other = await fill(on.api)
    const as = await beaconToken(on, filled.asset_token)
    expect(await refusal(on.api, beacon(on.clock, other, 'render'), { as, origin })).toBe('asset_token_invalid')
    for (const id of ['placements.create', 'jobs.create', 'consent.set'] as const) {
      expect((await on.api.refuse(id, { as, origin, body: asked() })).body.reason_code).toBe('key_class')
    }
    const params = { slot_id: filled.slot_id, client_id: 'proj_demo' }
    for (const id of ['decisions.get', 'projects.config'] as const) {
      expect((await on.api.refuse(id, { as, origin, params })).body.reason_code).toBe('key_class')
    }
    on.clock.advance(1_799_999)
    await send(on.api, beacon(on.clock, filled, 'render'), { as, origin })
    on.clock.advance(1)
    for (const event of ['render', 'visible', 'heartbeat']) {
      const { status, body } = await on.api.refuse('beacons.send', {
        as,
        origin,
        body: beacon(on.clock, filled, event),
      })
      expect([event, status, body.reason_code]).toEqual([event, 401, 'activation_token_expired'])
    }
  })

  test('is valid for a click for as long as its asset token is, and for nothing else', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const other = await fill(on.api)
    const as = await beaconToken(on, filled.asset_token)
    await send(on.api, beacon(on.clock, filled, 'render'), { as, origin })
    // A reader comes back to a chat that was left open.
    on.clock.advance(31 * 60_000)
    const late = beacon(on.clock, filled, 'click')
    expect(await refusal(on.api, late, { as, origin: 'http://localhost:4000' })).toBe('origin_mismatch')
    expect(await refusal(on.api, late, { as: `${as.slice(0, -1)}_`, origin })).toBe('activation_token_invalid')
    expect(await refusal(on.api, beacon(on.clock, other, 'click'), { as, origin })).toBe('asset_token_invalid')
    expect(await refusal(on.api, beacon(on.clock, filled, 'visible'), { as, origin })).toBe('activation_token_expired')
    expect((await on.api.refuse('placements.create', { as, origin, body: asked() })).body.reason_code).toBe('key_class')
    expect(await send(on.api, late, { as, origin })).toMatchObject({ status: 200, reason_code: 'OK' })
    expect(await send(on.api, late, { as, origin })).toMatchObject({ duplicate: true })
    on.clock.advance(day_ms - 31 * 60_000)
    await send(on.api, beacon(on.clock, filled, 'click'), { as, origin })
    on.clock.advance(1)
    expect(await refusal(on.api, beacon(on.clock, filled, 'click'), { as, origin })).toBe('activation_token_expired')

    const params = { client_id: 'proj_demo' }
    await on.api.accept('projects.update', { params, body: { click_after_load_ms: 3_600_000 } })
    const again = await fill(on.api)
    const short = await beaconToken(on, again.asset_token)
    on.clock.advance(3_600_000)
    await send(on.api, beacon(on.clock, again, 'click'), { as: short, origin })
    const consent = { client_id: 'proj_demo', session_id: 'sess_1', decision: 'withdrawn' }
    await on.api.accept('consent.set', { as: key, body: consent })
    expect(await refusal(on.api, beacon(on.clock, again, 'click'), { as: short, origin })).toBe('consent_not_granted')
    on.clock.advance(1)
    expect(await refusal(on.api, beacon(on.clock, again, 'click'), { as: short, origin })).toBe(
      'activation_token_expired',
    )
  })

  test('an activation token sends beacons of its project and mode from its origin', async () => {
    await using on = await stage()
    const as = await activate(on.api)
    await send(on.api, beacon(on.clock, await fill(on.api), 'render'), { as, origin })
    const live = await fill(on.api, { as: liveKey })
    expect(await refusal(on.api, beacon(on.clock, live, 'render'), { as, origin })).toBe('asset_token_invalid')
  })
})

describe('rejected beacons', () => {
  test('are stored with their reason, and never enter the evidence', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const before = (await on.api.accept('evidence.verify')).body
    await refusal(on.api, beacon(on.clock, filled, 'play_started'))
    await refusal(on.api, beacon(on.clock, filled, 'render', { occurred_at_ms: on.clock.now() + 99_999 }))
    await refusal(on.api, { nonsense: true })
    const { body } = await on.api.accept('beacons.list', { query: { verdict: 'rejected' } })
    expect(body.items.map(({ reason_code }) => reason_code)).toEqual([
      'field_unknown',
      'beacon_in_future',
      'event_not_supported_for_format',
    ])
    expect((await on.api.accept('evidence.verify')).body).toEqual(before)
    const { body: detail } = await on.api.accept('placements.explain', { params: { slot_id: filled.slot_id } })
    expect(detail.beacons).toHaveLength(2)
  })

  test('whose body does not match the schema are found by the slot of their asset token', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const beacon_id = 'misspelt-1'
    const misspelt = { ...beacon(on.clock, filled, 'visible', { beacon_id }), visibleRatio: 1 }
    expect(await refusal(on.api, misspelt)).toBe('field_unknown')
    expect(await refusal(on.api, { ...beacon(on.clock, filled, 'render'), beacon_id: 'short' })).toBe('schema_invalid')
    const { body: foreign } = await on.api.refuse('beacons.send', { as: otherKey, body: misspelt })
    expect(foreign.reason_code).toBe('field_unknown')
    const { body } = await on.api.accept('beacons.list', { query: { slot_id: filled.slot_id } })
    expect(body.items.map((item) => [item.event, item.beacon_id, item.reason_code])).toEqual([
      ['render', null, 'schema_invalid'],
      ['visible', beacon_id, 'field_unknown'],
    ])
    const { body: journal } = await on.api.accept('requests.list', { query: { path: '/v1/beacons' } })
    expect(journal.items.map(({ slot_id }) => slot_id)).toEqual([null, filled.slot_id, filled.slot_id])
    const secret = { ...misspelt, beacon_id: key }
    expect(await refusal(on.api, secret)).toBe('secret_in_field')
    const { body: all } = await on.api.accept('beacons.list', { query: { verdict: 'rejected' } })
    expect(JSON.stringify(all)).not.toContain(key)
  })

  test('of another project are never listed there', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    await refusal(on.api, beacon(on.clock, filled, 'render'), { as: otherKey })
    const { body } = await on.api.accept('placements.explain', { params: { slot_id: filled.slot_id } })
    expect(body.beacons).toEqual([])
  })
})

test('those of a session since a time are the same however often the clock has moved back, page by page', async () => {
  await using on = await stage({ rate_limit: 'off' })
  const dice = createDice(5)
  const start_ms = on.clock.now()
  let now_ms = start_ms
  for (let index = 0; index < 40; index++) {
    now_ms = Math.max(start_ms, now_ms + dice.below(60_000) - 25_000)
    await on.api.accept('clock.set', { body: { to_ms: now_ms } })
    const body = asked({ session_id: dice.pick(['a', 'b']) })
    const render = beacon(on.clock, await fill(on.api, { body }), 'render', { occurred_at_ms: now_ms })
    await send(on.api, render)
    if (dice.chance(0.4)) await send(on.api, render)
    // What is found out by a list must not hide what comes after it.
    const query = { session_id: 'a', since: String(start_ms + dice.below(60_000) + 5_000 * index) }
    if (dice.chance(0.5)) await on.api.accept('beacons.list', { query })
  }
  const { body: all } = await on.api.accept('beacons.list', { query: { session_id: 'a', limit: 1_000 } })
  expect(all.items.length).toBeGreaterThan(15)
  for (const since of [
    start_ms,
    now_ms,
    now_ms + 1,
    ...Array.from({ length: 12 }, () => start_ms + dice.below(600_000)),
  ]) {
    const items: unknown[] = []
    const query: Record<string, string | number> = { session_id: 'a', since: String(since), limit: 3 }
    for (let cursor: string | null = null; ; query.cursor = cursor) {
      const { body } = await on.api.accept('beacons.list', { query })
      items.push(...body.items)
      cursor = body.next_cursor
      if (cursor === null) break
    }
    expect(items, `since ${since - start_ms} ms`).toEqual(all.items.filter((item) => item.received_at_ms >= since))
  }
})
