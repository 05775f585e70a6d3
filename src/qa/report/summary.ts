/** What stands at the end of a run: the failures in full, what could not be shown, the totals. */
import { type CaseResult, type RunResult, totalsOf } from '../result.ts'
import { failureLines } from './failure.ts'
import type { Paint } from './tools.ts'
import { countsText, durationText, plural, reasonsOf, unsteadyCases, visible } from './words.ts'

export function summaryLines(result: RunResult, paint: Paint): string[] {
  const failed = [...Map.groupBy(result.cases.filter(isFailed), ({ id }) => id).values()]
  return [
    ...(failed.length === 0 ? [] : ['', paint.bold(plural(failed.length, 'failure'))]),
    ...failed.flatMap((attempts) => ['', ...attemptLines(attempts, paint)]),
    ...leftOut(result, 'not_applicable', 'Not applicable here', paint),
    ...leftOut(result, 'not_run', 'Not run', paint),
    ...unsteady(result, paint),
    '',
    ...totalLines(result, paint),
  ]
}

/** Of a case that failed more than once, the first failure stands for the others. */
function attemptLines(attempts: readonly CaseResult[], paint: Paint): string[] {
  const others = attempts.slice(1).map(({ attempt }) => attempt)
  return [
    ...failureLines(attempts[0]!, paint),
    ...(others.length === 0
      ? []
      : [paint.dim(`  failed again in attempt${others.length === 1 ? '' : 's'} ${others.join(', ')}`)]),
  ]
}

function isFailed({ outcome }: CaseResult): boolean {
  return outcome === 'failed'
}

function leftOut(result: RunResult, outcome: 'not_applicable' | 'not_run', title: string, paint: Paint): string[] {
  const reasons = reasonsOf(result.cases, outcome)
  if (reasons.length === 0) return []
  const width = String(reasons[0]!.count).length
  return [
    '',
    paint.yellow(title),
    ...reasons.map(
      ({ reason, count }) => `  ${String(count).padStart(width)}  ${visible(reason).replaceAll('\n', ' ')}`,
    ),
  ]
}

function unsteady(result: RunResult, paint: Paint): string[] {
  const cases = unsteadyCases(result)
  if (cases.length === 0) return []
  return [
    '',
    paint.yellow('Passed in one attempt, failed in another'),
    ...cases.map(({ id, failed, attempts }) => `  ${visible(id)}: failed ${failed} of ${attempts}`),
  ]
}

function totalLines(result: RunResult, paint: Paint): string[] {
  const totals = totalsOf(result.cases)
  const color = totals.failed > 0 ? paint.red : totals.passed > 0 ? paint.green : paint.yellow
  const checks = totals.failed_checks > 0 ? `${totals.checks}, ${totals.failed_checks} failed` : String(totals.checks)
  return [
    ...(result.interrupted === null
      ? []
      : [paint.yellow(`Interrupted by ${visible(result.interrupted)}: this is not the whole run.`)]),
    `${paint.dim('Cases ')}  ${color(countsText(totals))}${totals.passed === totals.cases ? '' : ` of ${totals.cases}`}`,
    `${paint.dim('Checks')}  ${checks}`,
    `${paint.dim('Time  ')}  ${durationText(result.duration_ms)}`,
  ]
}
