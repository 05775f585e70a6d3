/** `svc sandbox gameday`: what an outage costs, from the request to the billed view. */

import { resolve } from 'node:path'
import { Argument, Option } from 'commander'
import { checkPageUrl } from '#cli/endpoint/option-values.ts'
import type { Command, CommandContext, CommandInput } from '#cli/run/command.ts'
import { displayName, readUserText } from '#cli/run/user-file.ts'
import { replaceFile } from '#foundation/file-system.ts'
import { shownCommand } from '#foundation/redaction.ts'
import type { Gameday } from '#gameday/gameday-file.ts'
import type { Plan } from '#gameday/plan.ts'
import type { GamedayReport } from '#gameday/report.ts'
import type { PhaseCounts } from '#gameday/verdict.ts'
import { CliError, exitCodes } from '#text/cli-error.ts'
import { type Column, tableLines } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { version } from '#text/version.ts'
import { commandMissing } from '../exec.ts'
import { qaFailure } from '../qa/failure.ts'
import { loadDrive } from '../qa/observe.ts'
import { suiteFailure } from '../qa/suites.ts'
import { browserPathOption } from '../qa/targets.ts'

type GamedayFlags = {
  url?: string
  steps?: string
  browserPath?: string
  html?: string
  dryRun?: true
  schema?: true
}

const time = (value: number | null) => (value === null ? '-' : `${value} ms`)
const percent = (value: number | null) => (value === null ? '-' : `${Math.floor(value * 10) / 10} %`)

const phaseColumns: readonly Column[] = [
  { name: 'phase' },
  { name: 'faults' },
  { name: 'turns' },
  { name: 'fills' },
  { name: 'billed' },
  { name: 'median', field: 'median_ms', text: time },
  { name: 'p95', field: 'p95_ms', text: time },
  { name: 'p99', field: 'p99_ms', rank: 2, text: time },
  { name: 'max', field: 'max_ms', rank: 3, text: time },
]
const funnelColumns: readonly Column[] = [
  { name: 'step' },
  { name: 'without faults', field: 'without' },
  { name: 'with faults', field: 'with' },
  { name: 'kept', field: 'kept_percent', text: percent },
]
const lossColumns: readonly Column[] = [
  { name: 'lost in', field: 'phase' },
  { name: 'not', field: 'missed' },
  { name: 'reason', paint: (cell, style) => style.yellow(cell) },
  { name: 'turns' },
  { name: 'without faults', field: 'without', rank: 2 },
]
const expectationColumns: readonly Column[] = [
  { name: 'expectation', field: 'name' },
  { name: 'expected' },
  { name: 'measured' },
  { name: 'verdict', paint: (cell, style) => (cell === 'met' ? style.green(cell) : style.red(cell)) },
]
const planColumns: readonly Column[] = [
  { name: 'turn' },
  { name: 'at', field: 'at_ms', text: time },
  { name: 'format' },
]

export const gameday: Command = {
  name: 'gameday',
  summary: 'Play a timeline of faults, and measure what an outage costs',
  details: [
    'The file has turns at a rate, a timeline of faults (partner_slow, rate_limited, away, consent_late) and what must hold. They are played twice, without the faults and with them: each turn starts at its planned time, whatever the responses do. Prints latency by phase, the funnel from request to billed view, what was lost and why, and how long it took to recover. Exit code 5 if an expectation is missed, or nothing could be measured.',
    'By default svc plays the turns itself, against sandboxes in memory. With --url it opens your page at the planned times, in a browser, while your app uses the running sandbox. With a command after -- it measures the requests of the command, which has a sandbox of its own in each run and starts twice; with both, the command serves the page.',
    'It is no load test of the service: the sandbox runs on this computer.',
  ].join('\n\n'),
  arguments: [
    new Argument('[file]', 'the game day, YAML; - for stdin'),
    new Argument('[-- command...]', 'the command whose requests are measured'),
  ],
  options: [
    new Option('--url <url>', 'open this page of your app for each turn'),
    new Option('--steps <file>', 'drive each page first: a YAML list of steps, as of svc observe'),
    browserPathOption,
    new Option('--html <file>', 'also write the result as a page with charts'),
    new Option('--dry-run', 'print the planned turns, and play nothing'),
    new Option('--schema', 'print the JSON schema of the file'),
  ],
  tables: [phaseColumns, funnelColumns, lossColumns, expectationColumns, planColumns],
  hasRows: true,
  passesThrough: true,
  examples: [
    'sandbox gameday gameday.yaml --dry-run',
    'sandbox gameday gameday.yaml --html gameday.html -o json',
    'sandbox gameday gameday.yaml --url http://localhost:3000',
    'sandbox gameday gameday.yaml -- node app.js',
  ],
  async run(context, { options, args, passthrough }: CommandInput<GamedayFlags>) {
    const { out, system } = context
    const { gamedaySchema } = await import('#gameday/gameday-file.ts')
    if (options.schema === true) {
      const schema = gamedaySchema()
      out.data(schema, () => JSON.stringify(schema, null, 2).split('\n'))
      return 0
    }
    const [file, ...words] = args.flat()
    if (file === undefined)
      throw new CliError('usage', 'file_missing', 'Name the file of the game day.', 'An example: svc docs game-days')
    if (words.length > 0)
      throw commandMissing(`svc sandbox gameday ${file} -- ${shownCommand(words.map(String))}`, system)
    checkUrl(options)
    const loaded = await loadFile(context, file)
    const { createPlan } = await import('#gameday/plan.ts')
    const plan = createPlan(loaded)
    if (options.dryRun === true) return printPlan(context, loaded, plan)
    return runGameday(context, loaded, plan, { ...options, command: passthrough?.length ? passthrough : null })
  },
}

function checkUrl({ url, steps, browserPath }: GamedayFlags): void {
  if (url === undefined) {
    const given = steps === undefined ? (browserPath === undefined ? null : '--browser-path') : '--steps'
    if (given === null) return
    throw new CliError('usage', 'url_missing', `${given} needs a page.`, 'Name it: --url http://localhost:3000')
  }
  checkPageUrl(url)
}

async function loadFile({ system }: CommandContext, file: string): Promise<Gameday> {
  const { loadGameday } = await import('#gameday/gameday-file.ts')
  const text = await readUserText(system, file)
  try {
    return loadGameday(text, displayName(file))
  } catch (error) {
    throw await suiteFailure(error, 'For an example of a game day: svc docs game-days')
  }
}

function printPlan({ out }: CommandContext, { name, seed }: Gameday, { turns, phases }: Plan): number {
  const rows = turns.map((turn, index) => ({ turn: index + 1, ...turn }))
  out.list({ gameday: name, seed, turns, phases }, rows, (style) => tableLines(planColumns, rows, style), planColumns)
  return 0
}

async function runGameday(
  context: CommandContext,
  loaded: Gameday,
  plan: Plan,
  { url, steps, browserPath, html, command }: GamedayFlags & { command: readonly string[] | null },
): Promise<number> {
  const { out, system } = context
  const drive = await loadDrive(context, steps)
  const { measureOwnTurns } = await import('./own-runs.ts')
  const { measureApp } = await import('./app-runs.ts')
  const { judgeRuns } = await import('#gameday/verdict.ts')
  const isOwn = url === undefined && command === null
  const app = { url: url ?? null, command, drive, browserPath }
  const seconds = Math.ceil((2 * (loaded.length_ms + loaded.view_ms)) / 1_000)
  out.note(`${loaded.name}: ${plan.turns.length} turns, twice, about ${seconds} s`)
  const measuring = isOwn ? measureOwnTurns(context, loaded, plan) : measureApp(context, loaded, plan, app)
  const { runs, looked_at } = await measuring.catch((error: unknown) => {
    // A timer rejects with an error of its own.
    context.signal.throwIfAborted()
    throw qaFailure(error)
  })
  const { name, seed, rate, length_ms, timeline } = loaded
  const verdict = judgeRuns(loaded, plan, runs)
  const report: GamedayReport = {
    ...{ gameday: name, seed, rate, length_ms, looked_at },
    ...verdict,
    ...{ timeline, plan: plan.turns, runs },
  }
  if (html !== undefined) {
    const { renderGameday } = await import('#gameday/page.ts')
    replaceFile(resolve(system.cwd, html), renderGameday(report, version))
  }
  const lines = await reportLines(report)
  out.list(report, phaseRows(report), lines)
  for (const line of looked_at) out.note(line)
  if (html !== undefined) out.note(`The page: ${html}`)
  return verdict.ok ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code
}

interface PhaseRow extends Omit<PhaseCounts, 'latency'> {
  phase: string
  faults: 'without' | 'with'
  from_ms: number
  to_ms: number
  median_ms: number | null
  p95_ms: number | null
  p99_ms: number | null
  max_ms: number | null
}

/** Returns two rows for each phase: without and with faults. */
function phaseRows({ phases }: GamedayReport): PhaseRow[] {
  const none = { median_ms: null, p95_ms: null, p99_ms: null, max_ms: null }
  return phases.flatMap(({ name, from_ms, to_ms, ...runs }) =>
    (['without', 'with'] as const).map((faults) => {
      const { latency, ...counts } = runs[faults]
      return { phase: name, faults, from_ms, to_ms, ...counts, ...(latency ?? none) }
    }),
  )
}

async function reportLines(report: GamedayReport): Promise<(style: Style) => string[]> {
  const { actualText, expectationNames, limitText } = await import('#gameday/report.ts')
  const judged = report.expectations.map((each) => ({
    name: expectationNames[each.expectation],
    expected: limitText(each),
    measured: actualText(each),
    verdict: each.ok ? 'met' : 'missed',
  }))
  // The second row of a phase is about the same.
  const phases = phaseRows(report).map((row, index) => (index % 2 === 0 ? row : { ...row, phase: '' }))
  return (style) =>
    [
      tableLines(phaseColumns, phases, style),
      tableLines(funnelColumns, report.funnel, style),
      report.losses.length === 0 ? [] : tableLines(lossColumns, report.losses, style),
      tableLines(expectationColumns, judged, style),
    ]
      .filter(({ length }) => length > 0)
      .flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]))
}
