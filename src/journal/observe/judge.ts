/** Runs every rule over what was observed. */

import type { Finding, Judgement, Observed, Rule } from '../rule.ts'
import { type TrafficRuleName, trafficRules } from '../rules/index.ts'
import { type PageRuleName, pageRules } from '../rules/page.ts'

export type RuleName = TrafficRuleName | PageRuleName

export const rules: Readonly<Record<RuleName, Rule>> = { ...pageRules, ...trafficRules }

/** `not_seen`: there was nothing to judge it by, which is not a pass. */
export type Standing = 'error' | 'warning' | 'holds' | 'not_seen'

export interface Verdict extends Judgement {
  name: RuleName
  rule: Rule
  standing: Standing
}

/** Verdicts in the order of the rules: those about the page first. */
export function judge(observed: Observed): Verdict[] {
  return (Object.entries(rules) as [RuleName, Rule][]).map(([name, rule]) => {
    const judgement = rule.judge(observed)
    return { name, rule, ...judgement, standing: standingOf(rule, judgement) }
  })
}

function standingOf({ severity }: Rule, { findings, looked_at }: Judgement): Standing {
  if (findings.length > 0) return severity
  return looked_at === 0 ? 'not_seen' : 'holds'
}

/** What to do about a finding. */
export function fixOf({ rule }: Verdict, finding: Finding): string {
  return finding.fix ?? rule.fix
}
