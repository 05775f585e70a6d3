/** `svc record` passes the requests of an app on to the service, and writes each exchange to a HAR file. */

import { resolve } from 'node:path'
import { InvalidArgumentError, Option } from 'commander'
import { portNumber } from '#cli/endpoint/option-values.ts'
import type { Command, CommandContext, CommandInput } from '#cli/run/command.ts'
import { unwritable } from '#cli/run/file-errors.ts'
import { refuseOpenWay } from '#cli/settings/settings.ts'
import { isLoopback } from '#foundation/http.ts'
import { readErrorCode } from '#foundation/system-error.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { openRecorder, type Recorder, type RecorderOptions } from '#recordings/recorder.ts'
import { createRecordingFile, type RecordingFile, ReplacedFileError } from '#recordings/recording-file.ts'
import type { Refusal } from '#recordings/refusals.ts'
import { createSession, type RecordingSummary } from '#recordings/session.ts'
import { requestLine } from '#tail/request-line.ts'
import { CliError } from '#text/cli-error.ts'
import { plural } from '#text/text.ts'
import { version } from '#text/version.ts'
import { forceOption } from '../files.ts'

const defaultPort = 4030
const defaultFile = 'recording.har'

export const record: Command = {
  name: 'record',
  summary: 'Record what an app and the service say to each other',
  details: [
    'Passes every request of the app on to the service, and its responses back, and writes each exchange to a HAR 1.2 file, without keys, tokens, prompt texts and personal data. Give the app the printed address as its base URL, and a test key of the service. Pages, frames and WebSockets work through it: addresses of the service in responses become those of the pass-through; in the file they stay.',
    'Prints one line for each exchange, until Ctrl-C, with exit code 0. The file is complete at every moment, also after a kill. A production key is refused without --allow-live: that traffic would count. Listens on loopback only, and without TLS.',
  ].join('\n\n'),
  options: [
    new Option('--upstream <url>', 'base URL of the service').argParser(serviceUrl).makeOptionMandatory(),
    new Option('--out <file>', 'the HAR file to write').default(defaultFile),
    new Option('--port <port>', 'port of 127.0.0.1 to listen on; 0 for any free one')
      .argParser(portNumber)
      .default(defaultPort),
    new Option('--allow-live', 'pass on production keys: their traffic counts, and is billed'),
    forceOption(),
  ],
  outlivesTerminal: true,
  examples: [
    'record --upstream https://ads.example.com',
    'record --upstream https://ads.example.com --out turn.har --port 0 -o json',
  ],
  run,
}

function serviceUrl(text: string): URL {
  const url = URL.parse(text)
  const isService = url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
  if (isService && url.username === '' && url.password === '') return url
  throw new InvalidArgumentError('It must be an http or https URL without a query, such as https://ads.example.com.')
}

async function run(context: CommandContext, { options }: CommandInput): Promise<number> {
  const { out, settings, system } = context
  const upstream = options.upstream as URL
  refuseOpenWay(upstream.href, settings.allow_http)
  const path = resolve(system.cwd, String(options.out))
  const ended = new Promise<null>((end) => context.onInterrupt(() => end(null)))
  let fail: (error: unknown) => void = () => {}
  const failed = new Promise<unknown>((end) => {
    fail = end
  })
  const recorder = await open(context, {
    upstream,
    port: options.port as number,
    allow_live: options.allowLive === true,
    now: system.now,
    onExchange: (passed) => session.add(passed),
    onRefusal(refusal, what) {
      out.note(`A ${what} was not sent: ${refusalNotes[refusal]}`)
      session.countRefusal()
    },
  })
  const session = createSession({
    origin: upstream.origin,
    file: await createFile(path, options.overwrite === true, recorder),
    onEntry: (detail) => out.format !== 'json' && out.item(detail, (style) => requestLine(detail, style)),
    onFailure: (error) => fail(describeFileFailure(path, error)),
  })
  printReady(context, recorder, upstream, path)
  const failure = await Promise.race([ended, failed])
  await recorder.close()
  printSummary(context, await session.finish())
  if (failure !== null) throw failure
  return 0
}

const refusalNotes: Readonly<Record<Refusal, string>> = {
  live_key: 'it has a production key. Use a test key, or start with --allow-live.',
  host: 'its Host header names another host. Use the printed URL.',
  other_site: 'a page of another site sent it without a credential. Serve your app on localhost.',
  target: 'it names a URL where a path belongs. The printed URL is a base URL, not that of a proxy.',
  opaque: 'svc cannot look into it for a production key. Send it uncompressed, or start with --allow-live.',
  headers: 'its headers are longer than 256 kB.',
  unreadable: 'the response of the service cannot be read.',
  unreachable: 'the service did not respond.',
}

async function open(context: CommandContext, options: RecorderOptions): Promise<Recorder> {
  const { upstream, port } = options
  const isOwn = isLoopback(upstream.hostname) && upstream.protocol === 'http:' && Number(upstream.port || 80) === port
  if (isOwn) {
    const hint = `Give the port of the service, or another one of this command: --port ${port + 1}`
    throw new CliError('usage', 'upstream_is_own', `--upstream ${upstream.origin} is this command itself.`, hint)
  }
  try {
    return await openRecorder(options)
  } catch (error) {
    if (readErrorCode(error) !== 'EADDRINUSE') throw error
    const { describeHolder } = await import('#cli/process/port-holder.ts')
    const { sandbox } = context.settings
    const sandboxes = sandbox === null ? [] : [sandbox]
    const holder = await describeHolder(context.system, { host: '127.0.0.1', port, sandboxes })
    const hint = `Try: --port ${port + 1}, or --port 0 for any free one.`
    throw new CliError('busy', 'port_in_use', `Port ${port} is taken by ${holder}.`, hint)
  }
}

function describeFileFailure(path: string, error: unknown): unknown {
  if (!(error instanceof ReplacedFileError)) {
    return unwritable(path, error, 'Free some space, or give another place: --out FILE.')
  }
  const hint = 'Give each recording a file of its own: --out FILE.'
  return new CliError('busy', 'file_replaced', `${path} was replaced or removed, so the recording ended.`, hint)
}

async function createFile(path: string, overwrite: boolean, recorder: Recorder): Promise<RecordingFile> {
  try {
    return createRecordingFile(path, { version, overwrite })
  } catch (error) {
    await recorder.close()
    if (readErrorCode(error) === 'EEXIST' && overwrite) {
      throw new CliError('usage', 'not_a_file', `${path} is not a file.`, 'Give another name with --out FILE.')
    }
    if (readErrorCode(error) === 'EEXIST') {
      const hint = 'Give another name with --out FILE, or --force to replace it.'
      throw new CliError('usage', 'file_exists', `${path} exists.`, hint)
    }
    throw unwritable(path, error, 'Check the directory, its permissions and the free space.')
  }
}

function printReady({ out }: CommandContext, { url }: Recorder, upstream: URL, file: string): void {
  if (out.format === 'json' || out.format === 'jsonl') {
    out.item({ type: 'recording', url, upstream: upstream.href.replace(/\/$/, ''), file }, () => '')
    return
  }
  out.note(`Recording ${upstream.origin} to ${file}`)
  out.note(`Base URL for the app: ${url}`)
  out.note('Ctrl-C ends the recording.')
}

function printSummary({ out }: CommandContext, summary: RecordingSummary): void {
  if (out.format === 'json') return
  const { file, exchanges, endpoints, left_out } = summary
  const rows = [
    ...Object.entries(endpoints)
      .toSorted(([, one], [, other]) => other - one)
      .map(([endpoint, times]) => [times, findEntry(endpointNames, endpoint) ?? endpoint] as const),
    ...Object.entries(left_out).map(
      ([reason, times]) => [times, `left out: ${findEntry(leftOutNames, reason) ?? reason}`] as const,
    ),
  ]
  const hint = exchanges === 0 ? ' Give the app the printed URL as its base URL.' : ''
  out.item({ type: 'summary', ...summary }, () => [
    '',
    `Recorded ${plural(exchanges, 'exchange')} in ${file}.${hint}`,
    ...rows.map(([times, name]) => `${String(times).padStart(8)}  ${name}`),
  ])
}

const endpointNames: Readonly<Record<string, string>> = {
  file: 'files of the service',
  other: 'not of the API: without bodies',
}

const leftOutNames: Readonly<Record<string, string>> = {
  body_too_large: 'bodies longer than 5 MB',
  body_undecodable: 'bodies that cannot be decoded',
  body_incomplete: 'bodies of responses that were cut short',
  body_not_of_api: 'bodies that are not of the API',
  body_has_secret: 'media with a key or token in them',
  request_refused: 'requests that were not sent to the service',
}
