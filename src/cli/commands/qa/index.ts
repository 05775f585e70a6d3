/**
 * `svc qa`, and `svc qa run`: chooses cases and targets, runs them, and reports. `--last-failed` reruns the cases that
 * failed last; `--watch` reruns on every change of a file.
 */

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { InvalidArgumentError, Option } from 'commander'
import { z } from 'zod'
import { countFromOne, durationMs, repeatable } from '#cli/endpoint/option-values.ts'
import type { Command, CommandContext, CommandInput, Noun } from '#cli/run/command.ts'
import type { System } from '#cli/run/system.ts'
import { writeJson } from '#cli/settings/files.ts'
import { readJson } from '#cli/settings/schemas.ts'
import { stateDirectory } from '#cli/settings/state-directory.ts'
import { curlCommand } from '#foundation/http.ts'
import { readMessage } from '#foundation/system-error.ts'
import type { Engine } from '#qa/browser/engines.ts'
import type { CaseResult, Reporter, RunResult } from '#qa/result.ts'
import type { PlannedCase, Selection } from '#qa/run/plan.ts'
import type { Target } from '#qa/run/target.ts'
import { CliError, exitCodes, nothingChecked } from '#text/cli-error.ts'
import { ownControl } from '#text/terminal.ts'
import { plural } from '#text/text.ts'
import { version } from '#text/version.ts'
import { onFirstInterrupt } from '../exec.ts'
import { qaFailure } from './failure.ts'
import { hosts } from './hosts.ts'
import { createReporter, type ReportFlags, reportOptions } from './reports.ts'
import { list, loadSuites, show, suiteNames, suitesArgument, validate } from './suites.ts'
import {
  browserPathOption,
  browserProgram,
  isEngine,
  openTargets,
  parseEngine,
  startBrowser,
  type TargetFlags,
} from './targets.ts'

type RunFlags = TargetFlags &
  ReportFlags & {
    bail?: number | true
    lastFailed?: true
    watch?: true
    grep?: string
    tag?: string[]
    notTag?: string[]
    repeat?: number
    shard?: { index: number; of: number }
    timeout: number
    updateSnapshots?: true
    browser?: true | string
    browserPath?: string
  }

/** Cases at a time. Firefox and WebKit need several times as long to open a page. */
const defaultWorkers: Readonly<Record<Engine, number>> = { chromium: 4, firefox: 2, webkit: 2 }

const run: Command = {
  name: 'run',
  summary: 'Run suites against a sandbox or a service',
  details: [
    'Without names it runs every built-in suite. The target is the running sandbox; with --fresh, a sandbox that the run starts and stops itself; with --base-url, any service, with the keys from the settings.',
    'A case that the target cannot show is reported as not applicable, with the reason. Production keys are refused without --allow-live. Exit code 0 if all passed, 5 if a check failed or no case applied, 2 for an invalid suite, 7 without a target.',
  ].join('\n\n'),
  arguments: [suitesArgument],
  usualFlags:
    '--fresh --browser --seed --grep --tag --not-tag --reporter --last-failed --watch --bail --workers --allow-live',
  options: [
    new Option('--fresh', 'use a new sandbox in memory'),
    new Option('--browser [engine]', 'also run the cases that need a browser: chromium (default), firefox or webkit'),
    browserPathOption,
    new Option('--seed <n>', 'same sessions and identifiers in every run').argParser(countFromOne),
    new Option('-g, --grep <pattern>', 'only cases whose id matches this regular expression').argParser(pattern),
    repeatable('--tag <tag>', 'only cases with this tag'),
    repeatable('--not-tag <tag>', 'no cases with this tag'),
    ...reportOptions,
    new Option('--last-failed', 'only the cases that failed in the last run in this directory'),
    new Option('--watch', 'run again whenever a suite file changes, until Ctrl-C'),
    new Option('--bail [n]', 'stop after the first, or the n-th, failed case').argParser(countFromOne),
    new Option('--repeat <n>', 'run each case n times').argParser(countFromOne),
    new Option('--shard <i/n>', 'only the i-th of n parts: 1/4').argParser(shard),
    new Option(
      '--workers <n>',
      `cases at a time; default ${defaultWorkers.chromium}, in firefox and webkit ${defaultWorkers.firefox}`,
    ).argParser(countFromOne),
    new Option('--timeout <ms>', 'longest a step may take, unless it sets its own')
      .argParser(durationMs)
      .default(10_000),
    new Option('--update-snapshots', 'replace the stored screenshots with current ones'),
    new Option('--allow-live', 'accept production keys'),
  ],
  examples: ['qa run --fresh', 'qa run formats --fresh --reporter list --reporter html=qa.html'],
  async run(context, input: CommandInput<RunFlags>) {
    const given = input.options
    // `--browser formats`: a word that is no engine is the first suite.
    const suite = typeof given.browser === 'string' && !isEngine(given.browser) ? given.browser : null
    const flags: RunFlags = suite === null ? given : { ...given, browser: true }
    const interrupt = onFirstInterrupt(context)
    const again = flags.lastFailed === true ? await lastRun(context.system) : null
    const names = [...(suite === null ? [] : [suite]), ...suiteNames(input)]
    const suites = names.length > 0 ? names : (again?.suites ?? [])
    const once = () => runOnce(context, flags, suites, interrupt)
    return flags.watch === true ? runOnChange(context, suites, interrupt, once) : once()
  },
}

async function runOnce(
  context: CommandContext,
  given: RunFlags,
  names: readonly string[],
  interrupt: AbortSignal,
): Promise<number> {
  const engine = typeof given.browser === 'string' ? parseEngine(given.browser) : 'chromium'
  const flags = { ...given, workers: given.workers ?? defaultWorkers[engine] }
  const again = flags.lastFailed === true ? await lastRun(context.system) : null
  if (again?.failed.length === 0) {
    context.out.data({ cases: [] }, () => [])
    throw nothingChecked(
      `Nothing ran: no case failed in the last run in ${context.system.cwd}.`,
      'Run them all: leave out --last-failed.',
    )
  }
  const reporter = await createReporter(context, flags)
  const alternative = 'Without --browser only the cases that need none run.'
  const program = wantsBrowser(flags)
    ? await browserProgram(context, { engine, path: flags.browserPath }, alternative)
    : null
  const cases = await chosenCases(context, names, flags, again)
  // Before anything else is started: without the browser no case can run.
  const browser = program === null ? null : await startBrowser(context, program, { engine })
  try {
    const targets = await openTargets(context, flags, cases.length, browser)
    try {
      const result = await runOn(context, flags, cases, { targets: targets.targets, reporter, interrupt })
      await storeRun(context.system, names, result.cases, again)
      if (result.interrupted !== null) return exitCodes.interrupted.exit_code
      const isFailed = result.cases.some(({ outcome }) => outcome === 'failed')
      if (!isFailed) refuseNothing(result)
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

/** Throws CliError when no case could be judged. */
function refuseNothing({ cases, target }: RunResult): void {
  if (cases.some(({ outcome }) => outcome === 'passed')) return
  const reasons = [
    ...new Set(cases.flatMap(({ reason }) => reason?.replace(/^Line \d+ \(.*?\) needs /, 'needs ') ?? [])),
  ]
  const message = `Nothing was checked: none of ${plural(cases.length, 'case')} applies to ${target.base_url}.`
  throw nothingChecked(message, reasons.slice(0, 3).join(' ') || 'See why: --reporter list')
}

async function runOn(
  context: CommandContext,
  flags: RunFlags & { workers: number },
  cases: readonly PlannedCase[],
  using: { targets: readonly Target[]; reporter: Reporter; interrupt: AbortSignal },
): Promise<RunResult> {
  const { runPlan } = await import('#qa/run/runner.ts')
  const { system } = context
  return runPlan(cases, {
    ...using,
    workers: flags.workers,
    seed: flags.seed === undefined ? system.randomText(16) : String(flags.seed),
    environment: {
      now: () => system.now(),
      command_name: context.command_name,
      curl: ({ body, headers, ...request }, variables) =>
        curlCommand({ ...request, headers: { ...headers }, ...(body === null ? {} : { body }) }, variables),
    },
    svc_version: version,
    bail: flags.bail === undefined ? null : flags.bail === true ? 1 : flags.bail,
    step_timeout_ms: flags.timeout,
    update_snapshots: flags.updateSnapshots === true,
  })
}

function wantsBrowser({ browser, browserPath }: RunFlags): boolean {
  return browser !== undefined || browserPath !== undefined
}

async function chosenCases(
  context: CommandContext,
  names: readonly string[],
  flags: RunFlags,
  again: { failed: readonly string[] } | null,
): Promise<PlannedCase[]> {
  const { expand, needsBrowser, select } = await import('#qa/run/plan.ts')
  const all = expand(await loadSuites(context, names))
  const selection: Selection = {
    ...(flags.grep === undefined ? {} : { grep: flags.grep }),
    tags: flags.tag ?? [],
    not_tags: flags.notTag ?? [],
    repeat: flags.repeat ?? 1,
    ...(flags.shard === undefined ? {} : { shard: flags.shard }),
    browser: names.length > 0 || again !== null || wantsBrowser(flags),
  }
  const candidates = again === null ? all : all.filter(({ id }) => again.failed.includes(id))
  let chosen: PlannedCase[]
  try {
    chosen = select(candidates, selection)
  } catch (error) {
    throw qaFailure(error)
  }
  const skipped = all.filter(needsBrowser).length
  if (selection.browser !== true && skipped > 0) {
    context.out.note(`${skipped} cases need a browser; --browser runs them too.`)
  }
  if (chosen.length > 0) return chosen
  throw new CliError('usage', 'no_case', 'No case matches these names and flags.', 'List the cases: svc qa list')
}

function pattern(text: string): string {
  try {
    new RegExp(text, 'iu')
    return text
  } catch (error) {
    throw new InvalidArgumentError(`It must be a regular expression: ${readMessage(error)}`)
  }
}

function shard(text: string): { index: number; of: number } {
  const [, index = '0', of = '0'] = /^(\d{1,4})\/(\d{1,4})$/.exec(text) ?? []
  if (Number(index) < 1 || Number(index) > Number(of)) throw new InvalidArgumentError('It must be a part such as 1/4.')
  return { index: Number(index), of: Number(of) }
}

/** The last run in a directory. */
const LastRun = z.object({
  directory: z.string(),
  /** The suites that were named; none for every built-in one. */
  suites: z.array(z.string()),
  /** Ids of the cases that failed. */
  failed: z.array(z.string()),
})
type LastRun = z.infer<typeof LastRun>

/** Directories whose last run is kept, the latest first. */
const keptRuns = 50

/** Returns the last run in the working directory. Throws CliError when there is none. */
async function lastRun(system: System): Promise<LastRun> {
  const found = (await runs(system)).find(({ directory }) => directory === system.cwd)
  if (found !== undefined) return found
  const hint = 'Run the suites first: svc qa run --fresh'
  throw new CliError('usage', 'last_run_missing', `No suite has run in ${system.cwd} yet.`, hint)
}

/** Stores the failed cases. In a rerun of the cases that failed last (`again`), those that did not run stay. */
async function storeRun(
  system: System,
  suites: readonly string[],
  cases: readonly CaseResult[],
  again: LastRun | null,
): Promise<void> {
  const ran = new Set(cases.filter(({ outcome }) => outcome === 'passed' || outcome === 'failed').map(({ id }) => id))
  const failed = cases.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id)
  const left = again?.failed.filter((id) => !ran.has(id)) ?? []
  const run: LastRun = {
    directory: system.cwd,
    suites: [...(again?.suites ?? suites)],
    failed: [...new Set([...failed, ...left])],
  }
  // A run needs no state directory: without a writable one, the next run just cannot rerun its failures.
  const others = (await runs(system).catch(() => [])).filter(({ directory }) => directory !== system.cwd)
  await writeJson(searchPath(system), { runs: [run, ...others].slice(0, keptRuns) }).catch(() => {})
}

async function runs(system: System): Promise<LastRun[]> {
  const file = await readJson(searchPath(system), z.object({ runs: z.array(LastRun) }))
  return file?.runs ?? []
}

function searchPath(system: System): string {
  return join(stateDirectory(system), 'qa-runs.json')
}

/** Time between two looks at the files. */
const lookMs = 200
const clearScreen = () => ownControl('2J') + ownControl('H')

/**
 * Calls `run` now, and again whenever one of the suite files among `names` has changed, until an interrupt. Problems in
 * a suite are printed, and the next change is awaited. Returns the exit code.
 */
async function runOnChange(
  { system, out }: CommandContext,
  names: readonly string[],
  interrupt: AbortSignal,
  run: () => Promise<number>,
): Promise<number> {
  const files = names.filter((name) => /\.ya?ml$/.test(name))
  if (files.length === 0) {
    const hint = 'Name one: svc qa run shop.yaml --watch'
    throw new CliError('usage', 'watch_nothing', '--watch needs a suite file: built-in suites do not change.', hint)
  }
  const read = () => files.map((file) => readBytes(resolve(system.cwd, file))).join('\0')
  for (;;) {
    const before = read()
    if (system.stdout.is_terminal) system.stdout.write(clearScreen())
    const code = await run().catch((error: unknown) => {
      if (!(error instanceof CliError) || !['suite_invalid', 'no_case', 'nothing_checked'].includes(error.code))
        throw error
      const { category, code, message, hint } = error
      out.failure({ category, code, reason_code: null, message, hint, request_id: null })
      return null
    })
    if (interrupt.aborted) return code ?? 0
    out.note(`watching ${files.join(', ')}: a change runs it again; press Ctrl-C to end`)
    while (read() === before) {
      await sleep(lookMs, undefined, { signal: interrupt }).catch(() => {})
      if (interrupt.aborted) return 0
    }
  }
}

/** Returns the bytes of a file for comparison; none for a missing one, for example while an editor replaces it. */
function readBytes(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

export const qa: Noun = {
  summary: 'Run scripted QA against the emulator, an integration or a service',
  commands: [run, hosts, list, show, validate],
}
