/** Runs built-in QA suites for an agent, and reports what failed. */
import { CliError } from '../cli/run/errors.ts'
import { version } from '../cli/run/host.ts'
import { type CaseResult, QaError, totalsOf } from '../qa/result.ts'
import { expand, needsBrowser } from '../qa/run/plan.ts'
import { builtinNames, loadSuites } from '../qa/suite/builtin.ts'
import type { SandboxAccess } from './access.ts'

const workers = 2
const step_timeout_ms = 10_000

interface SuiteChoice {
  suites: readonly string[]
  grep: string | undefined
  signal: AbortSignal
}

/** Returns the totals of a run, and each failed case with the checks that failed. Throws CliError. */
export async function runSuites(access: SandboxAccess, { suites, grep = '', signal }: SuiteChoice): Promise<unknown> {
  const names = builtinNames()
  const unknown = suites.filter((name) => !names.includes(name))
  if (unknown.length > 0) {
    throw new CliError(
      'usage',
      'suite_unknown',
      `There is no built-in suite ${unknown.join(', ')}.`,
      `There are: ${names.join(', ')}.`,
    )
  }
  const all = expand(loadSuites(suites, (file) => file))
  const cases = all.filter((planned) => !needsBrowser(planned) && planned.id.includes(grep))
  if (cases.length === 0) {
    throw new CliError(
      'usage',
      'no_case',
      'No case matches.',
      'Read svc://suites/NAME for the names of its cases, or leave out grep.',
    )
  }
  const options = await access.qaTarget()
  const { openTarget } = await import('../qa/run/target.ts')
  const { runPlan } = await import('../qa/run/runner.ts')
  try {
    const target = await openTarget({ ...options, browser: null })
    try {
      const result = await runPlan(cases, {
        targets: [target],
        workers,
        seed: access.randomText(16),
        reporter: {},
        environment: { now: () => access.now(), command_name: access.command_name, curl: () => '' },
        svc_version: version,
        interrupt: signal,
        bail: null,
        step_timeout_ms,
        update_snapshots: false,
      })
      const failed = result.cases.filter(({ outcome }) => outcome === 'failed')
      const needing_browser = all.filter(needsBrowser).length
      return { totals: totalsOf(result.cases), needing_browser, failed: failed.map(describeFailed) }
    } finally {
      await target.close()
    }
  } catch (error) {
    if (!(error instanceof QaError)) throw error
    throw new CliError('unreachable', error.code, error.message, error.hint)
  }
}

function describeFailed({ id, reason, steps }: CaseResult) {
  const failed = steps.filter(({ outcome }) => outcome === 'failed')
  return {
    id,
    reason,
    steps: failed.map(({ title, reason, checks }) => {
      const unmet = checks.filter(({ passed }) => !passed)
      return {
        title,
        reason,
        checks: unmet.map(({ subject, expected, actual, hint }) => ({ subject, expected, actual, hint })),
      }
    }),
  }
}
