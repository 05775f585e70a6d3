/** The Test Anything Protocol, version 14. Lines come as cases end; the plan stands at the end. */
import { stringify } from 'yaml'
import type { CaseResult, Reporter } from '../result.ts'
import { exchangeLine } from './failure.ts'
import { type Destination, placeText, reasonOf, titleOf, visible } from './text.ts'

export function createTapReporter({ write }: Destination): Reporter {
  const reported = new Set<string>()
  function report(item: CaseResult): void {
    const key = `${item.id}\n${item.attempt}`
    if (reported.has(key)) return
    reported.add(key)
    write(pointOf(item, reported.size))
  }
  return {
    start: () => write('TAP version 14\n'),
    case: report,
    end({ cases, interrupted }) {
      cases.forEach(report)
      write(`1..${reported.size}${reported.size === 0 ? ' # SKIP no cases' : ''}\n`)
      if (interrupted !== null) write(`Bail out! Interrupted by ${line(interrupted)}\n`)
    },
  }
}

function pointOf(item: CaseResult, number: number): string {
  const isFailed = item.outcome === 'failed'
  const isSkipped = item.outcome === 'not_applicable' || item.outcome === 'not_run'
  const left = item.outcome === 'not_run' ? 'not run: ' : ''
  const skip = isSkipped ? ` # SKIP ${left}${line(reasonOf(item) ?? 'no reason was given')}` : ''
  const head = `${isFailed ? 'not ok' : 'ok'} ${number} - ${line(item.suite)}: ${line(titleOf(item))}${skip}\n`
  return isFailed ? `${head}${diagnostics(item)}` : head
}

function diagnostics(item: CaseResult): string {
  const steps = item.steps
    .filter(({ outcome }) => outcome === 'failed')
    .map(({ title, place, reason, checks, exchanges }) => ({
      step: title,
      at: placeText(place),
      ...(reason === null ? {} : { reason }),
      failures: checks
        .filter(({ passed }) => !passed)
        .map(({ subject, expected, actual, hint }) => ({
          subject,
          expected,
          actual,
          ...(hint === undefined ? {} : { hint }),
        })),
      ...(exchanges.length === 0 ? {} : { exchange: exchangeLine(exchanges.at(-1)!), curl: exchanges.at(-1)!.curl }),
    }))
  const data = {
    message: reasonOf(item) ?? 'A check failed',
    severity: 'fail',
    at: placeText(item.place),
    duration_ms: item.duration_ms,
    steps,
  }
  const yaml = visible(stringify(data, { lineWidth: 0, aliasDuplicateObjects: false })).trimEnd()
  return `  ---\n${yaml.replace(/^(?=.)/gm, '  ')}\n  ...\n`
}

/** Returns text for a test point: on one line, where only the directive has an unescaped `#`. */
function line(text: string): string {
  return visible(text).replace(/\s+/g, ' ').trim().replace(/[\\#]/g, '\\$&')
}
