import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AuthoritativeConsent, formats, type JobType, jobTypes, nativeTemplates } from '#contract/fields.ts'
import { TraceStep } from '#contract/resources/placements.ts'
import { defaultSettings } from '#contract/resources/projects.ts'
import { buildMarket, data, only, opportunity, summer, template } from '#tests/market.ts'
import { decideSlot, explainTrace, unplayedStep, withheldSteps, withhold } from './decisions.ts'
import { decide, forced, type MarketOutcome, outbid, prepareMarket, won } from './market.ts'
import { rules } from './market-rules.ts'
import { type Opportunity, prepareQuery } from './offers.ts'

const market = prepareMarket(data)
const none: ReadonlySet<string> = new Set()

const winner = (outcome: MarketOutcome) => (outcome.status === 'filled' ? outcome.campaign.campaign_id : null)
const reason = (outcome: MarketOutcome) => (outcome.status === 'no_fill' ? outcome.reason : null)

describe('who may fill', () => {
  test('flight: includes its start, excludes its end', () => {
    const flown = buildMarket({ flight: { starts_at_ms: 1_000, ends_at_ms: 2_000 } })
    const at = (now_ms: number) => decide(flown, opportunity({ now_ms })).trace
    expect([at(999), at(1_000), at(1_999), at(2_000)]).toEqual(['f', 'W', 'W', 'f'])
  })

  test('country: a campaign with countries needs one of them in the request', () => {
    const german = buildMarket({ countries: ['DE', 'AT'] })
    const from = (country: string | null) => decide(german, opportunity({ country })).trace
    expect([from('DE'), from('AT'), from('FR'), from(null)]).toEqual(['W', 'W', 'c', 'c'])
  })

  test('job type', () => {
    const code = buildMarket({ job_types: ['code'] })
    expect(decide(code, opportunity({ job_type: 'code' })).trace).toBe('W')
    expect(decide(code, opportunity({ job_type: 'chat' })).trace).toBe('j')
  })

  test('topic: one of its topics in any spelling; without a topic only run-of-network', () => {
    const two = buildMarket({ topics: ['machine-learning'], price_cpm: 9 }, {})
    const about = (topic: string | null) => decide(two, opportunity({ topic })).trace
    expect(about('machine-learning')).toBe('Wo')
    expect(about('Machine Learning')).toBe('Wo')
    expect(about('coffee')).toBe('tW')
    expect(about(null)).toBe('tW')
  })

  test('blocked categories: a code blocks itself and all of its children', () => {
    const food = buildMarket({ iab_categories: ['IAB8-6', 'IAB3'] })
    const without = (...blocked_categories: string[]) => decide(food, opportunity({ blocked_categories })).trace
    expect([without('IAB8-6'), without('IAB8'), without('IAB3')]).toEqual(['b', 'b', 'b'])
    expect([without('IAB8-5'), without('IAB3-1'), without('IAB80')]).toEqual(['W', 'W', 'W'])
  })

  test('blocked domains: a domain blocks itself and its subdomains', () => {
    const shop = buildMarket({ landing_domain: 'shop.brand.example' })
    const without = (...blocked_domains: string[]) => decide(shop, opportunity({ blocked_domains })).trace
    expect([without('shop.brand.example'), without('brand.example')]).toEqual(['d', 'd'])
    expect([without('op.brand.example'), without('www.brand.example'), without('other.example')]).toEqual([
      'W',
      'W',
      'W',
    ])
  })

  test('floor: in any currency, an equal price meets it', () => {
    const euro = buildMarket({ price_cpm: 7.5, currency: 'EUR' })
    const over = (floor: number, floor_currency: string) =>
      decide(euro, opportunity({ floors: { banner: floor, clip: floor, native: floor }, floor_currency })).trace
    expect([over(7.5, 'EUR'), over(7.51, 'EUR')]).toEqual(['W', 'p'])
    expect([over(8.1, 'USD'), over(8.11, 'USD')]).toEqual(['W', 'p'])
    expect([over(8.1, 'XXX'), over(8.11, 'XXX')]).toEqual(['W', 'p'])
  })

  test('a floor of one format does not affect the others', () => {
    const floors = { banner: 100, clip: 100, native: 0 }
    expect(decide(buildMarket({}), opportunity({ floors }))).toMatchObject({ format: 'native' })
  })
})

describe('what fills', () => {
  test.each([
    [null, null, 300, 250],
    [1000, 400, 970, 250],
    [728, 90, 728, 90],
    [320, null, 300, 250],
  ])('a banner in %s x %s is %ix%i', (max_width, max_height, width, height) => {
    const outcome = decide(market, opportunity({ allowed_formats: ['banner'], max_width, max_height }))
    expect(outcome).toMatchObject({ format: 'banner', width, height, creative: { format: 'banner', width, height } })
  })

  test('a clip without a hint is 640x360', () => {
    expect(decide(market, opportunity({ allowed_formats: ['clip'] }))).toMatchObject({ width: 640, height: 360 })
  })

  test('a native fill has the size of its template within the bounds', () => {
    const native = opportunity({ allowed_formats: ['native'], max_width: 320 })
    expect(decide(market, native)).toMatchObject({ format: 'native', width: 320, height: 368 })
    const minimal = { ...native, native_template_id: 'minimal', max_height: 120 } as const
    expect(decide(market, minimal)).toMatchObject({ width: 320, height: 120 })
  })

  test('banner, then clip, then native; a single allowed format is used', () => {
    const decideFormat = (...allowed_formats: Opportunity['allowed_formats']) => {
      const outcome = decide(market, opportunity({ allowed_formats }))
      return outcome.status === 'filled' ? outcome.format : null
    }
    expect(decideFormat('native', 'clip', 'banner')).toBe('banner')
    expect(decideFormat('native', 'clip')).toBe('clip')
    for (const format of formats) expect(decideFormat(format)).toBe(format)
  })

  test('a format that fits is used instead of one that does not', () => {
    expect(decide(market, opportunity({ max_width: 200, max_height: 200 }))).toMatchObject({ format: 'native' })
  })

  test('the price is the list price in its own currency', () => {
    const yen = buildMarket({ price_cpm: 460, currency: 'JPY' })
    expect(decide(yen, opportunity())).toMatchObject({ gross_cpm: 460, currency: 'JPY' })
  })
})

describe('who wins', () => {
  test('the highest price in USD, whatever the currency', () => {
    const mixed = buildMarket(
      { price_cpm: 3 },
      { price_cpm: 2.9, currency: 'EUR' },
      { price_cpm: 400, currency: 'JPY' },
    )
    expect(decide(mixed, opportunity()).trace).toBe('oWo')
  })

  test('price comes before the format and before the preferred partner', () => {
    const offers = buildMarket(
      { price_cpm: 2 },
      { price_cpm: 2.1, creatives: only('native'), partner_id: 'ptn_nordhain' },
    )
    expect(decide(offers, opportunity({ preferred_partner_id: template.partner_id })).trace).toBe('oW')
  })

  test('the preferred partner wins a tie in price', () => {
    const tied = buildMarket({ creatives: only('banner') }, { creatives: only('native'), partner_id: 'ptn_nordhain' })
    expect(decide(tied, opportunity()).trace).toBe('Wo')
    expect(decide(tied, opportunity({ preferred_partner_id: 'ptn_nordhain' })).trace).toBe('oW')
  })

  test('of two offers of the preferred partner the format decides', () => {
    const tied = buildMarket({ creatives: only('banner') }, { creatives: only('native') })
    expect(decide(tied, opportunity({ preferred_partner_id: template.partner_id })).trace).toBe('Wo')
  })

  test('then banner, clip, native', () => {
    const tied = buildMarket({ creatives: only('native') }, { creatives: only('clip') }, { creatives: only('banner') })
    expect(decide(tied, opportunity()).trace).toBe('ooW')
    expect(decide(tied, opportunity({ allowed_formats: ['native', 'clip'] })).trace).toBe('oWm')
  })

  test('equal offers take turns between sessions, and each session keeps its own', () => {
    const tied = buildMarket({}, {}, {}, {})
    const turns = new Map<string | null, number>()
    for (let session = 0; session < 1_000; session++) {
      const asked = opportunity({ session_id: `session-${session}` })
      const won = winner(decide(tied, asked))
      expect(winner(decide(tied, asked))).toBe(won)
      turns.set(won, (turns.get(won) ?? 0) + 1)
    }
    expect([...turns.keys()].sort()).toEqual(['cmp_0', 'cmp_1', 'cmp_2', 'cmp_3'])
    expect(Math.min(...turns.values())).toBeGreaterThan(150)
  })

  test('turns are the same in every version: a test of an integrator may depend on its seed', () => {
    const tied = buildMarket({}, {}, {}, {})
    const dealt = Array.from(
      { length: 8 },
      (_, session) => decide(tied, opportunity({ session_id: `${session}` })).trace,
    )
    expect(dealt).toEqual(['Wooo', 'oWoo', 'oWoo', 'Wooo', 'Wooo', 'oooW', 'ooWo', 'Wooo'])
    const hashes = [{}, { session_id: null }, { topic: 'tea' }].map(
      (change) => prepareQuery(opportunity(change), 300).hash,
    )
    expect(hashes).toEqual([3765001935, 1085765061, 884038430])
  })

  test('another seed gives other turns', () => {
    const tied = buildMarket({}, {}, {}, {})
    const dealt = (seed: number) =>
      Array.from({ length: 40 }, (_, session) => winner(decide(tied, opportunity({ seed, session_id: `${session}` }))))
    expect(dealt(1)).not.toEqual(dealt(2))
  })
})

describe('why no campaign fills', () => {
  const floor = (cpm: number) => ({ banner: cpm, clip: cpm, native: cpm })
  const all = [...new Set(data.campaigns.flatMap((campaign) => campaign.iab_categories))]

  test.each<[string, Partial<Opportunity>, string]>([
    ['a floor above the catalogue', { floors: floor(1_000) }, 'below_floor'],
    ['every category blocked', { blocked_categories: all }, 'category_blocked'],
    ['every domain blocked', { blocked_domains: ['example'] }, 'advertiser_blocked'],
    ['a tiny slot', { max_width: 10 }, 'size_mismatch'],
    ['no fill rate', { fill_rate: 0 }, 'no_demand'],
  ])('%s', (_, change, expected) => {
    expect(reason(decide(market, opportunity(change)))).toBe(expected)
  })

  test('a format that no campaign offers', () => {
    const banners = buildMarket({ creatives: only('banner') })
    expect(reason(decide(banners, opportunity({ allowed_formats: ['clip', 'native'] })))).toBe('format_mismatch')
  })

  test('no campaign for the topic, the job type, the country or the time, and an empty catalogue', () => {
    expect(reason(decide(buildMarket({ topics: ['tea'] }), opportunity()))).toBe('no_demand')
    expect(reason(decide(buildMarket({ job_types: ['code'] }), opportunity()))).toBe('no_demand')
    expect(reason(decide(buildMarket({ countries: ['JP'] }), opportunity()))).toBe('no_demand')
    expect(reason(decide(buildMarket({ flight: { starts_at_ms: null, ends_at_ms: 1 } }), opportunity()))).toBe(
      'no_demand',
    )
    expect(decide(buildMarket(), opportunity())).toEqual({ status: 'no_fill', reason: 'no_demand', trace: '' })
  })

  test('the reason is the rule that stopped the campaigns that got furthest', () => {
    const offers = buildMarket({ topics: ['tea'] }, { iab_categories: ['IAB1'] }, { price_cpm: 1 })
    const asked = opportunity({ blocked_categories: ['IAB1'], floors: floor(5) })
    expect(decide(offers, asked)).toEqual({ status: 'no_fill', reason: 'below_floor', trace: 'tbp' })
  })

  test('the fill rate is the share of sessions that fill; a session always fills or never', () => {
    const filled = (fill_rate: number) =>
      Array.from({ length: 2_000 }, (_, session) =>
        decide(market, opportunity({ fill_rate, session_id: `${session}` })),
      ).map((outcome) => outcome.status === 'filled')
    const third = filled(1 / 3)
    expect(third.filter(Boolean).length / third.length).toBeCloseTo(1 / 3, 1)
    expect(filled(1 / 3)).toEqual(third)
    expect(filled(1)).not.toContain(false)
    expect(filled(2 / 3).every((is, session) => is || !third[session])).toBe(true)
  })
})

describe('any opportunity', () => {
  const bound = fc.option(fc.integer({ min: 1, max: 1_200 }))
  const cpm = fc.double({ min: 0, max: 20, noNaN: true })
  const topics = [...new Set(data.campaigns.flatMap((campaign) => campaign.topics))]
  const categories = data.campaigns.flatMap((campaign) => campaign.iab_categories)
  const anyOpportunity: fc.Arbitrary<Opportunity> = fc.record({
    client_id: fc.constantFrom('proj_demo', 'proj_other'),
    session_id: fc.option(fc.string({ minLength: 1, maxLength: 8 })),
    job_type: fc.constantFrom<JobType>(...jobTypes),
    topic: fc.option(fc.constantFrom(...topics)),
    country: fc.option(fc.constantFrom('DE', 'GB', 'JP', 'US')),
    allowed_formats: fc.subarray([...formats], { minLength: 1 }),
    native_template_id: fc.constantFrom(...nativeTemplates),
    max_width: bound,
    max_height: bound,
    floors: fc.record({ banner: cpm, clip: cpm, native: cpm }),
    floor_currency: fc.constantFrom('USD', 'EUR', 'JPY', 'XXX'),
    blocked_categories: fc.subarray(categories, { maxLength: 10 }),
    blocked_domains: fc.subarray(['latchwell.example', 'notewick.example', 'example']),
    preferred_partner_id: fc.option(fc.constantFrom('ptn_meridian', 'ptn_unknown')),
    force_campaign_id: fc.option(fc.constantFrom('cmp_latchwell', 'cmp_notewick'), { freq: 9 }),
    purposes: fc.record({ semantic_targeting: fc.boolean(), prompt_shared: fc.boolean() }),
    capped: fc.constant(none),
    fill_rate: fc.constantFrom(0, 0.5, 1),
    seed: fc.nat(),
    now_ms: fc.constant(summer),
  })

  test('gives the same outcome every time, with a trace that explains it', () => {
    fc.assert(
      fc.property(anyOpportunity, (asked) => {
        const outcome = decide(market, asked)
        expect(decide(market, asked)).toEqual(outcome)
        const won = explainTrace(market, outcome.trace).filter((step) => step.outcome === 'won')
        expect(won.map((step) => step.campaign_id)).toEqual(outcome.status === 'filled' ? [winner(outcome)] : [])
      }),
    )
  })

  test('a fill meets the request', () => {
    fc.assert(
      fc.property(anyOpportunity, (asked) => {
        const outcome = decide(market, asked)
        if (outcome.status === 'no_fill') return
        expect(asked.allowed_formats).toContain(outcome.format)
        expect(outcome.creative.format).toBe(outcome.format)
        expect(outcome.campaign.creatives).toContain(outcome.creative)
        expect(outcome.width).toBeLessThanOrEqual(asked.max_width ?? Number.POSITIVE_INFINITY)
        expect(outcome.height).toBeLessThanOrEqual(asked.max_height ?? Number.POSITIVE_INFINITY)
        for (const category of asked.blocked_categories) expect(outcome.campaign.iab_categories).not.toContain(category)
      }),
    )
  })

  test('the order of the catalogue does not matter', () => {
    const reversed = prepareMarket({ ...data, campaigns: data.campaigns.toReversed() })
    fc.assert(
      fc.property(anyOpportunity, (asked) => {
        const [one, other] = [decide(market, asked), decide(reversed, asked)]
        expect([winner(other), reason(other)]).toEqual([winner(one), reason(one)])
      }),
    )
  })
})

test('every campaign of the fixtures can win', () => {
  const winners = new Set<string | null>()
  for (const campaign of data.campaigns) {
    const asked = opportunity({
      topic: campaign.topics[0] ?? null,
      job_type: campaign.job_types[0] ?? 'chat',
      country: campaign.countries[0] ?? null,
      now_ms: campaign.flight.starts_at_ms ?? summer,
    })
    expect(decide(prepareMarket({ ...data, campaigns: [campaign] }), asked).status).toBe('filled')
    winners.add(winner(decide(market, asked)))
  }
  expect(winners.size).toBeGreaterThan(20)
})

describe('traces', () => {
  const three = prepareMarket({ ...data, campaigns: data.campaigns.slice(0, 3) })
  const [first, second, third] = three.campaigns.map((campaign) => campaign.campaign_id)

  test('a trace names the winner, the outbid and the rules that removed the others', () => {
    expect(explainTrace(three, 'Wot').map((step) => TraceStep.parse(step))).toEqual([
      { campaign_id: first, outcome: 'won', rule: null, explanation: 'The best offer.' },
      { campaign_id: second, outcome: 'outbid', rule: null, explanation: 'Another offer was better.' },
      {
        campaign_id: third,
        outcome: 'removed',
        rule: 'topic',
        explanation: 'Buys other topics; a topic counts only with semantic_targeting.',
      },
    ])
  })

  test('every rule has its own letter, and none is W or o', () => {
    const letters = rules.map((rule) => rule.code)
    expect(new Set([...letters, 'W', 'o']).size).toBe(rules.length + 2)
    for (const rule of rules) {
      expect(explainTrace(three, rule.code.repeat(3))[0]).toMatchObject({
        rule: rule.name,
        explanation: rule.explanation,
      })
    }
  })

  test('letters are stored, so they never change', () => {
    expect(rules.map((rule) => `${rule.code} ${rule.name}`)).toEqual([
      'f flight',
      'c country',
      'j job_type',
      't topic',
      'g consent',
      'b blocked_category',
      'd blocked_domain',
      'm format',
      's size',
      'p floor',
      'T partner_timeout',
      'E partner_error',
      'M partner_malformed',
      'L partner_oversized',
      'U partner_floor',
      'N no_bid',
      'R bid_refused',
      'k cap',
      'r fill_rate',
    ])
  })

  test('steps of withheld offers have their letters for ever too', () => {
    expect([...Object.values(withheldSteps), unplayedStep].map(({ code, name }) => `${code} ${name}`)).toEqual([
      'n no_demand',
      'l timeout',
      'e partner_error',
      'x internal_error',
      'u recording',
    ])
  })

  test('each letter is explained by a sentence', () => {
    const steps = [...rules, ...Object.values(withheldSteps), unplayedStep]
    for (const { code, name } of steps) {
      const [step] = explainTrace(three, code.repeat(3))
      expect(step).toMatchObject({ outcome: 'removed', rule: name })
      expect(step?.explanation).toMatch(/^[A-Z].+\.$/)
    }
  })

  test('a campaign that was forced, and those that were not asked, say so', () => {
    expect(explainTrace(three, `z${forced}z`)).toEqual([
      {
        campaign_id: first,
        outcome: 'removed',
        rule: 'forced',
        explanation: 'Not asked: another campaign was forced.',
      },
      {
        campaign_id: second,
        outcome: 'won',
        rule: 'forced',
        explanation: 'Forced, by overrides.force_campaign_id or a scenario: it was not sold, and is never billed.',
      },
      expect.objectContaining({ campaign_id: third, rule: 'forced' }),
    ])
  })

  test('a campaign of a file is named with its place there', () => {
    const source = { file: 'demand.yaml', line: 3 }
    const own = prepareMarket({ ...data, campaigns: [{ ...template, source }, template] } as typeof data)
    expect(explainTrace(own, 'Wo').map((step) => step.source)).toEqual([source, undefined])
    expect(explainTrace(own, 'Wo')[1]).not.toHaveProperty('source')
  })

  test('a decision that never reached the market has nothing to explain', () => {
    expect(explainTrace(three, '')).toEqual([])
  })

  test('a trace of another catalogue is refused', () => {
    expect(() => explainTrace(three, 'Wo')).toThrow('The trace is not of this catalogue, which has 3 campaigns.')
    expect(() => explainTrace(three, 'W?o')).toThrow('The trace has "?", which belongs to no rule.')
  })

  test('every letter has one meaning', () => {
    const letters = [...rules, ...Object.values(withheldSteps)].map(({ code }) => code)
    expect(new Set([...letters, won, outbid]).size).toBe(letters.length + 2)
  })

  test('every campaign that had an offer is removed for the reason, the others keep their letter', () => {
    const trace = `t${outbid}${won}m${outbid}`
    expect(withhold({ status: 'no_fill', reason: 'no_demand', trace }, 'timeout')).toEqual({
      status: 'no_fill',
      reason: 'timeout',
      trace: 'tllml',
    })
  })
})

describe('a slot', () => {
  const granted: AuthoritativeConsent = {
    lifecycle_state: 'granted',
    revision: 1,
    updated_at_ms: 0,
    expires_at_ms: 1,
    source: 'none',
    purposes: { semantic_targeting: false, prompt_shared: false },
  }
  const input: Parameters<typeof decideSlot>[1] = {
    settings: defaultSettings,
    consent: granted,
    test_forced: false,
    isHighRisk: false,
    isCapped: false,
    forced: null,
    opportunity: opportunity(),
  }
  const one = buildMarket({})

  test('is decided by the market when nothing forbids it', () => {
    expect(decideSlot(one, input)).toEqual(decide(one, input.opportunity))
  })

  /** In the order in which they apply: each forbids the fill whatever the later ones say. */
  const policies: [string, Partial<typeof input>][] = [
    ['test_forced', { test_forced: true }],
    ['policy_block', { settings: { ...defaultSettings, enabled: false } }],
    ['unsupported_surface', { settings: { ...defaultSettings, job_types: ['code'] } }],
    ['consent_not_granted', { consent: { ...granted, lifecycle_state: 'denied' } }],
    ['content_safety', { isHighRisk: true }],
    ['frequency_cap_exceeded', { isCapped: true }],
    ['risk_suppressed', { forced: 'risk_suppressed' }],
  ]

  test.each(policies)('is not filled: %s, before the market', (expected, change) => {
    const outcome = { status: 'no_fill', reason: expected, trace: '' }
    expect(decideSlot(one, { ...input, ...change })).toEqual(outcome)
    const later = policies.slice(policies.findIndex(([name]) => name === expected) + 1)
    for (const [, other] of later) expect(decideSlot(one, { ...input, ...other, ...change })).toEqual(outcome)
  })

  test.each(['no_demand', 'timeout', 'partner_error', 'internal_error'] as const)(
    'loses its offers to the scenario %s',
    (forced) => {
      const trace = withheldSteps[forced].code
      expect(decideSlot(one, { ...input, forced })).toEqual({ status: 'no_fill', reason: forced, trace })
    },
  )
})
