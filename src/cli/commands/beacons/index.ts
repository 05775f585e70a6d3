/** `svc beacons`: sends, checks (`lint`), lists and follows (`tail`) beacons. */

import { Argument, Option } from 'commander'
import { endpointCommand, projectFilter } from '#cli/endpoint/endpoint-command.ts'
import { endpoints } from '#cli/endpoint/facts.ts'
import { fieldOptions, flagValues } from '#cli/endpoint/flags.ts'
import type { Body } from '#cli/endpoint/input.ts'
import { lastPlacement } from '#cli/endpoint/last-placement.ts'
import {
  type Command,
  type CommandContext,
  type CommandInput,
  hasScreen,
  listOption,
  type Noun,
  noteFollowing,
} from '#cli/run/command.ts'
import { untilCtrlC } from '#cli/run/errors.ts'
import type { System } from '#cli/run/system.ts'
import { displayName, readUserText } from '#cli/run/user-file.ts'
import { acceptHints, acceptMeanings } from '#contract/error-codes.ts'
import { beaconFormats, lintBeacons, lintLines, lintSummary } from '#diagnosis/lint.ts'
import { parseSince } from '#foundation/duration.ts'
import type { RunResult } from '#qa/result.ts'
import { beaconLine, beaconSource, verdictPaint, verdictText } from '#tail/beacons.ts'
import { connect, describeInterruption, type FeedOptions, followBeacons, type TailBeacon } from '#tail/feed.ts'
import { noFilter, passes, type TailFilter } from '#tail/model.ts'
import { CliError, exitCodes, nothingChecked } from '#text/cli-error.ts'
import { readInstant } from '#text/instants.ts'
import { paintDim, paintReason, paintWord } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { alignPairs, formatValue, plural, timeText } from '#text/text.ts'
import { version } from '#text/version.ts'
import { loadProjectFile, reportApplied } from '../qa/observe-file.ts'
import { besideOptions, createReporter, type ReportFlags, reportBeside } from '../qa/reports.ts'

const lint: Command = {
  name: 'lint',
  summary: 'Check a file of beacons without sending them',
  details:
    'Reads one body, an array, JSON lines, or the beacon requests of a HAR file. Errors are beacons that the service would refuse; warnings are beacons that it would not bill. To find beacons that are too old, give the time of sending with --now; a HAR file has its own times. Exit code 5 when there is an error, and when there is no beacon.',
  arguments: [new Argument('<file>', 'the file; - for stdin')],
  options: [
    new Option('--now <instant>', 'when they are sent: now, a day, a time with its zone, or epoch milliseconds'),
    ...besideOptions,
  ],
  hasRows: true,
  examples: ['beacons lint beacons.jsonl', 'beacons lint beacons.jsonl --now 2026-01-01 -o json'],
  acceptsInvalidSettings: true,
  async run(context, { args: [file], options }: CommandInput<ReportFlags & { now?: string }, readonly [string]>) {
    const { system, out } = context
    // Wrong names are reported before anything is read.
    await createReporter(context, options)
    const project = await loadProjectFile(context)
    const name = displayName(file)
    const sent_at_ms = options.now === undefined ? null : parseTimestamp(options.now, system)
    const text = await readUserText(system, file)
    const { kind, beacons, findings: found } = lintBeacons(text, { now_ms: system.now(), sent_at_ms })
    if (kind === 'unknown')
      throw new CliError('usage', 'file_foreign', `${name} is not a file of beacons.`, beaconFormats)
    if (text.trim() === '' || (beacons === 0 && found.length === 0)) {
      const hint = kind === 'har' ? 'No request in it is a POST to /v1/beacons.' : 'It is empty.'
      throw nothingChecked(`There is no beacon in ${name}.`, hint)
    }
    const { applyObserveFile, matchesPattern, toFoundInFile, withObserveFile } = await import(
      '#diagnosis/observe-file/apply.ts'
    )
    const applied = applyObserveFile(project, toFoundInFile(name, found), {
      now_ms: system.now(),
      suite: 'beacons-lint',
      isJudged: ({ where }) => matchesPattern(where.split(' ')[0]!, name),
    })
    const about = await reportApplied(applied)
    const findings = applied.kept
    const count = (severity: 'error' | 'warning') => findings.filter((finding) => finding.severity === severity).length
    const summary = { error: count('error'), warning: count('warning') }
    const rows = findings.map((finding) => ({ file: name, ...finding }))
    const ok = summary.error === 0 && !about.isFailed
    const { toLintCases } = await import('#diagnosis/lint-run.ts')
    const started_at_ms = system.now()
    const run: RunResult = {
      command: 'beacons lint',
      target: { base_url: name, kind: 'file', version: null, key_mode: 'test' },
      svc_version: version,
      started_at_ms,
      duration_ms: 0,
      cases: toLintCases(file, findings, started_at_ms),
      interrupted: null,
      looked_at: `${plural(beacons, 'beacon')} of ${name}`,
    }
    if (await reportBeside(context, options, withObserveFile(run, applied))) {
      const whole = { ok, file: name, beacons, summary, findings: rows, ...about.field }
      out.list(whole, rows, (style) => [...lintLines(name, findings, style), ...about.lines(style)])
    }
    if (about.note !== null) out.note(about.note)
    out.note(lintSummary(beacons, summary))
    return ok ? exitCodes.ok.exit_code : exitCodes.expectation.exit_code
  },
}

function parseTimestamp(text: string, system: System): number {
  return /^\d{12,15}$/.test(text) ? Number(text) : (readInstant(text) ?? system.now())
}

const { event, format, since, slot_id, session_id } = endpoints['beacons.list'].query?.properties ?? {}
const filters = fieldOptions({ event, format, since, slot_id, session_id })

interface FilterFlags {
  event?: string
  format?: string
  since?: string
  slot_id?: string
  session_id?: string
}

const tail: Command = {
  name: 'tail',
  summary: 'Follow beacons as they arrive',
  details:
    'Uses the whole terminal; press ? for its keys. Without a terminal, or with --compact or -o jsonl, it prints one line for each beacon, until Ctrl-C, with exit code 130. It reconnects to a sandbox that is restarted.',
  options: [
    ...filters.values(),
    new Option('--rejected', 'Only rejected beacons.'),
    new Option('--compact', 'Print lines even on a terminal.'),
  ],
  examples: ['beacons tail --since 10m', 'beacons tail --rejected -o jsonl'],
  async run(context, input) {
    const { filter, feed } = await read(context, input)
    if (input.options.compact !== true && hasScreen(context)) {
      const { runScreen } = await import('#tail/run-screen.ts')
      return runScreen(context, {
        source: beaconSource,
        filter,
        has_history: feed.since !== null,
        connect: feed.connect,
        follow: (connect, signal) => followBeacons({ ...feed, connect, signal }),
      })
    }
    return untilCtrlC(printLines(context, feed, filter))
  },
}

/** Returns the selection of the flags: project and slot apply to the stream itself, the rest to the filter. */
async function read(
  context: CommandContext,
  { options }: CommandInput,
): Promise<{ filter: TailFilter; feed: FeedOptions }> {
  const flags: FilterFlags = flagValues(filters, options)
  return {
    filter: {
      ...noFilter,
      fields: {
        event: flags.event ?? null,
        format: flags.format ?? null,
        verdict: options.rejected === true ? 'rejected' : null,
        session: flags.session_id ?? null,
      },
    },
    feed: {
      connect: () => connect(context),
      query: {
        ...(await projectFilter(context)),
        ...(flags.slot_id === undefined ? {} : { slot_id: flags.slot_id }),
      },
      since: parseSince(flags.since ?? ''),
      signal: context.signal,
    },
  }
}

async function printLines({ system, out }: CommandContext, feed: FeedOptions, filter: TailFilter): Promise<number> {
  for await (const message of followBeacons(feed)) {
    if (message.kind === 'connected' && !message.is_again) noteFollowing({ system, out }, 'beacons')
    if (message.kind !== 'item') {
      const note = describeInterruption(message)
      if (note !== null) out.note(note)
    } else if (passes(beaconSource, message.item, filter)) {
      const { seq: _, ...item } = message.item
      out.item(item, (style) => formatBeacon(message.item, style))
    }
  }
  return 0
}

function formatBeacon(beacon: TailBeacon, style: Style): string {
  if (style.columns !== undefined) return beaconLine(beacon, style.columns, style, false).trimStart()
  return [
    style.dim(timeText(beacon.received_at_ms, style)),
    formatValue(beacon.event).padEnd(14),
    formatValue(beacon.format).padEnd(6),
    formatValue(beacon.slot_id).padEnd(16),
    verdictPaint(beacon, style)(verdictText(beacon)),
    ...(beacon.would_bill ? [style.green('would bill')] : []),
  ].join('  ')
}

/** Notes the beacons that were refused for their credential or origin: they belong to no placement, and no list has them. */
async function noteUnlisted({ client, out, signal }: CommandContext): Promise<void> {
  const read = (status: number) =>
    client().requests.list({ query: { path: '/v1/beacons', status, limit: maxUnlisted } }, { signal })
  const pages = await Promise.all([401, 403].map(read))
  const unlisted = pages.flatMap(({ items }) => items).filter(({ slot_id }) => slot_id === null)
  if (unlisted.length === 0) return
  const reasons = [...new Set(unlisted.flatMap(({ reason_code }) => reason_code ?? []))]
  const count = pages.some(({ next_cursor }) => next_cursor !== null) ? `${unlisted.length} or more` : unlisted.length
  const subject = unlisted.length === 1 ? '1 beacon was refused' : `${count} beacons were refused`
  out.note(
    `${subject} before a placement was looked for (${reasons.join(', ')}), and ${unlisted.length === 1 ? 'is' : 'are'} not in this list: svc requests list --path /v1/beacons`,
  )
}

const maxUnlisted = 100

export const beacons: Noun = {
  summary: 'Send, list, follow and check beacons, and what they bill',
  commands: [
    endpointCommand('beacons.send', {
      details:
        'By default asset_token is taken from your last fill, else from the newest fill of the project, beacon_id is new, and occurred_at_ms the current time.',
      examples: [
        'beacons send --event render',
        'beacons send --event visible --set measurements.visible_ratio=1 --set measurements.visible_ms=1000',
      ],
      defaults,
      text: (result, style, { meta }) =>
        alignPairs(
          [
            ['verdict', result.duplicate ? 'duplicate: it was received before' : 'accepted'],
            [
              'reason',
              result.reason_code === 'OK' ? 'OK' : `${result.reason_code}: ${acceptMeanings[result.reason_code]}`,
            ],
            ['fix', result.reason_code === 'OK' ? null : acceptHints[result.reason_code]],
            ['billable', result.billable ? 'yes' : 'no'],
            ['would bill', wouldBillText(meta.would_bill)],
            ['request', result.request_id],
          ],
          style,
        ),
    }),
    endpointCommand('beacons.list', {
      usualFlags:
        '--limit --slot-id --event --verdict --format --session-id --reason --billed --metric --since --until --columns',
      empty: 'No beacons yet. Send some: svc trigger',
      after: noteUnlisted,
      examples: [
        'beacons list',
        'beacons list --reason BELOW_THRESHOLD',
        'beacons list --billed true --since 10m -o jsonl',
      ],
      columns: [
        { name: 'when', field: 'received_at_ms', kind: 'time', paint: paintDim },
        { name: 'event' },
        { name: 'format', rank: 3 },
        { name: 'slot', field: 'slot_id', kind: 'id' },
        { name: 'verdict', paint: paintWord },
        { name: 'reason', field: 'reason_code', paint: paintReason },
        { name: 'bills', field: 'would_bill', rank: 2, paint: paintWord },
        { name: 'metric', rank: 4, paint: paintDim },
      ],
    }),
    lint,
    tail,
    { name: 'billing', load: async () => (await import('./billing.ts')).billing },
    { name: 'reconcile', load: async () => (await import('./reconcile.ts')).reconcile },
  ],
}

/** Returns the header in words: `true; metric=viewable_impression` as `yes, a viewable_impression`. */
function wouldBillText(header: string | null): string | null {
  const [, isBilled, metric] = /^(true|false)(?:; metric=(\w+))?$/.exec(header ?? '') ?? []
  if (isBilled === undefined) return header === null ? null : formatValue(header)
  const answer = isBilled === 'true' ? 'yes' : 'no'
  return metric === undefined ? answer : `${answer}, a ${metric}`
}

/** Returns defaults for the fields that the flags leave out. A body from --data is sent unchanged, so it gets none. */
async function defaults(context: CommandContext, options: CommandInput['options']): Promise<Body> {
  if (options.data !== undefined) return {}
  const isSet = (name: string) => listOption(options, 'set').some((text) => text.startsWith(`${name}=`))
  const hasToken = options.assetToken !== undefined || isSet('asset_token')
  const hasTime = options.occurredAt !== undefined || isSet('occurred_at')
  return {
    beacon_id: `bcn_${context.system.randomText(16)}`,
    ...(hasToken ? {} : { asset_token: await lastPlacement(context, 'asset_token') }),
    ...(hasTime ? {} : { occurred_at_ms: await serviceTime(context) }),
  }
}

/** The clock of a sandbox can be moved, and the sandbox judges beacons by it. */
async function serviceTime({ system, settings, signal, client }: CommandContext): Promise<number> {
  return settings.sandbox === null ? system.now() : (await client().clock.show({}, { signal })).now_ms
}
