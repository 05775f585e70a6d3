/** The tool `run_qa`: runs built-in suites against the sandbox of the agent, as `svc qa run` does. */

import { z } from 'zod'
import { type CaseResult, countTotals, QaError } from '#qa/result.ts'
import { expand, needsBrowser } from '#qa/run/plan.ts'
import { builtinNames, loadSuites } from '#qa/suite/builtin.ts'
import { CliError, nothingChecked } from '#text/cli-error.ts'
import { version } from '#text/version.ts'
import type { SandboxAccess } from './access.ts'
import type { Tool } from './tool.ts'

const workers = 2
const stepTimeoutMs = 10_000

const FailedStep = z.strictObject({
  title: z.string(),
  reason: z.string().nullable(),
  checks: z.array(
    z.strictObject({
      subject: z.string(),
      expected: z.unknown(),
      actual: z.unknown(),
      hint: z.string().nullable().optional(),
    }),
  ),
})

export const qaTool: Tool = {
  name: 'run_qa',
  command: 'qa run',
  title: 'Run QA suites against the sandbox',
  description:
    'Runs built-in suites by name (resources svc://suites/NAME have their text) and reports totals and each failed case. Cases that need a browser, or a sandbox that may be erased, are left out; svc qa run --fresh --browser runs them.',
  effect: 'changes',
  isIdempotent: false,
  input: z.strictObject({
    suites: z.array(z.string().max(64)).min(1).max(5).describe('Names: formats, beacons, consent, errors ...'),
    grep: z.string().max(200).optional().describe('Only cases whose id contains this text.'),
  }),
  output: z.strictObject({
    totals: z.record(z.string(), z.int().min(0)),
    needing_browser: z.int().min(0),
    failed: z.array(z.strictObject({ id: z.string(), reason: z.string().nullable(), steps: z.array(FailedStep) })),
  }),
  narrower: 'Choose fewer cases with grep.',
  call: (access, { suites, grep }, signal) =>
    runSuites(access, { suites: suites as string[], grep: grep as string | undefined, signal }),
}

interface SuiteChoice {
  suites: readonly string[]
  grep: string | undefined
  signal: AbortSignal
}

/** Returns the totals of a run, and each failed case with the checks that failed. Throws CliError. */
async function runSuites(access: SandboxAccess, { suites, grep = '', signal }: SuiteChoice): Promise<unknown> {
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
  const { openTarget } = await import('#qa/run/target.ts')
  const { runPlan } = await import('#qa/run/runner.ts')
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
        step_timeout_ms: stepTimeoutMs,
        update_snapshots: false,
      })
      const failed = result.cases.filter(({ outcome }) => outcome === 'failed')
      if (failed.length === 0 && result.cases.every(({ outcome }) => outcome !== 'passed')) {
        const [reason] = result.cases.flatMap((each) => each.reason ?? [])
        throw nothingChecked(
          `Nothing was checked: none of ${result.cases.length} cases applies.`,
          reason ?? 'Choose others.',
        )
      }
      const needing_browser = all.filter(needsBrowser).length
      return { totals: countTotals(result.cases), needing_browser, failed: failed.map(describeFailed) }
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
