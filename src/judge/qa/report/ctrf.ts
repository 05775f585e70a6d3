/** The reporter `ctrf`: the Common Test Report Format, https://ctrf.io, version 1.0.0 of its schema. */
import {
  type CaseResult,
  countTotals,
  hasPassed,
  type Outcome,
  type Reporter,
  type RunResult,
  runProblems,
} from '../result.ts'
import { exchangeLine, failureLines } from './failure.ts'
import { bySuite, caseTitle, type Destination, failureSentence, findReason, plain } from './text.ts'

const specVersion = '1.0.0'

/** A case that this target cannot show is skipped; one that an interrupt or --bail left out is still to be run. */
const statuses: Readonly<Record<Outcome, 'passed' | 'failed' | 'skipped' | 'pending'>> = {
  passed: 'passed',
  failed: 'failed',
  not_applicable: 'skipped',
  not_run: 'pending',
}

export function createCtrfReporter({ write, stream }: Destination): Reporter {
  const indent = stream === null || stream.is_terminal ? 2 : undefined
  return { end: (result) => write(`${JSON.stringify(toCtrf(result), null, indent)}\n`) }
}

function toCtrf(result: RunResult) {
  const { cases, svc_version, started_at_ms, command, target, looked_at } = result
  const { passed, failed, not_applicable, not_run } = countTotals(cases)
  const start = Math.round(started_at_ms)
  const duration = Math.round(result.duration_ms)
  const problems = runProblems(result)
  return {
    reportFormat: 'CTRF',
    specVersion,
    timestamp: new Date(start + duration).toISOString(),
    generatedBy: `svc ${command}`,
    results: {
      tool: { name: `svc ${command}`, version: svc_version },
      summary: {
        tests: cases.length,
        passed,
        failed,
        skipped: not_applicable,
        pending: not_run,
        other: 0,
        suites: bySuite(cases).size,
        start,
        stop: start + duration,
        duration,
      },
      tests: cases.map((item) => toTest(item, result)),
      environment: {
        // Counts alone would call a run healthy that looked at nothing.
        healthy: hasPassed(result),
        extra: {
          base_url: target.base_url,
          target: target.kind,
          version: target.version,
          key_mode: target.key_mode,
          ...(looked_at !== undefined && { looked_at }),
          ...(result.observe_file !== undefined && { observe_file: result.observe_file }),
          ...(problems.length > 0 && { problems }),
        },
      },
    },
  }
}

/** Attempts of `--repeat` are tests of their own: each counts, and one failure fails the run. */
function toTest(item: CaseResult, { target }: RunResult) {
  const { id, suite, outcome, place, attempt, steps, tags, matrix, started_at_ms } = item
  const start = Math.round(started_at_ms)
  const duration = Math.round(item.duration_ms)
  const reason = findReason(item)
  const isFailed = outcome === 'failed'
  const failed = steps.filter((step) => step.outcome === 'failed')
  const curl = failed.flatMap(({ exchanges }) => exchanges.slice(-1).map((exchange) => exchange.curl))
  const stdout = steps.flatMap(({ exchanges }) => exchanges.map(exchangeLine))
  return {
    testId: id,
    executionId: `${id}#${attempt}`,
    name: caseTitle(item) || id,
    status: statuses[outcome],
    duration,
    start,
    stop: start + duration,
    suite: [suite],
    ...(isFailed && { message: failureSentence(item), trace: failureLines(item, plain).join('\n') }),
    ...(!isFailed && reason !== null && { message: reason }),
    rawStatus: outcome,
    ...(tags.length > 0 && { tags }),
    ...(place.line > 0 && { filePath: place.file, line: place.line }),
    ...(target.browser !== undefined && { browser: target.browser }),
    ...(Object.keys(matrix).length > 0 && { parameters: matrix }),
    ...(stdout.length > 0 && { stdout }),
    steps: steps.map((step) => ({ name: step.title, status: statuses[step.outcome] })),
    ...(curl.length > 0 && { extra: { curl } }),
  }
}
