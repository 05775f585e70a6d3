/** For people: a line for each suite as it ends, every failure by name at once, and in full at the end. */
import { type CaseResult, type Reporter, totalsOf } from '../result.ts'
import { summaryLines } from './summary.ts'
import type { Destination, Paint } from './tools.ts'
import { countsText, durationText, plural, targetText, titleOf, visible } from './words.ts'

/** A suite's line is printed once all its cases have ended; without `suites` in the start, at the end of the run. */
export function createListReporter({ write, paint }: Destination): Reporter {
  const ended = new Map<string, CaseResult[]>()
  const expected = new Map<string, number>()
  const printed = new Set<string>()

  function print(lines: readonly string[]): void {
    write(lines.map((line) => `${line}\n`).join(''))
  }
  function printSuite(suite: string): void {
    printed.add(suite)
    print(suiteLines(suite, ended.get(suite) ?? [], paint))
  }

  return {
    start({ target, cases, suites = [] }) {
      for (const { name, cases } of suites) expected.set(name, cases)
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
      for (const [suite, cases] of Map.groupBy(result.cases, ({ suite }) => suite)) {
        if (printed.has(suite)) continue
        ended.set(suite, cases)
        printSuite(suite)
      }
      print(summaryLines(result, paint))
    },
  }
}

function suiteLines(suite: string, cases: readonly CaseResult[], paint: Paint): string[] {
  const totals = totalsOf(cases)
  const duration_ms = cases.reduce((sum, item) => sum + item.duration_ms, 0)
  const mark = totals.failed > 0 ? paint.red('✗') : totals.passed > 0 ? paint.green('✓') : paint.yellow('-')
  const counts = countsText(totals)
  return [
    `${mark} ${visible(suite)}  ${totals.failed > 0 ? paint.red(counts) : paint.dim(counts)}  ${paint.dim(durationText(duration_ms))}`,
    ...cases
      .filter(({ outcome }) => outcome === 'failed')
      .map((item) => `    ${paint.red('✗')} ${titleOf(item)}  ${paint.dim(durationText(item.duration_ms))}`),
  ]
}
