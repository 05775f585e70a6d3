/** One character a case, for a thousand of them: `.` passed, `F` failed, `-` not applicable, `!` not run. */
import type { Outcome, Reporter } from '../result.ts'
import { summaryLines } from './summary.ts'
import type { Destination } from './tools.ts'

const marks: Record<Outcome, string> = { passed: '.', failed: 'F', not_applicable: '-', not_run: '!' }

export function createDotReporter({ write, stream, paint }: Destination): Reporter {
  const paints = { passed: paint.green, failed: paint.red, not_applicable: paint.yellow, not_run: paint.yellow }
  let column = 0
  let told = 0
  function mark(outcome: Outcome): void {
    write(paints[outcome](marks[outcome]))
    told++
    column++
    if (column < (stream?.columns ?? 80)) return
    write('\n')
    column = 0
  }
  return {
    case: ({ outcome }) => mark(outcome),
    end(result) {
      // Cases that an interrupt kept from running may never have been told one by one.
      for (const { outcome } of result.cases
        .filter(({ outcome }) => outcome === 'not_run')
        .slice(0, result.cases.length - told)) {
        mark(outcome)
      }
      if (column > 0) write('\n')
      write(
        summaryLines(result, paint)
          .map((line) => `${line}\n`)
          .join(''),
      )
    },
  }
}
