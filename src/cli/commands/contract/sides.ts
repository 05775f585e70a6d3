/** The two sides of `svc contract compare`, and the pairs of responses that come of them. */

import { basename } from 'node:path'
import type { CommandContext } from '#cli/run/command.ts'
import { commandClient } from '#cli/run/command-client.ts'
import { readUserText } from '#cli/run/user-file.ts'
import { isProductionKey } from '#client/exchange.ts'
import { keyOfStarted } from '#client/permitted-key.ts'
import { pageOrigin } from '#contract/origins.ts'
import { contractCheckClient } from '#contract/own-requests.ts'
import { type RecordedExchange, type Recording, RecordingError, readRecording } from '#contract/recordings/recording.ts'
import type { ExchangePair } from '#qa/contract-compare/findings.ts'
import type { CompareReport } from '#qa/contract-compare/report.ts'
import type { OwnValues } from '#qa/contract-compare/request-mapping.ts'
import { QaError } from '#qa/result.ts'
import { CliError } from '#text/cli-error.ts'
import { version } from '#text/version.ts'
import { startOnFreePort } from '../sandbox/emulator.ts'
import { createWaitNote, loadServiceSettings, requireSubject, runSuite, type Subject, targetError } from './service.ts'

export interface ComparedSides extends Omit<CompareReport, 'comparison' | 'renderer'> {
  /** Of the service; null when it was asked itself. */
  recording: Recording | null
  pairs: readonly ExchangePair[]
}

interface SideOptions {
  with: string | undefined
  /** For the sandbox that is started without `with`. */
  overrides: string | undefined
}

interface FileSide {
  kind: 'file'
  name: string
  recording: Recording
}

interface LiveSide {
  kind: 'live'
  name: string
  own: OwnValues
  /** Null for a sandbox that the command has started. */
  subject: Subject | null
  /** Moves its clock forward, milliseconds; null where it has none of its own. */
  passTime: ((time_ms: number) => Promise<void>) | null
  close(): Promise<void>
}

type Side = FileSide | LiveSide

/** Resolves to the pairs of two sides. Throws CliError. */
export async function openSides(context: CommandContext, first: string, options: SideOptions): Promise<ComparedSides> {
  if (options.with !== undefined && options.overrides !== undefined) {
    const hint = 'Leave it out: a sandbox is started with the overrides.'
    throw new CliError(
      'usage',
      'option_conflict',
      '--overrides is for the sandbox that is started without --with or --base-url.',
      hint,
    )
  }
  const service = await openSide(context, first)
  const other =
    options.with === undefined ? await openSandbox(context, options.overrides) : await openSide(context, options.with)
  try {
    return await pairSides(context, service, other)
  } finally {
    if (other.kind === 'live') await other.close()
  }
}

function openSide(context: CommandContext, word: string): Promise<Side> {
  return /^https?:\/\//i.test(word) ? openService(context, word) : openFile(context, word)
}

async function openFile({ system }: CommandContext, file: string): Promise<FileSide> {
  const text = await readUserText(system, file)
  try {
    return { kind: 'file', name: basename(file), recording: readRecording(text) }
  } catch (error) {
    if (!(error instanceof RecordingError)) throw error
    const hint = 'Give a HAR file: of svc record, svc requests export, the network panel of a browser, or a proxy.'
    throw new CliError('usage', 'recording_invalid', `${file} ${error.message}.`, hint)
  }
}

async function openService(context: CommandContext, url: string): Promise<LiveSide> {
  const settings = await loadServiceSettings(context, url)
  if (settings.secret_key !== null && isProductionKey(settings.secret_key)) {
    const hint = 'A comparison sends traffic. Use a key that begins with sk_test_.'
    throw new CliError('credentials', 'production_key', 'This is a production key.', hint)
  }
  const subject = requireSubject(settings, false)
  const { base_url, client_id, secret_key, publishable_key, origin } = subject
  return {
    kind: 'live',
    name: base_url,
    own: {
      base_url: base_url.replace(/\/+$/, ''),
      ...{ client_id, secret_key, publishable_key, origin },
      prefix: createPrefix(context),
    },
    subject,
    passTime: null,
    close: async () => {},
  }
}

/** Starts a sandbox in memory, which has no rate limit: the requests of days come at once. */
async function openSandbox(context: CommandContext, overrides: string | undefined): Promise<LiveSide> {
  const options = {
    port: 0,
    ephemeral: true,
    seed: 1,
    rate_limit: 'off',
    ...(overrides !== undefined && { overrides }),
  }
  const { sandbox } = await startOnFreePort(context, options)
  const { url, keys, projects } = sandbox
  const client = commandClient(context.system, { base_url: url, validate: false })
  return {
    kind: 'live',
    name: 'the sandbox',
    own: {
      base_url: url,
      ...{ client_id: keys.client_id, secret_key: keyOfStarted(sandbox), publishable_key: keys.publishable_key },
      origin: pageOrigin(projects[0]?.allowed_origins ?? []) ?? null,
      prefix: createPrefix(context),
    },
    subject: null,
    passTime: async (by_ms) => void (await client.clock.advance({ body: { by_ms } })),
    close: () => sandbox.close(),
  }
}

/** Sessions and beacons of a comparison are new to the service, and no report counts them as those of an integration. */
function createPrefix({ system }: CommandContext): string {
  return `${contractCheckClient.session_prefix}${system.randomText(12)}_`
}

async function pairSides(context: CommandContext, service: Side, other: Side): Promise<ComparedSides> {
  const names = {
    service: service.name,
    other: other.name,
    recording: service.kind === 'file' ? service.recording : null,
  }
  const left_out = [service, other].flatMap((side) => (side.kind === 'file' ? listLeftOut(side) : []))
  if (service.kind === 'file' && other.kind === 'file') {
    return { ...names, left_out, ...(await pairFiles(service, other)) }
  }
  const [recorded, live] = await chooseRecorded(context, service, other)
  const { exchanges } = recorded.recording
  const work = sendAll(context, exchanges, live, live === service)
  const sent = await context.out.progress(`sending ${exchanges.length} requests to ${live.name}`, work)
  return { ...names, left_out, ...sent }
}

/** Returns the side whose requests are sent, and the side that they are sent to. */
async function chooseRecorded(context: CommandContext, service: Side, other: Side): Promise<[FileSide, LiveSide]> {
  if (service.kind === 'file') return [service, other as LiveSide]
  if (other.kind === 'file') return [other, service]
  if (service.subject === null) throw new Error('the first side is never a started sandbox')
  const running = runSuite(context, service.subject)
  const { cases } = await context.out.progress(`checking ${service.name}`, running)
  const { toRecording } = await import('#qa/contract-compare/built-in-requests.ts')
  return [{ kind: 'file', name: service.name, recording: toRecording(cases, version) }, other]
}

async function sendAll(
  { system, signal, out }: CommandContext,
  exchanges: readonly RecordedExchange[],
  { name, own, passTime }: LiveSide,
  isService: boolean,
): Promise<Pick<ComparedSides, 'pairs' | 'not_compared'>> {
  const { replayExchanges, toPair } = await import('#qa/contract-compare/replay.ts')
  const pairs: ExchangePair[] = []
  const sending = replayExchanges(exchanges, {
    own,
    user_agent: contractCheckClient.user_agent,
    now: () => system.now(),
    signal,
    passTime,
    onWait: createWaitNote({ out }, name),
    onPair(exchange, recorded, sent) {
      pairs.push(...(isService ? toPair(exchange, sent, recorded) : toPair(exchange, recorded, sent)))
    },
  })
  const notCompared = await sending.catch((error: unknown) => {
    if (!(error instanceof QaError)) throw error
    throw targetError(error)
  })
  return { pairs, not_compared: listReasons(notCompared) }
}

async function pairFiles(service: FileSide, other: FileSide): Promise<Pick<ComparedSides, 'pairs' | 'not_compared'>> {
  const { pairExchanges } = await import('#qa/contract-compare/pairing.ts')
  const { toPair, toRecordedResponse } = await import('#qa/contract-compare/replay.ts')
  const { pairs, unpaired } = pairExchanges(service.recording.exchanges, other.recording.exchanges)
  const compared = pairs.flatMap(([one, two]) => toPair(one, toRecordedResponse(one), toRecordedResponse(two)))
  const reasons = new Map([
    [`only in ${service.name}`, unpaired.service],
    [`only in ${other.name}`, unpaired.other],
    ['a file of the service', pairs.length - compared.length],
  ])
  return { pairs: compared, not_compared: listReasons(reasons) }
}

function listReasons(reasons: ReadonlyMap<string, number>): CompareReport['not_compared'] {
  const listed = [...reasons].map(([why, count]) => ({ why, count }))
  return listed.filter(({ count }) => count > 0).toSorted((a, b) => b.count - a.count)
}

const leftOutWords: Readonly<Record<keyof Recording['left_out'], string>> = {
  not_of_api: 'not of this API',
  preflight: 'a preflight of a browser',
  no_response: 'without a response',
  unreadable: 'not readable as HAR 1.2',
}

function listLeftOut({ name, recording }: FileSide): CompareReport['left_out'] {
  return Object.entries(leftOutWords).flatMap(([reason, why]) => {
    const count = recording.left_out[reason as keyof Recording['left_out']]
    return count === 0 ? [] : [{ file: name, why, count }]
  })
}
