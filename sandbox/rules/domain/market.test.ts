/** What only some markets have: a forced campaign, partners that take their time or fail, bidders, thousands of campaigns. */
import { describe, expect, test } from 'vitest'
import { buildAuction, buildMarket, only, opportunity } from '#tests/market.ts'
import { listAuction } from './auction.ts'
import { type AskedAnswer, bidPrice, judgeBids, readAnswers, writeAnswers } from './bids.ts'
import type { Campaign } from './catalogue.ts'
import { auctionMs, decide, type Market, type MarketOutcome, readTrace } from './market.ts'
import { findAnswer, type Partner } from './partners.ts'

const partner = (partner_id: string, more: Partial<Partner> = {}): Partner => {
  return { partner_id, name: partner_id.slice(4), seat: 'seat', currency: 'USD', ...more }
}
const winner = (outcome: MarketOutcome) => (outcome.status === 'filled' ? outcome.campaign.campaign_id : outcome.reason)
const dear = { price_cpm: 9 }

describe('a forced campaign', () => {
  const force = { force_campaign_id: 'cmp_1' }

  test('wins over dearer ones, whatever its buyer wants, and its price is 0 (A107)', () => {
    const targets: Partial<Campaign>[] = [
      { flight: { starts_at_ms: null, ends_at_ms: 1 } },
      { countries: ['JP'] },
      { job_types: ['voice'] },
      { topics: ['tea'] },
    ]
    for (const target of targets) {
      const outcome = decide(buildMarket(dear, target), opportunity(force))
      expect(outcome).toMatchObject({ status: 'filled', campaign: { campaign_id: 'cmp_1' }, gross_cpm: 0, trace: 'zF' })
    }
    const capped = opportunity({ ...force, capped: new Set(['cmp_1']), fill_rate: 0 })
    expect(winner(decide(buildMarket(dear, {}), capped))).toBe('cmp_1')
  })

  test.each([
    ['late', { latency_ms: 400 }],
    ['failed', { error_rate: 1 }],
    ['malformed', { malformed_rate: 1 }],
    ['oversized', { oversized_rate: 1 }],
    ['under_floor', { below_floor_rate: 1 }],
    ['no_bid', { url: 'http://127.0.0.1:1/' }],
  ])('wins though its partner is %s', (_, behaviour) => {
    const market = buildAuction([partner('ptn_own', behaviour)], { partner_id: 'ptn_own' }, { partner_id: 'ptn_own' })
    expect(winner(decide(market, opportunity(force)))).toBe('cmp_1')
  })

  test.each<[string, Partial<Parameters<typeof opportunity>[0]>, Partial<Campaign>, string, string]>([
    [
      'consent',
      { purposes: { semantic_targeting: true, prompt_shared: false } },
      { needs_consent: ['prompt_shared'] },
      'consent_not_granted',
      'zg',
    ],
    [
      'blocked domains',
      { blocked_domains: ['blocked.example'] },
      { landing_domain: 'a.blocked.example' },
      'advertiser_blocked',
      'zd',
    ],
    ['formats', { allowed_formats: ['clip'] }, { creatives: only('banner') }, 'format_mismatch', 'zm'],
  ])('is refused by %s', (_, asked, change, reason, trace) => {
    const outcome = decide(buildMarket({}, change), opportunity({ ...force, ...asked }))
    expect(outcome).toEqual({ status: 'no_fill', reason, trace })
  })

  test('that there is not is no demand, and has no trace', () => {
    const outcome = decide(buildMarket({}), opportunity({ force_campaign_id: 'cmp_nobody' }))
    expect(outcome).toEqual({ status: 'no_fill', reason: 'no_demand', trace: '' })
  })
})

test('a campaign that needs a purpose is left out without it, and its reason is consent', () => {
  const market = buildMarket({ needs_consent: ['prompt_shared', 'semantic_targeting'] })
  expect(winner(decide(market, opportunity()))).toBe('consent_not_granted')
  const all = { purposes: { semantic_targeting: true, prompt_shared: true } }
  expect(winner(decide(market, opportunity(all)))).toBe('cmp_0')
})

test('a campaign whose cap is reached is left out', () => {
  const capped = opportunity({ capped: new Set(['cmp_0']) })
  expect(winner(decide(buildMarket(dear, {}), capped))).toBe('cmp_1')
  expect(winner(decide(buildMarket(dear), capped))).toBe('frequency_cap_exceeded')
})

describe('a simulated partner', () => {
  test.each([
    ['late', { latency_ms: 301 }, 'timeout', 301, 'T'],
    ['failed', { error_rate: 1 }, 'partner_error', 0, 'E'],
    ['malformed', { malformed_rate: 1 }, 'partner_error', 0, 'M'],
    ['oversized', { oversized_rate: 1 }, 'partner_error', 0, 'L'],
    ['under_floor', { below_floor_rate: 1 }, 'below_floor', 0, 'U'],
    ['offered', { latency_ms: 300 }, 'cmp_0', 300, 'W'],
    ['offered', {}, 'cmp_0', 0, 'W'],
  ])('that is %s by %o', (outcome, behaviour, expected, latency_ms, trace) => {
    const own = partner('ptn_own', behaviour)
    const market = buildAuction([own], { partner_id: 'ptn_own' })
    expect(findAnswer(own, 300, 7)).toEqual({ outcome, latency_ms })
    const decided = decide(market, opportunity())
    expect([winner(decided), decided.trace]).toEqual([expected, trace])
    expect(auctionMs(market, opportunity())).toBe(Math.min(300, latency_ms))
    const isSimulated = Object.keys(behaviour).length > 0
    expect(listAuction(market, opportunity(), decided.trace)).toEqual(
      isSimulated
        ? [
            {
              ...{ partner_id: 'ptn_own', name: 'own', answered_at_ms: latency_ms, outcome, problem: null },
              ...(trace === 'W'
                ? { campaign_id: 'cmp_0', price_cpm: market.campaigns[0]!.price_cpm, currency: 'USD' }
                : { campaign_id: null, price_cpm: null, currency: null }),
            },
          ]
        : [],
    )
  })

  test('a decision waits for the slowest, and one that answers at once does not count', () => {
    const partners = [partner('ptn_a', { latency_ms: 40 }), partner('ptn_b', { latency_ms: 20 }), partner('ptn_c')]
    const market = buildAuction(partners, { partner_id: 'ptn_a' }, { partner_id: 'ptn_b', ...dear })
    expect(auctionMs(market, opportunity())).toBe(40)
    const { trace } = decide(market, opportunity())
    expect(listAuction(market, opportunity(), trace).map((step) => [step.partner_id, step.campaign_id])).toEqual([
      ['ptn_c', null],
      ['ptn_b', 'cmp_1'],
      ['ptn_a', 'cmp_0'],
    ])
  })

  test('shares and latencies are drawn: about as often as stated, the same for the same opportunity', () => {
    const own = partner('ptn_own', {
      error_rate: 0.25,
      malformed_rate: 0.5,
      latency_ms: { distribution: 'uniform', min_ms: 10, max_ms: 20 },
    })
    const answers = Array.from({ length: 4_000 }, (_, hash) => findAnswer(own, 300, hash * 7_919))
    const share = (outcome: string) => answers.filter((answer) => answer.outcome === outcome).length / answers.length
    expect(share('failed')).toBeCloseTo(0.25, 1)
    expect(share('malformed')).toBeCloseTo(0.375, 1)
    const times = answers.map(({ latency_ms }) => latency_ms)
    expect([Math.min(...times), Math.max(...times)]).toEqual([10, 20])
    expect(answers.slice(0, 9)).toEqual(answers.slice(0, 9).map((_, at) => findAnswer(own, 300, at * 7_919)))
  })

  test('a latency of log-normal distribution has its median, and an end', () => {
    const times = (sigma: number) => {
      const own = partner('ptn_own', { latency_ms: { distribution: 'lognormal', median_ms: 100, sigma } })
      return Array.from({ length: 2_001 }, (_, hash) => findAnswer(own, 1e9, hash * 7_919).latency_ms).toSorted(
        (a, b) => a - b,
      )
    }
    const sorted = times(0.5)
    expect(sorted[1_000]).toBeGreaterThan(90)
    expect(sorted[1_000]).toBeLessThan(110)
    expect(sorted[200]).toBeLessThan(70)
    expect(sorted[1_800]).toBeGreaterThan(150)
    expect(times(9).at(-1)).toBe(600_000)
  })
})

describe('a bidder', () => {
  const own = partner('ptn_own', { url: 'http://127.0.0.1:1/' })
  const market = buildAuction(
    [own, partner('ptn_list')],
    { partner_id: 'ptn_own', price_cpm: 1 },
    { partner_id: 'ptn_own', price_cpm: 1 },
    { partner_id: 'ptn_list', price_cpm: 5 },
  )
  const ids = new Set(['cmp_0', 'cmp_1'])
  const answer = (text: string): AskedAnswer => ({ partner_id: 'ptn_own', latency_ms: 12, ...judgeBids(text, ids) })
  const ask = (text: string) => {
    const answers = [answer(text)]
    const asked = opportunity({ answers })
    const outcome = decide(market, asked)
    return { outcome, auction: listAuction(market, asked, writeAnswers(outcome.trace, answers)) }
  }
  const bid = (campaign_id: string, price_cpm: unknown, more: object = {}) => ({ campaign_id, price_cpm, ...more })
  const send = (...bids: unknown[]) => JSON.stringify({ bids })

  test('wins at the price that it bid, in its currency', () => {
    const { outcome, auction } = ask(send(bid('cmp_1', 7, { currency: 'EUR' }), bid('cmp_0', 2)))
    expect(outcome).toMatchObject({ campaign: { campaign_id: 'cmp_1' }, gross_cpm: 7, currency: 'EUR', trace: 'oWo' })
    const step = { partner_id: 'ptn_own', name: 'own', answered_at_ms: 12, outcome: 'offered', problem: null }
    const list = { partner_id: 'ptn_list', name: 'list', answered_at_ms: 0, outcome: 'offered', problem: null }
    expect(auction).toEqual([
      { ...list, campaign_id: 'cmp_2', price_cpm: 5, currency: 'USD' },
      { ...step, campaign_id: 'cmp_1', price_cpm: 7, currency: 'EUR' },
      { ...step, campaign_id: 'cmp_0', price_cpm: 2, currency: 'USD' },
    ])
    expect(auctionMs(market, opportunity())).toBe(0)
  })

  test('is outbid by a list price, and what it does not bid for takes no part', () => {
    expect(ask(send(bid('cmp_0', 4))).outcome).toMatchObject({ campaign: { campaign_id: 'cmp_2' }, trace: 'oNW' })
    expect(ask('{}').outcome.trace).toBe('NNW')
    expect(ask(send(bid('cmp_0', 0))).outcome.trace).toBe('RNW')
  })

  test('has one step without a campaign where it bids for none, or its answer is refused', () => {
    const none = { campaign_id: null, price_cpm: null, currency: null }
    const step = { partner_id: 'ptn_own', name: 'own', answered_at_ms: 12, ...none }
    expect(ask('{}').auction[1]).toEqual({ ...step, outcome: 'no_bid', problem: null })
    expect(ask('[').auction[1]).toEqual({ ...step, outcome: 'malformed', problem: 'Its answer is no JSON.' })
    const gone = writeAnswers('oNW', [{ ...answer('{}'), partner_id: 'ptn_gone' }])
    expect(listAuction(market, opportunity(), gone).at(-1)).toMatchObject({ name: 'ptn_gone' })
  })

  test.each([
    ['nothing', 'Its answer is no JSON.'],
    ['[]', 'Its answer is no JSON object.'],
    ['{"bid":[]}', 'Its answer has a field other than bids.'],
    ['{"bids":{}}', 'bids must be an array.'],
    [send(...Array(51).fill(bid('cmp_0', 1))), 'It sent 51 bids, and at most 50 are taken.'],
  ])('whose answer is %s is refused as a whole', (text, problem) => {
    expect(judgeBids(text, ids)).toEqual({ outcome: 'malformed', problem, bids: [] })
  })

  test.each<[unknown, object, string | null]>([
    [bid('cmp_0', 2.5, { currency: 'GBP' }), { campaign_id: 'cmp_0', price_cpm: 2.5, currency: 'GBP' }, null],
    [bid('cmp_0', 1_000_000), { price_cpm: 1_000_000, currency: 'USD' }, null],
    ['cmp_0', { campaign_id: null, price_cpm: null, currency: null }, 'bids.0 must be an object.'],
    [
      bid('cmp_9', 1),
      { campaign_id: null, price_cpm: 1 },
      'bids.0.campaign_id must be the campaign_id of one of its campaigns.',
    ],
    [bid('latchwell', 1), { campaign_id: null }, 'bids.0.campaign_id must be the campaign_id of one of its campaigns.'],
    [{ price_cpm: 1 }, { campaign_id: null }, 'bids.0.campaign_id must be the campaign_id of one of its campaigns.'],
    [bid('cmp_0', 0), { price_cpm: 0 }, 'bids.0.price_cpm must be more than 0 and at most 1000000.'],
    [bid('cmp_0', 1_000_001), { price_cpm: 1_000_001 }, 'bids.0.price_cpm must be more than 0 and at most 1000000.'],
    [bid('cmp_0', '1'), { price_cpm: null }, 'bids.0.price_cpm must be more than 0 and at most 1000000.'],
    [
      bid('cmp_0', 1, { currency: 'XAU' }),
      { currency: null },
      'bids.0.currency must be a currency of the rate table, such as USD.',
    ],
    [
      bid('cmp_0', 1, { currency: 5 }),
      { currency: null },
      'bids.0.currency must be a currency of the rate table, such as USD.',
    ],
    [bid('cmp_0', 1, { colour: 'red' }), {}, 'bids.0 has a field other than campaign_id, price_cpm and currency.'],
  ])('judges %o', (sent, shown, problem) => {
    expect(judgeBids(send(sent), ids)).toMatchObject({ outcome: 'offered', bids: [{ ...shown, problem }] })
  })

  test('has its first bid for a campaign, and the second is refused', () => {
    const { outcome, auction } = ask(send(bid('cmp_0', 6), bid('cmp_0', 9)))
    expect(outcome).toMatchObject({ gross_cpm: 6 })
    expect(auction.map(({ problem }) => problem)).toEqual([null, null, 'bids.1.campaign_id has a bid already.'])
    expect(auction[2]).toMatchObject({ outcome: 'refused' })
  })

  test('prices compare in US dollars', () => {
    const judged = { campaign_id: 'cmp_0', price_cpm: 2, problem: null }
    expect(bidPrice({ ...judged, currency: 'USD' })).toBe(2)
    expect(bidPrice({ ...judged, currency: 'EUR' })).toBeGreaterThan(2)
    expect(bidPrice({ ...judged, price_cpm: null, currency: null })).toBe(0)
  })

  test('answers are stored behind the letters of a trace', () => {
    const answers = [answer(send(bid('cmp_0', 6)))]
    expect(readAnswers(writeAnswers('Wo', answers))).toEqual({ letters: 'Wo', answers })
    expect([writeAnswers('Wo', []), readAnswers('Wo')]).toEqual(['Wo', { letters: 'Wo', answers: [] }])
    expect([readAnswers('Wo|{'), readAnswers('Wo|{}')]).toEqual(Array(2).fill({ letters: 'Wo', answers: [] }))
  })
})

describe('a market of more campaigns than are asked one by one', () => {
  const many = (count: number, change: (at: number) => Partial<Campaign> = () => ({}), partners: Partner[] = []) =>
    buildAuction(partners, ...Array.from({ length: count }, (_, at) => ({ price_cpm: 1 + (at % 9), ...change(at) })))
  const positions = (market: Market, trace: string) => readTrace(market, trace)!.map(({ position }) => position)

  test('asks the dearest of the topic and of any, until the next can only be outbid', () => {
    const market = many(1_200, (at) => ({ topics: at % 3 === 0 ? ['tea'] : at % 3 === 1 ? ['code'] : [] }))
    expect(market.index).not.toBeNull()
    const outcome = decide(market, opportunity({ topic: 'tea' }))
    expect(outcome).toMatchObject({ status: 'filled', gross_cpm: 9 })
    const asked = positions(market, outcome.trace)
    expect(asked.length).toBeLessThan(300)
    for (const position of asked) {
      expect(market.campaigns[position]!.price_cpm).toBe(9)
      expect(market.campaigns[position]!.topics).not.toEqual(['code'])
    }
    expect(readTrace(market, outcome.trace)!.filter(({ letter }) => letter === 'W')).toHaveLength(1)
  })

  test('goes on to cheaper ones while the dearer are refused, and has a reason where all are', () => {
    const market = many(1_200, (at) => ({
      landing_domain: at % 9 === 8 ? 'no.example' : 'yes.example',
      topics: at % 2 === 0 ? [] : ['tea'],
    }))
    const blocked = decide(market, opportunity({ topic: 'tea', blocked_domains: ['no.example'] }))
    expect(blocked).toMatchObject({ status: 'filled', gross_cpm: 8 })
    const none = decide(market, opportunity({ topic: 'tea', blocked_domains: ['no.example', 'yes.example'] }))
    expect(none).toMatchObject({ status: 'no_fill', reason: 'advertiser_blocked' })
    expect(positions(market, none.trace)).toHaveLength(500)
    expect(
      decide(
        many(1_200, () => ({ topics: ['tea'] })),
        opportunity(),
      ),
    ).toEqual({ status: 'no_fill', reason: 'no_demand', trace: '~:' })
  })

  test('forces one of them', () => {
    const market = many(1_200)
    expect(decide(market, opportunity({ force_campaign_id: 'cmp_7' })).trace).toBe('~7:F')
  })

  test('asks what its bidders bid for, and some of what they do not', () => {
    const own = partner('ptn_own', { url: 'http://127.0.0.1:1/' })
    const idle = partner('ptn_idle', { url: 'http://127.0.0.1:2/' })
    const owner = (at: number) => (at < 40 ? 'ptn_own' : at < 80 ? 'ptn_idle' : 'ptn_list')
    const market = many(1_200, (at) => ({ partner_id: owner(at) }), [own, idle, partner('ptn_list')])
    const bids = [{ campaign_id: 'cmp_39', price_cpm: 50, currency: 'USD', problem: null }]
    const answers: AskedAnswer[] = [{ partner_id: 'ptn_own', outcome: 'offered', latency_ms: 1, problem: null, bids }]
    const outcome = decide(market, opportunity({ answers }))
    expect(outcome).toMatchObject({ campaign: { campaign_id: 'cmp_39' }, gross_cpm: 50 })
    expect(positions(market, outcome.trace)).toEqual([39, ...Array.from({ length: 20 }, (_, at) => 40 + at)])
  })

  test('a trace of another market, or without a campaign, is known', () => {
    const [large, small] = [many(1_200), buildMarket({}, {})]
    expect(readTrace(large, '~1200:W')).toBeNull()
    expect(readTrace(large, '~1199:W')).toEqual([{ position: 1_199, letter: 'W' }])
    expect(readTrace(large, '~3,1:oW')).toEqual([
      { position: 3, letter: 'o' },
      { position: 1, letter: 'W' },
    ])
    expect(readTrace(large, '~:')).toEqual([])
    expect([readTrace(small, 'W'), readTrace(small, 'Wo')?.length]).toEqual([null, 2])
  })
})
