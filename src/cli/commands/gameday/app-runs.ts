/**
 * Both runs of a game day with the user's app: a command, which gets a sandbox of its own for each run, or pages that
 * are opened at the planned times, of an app that uses the running sandbox. What it did is read from the journal.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { callEndpoint } from '#cli/endpoint/endpoint-command.ts'
import type { CommandContext } from '#cli/run/command.ts'
import { commandClient } from '#cli/run/command-client.ts'
import type { Client } from '#client/client.ts'
import { readJournal } from '#diagnosis/journal.ts'
import { shownCommand } from '#foundation/redaction.ts'
import { withFaults } from '#gameday/fault-timeline.ts'
import type { Gameday } from '#gameday/gameday-file.ts'
import type { PageOpenings } from '#gameday/page-openings.ts'
import type { Plan } from '#gameday/plan.ts'
import type { RunRecord } from '#gameday/records.ts'
import { readReached, recordApp } from '#gameday/sandbox-reading.ts'
import type { BrowserHost } from '#qa/browser/launch.ts'
import type { PageSteps } from '#qa/browser/page-steps.ts'
import { CliError, InterruptError, nothingChecked } from '#text/cli-error.ts'
import { onFirstInterrupt, runWithSandbox, type SandboxProgram } from '../exec.ts'
import { listBases, untilResponding } from '../qa/observe.ts'
import { browserProgram, startBrowser } from '../qa/targets.ts'
import type { MeasuredRuns } from './own-runs.ts'

interface AppFlags {
  /** The page that is opened; null: the command makes the turns. */
  url: string | null
  /** The command; null: the app is running and uses the running sandbox. */
  command: readonly string[] | null
  drive: PageSteps | undefined
  browserPath: string | undefined
}

/** The maximum number of requests of a run that are read. */
const maxExchanges = 20_000
/** An app may have to be built before it requests an ad. */
const firstRequestMs = 120_000
const pollMs = 100

export async function measureApp(
  context: CommandContext,
  gameday: Gameday,
  plan: Plan,
  flags: AppFlags,
): Promise<MeasuredRuns> {
  const { url, command, browserPath } = flags
  const alternative = 'Without --url the turns of a command are measured.'
  const browser =
    url === null
      ? null
      : await startBrowser(
          context,
          await browserProgram(context, { engine: 'chromium', path: browserPath }, alternative),
          { reachable: 'anything' },
        )
  const runs: AppRunner = { context, gameday, plan, flags, browser, notes: [] }
  try {
    const run = (is_faulted: boolean) =>
      command === null ? measureService(runs, is_faulted) : measureCommand(runs, command, is_faulted)
    const without = await run(false)
    if (without.turns.length === 0) throw nothingToMeasure(flags)
    const faulted = await run(true)
    return { runs: { without, with: faulted }, looked_at: [describeApp(flags, without, faulted), ...runs.notes] }
  } finally {
    await browser?.close()
  }
}

interface AppRunner {
  context: CommandContext
  gameday: Gameday
  plan: Plan
  flags: AppFlags
  browser: BrowserHost | null
  /** Sentences about what was seen beside the turns. */
  notes: string[]
}

function describeApp({ url, command }: AppFlags, without: RunRecord, faulted: RunRecord): string {
  const what =
    command === null ? 'the running sandbox' : `a sandbox of its own for ${shownCommand(command)} in each run`
  const latency =
    url === null
      ? 'Latency is that of each request for an ad, up to its decision, as the sandbox recorded it: how long the app itself made users wait is not in it.'
      : `Latency is from the planned opening of ${url} to its first ad frame.`
  return `The turns are the requests for an ad in ${what}: ${without.turns.length} without faults, ${faulted.turns.length} with them. ${latency}`
}

function nothingToMeasure({ url, command }: AppFlags): CliError {
  const hint =
    command === null || url !== null
      ? `Does ${url} request an ad by itself? To use the page first: --steps FILE`
      : 'Does the command read SVC_BASE_URL, and request ads for as long as the run takes?'
  return nothingChecked('Nothing was measured: the app requested no ad in the run without faults.', hint)
}

/** Measures the app that uses the running sandbox. */
async function measureService({ context, ...runner }: AppRunner, is_faulted: boolean): Promise<RunRecord> {
  const { data: info } = await callEndpoint(context, 'sandbox.info', {})
  if (info.clock.frozen) {
    const hint = 'Let it run: svc sandbox clock resume'
    throw new CliError('usage', 'clock_frozen', 'The sandbox clock is frozen, so no fault would end.', hint)
  }
  const client = context.client()
  const own = (await client.faults.list()).items.length
  if (own > 0 && !is_faulted)
    runner.notes.push(`The sandbox has fault rules of its own (${own}), which both runs met: svc sandbox faults list`)
  const { base_url } = context.settings
  return measureSpan({ context, ...runner }, { client, base_url, program: null, signal: context.signal }, is_faulted)
}

/** Runs the command against a sandbox of its own. */
async function measureCommand(runner: AppRunner, command: readonly string[], is_faulted: boolean): Promise<RunRecord> {
  const { context, flags, notes } = runner
  const interrupt = onFirstInterrupt(context)
  let record: RunRecord | null = null
  const code = await runWithSandbox(context, command, { interrupt }, async (program) => {
    const client = commandClient(context.system, {
      base_url: program.base_url,
      credential: program.secret_key,
      validate: false,
    })
    const isReady = flags.url === null || (await untilResponding(flags.url, command, { ...program, interrupt }))
    if (!isReady) throw new InterruptError(String(interrupt.reason))
    const span = { client, base_url: program.base_url, program, signal: interrupt }
    record = await measureSpan(runner, span, is_faulted)
    const ended = program.exitCode()
    if (ended === null) program.group.end('SIGTERM')
    await program.group.ended
    return ended ?? 0
  }).catch((error: unknown) => {
    throw interrupt.aborted ? new InterruptError(String(interrupt.reason)) : error
  })
  if (record === null) throw new InterruptError(String(interrupt.reason))
  const failed = `${shownCommand(command)} ended with exit code ${code}`
  if (code !== 0 && !is_faulted) {
    const hint = 'Make it succeed first: what it does with faults would say nothing.'
    throw new CliError('expectation', 'command_failed', `${failed} without faults.`, hint)
  }
  if (code !== 0) notes.push(`${failed} with faults.`)
  return record
}

interface Span {
  client: Client
  base_url: string
  /** The command, until whose end turns are made. */
  program: SandboxProgram | null
  signal: AbortSignal
}

/** Measures what the app does in the time of the plan. */
async function measureSpan(runner: AppRunner, span: Span, is_faulted: boolean): Promise<RunRecord> {
  const { context, gameday } = runner
  const { client, program, signal } = span
  const newest = await client.requests.list({ query: { limit: 1 } })
  const after = newest.items[0]?.request_id ?? null
  if (runner.browser === null && program !== null) await untilFirstRequest(client, program, signal)
  const { now_ms } = await client.clock.show()
  const work = (signal: AbortSignal) => makeTurns(runner, span, { signal, is_faulted })
  const playing = is_faulted ? withFaults(client, gameday, signal, work) : work(signal)
  const what = `measuring the app for ${gameday.length_ms / 1_000} s ${is_faulted ? 'with' : 'without'} faults`
  const openings = await context.out.progress(what, playing)
  signal.throwIfAborted()
  const about = { client_id: null, command_name: context.command_name }
  const journal = await readJournal(client, await client.sandbox.info(), { after, limit: maxExchanges }, about)
  if (journal.exchanges.length >= maxExchanges)
    runner.notes.push(`Only the newest ${maxExchanges} requests of a run are measured.`)
  if (openings !== null && openings.failed > 0)
    runner.notes.push(
      `${openings.failed} of ${openings.waits.length} pages failed ${is_faulted ? 'with' : 'without'} faults, the first: ${openings.failure}`,
    )
  const first_ms = Math.min(now_ms, ...journal.exchanges.map(({ at_ms }) => at_ms))
  return recordApp({
    exchanges: journal.exchanges,
    placements: journal.placements,
    reached: await readReached(client, first_ms),
    started_at_ms: now_ms,
    length_ms: gameday.length_ms,
    waits: openings?.waits ?? null,
  })
}

/** Opens pages, or lets the command go on, for the time of the plan and until its last turns have ended. */
async function makeTurns(
  { context, gameday, plan, flags, browser }: AppRunner,
  { base_url, program }: Span,
  { signal, is_faulted }: { signal: AbortSignal; is_faulted: boolean },
): Promise<PageOpenings | null> {
  const { url, drive } = flags
  if (browser !== null && url !== null) {
    const { openPages } = await import('#gameday/page-openings.ts')
    const app = {
      url,
      drive,
      bases: listBases(base_url),
      browser: await browser.get(),
      browser_name: browser.name,
      now: () => context.system.now(),
    }
    return openPages(gameday, plan, app, { signal, is_faulted })
  }
  const span = sleep(gameday.length_ms + gameday.patience_ms + gameday.view_ms, undefined, { signal })
  await Promise.race([span, program?.group.ended])
  return null
}

/** Resolves when the command has requested an ad, has ended, or took too long. */
async function untilFirstRequest(client: Client, program: SandboxProgram, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + firstRequestMs
  const paths = ['/v1/placements', '/v1/jobs', '/public/wrapper/v1/jobs']
  while (performance.now() < deadline && program.exitCode() === null) {
    signal.throwIfAborted()
    for (const path of paths) {
      const { items } = await client.requests.list({ query: { limit: 1, method: 'POST', path } })
      if (items.length > 0) return
    }
    await sleep(pollMs, undefined, { signal })
  }
}
