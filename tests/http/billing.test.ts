import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { manualClock } from '#sandbox/index.ts'
import { createDice } from '#tests/reliability/dice.ts'
import { asked, beacon, edit, type Filled, fill, folder, key, liveKey, otherKey, type Stage, stage } from './stage.ts'

const seen = { measurements: { visible_ratio: 1, visible_ms: 5_000, page_visible: true } }
const glimpsed = { measurements: { visible_ratio: 0.1, visible_ms: 10 } }

/** Sends a beacon. A view happens five seconds from now. */
async function send(on: Stage, filled: Filled, event: string, more: object = {}, as = key): Promise<void> {
  const occurred_at_ms = on.clock.now() + (event === 'visible' ? 5_000 : 0)
  await on.api.accept('beacons.send', { as, body: beacon(on.clock, filled, event, { occurred_at_ms, ...more }) })
}

async function report(on: Stage, query: Record<string, string | number> = {}) {
  return (await on.api.accept('billing.report', { query })).body
}

test('of an untouched sandbox is empty', async () => {
  await using on = await stage()
  await fill(on.api)
  expect(await report(on)).toEqual({ lines: [], totals: [], not_counted: { count: 0, reasons: [], beacons: [] } })
})

describe('billed amounts', () => {
  test('are listed by project, format, metric and price, for test and live traffic alike', async () => {
    await using on = await stage()
    const one = await fill(on.api, { format: 'banner' })
    const two = await fill(on.api, { format: 'banner', as: liveKey })
    await send(on, one, 'render')
    await send(on, one, 'visible', seen)
    await send(on, one, 'click')
    await send(on, two, 'render', {}, liveKey)
    const { gross_cpm, currency } = one.decision.revenue_estimate
    expect(two.decision.revenue_estimate.gross_cpm).toBe(gross_cpm)
    const { lines, totals, not_counted } = await report(on)
    const common = { client_id: 'proj_demo', format: 'banner', gross_cpm, currency }
    const amount = gross_cpm / 1_000
    expect(lines).toEqual([
      { ...common, metric: 'click', is_billed: false, count: 1, amount: 0, publisher_amount: 0 },
      { ...common, metric: 'rendered_impression', is_billed: false, count: 2, amount: 0, publisher_amount: 0 },
      {
        ...common,
        metric: 'viewable_impression',
        is_billed: true,
        count: 1,
        amount: expect.closeTo(amount, 6),
        publisher_amount: expect.closeTo(0.7 * amount, 6),
      },
    ])
    expect(totals).toEqual([
      {
        client_id: 'proj_demo',
        billing_model: 'cpm_viewable',
        currency,
        count: 1,
        amount: lines[2]!.amount,
        publisher_amount: lines[2]!.publisher_amount,
      },
    ])
    expect(not_counted.count).toBe(0)
  })

  test('follow the billing model and the share of the project', async () => {
    await using on = await stage()
    const filled = await fill(on.api, { format: 'banner' })
    await send(on, filled, 'render')
    await send(on, filled, 'click')
    const billed = async (billing_model: string) => {
      const body = { billing_model, publisher_share: 0.5 }
      await on.api.accept('projects.update', { params: { client_id: 'proj_demo' }, body })
      const { lines, totals } = await report(on)
      expect(totals[0]!.publisher_amount).toBeCloseTo(totals[0]!.amount / 2, 5)
      return lines.filter(({ is_billed }) => is_billed).map(({ metric, count }) => [metric, count])
    }
    expect(await billed('cpc')).toEqual([['click', 1]])
    expect(await billed('cpm_render')).toEqual([['rendered_impression', 1]])
    expect(await billed('cpm_viewable')).toEqual([])
  })

  test('agree with the verdicts of the single beacons, over many placements', async () => {
    await using on = await stage({ rate_limit: 'off' })
    for (let index = 0; index < 40; index++) {
      const filled = await fill(on.api, { body: asked({ session_id: `s${index}` }) })
      await send(on, filled, 'visible', index % 3 === 0 ? glimpsed : seen)
      if (index % 4 !== 0) await send(on, filled, 'render')
      await send(on, filled, 'heartbeat')
    }
    const { body } = await on.api.accept('beacons.list', { query: { limit: 1000 } })
    const { totals, not_counted } = await report(on)
    expect(totals.reduce((sum, { count }) => sum + count, 0)).toBe(body.items.filter((item) => item.would_bill).length)
    const late = body.items.filter((item) => item.reason_code !== 'OK')
    expect(not_counted.count).toBe(late.length)
    expect(not_counted.beacons.map(({ beacon_id }) => beacon_id).toSorted()).toEqual(
      late.map(({ beacon_id }) => beacon_id).toSorted(),
    )
  })
})

describe('a beacon that did not count', () => {
  test('has a reason: too little seen, no render yet, counted before, duplicate, rejected', async () => {
    await using on = await stage()
    const early = await fill(on.api, { format: 'banner' })
    await send(on, early, 'visible', seen)
    const filled = await fill(on.api, { format: 'banner' })
    await send(on, filled, 'render')
    await send(on, filled, 'render')
    await send(on, filled, 'visible', glimpsed)
    const body = beacon(on.clock, filled, 'click')
    await on.api.accept('beacons.send', { as: key, body })
    await on.api.accept('beacons.send', { as: key, body })
    const stale = beacon(on.clock, filled, 'click', { occurred_at_ms: on.clock.now() - 10_000_000 })
    await on.api.refuse('beacons.send', { as: key, body: stale })
    await on.api.refuse('beacons.send', { as: key, body: { ...stale, beacon_id: 'stale-once-more' } })
    const { not_counted } = await report(on)
    expect(not_counted.count).toBe(6)
    expect(not_counted.reasons[0]).toEqual({ reason_code: 'beacon_stale', count: 2 })
    expect(Object.fromEntries(not_counted.reasons.map((row) => [row.reason_code, row.count]))).toEqual({
      beacon_stale: 2,
      ALREADY_COUNTED: 1,
      AWAITING_RENDER: 1,
      BELOW_THRESHOLD: 1,
      DUPLICATE: 1,
    })
    expect(not_counted.beacons).toHaveLength(6)
  })

  test('is listed among the newest, up to a limit; the counts go on', async () => {
    await using on = await stage({ rate_limit: 'off' })
    const filled = await fill(on.api)
    await send(on, filled, 'render')
    for (let index = 0; index < 104; index++) {
      on.clock.advance(1)
      await send(on, filled, 'render')
    }
    const { not_counted } = await report(on)
    expect([not_counted.count, not_counted.beacons.length]).toEqual([104, 100])
    expect(not_counted.beacons[0]!.received_at_ms).toBe(on.clock.now())
    expect(not_counted.beacons.at(-1)!.received_at_ms).toBe(on.clock.now() - 99)
  })
})

test('is filtered by project, session and time', async () => {
  await using on = await stage()
  const start = on.clock.now()
  const one = await fill(on.api, { body: asked({ session_id: 'a' }), format: 'banner' })
  await send(on, one, 'render')
  on.clock.advance(60_000)
  await send(on, one, 'visible', seen)
  const two = await fill(on.api, { as: otherKey, body: asked({ client_id: 'proj_other', session_id: 'a' }) })
  await send(on, two, 'render', {}, otherKey)
  await send(on, two, 'render', {}, otherKey)
  const counted = async (query: Record<string, string | number>) => {
    const { lines, not_counted } = await report(on, query)
    return [...lines.map((line) => `${line.client_id.slice(5)} ${line.metric.split('_')[0]}`), not_counted.count]
  }
  expect(await counted({})).toEqual(['demo rendered', 'demo viewable', 'other rendered', 1])
  expect(await counted({ client_id: 'proj_demo' })).toEqual(['demo rendered', 'demo viewable', 0])
  expect(await counted({ client_id: 'proj_nobody' })).toEqual([0])
  expect(await counted({ session_id: 'b' })).toEqual([0])
  expect(await counted({ session_id: 'a', client_id: 'proj_other' })).toEqual(['other rendered', 1])
  expect(await counted({ until: start + 1 })).toEqual(['demo rendered', 0])
  expect(await counted({ since: start + 1 })).toEqual(['demo viewable', 'other rendered', 1])
  expect(await counted({ since: '30s', client_id: 'proj_demo' })).toEqual(['demo viewable', 0])
  expect((await on.api.refuse('billing.report', { query: { until: 'later' } })).body.reason_code).toBe('schema_invalid')
})

describe('a divided report', () => {
  test('has the same counts by day, campaign, format, job type, session and country', async () => {
    await using on = await stage({ rate_limit: 'off' })
    const start = on.clock.now()
    const context = { geo: { country: 'de' } }
    const bodies = [
      asked({ session_id: 'a', job_type: 'chat' }),
      asked({ session_id: 'b', job_type: 'image', context }),
      asked({ session_id: 'b', job_type: 'image', context }),
      asked({ session_id: 'constructor', job_type: 'chat' }),
    ]
    const filled: Filled[] = []
    for (const [index, body] of bodies.entries()) {
      if (index === 2) on.clock.advance(86_400_000)
      const placed = await fill(on.api, { body, format: index === 0 ? 'native' : 'banner' })
      filled.push(placed)
      await send(on, placed, 'render')
      await send(on, placed, 'visible', seen)
    }
    const days = [start, start + 86_400_000].map((ms) => new Date(ms).toISOString().slice(0, 10))
    const divided = async (by: string, query: Record<string, string> = {}) => {
      const { groups, next_cursor, ...rest } = await report(on, { by, ...query })
      expect(next_cursor).toBe(by === 'session' ? null : undefined)
      expect(rest).toEqual(await report(on, query))
      const views = groups!.filter(({ metric }) => metric === 'viewable_impression')
      const sum = views.reduce((all, { amount }) => all + amount, 0)
      expect(sum).toBeCloseTo(
        rest.totals.reduce((all, { amount }) => all + amount, 0),
        5,
      )
      expect(views.every(({ is_billed }) => is_billed)).toBe(true)
      return views.map(({ group, count }) => [group, count])
    }
    expect(await divided('day')).toEqual([
      [days[0], 2],
      [days[1], 2],
    ])
    expect(await divided('day', { since: String(start + 1_000) })).toEqual([[days[1], 2]])
    expect(await divided('format')).toEqual([
      ['banner', 3],
      ['native', 1],
    ])
    expect(await divided('job_type')).toEqual([
      ['chat', 2],
      ['image', 2],
    ])
    expect(await divided('session')).toEqual([
      ['constructor', 1],
      ['b', 2],
      ['a', 1],
    ])
    expect(await divided('session', { session_id: 'b' })).toEqual([['b', 2]])
    expect(await divided('country')).toEqual([
      ['DE', 2],
      [null, 2],
    ])
    const { items } = (await on.api.accept('placements.list')).body
    const campaigns = Map.groupBy(items, ({ campaign_id }) => campaign_id)
    expect(await divided('campaign')).toEqual(
      [...campaigns].map(([campaign, own]) => [campaign, own.length]).toSorted(([a], [b]) => (a! < b! ? -1 : 1)),
    )
    expect((await on.api.refuse('billing.report', { query: { by: 'colour' } })).body.reason_code).toBe('schema_invalid')
  })

  test('by session comes in pages, newest first, and ends with what has no session', async () => {
    using place = folder()
    const database = join(place.path, 'sandbox.db')
    const clock = manualClock()
    {
      await using on = await stage({ database, clock, rate_limit: 'off' })
      for (const session_id of ['a', 'b', 'c', 'none']) {
        const filled = await fill(on.api, { body: asked({ session_id }) })
        await send(on, filled, 'render')
        await send(on, filled, 'visible', seen)
      }
    }
    edit(database, (db) => {
      db.exec("UPDATE job SET session = NULL WHERE session = (SELECT id FROM session WHERE session_id = 'none')")
    })
    await using on = await stage({ database, clock })
    const pages: unknown[] = []
    let cursor: string | null | undefined
    while (cursor !== null) {
      const query = { by: 'session', limit: '2', ...(cursor === undefined ? {} : { cursor }) }
      const { groups, next_cursor, ...rest } = await report(on, query)
      expect(rest).toEqual(await report(on))
      pages.push(groups!.flatMap(({ group, metric }) => (metric === 'viewable_impression' ? [group] : [])))
      cursor = next_cursor
    }
    expect(pages).toEqual([['c'], ['b', 'a', null]])
    const since = await report(on, { by: 'session', limit: '1', client_id: 'proj_demo', since: '1h' })
    expect(since.groups!.every(({ group }) => group === 'c')).toBe(true)
    expect(await report(on, { by: 'job_type', limit: '1' })).toEqual(await report(on, { by: 'job_type' }))
  })

  test('without a count has no group', async () => {
    await using on = await stage()
    expect(await report(on, { by: 'day' })).toMatchObject({ lines: [], groups: [] })
    expect(await report(on)).not.toHaveProperty('groups')
  })
})

describe('a report that goes on from an earlier one', () => {
  test('is that of all beacons, whatever has happened meanwhile', async () => {
    await using on = await stage({ rate_limit: 'off' })
    await followReports(on, 12, 30)
  })
})

/** Expects after each random step that a report is the same as one that is counted from nothing: of a span without a beginning. */
async function followReports(on: Stage, seed: number, count: number): Promise<void> {
  const dice = createDice(seed)
  const now = async () => (await on.api.accept('clock.show')).body.now_ms
  const slots: { filled: Filled; as: string; sent: Record<string, unknown>[] }[] = []

  const place = async () => {
    const isOther = dice.chance(0.3)
    const [client_id, as] = isOther ? ['proj_other', otherKey] : ['proj_demo', key]
    const body = asked({ client_id, session_id: `s${dice.below(3)}` })
    slots.push({ filled: await fill(on.api, { as, body }), as, sent: [] })
  }
  const sendOne = async (now_ms: number) => {
    const { filled, as, sent } = slots[Math.max(0, slots.length - 1 - dice.below(8))]!
    const event = dice.pick(['render', 'visible', 'visible', 'click', 'heartbeat'])
    const occurred_at_ms = now_ms + dice.pick([0, 0, 5_000, -10_000_000])
    const measured = event === 'visible' ? dice.pick([seen, seen, glimpsed, {}]) : {}
    const repeated = sent.length > 0 && dice.chance(0.2) ? dice.pick(sent) : null
    const body = repeated ?? beacon(on.clock, filled, event, { occurred_at_ms, ...measured })
    sent.push(body)
    await on.api.send('POST', '/v1/beacons', { as, body: dice.chance(0.1) ? { ...body, event: 'click' } : body })
  }
  const send = async () => {
    const now_ms = await now()
    await Promise.all(Array.from({ length: slots.length === 0 ? 0 : 1 + dice.below(10) }, () => sendOne(now_ms)))
  }
  const steps: (() => Promise<unknown>)[] = [
    place,
    place,
    send,
    send,
    send,
    () => Promise.all([report(on), send(), report(on), place(), report(on, { client_id: 'proj_demo' })]),
    async () => on.clock.advance(dice.below(20_000)),
    async () => on.api.accept('clock.set', { body: { to_ms: (await now()) + dice.below(60_000) - 30_000 } }),
  ]
  const rare: (() => Promise<unknown>)[] = [
    async () => {
      const billing_model = dice.pick(['cpm_viewable', 'cpm_render', 'cpc'])
      const body = { billing_model, publisher_share: dice.roll(), viewability: { ratio: dice.pick([0.05, 0.5]) } }
      await on.api.accept('projects.update', { params: { client_id: dice.pick(['proj_demo', 'proj_other']) }, body })
    },
    () => on.api.accept('projects.create', { body: { client_id: `proj_${seed}_${slots.length}_${dice.below(1e9)}` } }),
    () => on.api.accept('snapshots.save', { params: { name: 'early' }, body: { replace: true } }),
    async () => {
      slots.length = 0
      await on.api.send('POST', '/_sandbox/snapshots/early/restore', { body: {} })
    },
    async () => {
      slots.length = 0
      await on.api.accept('sandbox.reset', { body: {} })
    },
  ]
  for (let step = 0; step < count; step++) {
    await dice.pick(dice.chance(0.1) ? rare : steps)()
    for (const scope of [{}, { client_id: 'proj_other' }]) {
      expect(await report(on, scope), `seed ${seed}, step ${step}`).toEqual(await report(on, { ...scope, since: '0' }))
    }
  }
}
