/** A check of a service as a run, for reporters: each request is a case, and each difference a check of it. */
import type { CaseResult, Check, RunResult, StepResult } from '../result.ts'
import { headings, type ServiceDifference, type ServiceReport } from './report.ts'

const place = { file: 'builtin:contract-check', line: 0, column: 0 }

/** Returns the cases of a report; `ran` are those that were sent, with their exchanges. */
export function toCheckCases(
  { endpoints, differences }: ServiceReport,
  ran: readonly CaseResult[],
  started_at_ms: number,
): RunResult['cases'] {
  const byName = Map.groupBy(differences, ({ endpoint, check }) => `${endpoint}: ${check}`)
  const judged = endpoints.flatMap(({ endpoint, checks }) => checks.map(({ check }) => `${endpoint}: ${check}`))
  const unjudged = endpoints.flatMap(({ endpoint, not_checked }) =>
    not_checked.map(({ check, why }) => ({ name: `${endpoint}: ${check}`, why })),
  )
  const empty = (name: string) =>
    toCase(
      name,
      ran.find((each) => each.name === name),
      started_at_ms,
    )
  // Differences of the OpenAPI document, and of rate limits, belong to no request of the suite.
  const names = new Set([...judged, ...byName.keys()])
  return [
    ...[...names].map((name) => withDifferences(empty(name), byName.get(name) ?? [])),
    ...unjudged
      .filter(({ name }) => !names.has(name))
      .map(({ name, why }): CaseResult => ({ ...empty(name), outcome: 'not_applicable', reason: why, steps: [] })),
  ]
}

function toCase(name: string, ran: CaseResult | undefined, started_at_ms: number): CaseResult {
  const step = ran?.steps.at(-1)
  return {
    id: `contract-check/${name}`,
    suite: 'contract-check',
    name,
    place,
    tags: [],
    matrix: {},
    attempt: 1,
    outcome: 'passed',
    reason: null,
    started_at_ms: ran?.started_at_ms ?? started_at_ms,
    duration_ms: ran?.duration_ms ?? 0,
    steps: [
      {
        title: name,
        place,
        outcome: 'passed',
        reason: null,
        duration_ms: step?.duration_ms ?? 0,
        exchanges: step?.exchanges ?? [],
        checks: [],
        screenshots: [],
      },
    ],
  }
}

/** What differs from the documentation fails; what differs from anything else is a warning. Additions are compatible. */
function withDifferences(item: CaseResult, differences: readonly ServiceDifference[]): CaseResult {
  const [step] = item.steps as [StepResult]
  const own = differences.filter(({ weight }) => weight !== 'addition')
  const isFailed = own.some(({ weight }) => weight === 'documented')
  const outcome = isFailed ? 'failed' : 'passed'
  const warning = own
    .map(({ what, expected, observed }) => `${what} should be ${expected}; it is ${observed}`)
    .join('; ')
  const reason = isFailed || own.length === 0 ? null : `warning: ${warning}`
  const matching: Check = { subject: 'contract', passed: true, expected: 'as documented', actual: 'as documented' }
  const checks = own.length === 0 ? [matching] : own.map(toCheck)
  return { ...item, outcome, reason, steps: [{ ...step, outcome, reason, checks }] }
}

function toCheck({ weight, what, expected, observed }: ServiceDifference): Check {
  return { subject: what, passed: weight !== 'documented', expected, actual: observed, hint: `${headings[weight]}.` }
}
