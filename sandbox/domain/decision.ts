/**
 * The decision of one slot: policy first, then the market. Everything it needs comes in as plain data; a no-fill is a
 * result like any other.
 */

import type { ProjectSettings } from '../../src/contract/control/projects.ts'
import type { ForcedNoFill } from '../../src/contract/control/scenarios.ts'
import type { AuthoritativeConsent } from '../../src/contract/fields.ts'
import type { NoFillReason } from '../../src/contract/no-fill.ts'
import { type Withheld, withhold } from './forced.ts'
import { decide, type Market, type MarketOutcome, type Opportunity } from './market.ts'

export interface DecisionQuestion {
  settings: ProjectSettings
  consent: AuthoritativeConsent
  test_forced: boolean
  isHighRisk: boolean
  isCapped: boolean
  /** What a scenario forces; null without one. */
  forced: ForcedNoFill | null
  opportunity: Opportunity
}

/**
 * The first of these that holds answers: forced by test_outcome, project disabled, job type not enabled, consent not
 * granted, high-risk topic, frequency cap, a risk that a scenario claims; then the market decides, and a scenario may
 * still withhold its fill. Before the market the trace is empty: no campaign was asked.
 */
export function decideSlot(market: Market, question: DecisionQuestion): MarketOutcome {
  const reason = policyReason(question)
  if (reason !== null) return { status: 'no_fill', reason, trace: '' }
  const outcome = decide(market, question.opportunity)
  return question.forced === null ? outcome : withhold(outcome, question.forced as Withheld)
}

function policyReason({ settings, consent, test_forced, isHighRisk, isCapped, forced, opportunity }: DecisionQuestion) {
  const checks: [boolean, NoFillReason][] = [
    [test_forced, 'test_forced'],
    [!settings.enabled, 'policy_block'],
    [!settings.job_types.includes(opportunity.job_type), 'unsupported_surface'],
    [consent.lifecycle_state !== 'granted', 'consent_not_granted'],
    [isHighRisk, 'content_safety'],
    [isCapped, 'frequency_cap_exceeded'],
    [forced === 'risk_suppressed', 'risk_suppressed'],
  ]
  return checks.find(([holds]) => holds)?.[1] ?? null
}
