/** What only a test sees of beacons: races, forged tokens, what is listed of beacons that could not be read, and their pages. */
import { describe, expect, test } from 'vitest'
import { createDice } from '#tests/reliability/dice.ts'
import type { Api, Call } from './call.ts'
import { asked, beacon, fill, key, liveKey, otherKey, stage } from './stage.ts'

async function send(api: Api, body: unknown, call: Call = { as: key }) {
  const response = await api.accept('beacons.send', { ...call, body })
  return { ...response, duplicate: response.body.duplicate }
}

async function refusal(api: Api, body: unknown, call: Call = { as: key }) {
  return (await api.refuse('beacons.send', { ...call, body })).body.reason_code
}

test('an asset token that is changed, cut, guessed from a slot or of the other mode is invalid', async () => {
  await using on = await stage()
  const filled = await fill(on.api)
  const body = beacon(on.clock, filled, 'render')
  const flipped = filled.asset_token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
  const guessed = `${filled.slot_id.replace('slot', 'ast')}_${'A'.repeat(43)}`
  const changed = [flipped, filled.asset_token.slice(0, -1), filled.asset_token.toUpperCase(), `${filled.asset_token} `]
  for (const asset_token of ['x', 'ast_', 'at_1', filled.slot_id, guessed, ...changed]) {
    const reason_code = await refusal(on.api, { ...body, asset_token })
    expect([asset_token, reason_code]).toEqual([asset_token, 'asset_token_invalid'])
  }
  expect(await refusal(on.api, body, { as: liveKey })).toBe('asset_token_invalid')
})

describe('at once', () => {
  test('of identical beacons, whatever the order of their fields, one is counted, the others are duplicates', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const body = beacon(on.clock, filled, 'render')
    const reordered = Object.fromEntries(Object.entries(body).reverse())
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => send(on.api, index % 2 === 0 ? body : reordered)),
    )
    expect(responses.filter(({ duplicate }) => !duplicate)).toHaveLength(1)
    const { body: detail } = await on.api.accept('placements.explain', { params: { slot_id: filled.slot_id } })
    expect(detail.beacons.filter(({ verdict }) => verdict === 'accepted')).toHaveLength(1)
    expect(detail.evidence.filter(({ kind }) => kind === 'beacon')).toHaveLength(1)
  })

  test('of different bodies under one id one is accepted, the others conflict', async () => {
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

  test('of two first beacons with one beacon token from two origins one wins', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const { text } = await on.api.accept('render.frame', { params: { asset_token: filled.asset_token } })
    const as = /bt_[0-9a-z]{11}_[A-Za-z0-9_-]{43}/.exec(text)![0]
    const responses = await Promise.all(
      ['http://localhost:1001', 'http://localhost:1002'].map((from) =>
        on.api.send('POST', '/v1/beacons', { as, origin: from, body: beacon(on.clock, filled, 'heartbeat') }),
      ),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 403])
  })
})

describe('rejected beacons', () => {
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

test.each([
  ['render', 2_100_000],
  ['click', 300_000 + 86_400_000],
] as const)(
  'of a client that loads no frame, %s is accepted until %i ms after the decision (A05)',
  async (event, end_ms) => {
    await using on = await stage()
    const filled = await fill(on.api)
    const send = () => on.api.send('POST', '/v1/beacons', { as: key, body: beacon(on.clock, filled, event) })
    on.clock.advance(end_ms)
    expect((await send()).status).toBe(200)
    on.clock.advance(1)
    expect(await send()).toMatchObject({ status: 400, body: { reason_code: 'asset_token_expired' } })
  },
)
