import type { TraceStep } from '../../src/contract/control/placements.ts'
import { withheldSteps } from './forced.ts'
import { type Market, outbid, rules, won } from './market.ts'

const ruleOf = new Map([...rules, ...Object.values(withheldSteps)].map((rule) => [rule.code, rule]))

/**
 * The trace of a decision in words: each campaign of the catalogue, and the rule that removed it (A43). An empty trace,
 * of a decision that never asked the market, explains nothing.
 * @throws RangeError when the trace is not one of this catalogue
 */
export function explainTrace(market: Market, trace: string): TraceStep[] {
  if (trace === '') return []
  if (trace.length !== market.campaigns.length) {
    throw new RangeError(
      `The trace is of ${trace.length} campaigns, the catalogue has ${market.campaigns.length}. Explain it with the catalogue it was decided over.`,
    )
  }
  return market.campaigns.map((campaign, position) => stepOf(campaign.campaign_id, trace.charAt(position)))
}

function stepOf(campaign_id: string, letter: string): TraceStep {
  if (letter === won) return { campaign_id, outcome: 'won', rule: null, explanation: 'The best offer.' }
  if (letter === outbid) return { campaign_id, outcome: 'outbid', rule: null, explanation: 'Another offer was better.' }
  const rule = ruleOf.get(letter)
  if (rule === undefined) throw new RangeError(`The trace has ${JSON.stringify(letter)}, which no rule stands for.`)
  return { campaign_id, outcome: 'removed', rule: rule.name, explanation: rule.explanation }
}
