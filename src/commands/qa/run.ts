/** `svc qa run`: settles what is looked at and what is run, and tells it to the reporters. */

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Argument, InvalidArgumentError, Option } from 'commander'
import { suggestValues } from '../../cli/endpoint/flags.ts'
import { curlCommand } from '../../cli/output/quoting.ts'
import type { Command } from '../../cli/run/command.ts'
import { CliError, exitCodes } from '../../cli/run/errors.ts'
import type { HostStream } from '../../cli/run/host.ts'
import type { Session } from '../../cli/run/session.ts'
import { version } from '../../cli/run/version.ts'
import { browserCandidates } from '../../journal/doctor/browser.ts'
import type { BrowserHost, BrowserOptions } from '../../qa/browser/launch.ts'
import type { OwnReporters } from '../../qa/report/reporters.ts'
import type { Reporter } from '../../qa/result.ts'
import type { PlannedCase, Selection } from '../../qa/run/plan.ts'
import type { Target } from '../../qa/run/target.ts'
import { openTargets } from './targets.ts'

const gather = (value: string, before: string[] | undefined) => [...(before ?? []), value]

export const reporterOption = suggestValues(
  new Option('--reporter <name[=file]>', 'list, dot, junit, json, tap or html (repeatable); default: list').argParser(
    gather,
  ),
  ['list', 'dot', 'junit=qa.xml', 'json=qa.json', 'tap', 'html=qa.html'],
)

export interface RunFlags {
  fresh?: true
  seed?: number
  workers?: number
  bail?: number | true
  grep?: RegExp
  tag?: string[]
  notTag?: string[]
  repeat?: number
  shard?: { index: number; of: number }
  reporter?: string[]
  timeout?: number
  allowLive?: true
  updateSnapshots?: true
  browser?: true
  browserPath?: string
}

export const run: Command = {
  name: 'run',
  summary: 'Run suites against a sandbox or a service',
  details: [
    'Without names: every built-in suite. Looks at the running sandbox; with --fresh at one that it starts and ends itself; with --base-url at any service, with the keys of the settings.',
    'What a target cannot show is told as not applicable, with the reason. Production keys are refused without --allow-live. Exit code 0 when all passed, 5 when a check failed, 2 for a bad suite, 7 when there is nothing to look at.',
  ].join('\n\n'),
  arguments: [new Argument('[suites...]', 'suite files, or names of built-in suites; default: every built-in suite')],
  options: [
    new Option('--fresh', 'against a sandbox of its own, in memory'),
    new Option('--browser', 'the cases that need a browser too'),
    new Option('--browser-path <file>', 'the Chrome or Chromium to use; default: the one that is found'),
    new Option('--seed <n>', 'same sessions and identifiers in every run').argParser(count),
    new Option('-g, --grep <pattern>', 'only cases whose id matches this regular expression').argParser(pattern),
    new Option('--tag <tag>', 'only cases with this tag (repeatable)').argParser(gather),
    new Option('--not-tag <tag>', 'no cases with this tag (repeatable)').argParser(gather),
    reporterOption,
    new Option('--bail [n]', 'stop after the first, or the n-th, failed case').argParser(count),
    new Option('--repeat <n>', 'run each case so often').argParser(count),
    new Option('--shard <i/n>', 'only the i-th of n parts: 1/4').argParser(shard),
    new Option('--workers <n>', 'cases at a time; default 4').argParser(count),
    new Option('--timeout <ms>', 'how long a step may take, where it does not say itself')
      .argParser(count)
      .default(10_000),
    new Option('--update-snapshots', 'keep what is seen now as the pictures to compare with'),
    new Option('--allow-live', 'let it use production keys'),
  ],
  examples: ['qa run --fresh', 'qa run formats --fresh --reporter list --reporter html=qa.html'],
  async run(session, { options, args }) {
    const flags = options as unknown as RunFlags
    const names = args.flat().filter((name) => name !== undefined)
    const interrupt = new AbortController()
    session.onInterrupt((signal) => interrupt.abort(signal))
    const reporter = await reporterOf(session, flags)
    const browser_path = wantsBrowser(flags) ? findBrowser(session, flags.browserPath) : null
    const cases = await chosenCases(session, names, flags)
    const browser = browser_path === null ? null : await startBrowser(session, browser_path)
    try {
      const targets = await openTargets(session, flags, cases, browser)
      try {
        return await runOn(session, flags, cases, targets.targets, reporter, interrupt.signal)
      } catch (error) {
        throw await reportFailure(error)
      } finally {
        await targets.close()
      }
    } finally {
      await browser?.close()
    }
  },
}

async function runOn(
  session: Session,
  flags: RunFlags,
  cases: readonly PlannedCase[],
  targets: readonly Target[],
  reporter: Reporter,
  interrupt: AbortSignal,
): Promise<number> {
  const { runPlan } = await import('../../qa/run/runner.ts')
  const { host } = session
  const result = await runPlan(cases, {
    targets,
    workers: flags.workers ?? defaultWorkers,
    seed: flags.seed === undefined ? host.randomText(16) : String(flags.seed),
    reporter,
    environment: {
      now: () => host.now(),
      curl: ({ body, headers, ...request }, variables) =>
        curlCommand({ ...request, headers: { ...headers }, ...(body === null ? {} : { body }) }, variables),
    },
    svc_version: version,
    interrupt,
    bail: flags.bail === undefined ? null : flags.bail === true ? 1 : flags.bail,
    step_timeout_ms: flags.timeout ?? 10_000,
    update_snapshots: flags.updateSnapshots === true,
  })
  if (result.interrupted !== null) return exitCodes.interrupted.exit_code
  const isFailed = result.cases.some(({ outcome }) => outcome === 'failed')
  return isFailed ? exitCodes.expectation.exit_code : exitCodes.ok.exit_code
}

export const defaultWorkers = 4

function wantsBrowser({ browser, browserPath }: RunFlags): boolean {
  return browser === true || browserPath !== undefined
}

/** Throws CliError where there is none: cases are never left out because of that. */
export function findBrowser(
  { host }: Session,
  given: string | undefined,
  otherwise = 'Without --browser the cases that need none run.',
): string {
  const found =
    given === undefined
      ? browserCandidates(host.platform, host.env).find((path) => existsSync(path))
      : [resolve(host.cwd, given)].find((path) => existsSync(path))
  if (found !== undefined) return found
  throw new CliError(
    'unreachable',
    'browser_missing',
    given === undefined ? 'No Chrome or Chromium was found.' : `There is no browser at ${given}.`,
    `Install one, or name it: --browser-path FILE. ${otherwise}`,
  )
}

/** Started before anything else: without it no case is begun. Throws CliError. */
export async function startBrowser(
  { settings }: Session,
  path: string,
  options: Partial<BrowserOptions> = {},
): Promise<BrowserHost> {
  const { BrowserMissing, openBrowserHost } = await import('../../qa/browser/launch.ts')
  try {
    return await openBrowserHost({ path, reachable: [new URL(settings.base_url).hostname], ...options })
  } catch (error) {
    if (!(error instanceof BrowserMissing)) throw error
    throw new CliError('unreachable', 'browser_missing', error.message, error.hint)
  }
}

async function chosenCases(session: Session, names: readonly string[], flags: RunFlags): Promise<PlannedCase[]> {
  const { load } = await import('./index.ts')
  const { expand, needsBrowser, select } = await import('../../qa/run/plan.ts')
  const all = expand(await load(session, names))
  const selection: Selection = {
    ...(flags.grep === undefined ? {} : { grep: flags.grep }),
    tags: flags.tag ?? [],
    not_tags: flags.notTag ?? [],
    repeat: flags.repeat ?? 1,
    ...(flags.shard === undefined ? {} : { shard: flags.shard }),
    browser: names.length > 0 || wantsBrowser(flags),
  }
  const chosen = select(all, selection)
  const left = all.filter(needsBrowser).length
  if (selection.browser !== true && left > 0) session.out.note(`${left} cases need a browser; --browser runs them too.`)
  if (chosen.length > 0) return chosen
  throw new CliError('usage', 'no_case', 'No case fits what was asked for.', 'See what there is: svc qa list')
}

/** Reporters as they were asked for; with -o json the whole result on stdout. */
export async function reporterOf(
  { host, out, settings }: Session,
  { reporter = [] }: Pick<RunFlags, 'reporter'>,
  own: OwnReporters = {},
): Promise<Reporter> {
  const { createReporters, ReporterSpecError, writeReportFile } = await import('../../qa/report/reporters.ts')
  const isJson = settings.output === 'json' || settings.output === 'jsonl'
  const specs = isJson ? [...reporter.filter((spec) => spec.includes('=')), 'json'] : reporter
  const silent: HostStream = { write: () => {}, is_terminal: false, columns: undefined }
  const stdout = settings.output === 'none' ? silent : host.stdout
  try {
    const tools = {
      stdout: sinkOf(stdout, out.style),
      progress: sinkOf(host.stderr, out.noteStyle),
      quiet: out.quiet || isJson || settings.output === 'none',
      now: () => host.now(),
      writeFile: (path: string, content: string) => writeReportFile(resolve(host.cwd, path), content),
    }
    return createReporters(specs, tools, own)
  } catch (error) {
    if (!(error instanceof ReporterSpecError)) throw error
    throw new CliError('usage', error.code, error.message, error.hint)
  }
}

/** A report that cannot be written is a matter of the command line; the run itself went on to its end. */
export async function reportFailure(error: unknown): Promise<unknown> {
  const { ReportFileError } = await import('../../qa/report/reporters.ts')
  return error instanceof ReportFileError
    ? new CliError('usage', 'report_unwritable', error.message, error.hint)
    : error
}

function sinkOf(stream: HostStream, paint: Session['out']['style']) {
  return {
    write: (text: string) => stream.write(text),
    is_terminal: stream.is_terminal,
    get columns() {
      return stream.columns
    },
    paint,
  }
}

function count(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 on.')
  return Number(text)
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
  if (Number(index) < 1 || Number(index) > Number(of)) throw new InvalidArgumentError('It must be such as 1/4.')
  return { index: Number(index), of: Number(of) }
}
