/** `svc qa run`: chooses cases and targets, runs them, and reports. */
import { InvalidArgumentError, Option } from 'commander'
import type { Command } from '../../cli/run/command.ts'
import { CliError, exitCodes } from '../../cli/run/errors.ts'
import { version } from '../../cli/run/program-info.ts'
import type { Session } from '../../cli/run/session.ts'
import { curlCommand } from '../../foundation/curl.ts'
import type { Reporter, RunResult } from '../../qa/result.ts'
import type { PlannedCase, Selection } from '../../qa/run/plan.ts'
import type { Target } from '../../qa/run/target.ts'
import { interruptOf } from '../exec.ts'
import { countFromOne, repeatable } from '../flag-values.ts'
import { lastRun, runOnChange, storeRun } from './again.ts'
import { createReporter, qaFailure, reporterOption } from './reporters.ts'
import { loadSuites, suiteNames, suitesArgument } from './suites.ts'
import { browserPathOption, browserProgram, openTargets, startBrowser, type TargetFlags } from './targets.ts'

interface RunFlags extends TargetFlags {
  bail?: number | true
  lastFailed?: true
  watch?: true
  grep?: RegExp
  tag?: string[]
  notTag?: string[]
  repeat?: number
  shard?: { index: number; of: number }
  reporter?: string[]
  timeout: number
  updateSnapshots?: true
  browser?: true
  browserPath?: string
}

const defaultWorkers = 4

export const run: Command = {
  name: 'run',
  summary: 'Run suites against a sandbox or a service',
  details: [
    'Without names it runs every built-in suite. The target is the running sandbox; with --fresh one that the run starts and stops itself; with --base-url any service, with the keys of the settings.',
    'A case that the target cannot show is reported as not applicable, with the reason. Production keys are refused without --allow-live. Exit code 0 when all passed, 5 when a check failed, 2 for an invalid suite, 7 when there is no target.',
  ].join('\n\n'),
  arguments: [suitesArgument],
  options: [
    new Option('--fresh', 'use a new sandbox in memory'),
    new Option('--browser', 'run the cases that need a browser too'),
    browserPathOption,
    new Option('--seed <n>', 'same sessions and identifiers in every run').argParser(countFromOne),
    new Option('-g, --grep <pattern>', 'only cases whose id matches this regular expression').argParser(pattern),
    repeatable('--tag <tag>', 'only cases with this tag'),
    repeatable('--not-tag <tag>', 'no cases with this tag'),
    reporterOption,
    new Option('--last-failed', 'only the cases that failed in the last run in this directory'),
    new Option('--watch', 'run again whenever a suite file changes, until Ctrl-C'),
    new Option('--bail [n]', 'stop after the first, or the n-th, failed case').argParser(countFromOne),
    new Option('--repeat <n>', 'run each case n times').argParser(countFromOne),
    new Option('--shard <i/n>', 'only the i-th of n parts: 1/4').argParser(shard),
    new Option('--workers <n>', `cases at a time; default ${defaultWorkers}`).argParser(countFromOne),
    new Option('--timeout <ms>', 'longest a step may take, unless it sets its own')
      .argParser(countFromOne)
      .default(10_000),
    new Option('--update-snapshots', 'replace the stored pictures with what is seen now'),
    new Option('--allow-live', 'accept production keys'),
  ],
  examples: ['qa run --fresh', 'qa run formats --fresh --reporter list --reporter html=qa.html'],
  async run(session, input) {
    const flags = input.options as unknown as RunFlags
    const interrupt = interruptOf(session)
    const again = flags.lastFailed === true ? await lastRun(session.host) : null
    const names = suiteNames(input)
    const suites = names.length > 0 ? names : (again?.suites ?? [])
    const once = () => runOnce(session, flags, suites, interrupt)
    return flags.watch === true ? runOnChange(session, suites, interrupt, once) : once()
  },
}

async function runOnce(
  session: Session,
  flags: RunFlags,
  names: readonly string[],
  interrupt: AbortSignal,
): Promise<number> {
  const again = flags.lastFailed === true ? await lastRun(session.host) : null
  if (again?.failed.length === 0) {
    session.out.data({ cases: [] }, () => [`No case failed in the last run in ${session.host.cwd}.`])
    return exitCodes.ok.exit_code
  }
  const reporter = await createReporter(session, flags.reporter)
  const alternative = 'Without --browser only the cases that need none run.'
  const program = wantsBrowser(flags) ? await browserProgram(session, { path: flags.browserPath }, alternative) : null
  const cases = await chosenCases(session, names, flags, again)
  // Before anything else is started: without the browser no case begins.
  const browser = program === null ? null : await startBrowser(session, program)
  try {
    const targets = await openTargets(session, flags, cases.length, browser)
    try {
      const result = await runOn(session, flags, cases, targets.targets, reporter, interrupt)
      await storeRun(session.host, names, result.cases, again)
      if (result.interrupted !== null) return exitCodes.interrupted.exit_code
      const isFailed = result.cases.some(({ outcome }) => outcome === 'failed')
      return isFailed ? exitCodes.expectation.exit_code : exitCodes.ok.exit_code
    } catch (error) {
      throw qaFailure(error)
    } finally {
      await targets.close()
    }
  } finally {
    await browser?.close()
  }
}

async function runOn(
  session: Session,
  flags: RunFlags,
  cases: readonly PlannedCase[],
  targets: readonly Target[],
  reporter: Reporter,
  interrupt: AbortSignal,
): Promise<RunResult> {
  const { runPlan } = await import('../../qa/run/runner.ts')
  const { host } = session
  return runPlan(cases, {
    targets,
    workers: flags.workers ?? defaultWorkers,
    seed: flags.seed === undefined ? host.randomText(16) : String(flags.seed),
    reporter,
    environment: {
      now: () => host.now(),
      command_name: session.command_name,
      curl: ({ body, headers, ...request }, variables) =>
        curlCommand({ ...request, headers: { ...headers }, ...(body === null ? {} : { body }) }, variables),
    },
    svc_version: version,
    interrupt,
    bail: flags.bail === undefined ? null : flags.bail === true ? 1 : flags.bail,
    step_timeout_ms: flags.timeout,
    update_snapshots: flags.updateSnapshots === true,
  })
}

function wantsBrowser({ browser, browserPath }: RunFlags): boolean {
  return browser === true || browserPath !== undefined
}

async function chosenCases(
  session: Session,
  names: readonly string[],
  flags: RunFlags,
  again: { failed: readonly string[] } | null,
): Promise<PlannedCase[]> {
  const { expand, needsBrowser, select } = await import('../../qa/run/plan.ts')
  const all = expand(await loadSuites(session, names))
  const selection: Selection = {
    ...(flags.grep === undefined ? {} : { grep: flags.grep }),
    tags: flags.tag ?? [],
    not_tags: flags.notTag ?? [],
    repeat: flags.repeat ?? 1,
    ...(flags.shard === undefined ? {} : { shard: flags.shard }),
    browser: names.length > 0 || again !== null || wantsBrowser(flags),
  }
  const chosen = select(again === null ? all : all.filter(({ id }) => again.failed.includes(id)), selection)
  const skipped = all.filter(needsBrowser).length
  if (selection.browser !== true && skipped > 0) {
    session.out.note(`${skipped} cases need a browser; --browser runs them too.`)
  }
  if (chosen.length > 0) return chosen
  throw new CliError('usage', 'no_case', 'No case matches these names and flags.', 'List the cases: svc qa list')
}

function pattern(text: string): RegExp {
  try {
    return new RegExp(text, 'iu')
  } catch (error) {
    throw new InvalidArgumentError(`It must be a regular expression: ${(error as Error).message}`)
  }
}

function shard(text: string): { index: number; of: number } {
  const [, index = '0', of = '0'] = /^(\d{1,4})\/(\d{1,4})$/.exec(text) ?? []
  if (Number(index) < 1 || Number(index) > Number(of)) throw new InvalidArgumentError('It must be a part such as 1/4.')
  return { index: Number(index), of: Number(of) }
}
