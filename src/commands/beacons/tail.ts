/** `svc beacons tail`: beacons as they arrive, over the whole terminal or as lines. */
import { Option } from 'commander'
import { flagValues, schemaOptions } from '../../cli/endpoint/flags.ts'
import type { Style } from '../../cli/output/style.ts'
import { formatTime, formatValue } from '../../cli/output/text.ts'
import type { Command, CommandInput } from '../../cli/run/command.ts'
import type { Session } from '../../cli/run/session.ts'
import type { BeaconItem } from '../../contract/control/beacons.ts'
import { contract } from '../../contract/index.ts'
import { verdictPaint, verdictText } from '../../tail/columns.ts'
import { type FeedOptions, followBeacons, parseSince, type TailBeacon } from '../../tail/feed.ts'
import { noFilter, passes, type TailFilter } from '../../tail/filter.ts'
import { connect, noteOf } from '../../tail/follow.ts'

const { shape } = contract['beacons.list'].query
const filters = schemaOptions(
  contract['beacons.list'].query
    .pick({ event: true, format: true, since: true })
    .extend({ slot: shape.slot_id, session: shape.session_id, client: shape.client_id }),
)

export const tail: Command = {
  name: 'tail',
  summary: 'Follow beacons as they arrive',
  details:
    'Over the whole terminal; press ? there for its keys. Without a terminal, or with --compact or -o jsonl, one line a beacon, until Ctrl-C. A sandbox that is restarted is found again.',
  options: [
    ...filters.values(),
    new Option('--rejected', 'Only rejected beacons.'),
    new Option('--compact', 'Lines also on a terminal.'),
  ],
  examples: ['beacons tail --since 10m', 'beacons tail --rejected -o jsonl'],
  async run(session, given) {
    const { host, out } = session
    const { filter, feed } = read(session, given)
    const isTerminal = host.stdin_is_terminal && host.stdout.is_terminal && host.env.TERM !== 'dumb'
    if (given.options.compact !== true && out.format === 'text' && isTerminal) {
      const { runScreen } = await import('../../tail/run-screen.ts')
      return runScreen(session, feed, filter)
    }
    return printLines(session, feed, filter)
  },
}

/** What the flags say: the stream selects project and slot, the rest is filtered here. */
function read(session: Session, given: CommandInput): { filter: TailFilter; feed: FeedOptions } {
  const { settings, signal } = session
  const flags = flagValues(filters, given.options) as {
    event?: TailFilter['event']
    format?: TailFilter['format']
    since?: string
    slot?: string
    session?: string
    client?: string
  }
  const client_id = flags.client ?? (settings.source.client_id === 'flag' ? settings.client_id : null)
  return {
    filter: {
      ...noFilter,
      event: flags.event ?? null,
      format: flags.format ?? null,
      session: flags.session ?? null,
      verdict: given.options.rejected === true ? 'rejected' : null,
    },
    feed: {
      connect: () => connect(session),
      query: {
        ...(client_id === null ? {} : { client_id }),
        ...(flags.slot === undefined ? {} : { slot_id: flags.slot }),
      },
      since: flags.since === undefined ? null : parseSince(flags.since),
      signal,
    },
  }
}

async function printLines({ out }: Session, feed: FeedOptions, filter: TailFilter): Promise<number> {
  for await (const message of followBeacons(feed)) {
    if (message.kind !== 'beacon') {
      const note = noteOf(message)
      if (note !== null) out.note(note)
    } else if (passes(message.beacon, filter)) {
      out.item(itemOf(message.beacon), (style) => compactLine(message.beacon, style))
    }
  }
  return 0
}

/** As `svc beacons list` has it. */
function itemOf({ seq: _, ...item }: TailBeacon): BeaconItem {
  return item
}

function compactLine(beacon: TailBeacon, style: Style): string {
  return [
    style.dim(formatTime(beacon.received_at_ms)),
    formatValue(beacon.event).padEnd(14),
    formatValue(beacon.format).padEnd(6),
    formatValue(beacon.slot_id).padEnd(16),
    verdictPaint(beacon, style)(verdictText(beacon)),
    ...(beacon.would_bill ? [style.green('would bill')] : []),
  ].join('  ')
}
