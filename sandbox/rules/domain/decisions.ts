/**
 * The decision of one slot: policy first, then the simulated market, then what a scenario withholds; and its trace in
 * words. Pure: all inputs are plain data, and a no-fill is a result like any other.
 */
import type { AuthoritativeConsent } from '#contract/fields.ts'
import type { NoFillReason } from '#contract/no-fill.ts'
import type { TraceStep } from '#contract/resources/placements.ts'
import type { ProjectSettings } from '#contract/resources/projects.ts'
import type { ForcedNoFill } from '#contract/resources/sandbox/scenarios.ts'
import { decide, forced, type Market, type MarketOutcome, outbid, readTrace, unforced, won } from './market.ts'
import { rules } from './market-rules.ts'
import type { Opportunity } from './offers.ts'

export interface DecisionInput {
  settings: ProjectSettings
  consent: AuthoritativeConsent
  test_forced: boolean
  isHighRisk: boolean
  isCapped: boolean
  /** The no-fill that a scenario forces; null without one. */
  forced: ForcedNoFill | null
  opportunity: Opportunity
}

/** Reasons that apply once there are offers; `risk_suppressed` comes before the market. */
type WithheldReason = Exclude<ForcedNoFill, 'risk_suppressed'>

/** The letters of withheld offers in traces, in addition to the rules' letters. */
export const withheldSteps: Readonly<Record<WithheldReason, { code: string; name: string; explanation: string }>> = {
  no_demand: { code: 'n', name: 'no_demand', explanation: 'Made no offer: a scenario is in use.' },
  timeout: { code: 'l', name: 'timeout', explanation: 'Its offer came too late: a scenario is in use.' },
  partner_error: { code: 'e', name: 'partner_error', explanation: 'Its partner failed: a scenario is in use.' },
  internal_error: { code: 'x', name: 'internal_error', explanation: 'Its offer was lost: a scenario is in use.' },
}

/** The letter of the campaigns that a played recording did not choose. */
export const unplayedStep = {
  code: 'u',
  name: 'recording',
  explanation: 'Not asked: a recording is played, which says who fills.',
}

const rulesByCode = new Map([...rules, ...Object.values(withheldSteps), unplayedStep].map((rule) => [rule.code, rule]))

/**
 * Decides one slot by the first of these conditions that applies: forced by test_outcome, project disabled, job type
 * not enabled, consent not granted, high-risk topic, frequency cap, a risk that a scenario claims, then the market. A
 * scenario may still withhold a fill of the market. Before the market the trace is empty: no campaign was considered.
 */
export function decideSlot(market: Market, input: DecisionInput): MarketOutcome {
  const reason = findPolicyReason(input)
  if (reason !== null) return { status: 'no_fill', reason, trace: '' }
  const outcome = decide(market, input.opportunity)
  return input.forced === null ? outcome : withhold(outcome, input.forced as WithheldReason)
}

/**
 * Returns a trace in words: each campaign of the catalogue, and the rule that removed it (A43). A decision that never
 * reached the market has an empty trace and no explanation.
 * @throws RangeError when the trace does not belong to this catalogue
 */
export function explainTrace(market: Market, trace: string): TraceStep[] {
  if (trace === '') return []
  const asked = readTrace(market, trace)
  if (asked === null) {
    throw new RangeError(
      `The trace is not of this catalogue, which has ${market.campaigns.length} campaigns. Explain it with the catalogue it was decided on.`,
    )
  }
  return asked.map(({ position, letter }) => {
    const { campaign_id, source } = market.campaigns[position]!
    const step = explainStep(campaign_id, letter)
    return source === undefined ? step : { ...step, source }
  })
}

function explainStep(campaign_id: string, letter: string): TraceStep {
  if (letter === won) return { campaign_id, outcome: 'won', rule: null, explanation: 'The best offer.' }
  if (letter === outbid) return { campaign_id, outcome: 'outbid', rule: null, explanation: 'Another offer was better.' }
  if (letter === forced) return { campaign_id, outcome: 'won', rule: 'forced', explanation: forcedText }
  if (letter === unforced) return { campaign_id, outcome: 'removed', rule: 'forced', explanation: unforcedText }
  const rule = rulesByCode.get(letter)
  if (rule === undefined) throw new RangeError(`The trace has ${JSON.stringify(letter)}, which belongs to no rule.`)
  return { campaign_id, outcome: 'removed', rule: rule.name, explanation: rule.explanation }
}

const forcedText = 'Forced, by overrides.force_campaign_id or a scenario: it was not sold, and is never billed.'
const unforcedText = 'Not asked: another campaign was forced.'

/** Returns why policy permits no ad, before anybody is asked; null where it does. */
export function findPolicyReason(input: DecisionInput): NoFillReason | null {
  if (input.test_forced) return 'test_forced'
  if (!input.settings.enabled) return 'policy_block'
  if (!input.settings.job_types.includes(input.opportunity.job_type)) return 'unsupported_surface'
  if (input.consent.lifecycle_state !== 'granted') return 'consent_not_granted'
  if (input.isHighRisk) return 'content_safety'
  if (input.isCapped) return 'frequency_cap_exceeded'
  return input.forced === 'risk_suppressed' ? 'risk_suppressed' : null
}

/** Returns the outcome without its fill: every campaign that still had an offer is removed for the reason. */
export function withhold({ trace }: MarketOutcome, reason: WithheldReason): MarketOutcome {
  const { code } = withheldSteps[reason]
  return {
    status: 'no_fill',
    reason,
    trace: [won, outbid, forced].reduce((text, letter) => text.replaceAll(letter, code), trace),
  }
}
