import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { PlacementRequest } from '#client/index.ts'
import { followDemand } from '#sandbox/demand-changes.ts'
import { openDemand } from '#sandbox/rules/demand/open-demand.ts'
import { sandboxTest } from '#testing/vitest.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { asked, beacon, fill, key, liveKey, type Stage, stage } from './stage.ts'

const seeded = JSON.parse(readFileSync(new URL('../../fixtures/demand.json', import.meta.url), 'utf8'))
const [campaign] = seeded.campaigns

describe('a custom catalogue', () => {
  test('is the only demand', async () => {
    const mine = { ...campaign, campaign_id: 'cmp_mine', sponsor_name: 'Mine & Co', topics: [], price_cpm: 1 }
    await using on = await stage({ demand: { ...seeded, campaigns: [mine] } })
    const { placement } = await fill(on.api)
    expect(placement.sponsor_name).toBe('Mine & Co')
  })

  test('that is invalid is reported with the path of the error, and nothing starts', async () => {
    const free = { ...campaign, price_cpm: 0 }
    await expect(stage({ demand: { ...seeded, campaigns: [free] } })).rejects.toMatchObject({
      code: 'option_invalid',
      message: expect.stringMatching(/^demand\.campaigns\.0\.price_cpm: /),
      hint: 'Give demand the shape of fixtures/demand.json.',
    })
  })
})

/** Writes a file of demand with a picture and a clip, and returns its path. */
function writeDemand(price_cpm: number): string {
  const folder = temporaryDirectory()
  const own = { 'tea.png': 'banner-300x250.png', 'tea.mp4': 'clip-640x360-6s.mp4' }
  for (const [name, from] of Object.entries(own))
    copyFileSync(new URL(`../../fixtures/test-assets/${from}`, import.meta.url), join(folder, name))
  const lines = [
    'campaigns:',
    '  - sponsor_name: Fernhill Tea',
    '    click_url: https://fernhill.example/tea',
    `    price_cpm: ${price_cpm}`,
    '    topics: [coffee]',
    '    creatives: [{ file: tea.png }, { file: tea.mp4 }]',
  ]
  writeFileSync(join(folder, 'demand.yaml'), lines.join('\n'))
  return join(folder, 'demand.yaml')
}

const seen = {
  measurements: { visible_ratio: 1, visible_ms: 1_500, width_px: 300, height_px: 250, page_visible: true },
}
const coffee = asked({ prompt: { topic: 'coffee' }, consent: { semantic_targeting: true } })

describe('a file of demand', () => {
  test.each([
    ['banner', 'tea.png'],
    ['clip', 'tea.mp4'],
  ] as const)('wins for its topic, and its own %s is shown, in test mode too', async (format, name) => {
    const file = writeDemand(40)
    await using on = await stage({ demand: file })
    const { placement, decision } = await fill(on.api, { format, body: coffee })
    expect(placement.sponsor_name).toBe('Fernhill Tea')
    const served = await fetch(placement.image_url ?? placement.video_url!)
    expect(served.headers.get('content-type')).toBe(decision.mime_type)
    expect(served.headers.get('x-content-type-options')).toBe('nosniff')
    expect(served.headers.get('content-security-policy')).toMatch(/sandbox$/)
    expect(Buffer.from(await served.arrayBuffer())).toEqual(readFileSync(join(dirname(file), name)))
  })

  test('is beside the seeded campaigns, or alone with only', async () => {
    const demand = writeDemand(0.01)
    await using beside = await stage({ demand })
    expect((await fill(beside.api, { body: coffee })).placement.sponsor_name).not.toBe('Fernhill Tea')
    await using alone = await stage({ demand, only: true })
    expect((await fill(alone.api, { body: coffee })).placement.sponsor_name).toBe('Fernhill Tea')
  })

  test('that is wrong starts nothing, and says where', async () => {
    await expect(stage({ demand: writeDemand(-1) })).rejects.toMatchObject({
      code: 'demand_invalid',
      message: expect.stringMatching(/demand\.yaml:4:16: campaigns\.0\.price_cpm must be more than 0\./),
    })
  })

  test('with strict, test traffic gets the substitutes of the document', async () => {
    await using on = await stage({ demand: writeDemand(40), strict: true })
    const { placement } = await fill(on.api, { format: 'banner', body: coffee })
    expect(placement.image_url).toContain('/v1/test-assets/banner')
  })
})

describe('a forced campaign', () => {
  const force = (force_campaign_id: string, more: Record<string, unknown> = {}) =>
    asked({ overrides: { force_campaign_id, ...more } })

  test('fills whatever others offer and its buyer asked for, is marked, and is never billed', async () => {
    await using on = await stage({ demand: writeDemand(0.01) })
    const response = await on.api.accept('placements.create', { as: key, body: force('cmp_fernhill_tea') })
    const { slot_id, placement, decision } = response.body
    expect(placement?.sponsor_name).toBe('Fernhill Tea')
    expect(decision).toMatchObject({ revenue_estimate: { gross_cpm: 0 } })
    expect(response.headers['x-sandbox-warning']).toBe('campaign_forced')
    expect(await (await fetch(placement!.render.frame_url)).text()).toContain('>FORCED<')
    for (const event of ['render', 'visible'])
      await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, placement!, event, seen) })
    const { body: detail } = await on.api.accept('placements.explain', { params: { slot_id } })
    expect(detail).toMatchObject({
      forced: true,
      billing: { would_bill: false },
      fix: expect.stringMatching(/^Leave out/),
    })
    expect(detail.trace.find(({ outcome }) => outcome === 'won')).toMatchObject({
      ...{ campaign_id: 'cmp_fernhill_tea', rule: 'forced', source: { file: 'demand.yaml', line: 2 } },
    })
  })

  test.each([
    ['format', 'format_mismatch', { allowed_formats: ['native'] }],
    ['blocked_domain', 'advertiser_blocked', { blocked_domains: ['fernhill.example'] }],
    ['blocked_category', 'category_blocked', { blocked_categories: ['IAB24'] }],
    ['floor', 'below_floor', { bidfloor: 50 }],
  ])('is refused by the rule %s, by name', async (rule, reason, overrides) => {
    await using on = await stage({ demand: writeDemand(40) })
    const { body } = await on.api.accept('placements.create', { as: key, body: force('cmp_fernhill_tea', overrides) })
    expect(body.decision).toMatchObject({ fill: false, no_fill_reason: reason })
    const { body: detail } = await on.api.accept('placements.explain', { params: { slot_id: body.slot_id } })
    expect(detail.trace.filter((step) => step.rule !== 'forced')).toMatchObject([{ outcome: 'removed', rule }])
  })

  test('is refused by consent', async () => {
    await using on = await stage({ demand: writeDemand(40) })
    await on.api.accept('consent.set', {
      as: key,
      body: {
        client_id: 'proj_demo',
        session_id: 'sess_1',
        decision: 'denied',
        purposes: { semantic_targeting: false },
      },
    })
    const { body } = await on.api.accept('placements.create', { as: key, body: force('cmp_fernhill_tea') })
    expect(body.decision).toMatchObject({ no_fill_reason: 'consent_not_granted' })
  })

  test('needs a key of test mode, and a campaign that there is', async () => {
    await using on = await stage({ demand: writeDemand(40) })
    const live = await on.api.refuse('placements.create', { as: liveKey, body: force('cmp_fernhill_tea') })
    expect([live.status, live.body]).toMatchObject([403, { reason_code: 'test_outcome_requires_test_key' }])
    const wrong = await on.api.refuse('placements.create', { as: key, body: force('cmp_fernhil_tea') })
    expect([wrong.status, wrong.body]).toMatchObject([
      400,
      { fields: [{ path: 'overrides.force_campaign_id', expected: 'a campaign, such as cmp_fernhill_tea' }] },
    ])
  })
})

describe('the scenario of a campaign', () => {
  const use = (on: Stage, name: string) => on.api.accept('scenario.use', { params: { name }, body: {} })
  const findCampaign = async (on: Stage, as: string, body = asked()) => {
    const { slot_id } = (await on.api.accept('placements.create', { as, body })).body
    const { body: detail } = await on.api.accept('placements.explain', { params: { slot_id } })
    return [detail.campaign_id, detail.forced ?? false]
  }

  test('forces it on all test traffic, an override of a request is stronger, and live traffic sees nothing of it', async () => {
    await using on = await stage({ demand: writeDemand(0.01) })
    await use(on, 'cmp_fernhill_tea')
    expect(await findCampaign(on, key)).toEqual(['cmp_fernhill_tea', true])
    const [other] = seeded.campaigns.map(({ campaign_id }: { campaign_id: string }) => campaign_id)
    const own = asked({ overrides: { force_campaign_id: other } })
    expect(await findCampaign(on, key, own)).toEqual([other, true])
    expect((await findCampaign(on, liveKey))[1]).toBe(false)
    const { items } = (await on.api.accept('scenario.list')).body
    expect(items.filter(({ active }) => active)).toMatchObject([
      { name: 'cmp_fernhill_tea', changes: { force_campaign_id: 'cmp_fernhill_tea' } },
    ])
    await on.api.accept('scenario.clear')
    expect((await findCampaign(on, key))[1]).toBe(false)
  })

  test('changes nothing once its campaign is gone, and a name that is close is offered', async () => {
    const file = writeDemand(40)
    const database = join(temporaryDirectory(), 'sandbox.db')
    const first = await stage({ demand: file, database })
    await use(first, 'cmp_fernhill_tea')
    await first[Symbol.asyncDispose]()
    await using on = await stage({ database })
    expect((await findCampaign(on, key))[1]).toBe(false)
    const wrong = await on.api.refuse('scenario.use', { params: { name: 'cmp_larkfield_cofee' }, body: {} })
    expect(wrong.body).toMatchObject({ hint: 'Did you mean cmp_larkfield_coffee?' })
  })
})

test('caps and consent needs of a campaign hold', async () => {
  const campaign = { ...seeded.campaigns[0], topics: [], job_types: [], countries: [] }
  const capped = { ...campaign, campaign_id: 'cmp_capped', caps: { session: 1 } }
  const needing = { ...campaign, campaign_id: 'cmp_needing', needs_consent: ['prompt_shared'] }
  await using on = await stage({ demand: { ...seeded, campaigns: [capped, needing] } })
  const ask = async () => {
    const { body } = await on.api.accept('placements.create', { as: key, body: asked() })
    const { body: detail } = await on.api.accept('placements.explain', { params: { slot_id: body.slot_id } })
    return [detail.campaign_id, ...detail.trace.map(({ rule }) => rule)]
  }
  expect(await ask()).toEqual(['cmp_capped', null, 'consent'])
  expect(await ask()).toEqual([null, 'cap', 'consent'])
})

test('a cap of a campaign is not exceeded by requests of the same moment, nor by the slots of one', async () => {
  const campaign = { ...seeded.campaigns[0], topics: [], job_types: [], countries: [] }
  const hourly = { ...campaign, campaign_id: 'cmp_hourly', price_cpm: 90, caps: { global_per_hour: 3 } }
  const once = { ...campaign, campaign_id: 'cmp_once', price_cpm: 80, caps: { session: 1 } }
  await using on = await stage({ demand: { ...seeded, campaigns: [hourly, once, { ...campaign, price_cpm: 1 }] } })
  const bodies = Array.from({ length: 8 }, (_, index) => asked({ session_id: `sess_${index % 2}`, slots_requested: 2 }))
  await Promise.all(bodies.map((body) => on.api.accept('placements.create', { as: key, body })))
  const { items } = (await on.api.accept('placements.list', { query: { limit: 100 } })).body
  const count = (campaign_id: string) => items.filter((item) => item.campaign_id === campaign_id).length
  expect([items.length, count('cmp_hourly'), count('cmp_once')]).toEqual([16, 3, 2])
})

test.each(['campaign', 'request'] as const)('the fills of a %s cap are those of its window', async (of) => {
  for (const [name, session_id, window_ms] of [
    ['user_per_day', 'sess_1', 86_400_000],
    ['global_per_hour', 'sess_2', 3_600_000],
  ] as const) {
    const caps = { [name]: 1 }
    const own = { ...campaign, topics: [], job_types: [], countries: [], ...(of === 'campaign' && { caps }) }
    await using on = await stage({ demand: { ...seeded, campaigns: [own] } })
    const overrides = of === 'request' ? { frequency_cap: caps } : {}
    const isFilled = async (session: string) => {
      const body = asked({ session_id: session, overrides })
      return (await on.api.accept('placements.create', { as: key, body })).body.decision?.fill
    }
    const others = [await isFilled('sess_1'), await isFilled(session_id)]
    on.clock.advance(window_ms - 1_000)
    const within = await isFilled(session_id)
    on.clock.advance(1_001)
    expect([name, others, within, await isFilled(session_id)]).toEqual([name, [true, false], false, true])
  }
})

test('a campaign that is forced wins past its caps', async () => {
  const capped = { ...campaign, topics: [], job_types: [], countries: [], caps: { session: 1 } }
  await using on = await stage({ demand: { ...seeded, campaigns: [capped] } })
  const fills = []
  for (const overrides of [{}, {}, { force_campaign_id: campaign.campaign_id }]) {
    const { body } = await on.api.accept('placements.create', { as: key, body: asked({ overrides }) })
    fills.push(body.decision?.fill)
  }
  expect(fills).toEqual([true, false, true])
})

test('ten thousand campaigns are asked by topic and price, and decide as a small market does', async () => {
  const many = Array.from({ length: 10_000 }, (_, number) => ({
    ...seeded.campaigns[0],
    ...{ campaign_id: `cmp_many_${number}`, topics: [`topic-${number % 100}`], price_cpm: 1 + (number % 7) },
  }))
  const decideWith = async (campaigns: unknown[]) => {
    await using on = await stage({ demand: { ...seeded, campaigns } })
    const body = asked({ prompt: { topic: 'topic-3' }, consent: { semantic_targeting: true } })
    const { slot_id, decision } = await fill(on.api, { format: 'banner', body })
    const { body: detail } = await on.api.accept('placements.explain', { params: { slot_id } })
    return { decision: decision.revenue_estimate, campaign_id: detail.campaign_id, asked: detail.trace.length }
  }
  const large = await decideWith(many)
  const small = await decideWith(many.filter(({ topics }) => topics[0] === 'topic-3'))
  expect({ ...large, asked: 0 }).toEqual({ ...small, asked: 0 })
  expect(large.asked).toBeLessThan(30)
})

describe('partners', () => {
  const market = (slow: object) => {
    const campaign = { ...seeded.campaigns[0], topics: [], job_types: [], countries: [] }
    const partner = { seat: 'seat', currency: 'USD' }
    return {
      ...{ revision: 1, window_ms: 300 },
      partners: [
        { ...partner, partner_id: 'ptn_dear', name: 'Dear', ...slow },
        { ...partner, partner_id: 'ptn_quick', name: 'Quick', latency_ms: 40 },
      ],
      campaigns: [
        { ...campaign, campaign_id: 'cmp_dear', partner_id: 'ptn_dear', price_cpm: 9 },
        { ...campaign, campaign_id: 'cmp_quick', partner_id: 'ptn_quick', price_cpm: 5 },
      ],
    }
  }

  test('slower than the window loses; explain shows when each answered', async () => {
    await using on = await stage({ demand: market({ latency_ms: 500 }) })
    const { body } = await on.api.accept('placements.create', { as: key, body: asked({ wait_ms: 0 }) })
    expect(body.status).toBe('pending')
    on.clock.advance(300)
    const { slot_id } = body
    await expect
      .poll(async () => (await on.api.accept('decisions.get', { as: key, params: { slot_id } })).body.status)
      .toBe('ready')
    const { body: detail } = await on.api.accept('placements.explain', { params: { slot_id } })
    expect(detail.campaign_id).toBe('cmp_quick')
    expect(detail.trace.map(({ rule }) => rule)).toEqual(['partner_timeout', null])
    expect(detail.auction).toEqual([
      {
        partner_id: 'ptn_quick',
        name: 'Quick',
        answered_at_ms: 40,
        outcome: 'offered',
        campaign_id: 'cmp_quick',
        price_cpm: 5,
        currency: 'USD',
        problem: null,
      },
      {
        partner_id: 'ptn_dear',
        name: 'Dear',
        answered_at_ms: 500,
        outcome: 'late',
        campaign_id: null,
        price_cpm: null,
        currency: null,
        problem: null,
      },
    ])
  })

  test.each([
    ['error_rate', 'partner_error'],
    ['malformed_rate', 'partner_malformed'],
    ['oversized_rate', 'partner_oversized'],
    ['below_floor_rate', 'partner_floor'],
  ])('with a %s of 1 never wins', async (share, rule) => {
    await using on = await stage({ demand: market({ [share]: 1 }) })
    const { body } = await on.api.accept('placements.create', { as: key, body: asked({ wait_ms: 0 }) })
    on.clock.advance(300)
    const { slot_id } = body
    await expect
      .poll(async () => (await on.api.accept('placements.explain', { params: { slot_id } })).body.trace[0]?.rule)
      .toBe(rule)
  })

  test('with the same seed answer the same opportunity alike, and others not', async () => {
    const latency_ms = { distribution: 'uniform', min_ms: 0, max_ms: 600 }
    const ask = async (seed: number) => {
      await using on = await stage({ seed, demand: market({ latency_ms, error_rate: 0.5 }) })
      const answers = []
      for (let turn = 0; turn < 20; turn++) {
        const body = asked({ wait_ms: 0, session_id: `sess_${turn}` })
        const { slot_id } = (await on.api.accept('placements.create', { as: key, body })).body
        on.clock.advance(300)
        await expect
          .poll(async () => (await on.api.accept('placements.explain', { params: { slot_id } })).body.auction?.length)
          .toBe(2)
        answers.push((await on.api.accept('placements.explain', { params: { slot_id } })).body.auction)
      }
      return JSON.stringify(answers)
    }
    const first = await ask(1)
    expect(await ask(1)).toBe(first)
    expect(await ask(2)).not.toBe(first)
    for (const outcome of ['late', 'failed', 'offered']) expect(first).toContain(`"${outcome}"`)
  })
})

test('with watch a change is taken over, and a wrong one is reported and leaves the demand', async () => {
  const file = writeDemand(40)
  const text = readFileSync(file, 'utf8')
  const reports: unknown[] = []
  await using on = await stage({ demand: file, watch: true, report: (error) => reports.push(error) })
  const before = await fill(on.api, { format: 'banner', body: coffee })
  writeFileSync(file, text.replace('Fernhill Tea', 'Fernhill Coffee'))
  const sponsor = async () => (await fill(on.api, { format: 'banner', body: coffee })).placement.sponsor_name
  await expect.poll(sponsor).toBe('Fernhill Coffee')
  const { body: earlier } = await on.api.accept('placements.explain', { params: { slot_id: before.slot_id } })
  expect(earlier.trace.at(-1)).toMatchObject({ campaign_id: 'cmp_fernhill_tea', outcome: 'won' })
  writeFileSync(file, text.replace('40', '-40'))
  await expect.poll(() => String(reports)).toContain('price_cpm must be more than 0')
  expect(await sponsor()).toBe('Fernhill Coffee')
})

test('a change between the reading of a file and the first look at it is taken over', async () => {
  const file = writeDemand(40)
  const { read } = await openDemand(file)
  writeFileSync(file, readFileSync(file, 'utf8').replace('Fernhill Tea', 'Fernhill Coffee'))
  const taken: string[] = []
  const end = followDemand({
    ...{ path: file, read, report: () => {} },
    replace: async ({ campaigns }) => void taken.push(...campaigns.map(({ sponsor_name }) => sponsor_name)),
  })
  await expect.poll(() => taken).toEqual(['Fernhill Coffee'])
  await end()
})

const fixtureFile = writeDemand(40)
afterAll(() => rmSync(dirname(fixtureFile), { recursive: true, force: true }))
sandboxTest({ demand: fixtureFile })('the fixture of Vitest takes a file of demand', async ({ sandbox }) => {
  const { placement } = await sandbox.client.placements.create({ body: coffee as PlacementRequest })
  expect(placement?.sponsor_name).toBe('Fernhill Tea')
})

test('its pictures are in the state: a start without the file still shows what it filled', async () => {
  const database = join(temporaryDirectory(), 'sandbox.db')
  const file = writeDemand(40)
  const on = await stage({ demand: file, database })
  const { placement, slot_id } = await fill(on.api, { format: 'banner', body: coffee })
  await on[Symbol.asyncDispose]()
  await using again = await stage({ database })
  const { pathname } = new URL(placement.image_url!)
  const served = await fetch(new URL(pathname, again.sandbox.url))
  expect(Buffer.from(await served.arrayBuffer())).toEqual(readFileSync(join(dirname(file), 'tea.png')))
  const { body } = await again.api.accept('placements.explain', { params: { slot_id } })
  expect(body.trace.at(-1)).toMatchObject({ source: { file: 'demand.yaml', line: 2 } })
})

test('the evidence of a decision names file and line of its campaign, and the chain holds', async () => {
  await using on = await stage({ demand: writeDemand(40) })
  const own = await fill(on.api, { format: 'banner', body: coffee })
  const seededFill = await fill(on.api, { format: 'native', body: coffee })
  const findEntryOfSlot = async (slot_id: string) => {
    const { body } = await on.api.accept('placements.explain', { params: { slot_id } })
    return JSON.parse(body.evidence.find(({ kind }) => kind === 'decision')!.entry)
  }
  expect(await findEntryOfSlot(own.slot_id)).toMatchObject({ source_file: 'demand.yaml', source_line: 2 })
  expect(await findEntryOfSlot(seededFill.slot_id)).not.toHaveProperty('source_file')
  expect((await on.api.accept('evidence.verify', { body: {} })).body.ok).toBe(true)
})

test('a file of yours is decoded once, and served in ranges', async () => {
  const file = writeDemand(40)
  await using on = await stage({ demand: file })
  const { placement } = await fill(on.api, { format: 'clip', body: coffee })
  const bytes = readFileSync(join(dirname(file), 'tea.mp4'))
  const [whole, part] = await Promise.all([
    fetch(placement.video_url!),
    fetch(placement.video_url!, { headers: { range: 'bytes=10-19' } }),
  ])
  expect(Buffer.from(await part.arrayBuffer())).toEqual(bytes.subarray(10, 20))
  expect(whole.headers.get('etag')).toBe(part.headers.get('etag'))
})

test('the first file of the guide starts, and wins for its topic', async () => {
  const guide = readFileSync(new URL('../../docs/guides/own-ads.md', import.meta.url), 'utf8')
  const [, yaml] = /```yaml\n([^`]*)```/.exec(guide)!
  const folder = dirname(writeDemand(40))
  copyFileSync(join(folder, 'tea.png'), join(folder, 'tea-300x250.png'))
  writeFileSync(join(folder, 'demand.yaml'), yaml!)
  expect(yaml!.trim().split('\n').length).toBeLessThanOrEqual(10)
  await using on = await stage({ demand: folder })
  for (const format of ['banner', 'clip'] as const) {
    const body = asked({ prompt: { topic: 'tea' }, consent: { semantic_targeting: true } })
    expect((await fill(on.api, { format, body })).placement.sponsor_name).toBe('Fernhill Tea')
  }
})
