/** `svc qa hosts`: a page under the conditions in which ads get lost, as a matrix. */

import { Option } from 'commander'
import { checkPageUrl, durationMs, repeatable } from '#cli/endpoint/option-values.ts'
import { type Command, type CommandContext, type CommandInput, suggestValues } from '#cli/run/command.ts'
import { commandClient, serviceClient } from '#cli/run/command-client.ts'
import { noSandboxFor } from '#cli/run/errors.ts'
import { readUserText } from '#cli/run/user-file.ts'
import type { Client } from '#client/client.ts'
import { keyOfStarted } from '#client/permitted-key.ts'
import { startOnFreePort } from '#commands/sandbox/emulator.ts'
import type { Found } from '#diagnosis/observe-file/apply.ts'
import type { ObserveFile } from '#diagnosis/observe-file/observe-file.ts'
import type { CauseRow } from '#hosts/matrix.ts'
import type { CaseResult, RunResult } from '#qa/result.ts'
import { CliError, didYouMean, exitCodes } from '#text/cli-error.ts'
import { withCommandName } from '#text/command-name.ts'
import { type Column, paintDim, paintWord, tableLines } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { hangingLines, plural } from '#text/text.ts'
import { version } from '#text/version.ts'
import { onFirstInterrupt } from '../exec.ts'
import { qaFailure } from './failure.ts'
import { listBases, loadDrive } from './observe.ts'
import { loadProjectFile, reportApplied } from './observe-file.ts'
import { besideOptions, createReporter, type ReportFlags, reportBeside } from './reports.ts'
import { browserPathOption, browserProgram, startBrowser } from './targets.ts'

/** What is tried, and how. */
interface TrialFlags {
  url?: string
  only?: string[]
  except?: string[]
  steps?: string
  filterList?: string
  browserPath?: string
}

type HostsFlags = TrialFlags & ReportFlags & { list?: true; for: number }

/** How long an ad has to show and count under a condition, milliseconds. */
const patienceMs = 10_000

const listColumns: readonly Column[] = [
  { name: 'condition' },
  { name: 'what', field: 'title', kind: 'prose' },
  { name: 'simulated', kind: 'prose', rank: 2, paint: paintDim },
]
const rowColumns: readonly Column[] = [
  { name: 'condition' },
  { name: 'shows', paint: paintWord },
  { name: 'counts', paint: paintWord },
  { name: 'why not', field: 'why_not', kind: 'prose' },
]

export const hosts: Command = {
  name: 'hosts',
  summary: 'Try a page under the conditions in which ads get lost',
  details: [
    'Opens the page in a browser under strict policies, in frames, in a WebView, with an ad blocker, an extension, dark mode, translation, offline, zoomed and narrow, and prints whether its ad shows and counts under each. Every "no" has the line that is missing. Without --url it tries a small page of its own, against the running sandbox or one that it starts.',
    'A loopback proxy adds the headers, so the page keeps its origin. Under the condition offline, the clock of the sandbox is advanced by a minute.',
    'Exit code 0 if the ad shows and counts everywhere, 5 if not, 7 without a sandbox or browser.',
  ].join('\n\n'),
  options: [
    new Option('--url <address>', 'the page to open'),
    suggestValues(repeatable('--only <condition>', 'only this condition'), ['plain', 'strict-csp']),
    repeatable('--except <condition>', 'not this condition'),
    new Option('--list', 'list the conditions'),
    new Option('--steps <file>', 'drive the page first, as svc observe does'),
    new Option('--filter-list <file>', 'a list for the ad blocker, in the syntax of EasyList; default: general rules'),
    new Option('--for <span>', 'how long the ad has to show and count')
      .argParser(durationMs)
      .default(patienceMs, '10s'),
    browserPathOption,
    ...besideOptions,
  ],
  tables: [listColumns, rowColumns],
  examples: ['qa hosts', 'qa hosts --list', 'qa hosts --url http://localhost:3000 --only strict-csp --only isolated'],
  async run(context, { options: flags }: CommandInput<HostsFlags>) {
    const { conditions } = await import('#hosts/matrix.ts')
    const names = chosenNames(
      flags,
      conditions.map(({ name }) => name),
    )
    if (flags.list === true) {
      const items = conditions
        .filter(({ name }) => names.includes(name))
        .map(({ name, title, simulated }) => ({ condition: name, title, simulated }))
      context.out.list({ items }, items, (style) => tableLines(listColumns, items, style))
      return exitCodes.ok.exit_code
    }
    await createReporter(context, flags)
    const project = await loadProjectFile(context)
    const trial = await openTrial(context, names, flags)
    const started_at_ms = context.system.now()
    const { url } = trial.service
    context.out.note(`trying ${url} under ${names.length} ${names.length === 1 ? 'condition' : 'conditions'}`)
    const signal = onFirstInterrupt(context)
    const rows = await tryPage(context, trial, { for_ms: flags.for, signal })
    if (signal.aborted) return exitCodes.interrupted.exit_code
    const isRight = await report(context, flags, trial.service, { rows, started_at_ms, project })
    return (isRight ? exitCodes.ok : exitCodes.expectation).exit_code
  },
}

/** Resolves to the rows of a page, for a caller without reports. Throws CliError, also when `signal` is aborted. */
export async function tryConditions(
  context: CommandContext,
  flags: TrialFlags & { for?: number },
  signal: AbortSignal,
): Promise<{ url: string; ok: boolean; conditions: readonly CauseRow[] }> {
  const { conditions } = await import('#hosts/matrix.ts')
  const names = chosenNames(
    flags,
    conditions.map(({ name }) => name),
  )
  const trial = await openTrial(context, names, flags)
  const rows = await tryPage(context, trial, { for_ms: flags.for ?? patienceMs, signal })
  signal.throwIfAborted()
  return { url: trial.service.url, ok: showsEverywhere(rows), conditions: rows }
}

function showsEverywhere(rows: readonly CauseRow[]): boolean {
  return rows.length > 0 && rows.every(({ shows, counts }) => shows && counts)
}

/** Resolves to all that a trial needs, once nothing is wrong with what was given. `tryPage` closes it. Throws CliError. */
async function openTrial(context: CommandContext, names: readonly string[], flags: TrialFlags): Promise<Trial> {
  checkUrl(flags.url)
  const drive = await loadDrive(context, flags.steps)
  const list = await readList(context, flags.filterList)
  const path = await browserProgram(context, { engine: 'chromium', path: flags.browserPath }, '')
  return { names, drive, list, path, service: await openService(context, flags.url) }
}

function chosenNames({ only = [], except = [] }: TrialFlags, known: readonly string[]): string[] {
  const unknown = [...only, ...except].find((name) => !known.includes(name))
  if (unknown !== undefined) {
    const message = `There is no condition '${unknown}'.`
    throw new CliError(
      'usage',
      'condition_unknown',
      message,
      didYouMean(unknown, known) ?? 'List them: svc qa hosts --list',
    )
  }
  const names = known.filter((name) => (only.length === 0 || only.includes(name)) && !except.includes(name))
  if (names.length > 0) return names
  throw new CliError('usage', 'condition_missing', 'No condition is left.', 'Name fewer with --except.')
}

function checkUrl(url: string | undefined): void {
  if (url === undefined) return
  checkPageUrl(url)
  if (new URL(url).protocol === 'https:') {
    const message = `${url} is served over TLS, where no header can be added.`
    throw new CliError(
      'usage',
      'url_encrypted',
      message,
      'Serve the page over http for this: http://localhost is as secure.',
    )
  }
}

async function readList({ system }: CommandContext, file: string | undefined): Promise<string | null> {
  if (file === undefined) return null
  return readUserText(system, file)
}

/** The sandbox, and the page. */
interface Service {
  base_url: string
  client: Client
  client_id: string
  kind: RunResult['target']['kind']
  url: string
  close(): Promise<void>
}

/** Without --url, and without a running sandbox, both are our own. */
async function openService(context: CommandContext, url: string | undefined): Promise<Service> {
  const { settings, system } = context
  const isMissing = settings.sandbox === null && settings.source.base_url === 'default'
  if (isMissing && url !== undefined) throw noSandboxFor(settings, 'The page needs one: svc start')
  const { openOwnPage } = await import('#hosts/own-page.ts')
  if (!isMissing) {
    const { base_url, client_id } = settings
    const client = serviceClient(system, settings)
    const kind = settings.sandbox === null ? 'service' : 'sandbox'
    const page =
      url === undefined ? await openOwnPage(base_url, client, client_id ?? 'proj_demo', system.randomText(8)) : null
    const close = async () => page?.close()
    return { base_url, client, client_id: client_id ?? 'proj_demo', kind, url: page?.url ?? url!, close }
  }
  const { sandbox } = await startOnFreePort(context, { port: 0, host: '127.0.0.1', ephemeral: true })
  const client_id = sandbox.keys.client_id
  const client = commandClient(system, { base_url: sandbox.url, credential: keyOfStarted(sandbox), validate: 'report' })
  const page = await openOwnPage(sandbox.url, client, client_id, system.randomText(8))
  const close = async () => {
    await page.close()
    await sandbox.close()
  }
  return { base_url: sandbox.url, client, client_id, kind: 'fresh', url: page.url, close }
}

interface Trial {
  names: readonly string[]
  drive: Awaited<ReturnType<typeof loadDrive>>
  list: string | null
  /** The program of the browser. */
  path: string
  service: Service
}

/** Resolves to a row for each condition, those that were tried before `signal` was aborted. Throws CliError. */
async function tryPage(
  context: CommandContext,
  trial: Trial,
  { for_ms, signal }: { for_ms: number; signal: AbortSignal },
): Promise<CauseRow[]> {
  try {
    return await tryInBrowser(context, trial, { for_ms, signal })
  } catch (error) {
    throw qaFailure(error)
  } finally {
    await trial.service.close()
  }
}

async function tryInBrowser(
  context: CommandContext,
  { names, drive, list, path, service }: Trial,
  { for_ms, signal }: { for_ms: number; signal: AbortSignal },
): Promise<CauseRow[]> {
  const { openExtensionBrowser, tryHosts } = await import('#hosts/matrix.ts')
  const [{ openBlocker }, { builtinList }] = await Promise.all([
    import('#hosts/blocker.ts'),
    import('#hosts/filter-list.ts'),
  ])
  const { base_url, client, client_id, url } = service
  const project = await client.projects.show({ params: { client_id } }).catch(() => null)
  const browser = await startBrowser(context, path, { reachable: 'anything' })
  const extension = names.includes('extension') ? await openExtensionBrowser(path) : null
  try {
    const rows = await tryHosts(names, {
      url,
      bases: listBases(base_url),
      service: new URL(base_url).origin,
      client,
      client_id,
      allowed_origins: project?.settings.allowed_origins ?? [],
      blocker: openBlocker(list ?? builtinList),
      for_ms,
      signal,
      drive,
      extension,
      browser: () => browser.get(),
    })
    return rows.map(({ missing, ...row }) => ({
      ...row,
      missing: missing && withCommandName(missing, context.command_name),
    }))
  } finally {
    await extension?.close()
    await browser.close()
  }
}

async function report(
  context: CommandContext,
  flags: HostsFlags,
  { base_url, kind, url }: Service,
  { rows, started_at_ms, project }: { rows: readonly CauseRow[]; started_at_ms: number; project: ObserveFile | null },
): Promise<boolean> {
  const { out, system } = context
  const { applyObserveFile, withObserveFile } = await import('#diagnosis/observe-file/apply.ts')
  const applied = applyObserveFile(project, rows.flatMap(toFound), {
    now_ms: system.now(),
    suite: 'hosts',
    isJudged: ({ rule }) => rows.some(({ condition }) => rule === `hosts/${condition}`),
  })
  const wrong = new Set(applied.kept)
  const run: RunResult = {
    command: 'qa hosts',
    target: { base_url, kind, version: null, key_mode: 'test' },
    svc_version: version,
    started_at_ms,
    duration_ms: system.now() - started_at_ms,
    cases: rows.map((row) => toReportCase(row, wrong.has(row), started_at_ms)),
    interrupted: null,
    looked_at: `${url} under ${plural(rows.length, 'condition')}`,
  }
  const about = await reportApplied(applied)
  if (await reportBeside(context, flags, withObserveFile(run, applied))) {
    const lines = (style: Style) => [...matrixLines(url, rows, style), ...about.lines(style)]
    out.data({ url, conditions: rows, ...about.field }, lines)
  }
  if (about.note !== null) out.note(about.note)
  const isJudged = rows.some(({ condition }) => !applied.off.some(({ rule }) => rule === `hosts/${condition}`))
  return isJudged && applied.kept.length === 0 && !about.isFailed
}

/** A condition under which the ad does not show, or does not count, as a finding. */
function toFound(row: CauseRow): Found<CauseRow>[] {
  const { condition, shows, counts, why_not } = row
  if (shows && counts) return []
  const where = shows ? 'does not count' : 'does not show'
  return [{ rule: `hosts/${condition}`, where, message: `The ad ${where}: ${why_not}`, item: row }]
}

function matrixLines(url: string, rows: readonly CauseRow[], style: Style): string[] {
  const shown = rows.map(({ shows, counts, ...row }) => ({ ...row, shows: yes(shows), counts: yes(counts) }))
  const missing = rows.flatMap(({ condition, missing }) => (missing === null ? [] : [{ condition, missing }]))
  const simulated = rows.flatMap(({ condition, simulated }) => (simulated === null ? [] : [{ condition, simulated }]))
  const right = rows.filter(({ shows, counts }) => shows && counts).length
  const entry = (name: string, text: string) => hangingLines(`  ${style.cyan(name.padEnd(16))} `, text, style.columns)
  return [
    ...tableLines(rowColumns, shown, style),
    ...(missing.length === 0 ? [] : ['', style.bold('Missing')]),
    ...missing.flatMap(({ condition, missing }) => entry(condition, missing)),
    ...(simulated.length === 0 ? [] : ['', style.bold('Simulated')]),
    ...simulated.flatMap(({ condition, simulated }) => entry(condition, simulated)),
    '',
    `${right} of ${rows.length} conditions show and count the ad of ${url}`,
  ]
}

function yes(claim: boolean): string {
  return claim ? 'yes' : 'no'
}

function toReportCase(
  { condition, title, shows, counts, why_not, missing, looked_at }: CauseRow,
  isWrong: boolean,
  started_at_ms: number,
): CaseResult {
  const place = { file: `hosts/${condition}`, line: 0, column: 0 }
  const outcome: CaseResult['outcome'] = isWrong ? 'failed' : 'passed'
  const hint = missing === null ? {} : { hint: `Missing: ${missing}` }
  const check = (subject: string, passed: boolean) => ({
    subject,
    passed,
    expected: 'yes',
    actual: passed ? 'yes' : `no: ${why_not}`,
    ...(passed ? {} : hint),
  })
  const checks = [check('shows', shows || !isWrong), check('counts', counts || !isWrong)]
  return {
    id: `hosts/${condition}`,
    suite: 'hosts',
    name: title,
    place,
    tags: [],
    matrix: {},
    attempt: 1,
    outcome,
    reason: isWrong ? why_not : null,
    started_at_ms,
    duration_ms: 0,
    steps: [{ title: looked_at, place, outcome, reason: null, duration_ms: 0, exchanges: [], checks, screenshots: [] }],
  }
}
