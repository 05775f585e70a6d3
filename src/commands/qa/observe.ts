/** `svc qa observe`: drives or watches an integration, then judges its traffic and its page. */
import { Argument, InvalidArgumentError, Option } from 'commander'
import { curlCommand } from '../../cli/output/quoting.ts'
import type { Command } from '../../cli/run/command.ts'
import { CliError, exitCodes } from '../../cli/run/errors.ts'
import { type Session, sessionClient } from '../../cli/run/session.ts'
import { version } from '../../cli/run/version.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/index.ts'
import { findService } from '../../journal/facts/sandbox.ts'
import type { PageSeen } from '../../journal/observe/page/seen.ts'
import { readTraffic } from '../../journal/read.ts'
import { checkAgent, checkPrefix } from '../../qa/contract-check/mark.ts'
import type { RunResult } from '../../qa/result.ts'
import { type Driven, driveCommand } from '../fresh-sandbox.ts'
import { openPage } from './observe-page.ts'
import { reporterOf, reporterOption, reportFailure } from './run.ts'

export interface ObserveFlags {
  url?: string
  for?: number
  since?: string
  headed?: true
  browserPath?: string
  strict?: true
  reporter?: string[]
}

/** How far back the look goes, requests. */
const mostExchanges = 5_000

export const observe: Command = {
  name: 'observe',
  summary: 'Judge an integration by its traffic, and by its page',
  details: [
    'With a command behind --: runs it against a sandbox of its own, with the SVC_* variables set as by svc exec, and judges what it sent. With --url: opens the page in a browser, brings its ads into view, and judges the page too; the app runs against the sandbox that runs, or is the command behind --. With neither: watches the sandbox that runs until Ctrl-C. With --since: judges what the journal has.',
    "Exit code: the command's own where that is not 0; 5 when there is an error, or with --strict a warning; 7 without a sandbox or browser. Each rule is explained in docs/qa-observe.md.",
  ].join('\n\n'),
  arguments: [new Argument('[-- command...]', 'the integration, or its tests')],
  options: [
    new Option('--url <address>', 'the page to open in a browser'),
    new Option('--for <span>', 'how long to watch: 20s, 2m; with --url 20s unless --headed').argParser(span),
    new Option('--since <span>', 'judge what is there already: 10m, 2h, or epoch milliseconds'),
    new Option('--headed', 'show the browser: you use the page, and end with Ctrl-C'),
    new Option('--browser-path <file>', 'the Chrome or Chromium to use; default: the one that is found'),
    new Option('--strict', 'warnings fail too'),
    reporterOption,
  ],
  passesThrough: true,
  examples: ['qa observe -- npm test', 'qa observe --since 10m', 'qa observe --url http://localhost:3000 --for 30s'],
  async run(session, { options, args, passthrough }) {
    const flags = options as unknown as ObserveFlags
    checkFlags(session, flags, args.flat(), passthrough ?? [])
    const interrupt = new AbortController()
    session.onInterrupt((signal) => interrupt.abort(signal))
    const started_at_ms = session.host.now()
    if (passthrough?.length) {
      return driveCommand(session, passthrough, interrupt.signal, flags.url !== undefined, (driven) =>
        judgeDriven(session, flags, driven, interrupt.signal, started_at_ms),
      )
    }
    const { base_url, sandbox } = session.settings
    const client = sessionClient(session.settings, undefined)
    const { info } = await findService(client)
    if (info === null) throw sandboxMissing(session, base_url)
    const after = flags.since === undefined ? await newestRequest(client) : undefined
    const page = await watch(session, flags, base_url, interrupt.signal)
    return report(session, flags, {
      client,
      base_url,
      kind: sandbox === null ? 'service' : 'sandbox',
      since: flags.since,
      after,
      is_ended: flags.since !== undefined && flags.url === undefined,
      is_whole: false,
      page,
      what: flags.url ?? (flags.since === undefined ? 'the sandbox that runs' : `since ${flags.since}`),
      started_at_ms,
    })
  },
}

/** What a program did against a sandbox of its own. Its own failure comes before what it sent. */
async function judgeDriven(
  session: Session,
  flags: ObserveFlags,
  { base_url, secret_key, words, code, ready }: Driven,
  signal: AbortSignal,
  started_at_ms: number,
): Promise<number> {
  let page: PageSeen | null = null
  if (flags.url !== undefined) {
    await ready(flags.url)
    page = await watch(session, flags, base_url, signal)
  }
  const own = await code()
  const judged = await report(session, flags, {
    client: createClient({ base_url, credential: secret_key, validate: 'report' }),
    base_url,
    kind: 'fresh',
    since: undefined,
    after: undefined,
    is_ended: true,
    is_whole: true,
    page,
    what: words.join(' '),
    started_at_ms,
  })
  return own === 0 ? judged : own
}

/** What is watched begins after it; null where nothing came yet. */
async function newestRequest(client: Client): Promise<string | null> {
  const { items } = await client.requests.list({ query: { limit: 1 } })
  return items[0]?.request_id ?? null
}

/** Until the time is over or somebody interrupts; the page, where there is one. */
async function watch(
  session: Session,
  flags: ObserveFlags,
  base_url: string,
  signal: AbortSignal,
): Promise<PageSeen | null> {
  if (flags.url !== undefined) return openPage(session, { ...flags, url: flags.url }, base_url, signal)
  if (flags.since !== undefined && flags.for === undefined) return null
  const end = flags.for === undefined ? 'Ctrl-C judges it' : `it is judged after ${flags.for / 1_000} s`
  session.out.note(`watching ${base_url}: use the integration; ${end}`)
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, flags.for ?? longestTimer_ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
    if (signal.aborted) resolve()
  })
  return null
}

/** The longest a timer can wait: 24 days. */
const longestTimer_ms = 2 ** 31 - 1

interface Watched {
  client: Client
  base_url: string
  kind: RunResult['target']['kind']
  since: string | undefined
  after: string | null | undefined
  is_ended: boolean
  is_whole: boolean
  page: PageSeen | null
  what: string
  started_at_ms: number
}

async function report(session: Session, flags: ObserveFlags, watched: Watched): Promise<number> {
  const { judge } = await import('../../journal/observe/judge.ts')
  const { resultOf } = await import('../../journal/observe.ts')
  const { createObservationList } = await import('../../journal/observe-list.ts')
  const { host, out, settings, command_name } = session
  const { client, base_url, kind, since, after, is_ended, is_whole, page, what, started_at_ms } = watched
  const info = await client.sandbox.info()
  const reading = readTraffic(
    client,
    info,
    {
      since,
      after,
      most: mostExchanges,
      detailsOf: (items) => items,
      leaveOut: { user_agent: checkAgent, prefix: checkPrefix },
    },
    { client_id: settings.client_id, command_name },
  )
  const traffic = await out.progress('reading the journal', reading)
  if (traffic.exchanges.length >= mostExchanges) {
    out.note(`The newest ${mostExchanges} requests are judged; there were more.`)
  }
  const observed = { ...traffic, is_ended, is_whole: is_whole && traffic.exchanges.length < mostExchanges, page }
  const verdicts = judge(observed)
  const result = resultOf(verdicts, observed, {
    target: { base_url, kind, version: info.version, key_mode: 'test' },
    svc_version: version,
    started_at_ms,
    ended_at_ms: host.now(),
    is_strict: flags.strict === true,
    curl: ({ body, ...request }) => curlCommand({ ...request, ...(body === null ? {} : { body }) }),
  })
  const reporter = await reporterOf(session, flags, {
    list: (to) => createObservationList({ verdicts, observed, what }, to),
  })
  try {
    const { target, cases, svc_version } = result
    await reporter.start?.({ target, cases: cases.length, svc_version, started_at_ms })
    for (const each of cases) await reporter.case?.(each)
    await reporter.end?.(result)
  } catch (error) {
    throw await reportFailure(error)
  }
  const isFailed = result.cases.some(({ outcome }) => outcome === 'failed')
  return isFailed ? exitCodes.expectation.exit_code : exitCodes.ok.exit_code
}

function checkFlags(
  session: Session,
  { url, since, headed }: ObserveFlags,
  words: readonly (string | undefined)[],
  command: readonly string[],
): void {
  const problem = (code: string, message: string, hint: string) => new CliError('usage', code, message, hint)
  if (words.length > 0) {
    throw problem(
      'command_missing',
      'The command to run stands behind --.',
      `Try: ${session.command_name} qa observe -- ${words.join(' ')}`,
    )
  }
  if (url !== undefined && !/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
    throw problem('url_invalid', `'${url}' is not the address of a page.`, 'Write it whole: http://localhost:3000')
  }
  if (headed === true && url === undefined) {
    throw problem('url_missing', '--headed shows a page, and none is named.', 'Name it: --url http://localhost:3000')
  }
  if (command.length > 0 && since !== undefined) {
    throw problem(
      'since_of_fresh',
      'A command runs against a sandbox of its own, which has no past.',
      'Leave --since out, or the command.',
    )
  }
}

function sandboxMissing({ command_name }: Session, base_url: string): CliError {
  return new CliError(
    'unreachable',
    'target_missing',
    `No sandbox answers at ${base_url}: only a sandbox keeps the traffic that is to be judged.`,
    `Start one: ${command_name} start. Or let a command run against its own: ${command_name} qa observe -- npm test`,
  )
}

function span(text: string): number {
  const [, amount, unit] = /^(\d{1,6})(ms|s|m|h)$/.exec(text) ?? []
  const scale = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[unit ?? '']
  if (scale === undefined || Number(amount) === 0) throw new InvalidArgumentError('It must be such as 20s or 2m.')
  return Number(amount) * scale
}
