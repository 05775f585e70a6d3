/** Decisions: a fill is what was asked for, and where there can be none, the reason is the one that applies. */
import type { RequestStep } from '../clients/sender.ts'
import { demands } from '../steps/steps.ts'

export type SentTerms = Extract<RequestStep, { kind: 'place' }>

/** Of a response. */
export interface Decision {
  fill: boolean
  format?: string
  asset_token?: string
  cs_declaration?: string
  no_fill_reason?: string
  retryable?: boolean
  dimensions?: { width: number; height: number }
  duration_ms?: number | null
}

/** Reasons that apply before the market is asked (A41, A43). */
const policies = new Set(['test_forced', 'consent_not_granted', 'content_safety', 'frequency_cap_exceeded'])

/** Whether the same request may fill later (A31). */
const isRetryable: Readonly<Record<string, boolean>> = {
  no_demand: true,
  frequency_cap_exceeded: true,
  test_forced: true,
  below_floor: false,
  size_mismatch: false,
  category_blocked: false,
  content_safety: false,
  consent_not_granted: false,
}

/** Returns what is wrong with the decision of a placement, null while it is pending. */
export function decisionProblems(
  { format, demand, forcesNoFill, activation }: SentTerms,
  decision: Decision | null,
): string[] {
  if (decision === null) return []
  if (decision.fill) {
    const problems =
      decision.format === format ? [] : [`is filled with a ${decision.format}, and a ${format} was allowed`]
    if (demand !== null) problems.push(`is filled although it is ${demand}`)
    if (forcesNoFill && activation === null) problems.push('is filled although no fill was to be')
    return problems
  }
  const { no_fill_reason: reason = 'none', retryable } = decision
  const problems: string[] = []
  const expected = isRetryable[reason]
  if (expected === undefined) problems.push(`is not filled for the reason ${reason}`)
  else if (retryable !== expected) problems.push(`is not filled for ${reason}, and retryable is ${retryable}`)
  if (forcesNoFill && activation === null && reason !== 'test_forced')
    problems.push(`is to have no fill, and says ${reason}`)
  if (demand !== null && reason !== demands[demand] && !policies.has(reason))
    problems.push(`is ${demand}, and says ${reason}`)
  return problems
}
