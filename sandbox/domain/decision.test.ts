import { expect, test } from 'vitest'
import demand from '../../fixtures/demand.json' with { type: 'json' }
import { TraceStep } from '../../src/contract/control/placements.ts'
import { MarketData } from './catalogue.ts'
import { explainTrace, withheldSteps, withhold } from './decision.ts'
import { outbid, prepareMarket, rules, won } from './market.ts'

const data = MarketData.parse(demand)
const market = prepareMarket({ ...data, campaigns: data.campaigns.slice(0, 3) })
const [first, second, third] = market.campaigns.map((campaign) => campaign.campaign_id)

test('a trace names the winner, the outbid and the rules that removed the others', () => {
  expect(explainTrace(market, 'Wot').map((step) => TraceStep.parse(step))).toEqual([
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
    expect(explainTrace(market, rule.code.repeat(3))[0]).toMatchObject({
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
    'b blocked_category',
    'd blocked_domain',
    'm format',
    's size',
    'p floor',
    'r fill_rate',
  ])
})

test('a decision that never reached the market has nothing to explain', () => {
  expect(explainTrace(market, '')).toEqual([])
})

test('a trace of another catalogue is refused', () => {
  expect(() => explainTrace(market, 'Wo')).toThrow('The trace is of 2 campaigns, the catalogue has 3.')
  expect(() => explainTrace(market, 'W?o')).toThrow('The trace has "?", which no rule stands for.')
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
