/**
 * What a whole run of `.ci/run` came to, from what each of its steps left.
 *
 * A test that two steps run is counted once, and is failed when it failed in either. A test that no step runs, because it is
 * skipped, counts as failed: `test:postgres` leaves out those of tests/http that are about files, which `npm test` runs. A
 * step that has no result at all, because its lane died, counts as failed.
 */
import { describeFile, findProblems, type Report, type TestOutcome } from './report.ts'
import { minimumTests, type Step } from './steps.ts'

/** What a step that has run left behind. */
export interface StepResult {
  exitCode: number
  /** Of a suite. */
  report?: Report
  /** Of the second run of the files in which tests had failed, when there was one. */
  again?: { exitCode: number; report: Report }
}

export interface Outcome {
  passed: number
  /** What failed, a line each: tests, and steps with the reason. */
  failures: string[]
  /** Tests that passed only the second time, by file and name. */
  unsteady: string[]
  leftOut: string[]
}

/** More tests than these that pass only the second time are a fault of their own. */
export const maxUnsteady = 3

/** Adds up the results of a plan's steps. `results` has those that ran, by name. */
export function addUp(steps: readonly Step[], results: ReadonlyMap<string, StepResult>): Outcome {
  const outcomes = new Map<string, TestOutcome['outcome']>()
  const failures: string[] = []
  const unsteady: string[] = []
  const leftOut: string[] = []
  for (const step of steps) {
    const result = results.get(step.name)
    if (result === undefined) failures.push(`${step.name}: did not run`)
    else if (step.leavesOut !== undefined) {
      if (result.exitCode !== 0) leftOut.push(`left out: ${step.leavesOut}`)
    } else if (isLeftOut(step, results)) leftOut.push(`left out: ${step.name}`)
    else {
      const judged = judgeStep(step, result)
      for (const problem of judged.problems) failures.push(`${step.name}: ${problem}`)
      unsteady.push(...judged.unsteady)
      for (const { name, outcome } of judged.tests) addTest(outcomes, name, outcome)
    }
  }
  if (outcomes.size === 0) failures.push('no test ran')
  for (const [name, outcome] of outcomes) if (outcome !== 'passed') failures.push(`${outcome}: ${name}`)
  if (unsteady.length > maxUnsteady)
    failures.push(`${unsteady.length} tests passed only the second time, and at most ${maxUnsteady} may`)
  const passed = [...outcomes.values()].filter((outcome) => outcome === 'passed').length
  return { passed, failures, unsteady, leftOut }
}

/** A suite that has no test here, because what it needs could not be installed. */
function isLeftOut({ name, needs }: Step, results: ReadonlyMap<string, StepResult>): boolean {
  if (needs === undefined || results.get(needs)?.exitCode === 0) return false
  const report = results.get(name)?.report
  return report?.status === 'unreadable' && report.isEmpty
}

function addTest(outcomes: Map<string, TestOutcome['outcome']>, name: string, outcome: TestOutcome['outcome']): void {
  const before = outcomes.get(name)
  if (before === 'failed' || (before === 'passed' && outcome === 'skipped')) return
  outcomes.set(name, outcome)
}

interface JudgedStep {
  tests: readonly TestOutcome[]
  /** Beside its failed tests, which are counted by themselves. */
  problems: string[]
  unsteady: string[]
}

function judgeStep(step: Step, { exitCode, report, again }: StepResult): JudgedStep {
  if (step.suite === undefined)
    return { tests: [], problems: exitCode === 0 ? [] : [`its exit code is ${exitCode}`], unsteady: [] }
  const first = report ?? { status: 'unreadable', problem: 'there is no report', isEmpty: false }
  if (first.status === 'unreadable')
    return { tests: [], problems: findProblems({ exitCode, report: first, minimumTests: 0 }), unsteady: [] }
  if (again === undefined || again.report.status === 'unreadable') {
    const problems = again === undefined ? [] : [`its second run: ${(again.report as { problem: string }).problem}`]
    return { tests: first.tests, problems: [...problems, ...findOtherProblems(step, exitCode, first)], unsteady: [] }
  }
  return judgeSecondRun(step, first.tests, { exitCode: again.exitCode, tests: again.report.tests })
}

/** The files of the second run count as it says. A test that failed first and that it does not have has not passed. */
function judgeSecondRun(
  step: Step,
  first: readonly TestOutcome[],
  second: { exitCode: number; tests: readonly TestOutcome[] },
): JudgedStep {
  const ranAgain = new Set(second.tests.map(({ file }) => file))
  const after = new Map(second.tests.map(({ name, outcome }) => [name, outcome]))
  const stillFails = new Set(second.tests.filter(({ outcome }) => outcome === 'failed').map(({ file }) => file))
  const hasPassed = ({ name, file }: TestOutcome) =>
    name === describeFile(file) ? ranAgain.has(file) && !stillFails.has(file) : after.get(name) === 'passed'
  const failedFirst = first.filter(({ outcome }) => outcome === 'failed')
  const lost = failedFirst.filter((test) => !hasPassed(test) && !after.has(test.name))
  const tests = [...first.filter(({ file }) => !ranAgain.has(file)), ...second.tests, ...lost]
  return {
    tests,
    problems: findOtherProblems(step, second.exitCode, { status: 'read', tests }),
    unsteady: failedFirst.filter(hasPassed).map(({ name }) => name),
  }
}

/** An exit code that failed tests explain is not named beside them. */
function findOtherProblems(step: Step, exitCode: number, report: Report & { status: 'read' }): string[] {
  const hasFailed = report.tests.some(({ outcome }) => outcome === 'failed')
  const passing = report.tests.filter(({ outcome }) => outcome !== 'failed')
  return findProblems({
    exitCode: hasFailed ? 0 : exitCode,
    report: { status: 'read', tests: passing },
    minimumTests: hasFailed ? 0 : minimumTests(step),
  })
}
