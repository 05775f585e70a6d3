import { describe, expect, test } from 'vitest'
import demand from '#fixtures/demand.json' with { type: 'json' }
import { only } from '#tests/market.ts'
import { isOnThisComputer, MarketData } from './catalogue.ts'

describe('MarketData', () => {
  const withCampaign = (change: object) => ({ ...demand, campaigns: [{ ...demand.campaigns[0], ...change }] })

  test.each([
    ['an unknown property', { colour: 'red' }, 'colour'],
    ['an unknown partner', { partner_id: 'ptn_nobody' }, 'must be one of partners'],
    ['a currency without a rate', { currency: 'XAU' }, 'must be a currency of the rate table'],
    ['a price of nothing', { price_cpm: 0 }, 'price_cpm'],
    ['a topic in capitals', { topics: ['Coffee'] }, 'must be a lower-case slug'],
    ['no creative', { creatives: [] }, 'creatives'],
    [
      'a banner of no standard size',
      { creatives: [{ ...only('banner')[0], width: 301 }] },
      'must be a standard size of its format (A38)',
    ],
    [
      'a file outside its folder',
      { creatives: [{ ...only('banner')[0], file: '../secret.webp' }] },
      'must be <folder>',
    ],
  ])('refuses %s', (_, change, problem) => {
    const result = MarketData.safeParse(withCampaign(change))
    expect(result.success).toBe(false)
    expect(result.error?.message).toContain(problem)
  })

  test('rejects a campaign of no listed partner', () => {
    expect(MarketData.safeParse(withCampaign({ partner_id: 'ptn_nobody' })).error?.issues).toEqual([
      { code: 'custom', path: ['campaigns', 0, 'partner_id'], message: 'must be one of partners' },
    ])
  })

  test('rejects two campaigns with one id, and says which', () => {
    const twice = { ...demand, campaigns: [demand.campaigns[0], demand.campaigns[0]] }
    expect(MarketData.safeParse(twice).error?.issues).toEqual([
      { code: 'custom', path: ['campaigns', 1, 'campaign_id'], message: 'must be unique' },
    ])
  })

  test.each([
    ['an id without its prefix', { campaign_id: 'latchwell' }, ['campaign_id'], 'must be cmp_ and a name'],
    ['a country in words', { countries: ['GERMANY'] }, ['countries', 0], 'must be ISO 3166-1 alpha-2, such as DE'],
    ['a country with a digit', { countries: ['1DE'] }, ['countries', 0], 'must be ISO 3166-1 alpha-2, such as DE'],
    ['a topic without a name', { topics: [''] }, ['topics', 0], 'must be a lower-case slug'],
    [
      'a size of another format',
      { creatives: [{ ...only('banner')[0], width: 301 }] },
      ['creatives', 0, 'width'],
      'must be a standard size of its format (A38)',
    ],
    ...['/banners/a.webp', 'banners/a.webp/b'].map((file) => [
      `the file ${file}`,
      { creatives: [{ ...only('banner')[0], file }] },
      ['creatives', 0, 'file'],
      'must be <folder>/<file>.<extension>',
    ]),
    ...['text/image/png', 'image/png;q=1'].map((mime_type) => [
      `the type ${mime_type}`,
      { creatives: [{ ...only('banner')[0], mime_type }] },
      ['creatives', 0, 'mime_type'],
      'must be an image or video media type',
    ]),
  ] as [string, object, (string | number)[], string][])('refuses %s, and says where', (_, change, path, message) => {
    const { error } = MarketData.safeParse(withCampaign(change))
    expect(error?.issues).toMatchObject([{ path: ['campaigns', 0, ...path], message }])
  })

  test('takes pages of the web as destinations, and no others', () => {
    const accepts = (click_url: string) => MarketData.safeParse(withCampaign({ click_url })).success
    expect([accepts('http://a.example/'), accepts('https://a.example/')]).toEqual([true, true])
    const others = ['ftp://a.example/', 'shttp://a.example/', 'httpx://a.example/', 'httpsx://a.example/']
    expect(others.map(accepts)).toEqual([false, false, false, false])
  })

  test('has a revision from 1', () => {
    const accepts = (revision: number) => MarketData.safeParse({ ...demand, revision }).success
    expect([accepts(0), accepts(1), accepts(2)]).toEqual([false, true, true])
  })
})

test.each([
  ['http://127.0.0.1:4999/bid', true],
  ['http://localhost:4999/bid', true],
  ['http://[::1]:4999/', true],
  ['https://127.0.0.1:4999/bid', false],
  ['ftp://127.0.0.1/', false],
  ['http://user@127.0.0.1/', false],
  ['http://:word@127.0.0.1/', false],
  ['http://bidder.example/bid', false],
  ['http://evil.localhost/bid', false],
  ['127.0.0.1:4999', false],
])('a bidder at %s is on this computer: %s (A107)', (url, isHere) => {
  expect(isOnThisComputer(url)).toBe(isHere)
  const [partner] = demand.partners
  const parsed = MarketData.safeParse({ ...demand, partners: [{ ...partner, url }, ...demand.partners.slice(1)] })
  expect([parsed.success, parsed.error?.issues[0]?.message]).toEqual(
    isHere ? [true, undefined] : [false, 'must be http on this computer, such as http://127.0.0.1:4999/bid'],
  )
})

test.each([
  ['partners', { error_rate: 1.1 }, false],
  ['partners', { error_rate: -0.1 }, false],
  ['partners', { error_rate: 1, malformed_rate: 0 }, true],
  ['partners', { url: `http://127.0.0.1/${'x'.repeat(500)}` }, false],
  ['campaigns', { caps: { session: 1, user_per_day: 1_000_000 } }, true],
  ['campaigns', { caps: { session: 0 } }, false],
  ['campaigns', { caps: { global_per_hour: 1_000_001 } }, false],
  ['campaigns', { source: { file: 'demand.yaml', line: 3 } }, true],
  ['campaigns', { source: { file: 'demand.yaml' } }, false],
] as const)('%s with %o are taken: %s', (list, change, isTaken) => {
  const [first, ...others] = demand[list]
  expect(MarketData.safeParse({ ...demand, [list]: [{ ...first, ...change }, ...others] }).success).toBe(isTaken)
})

test.each([
  [1, true],
  [10_000, true],
  [0, false],
  [10_001, false],
])('a window of %i ms is taken: %s', (window_ms, isTaken) => {
  expect(MarketData.safeParse({ ...demand, window_ms }).success).toBe(isTaken)
})
