/** `svc observe`: runs or watches an integration, then judges its requests and its page. */

import { setTimeout as sleep } from 'node:timers/promises'
import { Argument, Option } from 'commander'
import { findService, type Machine } from '#cli/doctor/machine.ts'
import { durationMs, repeatable, sinceText } from '#cli/endpoint/option-values.ts'
import { codeOfSignal } from '#cli/process/process-group.ts'
import type { Command, CommandContext, CommandInput } from '#cli/run/command.ts'
import { commandClient, serviceClient } from '#cli/run/command-client.ts'
import { noSandboxFor } from '#cli/run/errors.ts'
import { readUserText } from '#cli/run/user-file.ts'
import type { Client } from '#client/client.ts'
import { fetchText } from '#client/node-fetch.ts'
import type { BillingVerdict } from '#contract/resources/placements.ts'
import type { PageSeen } from '#diagnosis/facts/page.ts'
import { gatherServed } from '#diagnosis/facts/served-files.ts'
import { readJournal } from '#diagnosis/journal.ts'
import type { Watched } from '#diagnosis/observe.ts'
import type { ObserveFile } from '#diagnosis/observe-file/observe-file.ts'
import { curlCommand, isLoopback } from '#foundation/http.ts'
import { shownCommand } from '#foundation/redaction.ts'
import type { PageSteps } from '#qa/browser/page-steps.ts'
import type { RunResult } from '#qa/result.ts'
import { CliError, exitCodes, nothingChecked } from '#text/cli-error.ts'
import { version } from '#text/version.ts'
import { onFirstInterrupt, runWithSandbox, type SandboxProgram } from '../exec.ts'
import { loadProjectFile, observeFileName, requireReplaceable, writeProjectFile } from './observe-file.ts'
import { checkFlags, headedFlag, isOfFilesOnly, type ObserveFlags } from './observe-flags.ts'
import { watchOtherSandboxes } from './other-sandboxes.ts'
import { createReporter, reportOptions, reportRun } from './reports.ts'
import { suiteFailure } from './suites.ts'
import { browserPathOption, browserProgram, parseEngine, startBrowser } from './targets.ts'
import { explainNothing, explainUnseen, isOfApp } from './unseen-app.ts'

/** The maximum number of exchanges of the journal that are judged. */
const maxExchanges = 5_000
/** The maximum number of ads of a page of which the billing verdict is read. */
const maxBills = 200
/** How long a page is watched by default. */
const pageWatchMs = 20_000
/** An app may have to be built before it responds. */
const readyTimeoutMs = 120_000
/** How long a program may take to find that its port is taken. */
const takenPortMs = 3_000
const phoneContext = { viewport: { width: 390, height: 844 }, hasTouch: true, deviceScaleFactor: 2 }
/** How much longer than `--for` a watch can take without a word. */
const unnoticedDelayMs = 10_000
/** The longest a timer can wait: 24 days. */
const maxTimerMs = 2 ** 31 - 1

export const observe: Command = {
  name: 'observe',
  summary: 'Judge an integration by its requests and its page',
  details: [
    'With a command after --: runs it against its own sandbox, with the SVC_* variables set as by svc exec, and judges what it sent. With --url: opens the page in a browser, scrolls its ads into view, and judges the page too; the app uses the running sandbox, or is the command after --. A page that asks for consent or waits for a question is driven by a file of steps (--steps: click, fill, press, wait, wait_for, run, cmp), or by you (--interactive). With neither: watches the running sandbox until Ctrl-C. With --since: judges what the journal already has. With --serve-dir: searches files that browsers get for secret keys and a missing stub, alone or beside the others.',
    "Exit code: the command's own unless that is 0; 5 if there is an error or, with --strict, a warning, and if it saw no request of the app or, with --url, none for an ad; 7 without a sandbox or browser. Each rule is explained in docs/qa-observe.md.",
    `${observeFileName} here or in a directory above has what is accepted, planned and off.`,
  ].join('\n\n'),
  arguments: [new Argument('[-- command...]', 'the integration, or its tests')],
  options: [
    new Option('--url <address>', 'the page to open in a browser'),
    new Option('--steps <file>', 'drive the page first: a YAML list of click, fill, press, wait, wait_for, run, cmp'),
    new Option('--interactive', 'open a window: you use the page, and stop with Ctrl-C'),
    new Option('--headed', 'the same as --interactive'),
    new Option('--phone', 'show the page in a window of 390 x 844 pixels, as a phone has'),
    new Option('--for <span>', 'how long to watch: 20s, 2m; with --url 20s unless --interactive').argParser(durationMs),
    new Option('--since <span>', 'judge what the journal already has: 10m, 2h, or epoch milliseconds').argParser(
      sinceText,
    ),
    repeatable('--serve-dir <dir-or-url>', 'judge the files that browsers get from there too'),
    new Option('--browser <engine>', 'chromium, firefox or webkit; default: chromium'),
    browserPathOption,
    new Option('--strict', 'also fail on warnings'),
    new Option('--accept-current', `write ${observeFileName}, which accepts what is found and plans what is seen`),
    new Option('--force', `with --accept-current: replace ${observeFileName}`),
    ...reportOptions,
  ],
  usualFlags:
    '--url --steps --interactive --for --since --serve-dir --browser --strict --accept-current --force --reporter --compare-with',
  passesThrough: true,
  examples: [
    'observe -- npm test',
    'observe --since 10m',
    'observe --url http://localhost:3000 --for 30s',
    'observe --url http://localhost:3000 --steps ask.yaml -- npm start',
  ],
  async run(context, { options: given, args, passthrough }: CommandInput<ObserveFlags>) {
    checkFlags(context.system, given, args.flat(), passthrough ?? [])
    // Wrong names are reported before anything is watched.
    await createReporter(context, given)
    const file = await loadProjectFile(context)
    if (given.acceptCurrent === true) requireReplaceable(file, given.force === true)
    const drive = await loadDrive(context, given.steps)
    const flags = { ...given, file, drive, interrupt: onFirstInterrupt(context), started_at_ms: context.system.now() }
    return passthrough?.length ? observeProgram(context, flags, passthrough) : observeService(context, flags)
  },
}

/** The flags, with the function that drives the page, and the signal that ends the watch. */
type Watching = ObserveFlags & {
  /** The file of the project with what is accepted; null without one. */
  file: ObserveFile | null
  drive: PageSteps | undefined
  interrupt: AbortSignal
  /** Epoch milliseconds of the system clock. */
  started_at_ms: number
}

/** Resolves to a function that performs the steps of a file, before anything is started. Throws CliError. */
export async function loadDrive({ system }: CommandContext, file: string | undefined): Promise<PageSteps | undefined> {
  if (file === undefined) return undefined
  const { loadPageSteps } = await import('#qa/browser/page-steps.ts')
  const text = await readUserText(system, file)
  try {
    return loadPageSteps(text, file, undefined, () => system.now())
  } catch (error) {
    throw await suiteFailure(error, 'A list of steps: [{ click: text=Accept }, { wait_for: visible }]')
  }
}

/** Judges the requests of the running sandbox from now on, or with --since those already in its journal. */
async function observeService(context: CommandContext, flags: Watching): Promise<number> {
  const { base_url, sandbox, source } = context.settings
  // What responds at the default address is not known to be the sandbox that is meant.
  if (source.base_url === 'default') throw sandboxMissing(context, null)
  const client = serviceClient(context.system, context.settings)
  const { info, service } = await findService(client, base_url)
  if (info === null) throw sandboxMissing(context, service)
  const isOver = flags.since !== undefined || isOfFilesOnly(flags)
  const after = flags.since === undefined ? await newestRequest(client) : undefined
  const findOther = !isOver ? await watchOtherSandboxes(context.system, base_url) : async () => null
  return report(context, flags, {
    page: await watch(context, flags, base_url),
    client,
    base_url,
    kind: sandbox === null ? 'service' : 'sandbox',
    after,
    is_ended: isOver && flags.url === undefined,
    what:
      flags.url ??
      (flags.since === undefined ? (flags.serveDir?.join(', ') ?? 'the running sandbox') : `since ${flags.since}`),
    findOther,
  })
}

/** Judges the requests of a program against its own sandbox. The program's own failure takes precedence. */
function observeProgram(context: CommandContext, flags: Watching, words: readonly string[]): Promise<number> {
  const { url, interrupt } = flags
  const isServer = url !== undefined
  return runWithSandbox(context, words, { interrupt, forwards: !isServer }, async (program) => {
    const { base_url, secret_key, group } = program
    const findOther = await watchOtherSandboxes(context.system, base_url)
    if (isServer && !(await untilResponding(url, words, { ...program, interrupt }))) {
      context.out.note(`stopped before ${url} responded: nothing was judged`)
      return codeOfSignal(interrupt.reason)
    }
    const page = isServer ? await watch(context, flags, base_url) : null
    if (isServer) await requireOwnServer(url, words, program)
    const isStopped = isServer && program.exitCode() === null
    if (isStopped) group.end('SIGTERM')
    const code = await group.ended
    return report(context, flags, {
      client: commandClient(context.system, { base_url, credential: secret_key, validate: 'report' }),
      base_url,
      kind: 'fresh',
      is_ended: true,
      page,
      what: shownCommand(words),
      command_code: isStopped ? 0 : code,
      findOther,
    })
  })
}

/** Returns the newest request of the journal, after which the watch begins; null when there is none. */
async function newestRequest(client: Client): Promise<string | null> {
  const { items } = await client.requests.list({ query: { limit: 1 } })
  return items[0]?.request_id ?? null
}

/** Resolves when the time is up or the user interrupts, with the records of the page if one is watched. */
async function watch(context: CommandContext, flags: Watching, base_url: string): Promise<PageSeen | null> {
  const { url, for: for_ms, since, interrupt } = flags
  if (url !== undefined) return watchInBrowser(context, { ...flags, url }, base_url)
  if ((since !== undefined && for_ms === undefined) || isOfFilesOnly(flags)) return null
  const end = for_ms === undefined ? 'press Ctrl-C to judge it' : `it is judged after ${for_ms / 1_000} s`
  context.out.note(`watching ${base_url}: use the integration; ${end}`)
  await sleep(for_ms ?? maxTimerMs, undefined, { signal: interrupt }).catch(() => {})
  return null
}

async function watchInBrowser(
  context: CommandContext,
  {
    url,
    for: for_ms,
    browser: word,
    browserPath,
    steps,
    drive,
    interrupt,
    phone,
    ...flags
  }: Watching & { url: string },
  base_url: string,
): Promise<PageSeen> {
  const { PageUnreachable, watchPage } = await import('#diagnosis/facts/page.ts')
  const { locateKeys } = await import('#diagnosis/facts/key-sources.ts')
  const is_headed = headedFlag(flags) !== null
  const alternative = 'Without --url only the requests are judged.'
  const engine = parseEngine(word ?? 'chromium')
  const path = await browserProgram(context, { engine, path: browserPath, is_headed }, alternative)
  const browser = await startBrowser(context, path, { engine, reachable: 'anything', is_headed })
  const length_ms = for_ms ?? (is_headed ? null : pageWatchMs)
  const driven = steps === undefined ? '' : `, driving it with ${steps}`
  const end =
    length_ms === null
      ? ': use it; press Ctrl-C or close its window to judge it'
      : ` for ${length_ms / 1_000} s; press Ctrl-C to judge it now`
  context.out.note(`watching ${url}${driven}${end}`)
  const prepare = drive?.prepare
  const bases = listBases(base_url)
  const options = {
    url,
    browser_name: browser.name,
    bases,
    for_ms: length_ms,
    signal: interrupt,
    is_headed,
    drive,
    ...(prepare && { prepare }),
    // Firefox emulates no phone but its window and its touch.
    ...(phone && { context: { ...phoneContext, ...(engine !== 'firefox' && { isMobile: true }) } }),
  }
  try {
    const opened = await browser.get()
    const started_at_ms = context.system.now()
    const seen = await watchPage(opened, options)
    const took_ms = context.system.now() - started_at_ms
    if (length_ms !== null && took_ms > length_ms + unnoticedDelayMs && !interrupt.aborted)
      context.out.note(`it took ${Math.round(took_ms / 1_000)} s, with what opens, drives and measures the page`)
    return await locateKeys(seen, context.system.cwd)
  } catch (error) {
    if (!(error instanceof PageUnreachable)) throw error
    throw new CliError('unreachable', 'page_unreachable', error.message, error.hint)
  } finally {
    await browser.close()
  }
}

/** Returns every base URL that a page may use to call the service: a local one has several names. */
export function listBases(base_url: string): string[] {
  const { hostname, port, protocol } = new URL(base_url)
  if (!isLoopback(hostname)) return [base_url]
  return ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${protocol}//${name}:${port}`)
}

/**
 * Resolves to true when the URL responds, or to false when it is interrupted. Throws CliError if the program ends first, also
 * when another server responds in its place, or after `readyTimeoutMs`.
 */
export async function untilResponding(
  url: string,
  words: readonly string[],
  program: SandboxProgram & { interrupt: AbortSignal },
): Promise<boolean> {
  const { group, exitCode, interrupt } = program
  const deadline = AbortSignal.timeout(readyTimeoutMs)
  const pause = (duration_ms: number) =>
    Promise.race([sleep(duration_ms, undefined, { signal: interrupt }).catch(() => {}), group.ended])
  for (let isFirst = true; !deadline.aborted && !interrupt.aborted; isFirst = false) {
    if (await isResponding(url, AbortSignal.any([deadline, interrupt]))) {
      // A program that has only just started hardly responds: it may be about to find its port taken.
      if (isFirst) await pause(takenPortMs)
      await requireOwnServer(url, words, program)
      return !interrupt.aborted
    }
    // Rejects here if the program could not be started.
    if (exitCode() !== null) {
      const message = `${shownCommand(words)} ended with ${await group.ended} before ${url} responded.`
      throw new CliError('unreachable', 'program_ended', message, 'Give the command that serves the page.')
    }
    await pause(100)
  }
  if (interrupt.aborted) return false
  const message = `${url} did not respond within ${readyTimeoutMs / 1_000} s.`
  throw new CliError('unreachable', 'page_unreachable', message, 'Is it the address that the command serves?')
}

function isResponding(url: string, signal: AbortSignal): Promise<boolean> {
  return fetchText(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(5_000)]) }).then(
    () => true,
    () => false,
  )
}

/** Throws CliError if the program has failed and the URL responds all the same: what was seen there is not the app. */
async function requireOwnServer(url: string, words: readonly string[], { exitCode }: SandboxProgram): Promise<void> {
  const code = exitCode()
  // What has ended well may have started the app elsewhere.
  if (code === null || code === 0 || !(await isResponding(url, AbortSignal.timeout(5_000)))) return
  const message = `${shownCommand(words)} ended with ${code}, and another server responds at ${url}: nothing was judged.`
  const hint = 'End that server, or let the command listen on another port, and name it in --url.'
  throw new CliError('unreachable', 'program_ended', message, hint)
}

interface Observation {
  client: Client
  base_url: string
  kind: RunResult['target']['kind']
  /** The newest request before the watch. */
  after?: string | null | undefined
  is_ended: boolean
  page: PageSeen | null
  /** `npm test`, `http://localhost:3000`. */
  what: string
  /** The exit code of a command that was not stopped: another than 0 comes before the verdict. */
  command_code?: number
  /** Resolves to a sentence about another sandbox that got the requests of the app, or null. */
  findOther: () => Promise<string | null>
}

async function report(context: CommandContext, flags: Watching, observation: Observation): Promise<number> {
  const { countLookedAt, toRunResult } = await import('#diagnosis/observe.ts')
  const { createObservationList } = await import('#diagnosis/observation-list.ts')
  const { withObserveFile } = await import('#diagnosis/observe-file/apply.ts')
  const { system, out, settings, command_name } = context
  const { client, base_url, kind, after, is_ended, page, what, command_code = 0 } = observation
  const { since, started_at_ms } = flags
  const info = await client.sandbox.info()
  const about = { client_id: settings.client_id, command_name }
  const reading = readJournal(client, info, { since, after, limit: maxExchanges }, about)
  const journal = await out.progress('reading the journal', reading)
  const isCut = journal.exchanges.length >= maxExchanges
  if (isCut) out.note(`Only the newest ${maxExchanges} requests are judged.`)
  const bills = await readBills(client, page)
  const served = await gatherPlaces(flags.serveDir ?? [], system.cwd)
  const watched = { ...journal, is_ended, is_whole: kind === 'fresh' && !isCut, page, bills, served }
  const { verdicts, applied } = await judgeByFile(context, flags, watched)
  const key_mode = 'test' as const
  const target = { base_url, kind, version: info.version, key_mode, ...(page !== null && { browser: page.browser }) }
  const unseen = await explainUnseen(watched, flags, observation)
  const nothing = explainNothing(watched, verdicts, base_url)
  const run = toRunResult(verdicts, watched, {
    target,
    svc_version: version,
    started_at_ms,
    ended_at_ms: system.now(),
    is_strict: flags.strict === true,
    curl: ({ body, ...request }) => curlCommand({ ...request, ...(body === null ? {} : { body }) }),
    looked_at: `${countLookedAt(watched)} of ${what}`,
    failed_because: [
      ...(command_code === 0 ? [] : [`${what} ended with exit code ${command_code}.`]),
      ...(nothing === null ? [] : [nothing]),
    ],
  })
  const result = withObserveFile(run, applied)
  await reportRun(context, flags, result, {
    list: (to) => createObservationList({ verdicts, watched, what, file_findings: applied.findings }, to),
  })
  const isFailed = result.cases.some(({ outcome }) => outcome === 'failed')
  if (!isFailed && nothing !== null) {
    if (command_code === 0) throw nothingChecked(nothing, unseen ?? 'The list above says why.')
    out.note(nothing)
  }
  if (!isFailed && unseen !== null) out.note(unseen)
  if (command_code !== 0) return command_code
  return isFailed ? exitCodes.expectation.exit_code : exitCodes.ok.exit_code
}

/** Reads the files of each place. Throws CliError for one that has none to read: that is no finding about the app. */
async function gatherPlaces(places: readonly string[], cwd: string) {
  const served = await Promise.all(places.map((place) => gatherServed(place, cwd)))
  const unreadable = served.find(({ problem, files }) => problem !== null && files === 0)
  if (unreadable === undefined) return served
  const message = `--serve-dir ${unreadable.place} cannot be read: ${unreadable.problem}.`
  throw new CliError('usage', 'file_unreadable', message, 'Correct the path or address.')
}

/** Reads what the service would bill for each ad that was in the page. */
async function readBills(client: Client, page: PageSeen | null): Promise<Map<string, BillingVerdict>> {
  const slots = [...new Set(page?.mounts.map(({ slot_id }) => slot_id))].slice(0, maxBills)
  const read = slots.map(async (slot_id) => {
    // An ad of another service has a slot that this one does not know.
    const detail = await client.placements.explain({ params: { slot_id } }).catch(() => null)
    return [slot_id, detail?.billing ?? null] as const
  })
  return new Map((await Promise.all(read)).flatMap(([slot_id, billing]) => (billing ? [[slot_id, billing]] : [])))
}

/** Resolves to the verdicts with what the file of the project did to them; with --accept-current it is written first. */
async function judgeByFile(context: CommandContext, { file, acceptCurrent }: Watching, watched: Watched) {
  const { judge } = await import('#diagnosis/observe.ts')
  const { applyToVerdicts } = await import('#diagnosis/observe-file/verdicts.ts')
  const verdicts = judge(watched)
  const now_ms = context.system.now()
  const isWritten = acceptCurrent === true && watched.exchanges.some(isOfApp)
  const used = isWritten ? await writeProjectFile(context, { verdicts, watched, earlier: file, now_ms }) : file
  return applyToVerdicts(verdicts, watched, used, now_ms)
}

function sandboxMissing({ settings }: CommandContext, service: Machine['service'] | null): CliError {
  const { base_url, source } = settings
  if (typeof service === 'object' && service !== null) {
    const { message, hint } = service
    return new CliError(
      'unreachable',
      'target_unreadable',
      `The sandbox at ${base_url} cannot be read: ${message}`,
      hint,
    )
  }
  const hint = 'Start one: svc start. Or run a command against its own: svc observe -- npm test'
  if (source.base_url === 'default') return noSandboxFor(settings, hint)
  const message = `No sandbox responds at ${base_url}. Only a sandbox records the requests to judge.`
  return new CliError('unreachable', 'target_missing', message, hint)
}
