/** The reporter for people, `list`: lines as suites end, failures in full, totals, and a progress line. */

import { measuredTime } from '#foundation/duration.ts'
import { oneLine } from '#text/terminal.ts'
import { plural } from '#text/text.ts'
import { type CaseResult, countTotals, type Reporter, type RunResult } from '../result.ts'
import { failureLines } from './failure.ts'
import {
  appliedText,
  bySuite,
  caseTitle,
  countReasons,
  countsText,
  type Destination,
  flakyCases,
  type Paint,
  sumDurations,
  targetText,
} from './text.ts'

/** Prints a line for each suite once its cases have ended; without `suites` in the start, at the end of the run. */
export function createListReporter({ write, paint }: Destination): Reporter {
  const ended = new Map<string, CaseResult[]>()
  const expected = new Map<string, number>()
  const printed = new Set<string>()
  /** Width of the longest name of a suite, so that counts align. */
  let width = 0

  function print(lines: readonly string[]): void {
    write(lines.map((line) => `${line}\n`).join(''))
  }
  function printSuite(suite: string): void {
    printed.add(suite)
    print(suiteLines(suite, ended.get(suite) ?? [], width, paint))
  }

  return {
    start({ target, cases, suites = [] }) {
      for (const { name, cases } of suites) expected.set(name, cases)
      width = maxSuiteWidth(expected.keys())
      print([`${paint.bold('svc qa')}  ${plural(cases, 'case')}`, paint.dim(`against ${targetText(target)}`), ''])
    },
    case(result) {
      const { suite } = result
      const cases = ended.get(suite)
      if (cases === undefined) ended.set(suite, [result])
      else cases.push(result)
      if (ended.get(suite)!.length === expected.get(suite)) printSuite(suite)
    },
    end(result) {
      const suites = bySuite(result.cases)
      width = Math.max(width, maxSuiteWidth(suites.keys()))
      for (const [suite, cases] of suites) {
        if (printed.has(suite)) continue
        ended.set(suite, cases)
        printSuite(suite)
      }
      print(summaryLines(result, paint))
    },
  }
}

function maxSuiteWidth(suites: Iterable<string>): number {
  return Math.min(32, Math.max(0, ...[...suites].map((suite) => oneLine(suite).length)))
}

function suiteLines(suite: string, cases: readonly CaseResult[], width: number, paint: Paint): string[] {
  const totals = countTotals(cases)
  const mark = totals.failed > 0 ? paint.red('✗') : totals.passed > 0 ? paint.green('✓') : paint.yellow('-')
  const counts = countsText(totals)
  const failed = cases.filter(({ outcome }) => outcome === 'failed')
  return [
    `${mark} ${oneLine(suite).padEnd(width)}  ${totals.failed > 0 ? paint.red(counts) : paint.dim(counts)}${timeText(cases, paint)}`,
    ...[...Map.groupBy(failed, ({ id }) => id).values()].map((attempts) => {
      const times = attempts.length === 1 ? '' : paint.red(`  ${attempts.length} times`)
      return `    ${paint.red('✗')} ${caseTitle(attempts[0]!)}${times}${timeText(attempts, paint)}`
    }),
  ]
}

/** Returns the time of cases, or nothing when none has run. */
function timeText(cases: readonly CaseResult[], paint: Paint): string {
  const duration_ms = sumDurations(cases)
  return duration_ms === 0 ? '' : paint.dim(`  ${measuredTime(duration_ms)}`)
}

function summaryLines(result: RunResult, paint: Paint): string[] {
  const failed = [
    ...Map.groupBy(
      result.cases.filter(({ outcome }) => outcome === 'failed'),
      ({ id }) => id,
    ).values(),
  ]
  return [
    ...(failed.length === 0 ? [] : ['', paint.bold(plural(failed.length, 'failure'))]),
    ...failed.flatMap((attempts) => ['', ...attemptLines(attempts, paint)]),
    ...reasonLines(result, 'not_applicable', 'Not applicable here', paint),
    ...reasonLines(result, 'not_run', 'Not run', paint),
    ...flakyLines(result, paint),
    '',
    ...totalLines(result, paint),
  ]
}

/** Returns the first failure of a case in full, and the numbers of its other failed attempts. */
function attemptLines(attempts: readonly CaseResult[], paint: Paint): string[] {
  const others = attempts.slice(1).map(({ attempt }) => attempt)
  return [
    ...failureLines(attempts[0]!, paint),
    ...(others.length === 0
      ? []
      : [paint.dim(`  failed again in attempt${others.length === 1 ? '' : 's'} ${others.join(', ')}`)]),
  ]
}

function reasonLines(result: RunResult, outcome: 'not_applicable' | 'not_run', title: string, paint: Paint): string[] {
  const reasons = countReasons(result.cases, outcome)
  if (reasons.length === 0) return []
  const width = String(reasons[0]!.count).length
  return [
    '',
    paint.yellow(title),
    ...reasons.map(({ reason, count }) => `  ${String(count).padStart(width)}  ${oneLine(reason)}`),
  ]
}

function flakyLines(result: RunResult, paint: Paint): string[] {
  const cases = flakyCases(result)
  if (cases.length === 0) return []
  return [
    '',
    paint.yellow('Passed in one attempt, failed in another'),
    ...cases.map(({ id, failed, attempts }) => `  ${oneLine(id)}: failed ${failed} of ${attempts}`),
  ]
}

function totalLines(result: RunResult, paint: Paint): string[] {
  const totals = countTotals(result.cases)
  const color = totals.failed > 0 ? paint.red : totals.passed > 0 ? paint.green : paint.yellow
  const checks = totals.failed_checks > 0 ? `${totals.checks}, ${totals.failed_checks} failed` : String(totals.checks)
  return [
    ...(result.interrupted === null
      ? []
      : [paint.yellow(`Interrupted by ${oneLine(result.interrupted)}: the run is incomplete.`)]),
    ...(result.observe_file === undefined ? [] : [oneLine(appliedText(result.observe_file))]),
    `${paint.dim('Cases ')}  ${color(countsText(totals))}${totals.passed === totals.cases ? '' : ` of ${totals.cases}`}`,
    `${paint.dim('Checks')}  ${checks}`,
    `${paint.dim('Time  ')}  ${measuredTime(sumDurations(result.cases))} of cases, run in ${measuredTime(result.duration_ms)}`,
  ]
}
