import { expect, test } from 'vitest'
import { withheldSteps, withhold } from './forced.ts'
import { outbid, rules, won } from './market.ts'

test('letters mean one thing only', () => {
  const letters = [...rules, ...Object.values(withheldSteps)].map(({ code }) => code)
  expect(new Set([...letters, won, outbid]).size).toBe(letters.length + 2)
})

test('every campaign that had an offer is removed for the reason, the others keep theirs', () => {
  const trace = `t${outbid}${won}m${outbid}`
  expect(withhold({ status: 'no_fill', reason: 'no_demand', trace }, 'timeout')).toEqual({
    status: 'no_fill',
    reason: 'timeout',
    trace: 'tllml',
  })
})
