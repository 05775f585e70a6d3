/** No-fills that a scenario forces after the market was asked: what the trace says of the campaigns that had an offer. */
import type { ForcedNoFill } from '../../src/contract/control/scenarios.ts'
import { type MarketOutcome, outbid, won } from './market.ts'

/** Reasons that strike once there are offers; `risk_suppressed` comes before anybody is asked. */
export type Withheld = Exclude<ForcedNoFill, 'risk_suppressed'>

/** Letters in traces, beside those of the market's rules, under the same promise: none ever changes its meaning. */
export const withheldSteps: Readonly<Record<Withheld, { code: string; name: string; explanation: string }>> = {
  no_demand: { code: 'n', name: 'no_demand', explanation: 'Made no offer: a scenario is in use.' },
  timeout: { code: 'l', name: 'timeout', explanation: 'Its offer came too late: a scenario is in use.' },
  partner_error: { code: 'e', name: 'partner_error', explanation: 'Its partner failed: a scenario is in use.' },
  internal_error: { code: 'x', name: 'internal_error', explanation: 'Its offer was lost: a scenario is in use.' },
}

/** The outcome without its fill: every campaign that still had an offer is removed for the reason. */
export function withhold({ trace }: MarketOutcome, reason: Withheld): MarketOutcome {
  const { code } = withheldSteps[reason]
  return { status: 'no_fill', reason, trace: trace.replaceAll(won, code).replaceAll(outbid, code) }
}
