/** For people: a line for each suite as it ends, every failure by name at once, and in full at the end. */
import { type CaseResult, type Reporter, totalsOf } from '../result.ts'
import { summaryLines } from './summary.ts'
import type { Destination, Paint } from './tools.ts'
import { bySuite, countsText, durationText, plural, targetText, titleOf, visible } from './words.ts'

/** A suite's line is printed once all its cases have ended; without `suites` in the start, at the end of the run. */
export function createListReporter({ write, paint }: Destination): Reporter {
  const ended = new Map<string, CaseResult[]>()
  const expected = new Map<string, number>()
  const printed = new Set<string>()
  /** Of the names of suites, so that their counts stand in one column. */
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
      width = widthOf(expected.keys())
      print([`${paint.bold('svc qa')}  ${plural(cases, 'case')} against ${targetText(target)}`, ''])
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
      width = Math.max(width, widthOf(suites.keys()))
      for (const [suite, cases] of suites) {
        if (printed.has(suite)) continue
        ended.set(suite, cases)
        printSuite(suite)
      }
      print(summaryLines(result, paint))
    },
  }
}

function widthOf(suites: Iterable<string>): number {
  return Math.min(32, Math.max(0, ...[...suites].map((suite) => visible(suite).length)))
}

function suiteLines(suite: string, cases: readonly CaseResult[], width: number, paint: Paint): string[] {
  const totals = totalsOf(cases)
  const mark = totals.failed > 0 ? paint.red('✗') : totals.passed > 0 ? paint.green('✓') : paint.yellow('-')
  const counts = countsText(totals)
  const failed = cases.filter(({ outcome }) => outcome === 'failed')
  return [
    `${mark} ${visible(suite).padEnd(width)}  ${totals.failed > 0 ? paint.red(counts) : paint.dim(counts)}${timeText(cases, paint)}`,
    ...[...Map.groupBy(failed, ({ id }) => id).values()].map((attempts) => {
      const times = attempts.length === 1 ? '' : paint.red(`  ${attempts.length} times`)
      return `    ${paint.red('✗')} ${titleOf(attempts[0]!)}${times}${timeText(attempts, paint)}`
    }),
  ]
}

/** Nothing of cases that did not run. */
function timeText(cases: readonly CaseResult[], paint: Paint): string {
  const duration_ms = cases.reduce((sum, item) => sum + item.duration_ms, 0)
  return duration_ms === 0 ? '' : paint.dim(`  ${durationText(duration_ms)}`)
}
