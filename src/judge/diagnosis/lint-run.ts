/** A check of a file of beacons as a run, for reporters: each rule is a case, and each finding a step of it. */
import type { CaseResult, RunResult, StepResult } from '#qa/result.ts'
import type { LintFinding } from './lint.ts'
import type { RuleText } from './rule.ts'
import { beaconSlotRules, fileTurnRules } from './rules/beacon-slots.ts'
import { beaconFileRules } from './rules/beacons/file.ts'

/** Returns the cases of a check: a rule with an error failed, one with warnings only passed with them. */
export function toLintCases(file: string, findings: readonly LintFinding[], now_ms: number): RunResult['cases'] {
  const rules: RuleText[] = [beaconFileRules, beaconSlotRules, fileTurnRules].flatMap((set) => Object.values(set))
  return rules.map((rule) => {
    const own = findings.filter(({ code }) => code === rule.id)
    return toFileCase(rule, own, { suite: 'beacons-lint', file, started_at_ms: now_ms })
  })
}

/** Returns a rule about a file as a case of a suite, with its findings as steps. */
export function toFileCase(
  { id, title = id }: RuleText,
  findings: readonly LintFinding[],
  { suite, file, started_at_ms }: { suite: string; file: string; started_at_ms: number },
): CaseResult {
  const isFailed = findings.some(({ severity }) => severity === 'error')
  const outcome = isFailed ? 'failed' : 'passed'
  return {
    id: `${suite}/${id}`,
    suite,
    name: title,
    topic: `rules/${id}`,
    place: { file, line: 0, column: 0 },
    tags: findings.length === 0 ? ['holds'] : [isFailed ? 'error' : 'warning'],
    matrix: {},
    attempt: 1,
    outcome,
    reason: isFailed || findings.length === 0 ? null : `warning: ${findings.map(({ message }) => message).join(' ')}`,
    started_at_ms,
    duration_ms: 0,
    steps: findings.map((finding) => toStep(finding, file, title)),
  }
}

function toStep({ severity, path, message, fix, line, column }: LintFinding, file: string, title: string): StepResult {
  const isFailed = severity === 'error'
  return {
    title: message,
    place: { file, line, column },
    outcome: isFailed ? 'failed' : 'passed',
    reason: isFailed ? null : fix,
    duration_ms: 0,
    exchanges: [],
    checks: [{ subject: path ?? 'beacon', passed: !isFailed, expected: title, actual: message, hint: fix }],
    screenshots: [],
  }
}
