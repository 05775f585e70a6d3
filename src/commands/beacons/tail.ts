/** `svc beacons tail`: beacons as they arrive, over the whole terminal or as lines. */
import { Option } from 'commander'
import { projectFilter } from '../../cli/endpoint/endpoint-command.ts'
import { endpoints } from '../../cli/endpoint/facts.ts'
import { fieldOptions, flagValues } from '../../cli/endpoint/input.ts'
import type { Style } from '../../cli/output/style.ts'
import { formatValue, timeText } from '../../cli/output/text.ts'
import type { Command, CommandInput } from '../../cli/run/command.ts'
import { untilCtrlC } from '../../cli/run/errors.ts'
import { hasScreen, noteFollowing, type Session } from '../../cli/run/session.ts'
import { parseSince } from '../../foundation/duration.ts'
import { beaconSource } from '../../tail/beacon-source.ts'
import { beaconLine, verdictPaint, verdictText } from '../../tail/beacon-text.ts'
import { connect, type FeedOptions, followBeacons, noteOf, type TailBeacon } from '../../tail/feed.ts'
import { noFilter, passes, type TailFilter } from '../../tail/model.ts'

const { event, format, since, slot_id, session_id } = endpoints['beacons.list'].query?.properties ?? {}
const filters = fieldOptions({ event, format, since, slot_id, session_id })

interface FilterFlags {
  event?: string
  format?: string
  since?: string
  slot_id?: string
  session_id?: string
}

export const tail: Command = {
  name: 'tail',
  summary: 'Follow beacons as they arrive',
  details:
    'Uses the whole terminal; press ? for its keys. Without a terminal, or with --compact or -o jsonl, it prints one line for each beacon, until Ctrl-C, with exit code 130. It reconnects to a sandbox that is restarted.',
  options: [
    ...filters.values(),
    new Option('--rejected', 'Only rejected beacons.'),
    new Option('--compact', 'Print lines on a terminal too.'),
  ],
  examples: ['beacons tail --since 10m', 'beacons tail --rejected -o jsonl'],
  async run(session, input) {
    const { filter, feed } = await read(session, input)
    if (input.options.compact !== true && hasScreen(session)) {
      const { runScreen } = await import('../../tail/run-screen.ts')
      return runScreen(session, {
        source: beaconSource,
        filter,
        has_history: feed.since !== null,
        connect: feed.connect,
        follow: (connect, signal) => followBeacons({ ...feed, connect, signal }),
      })
    }
    return untilCtrlC(printLines(session, feed, filter))
  },
}

/** Returns what the flags select: project and slot in the stream itself, the rest in the filter. */
async function read(session: Session, { options }: CommandInput): Promise<{ filter: TailFilter; feed: FeedOptions }> {
  const flags = flagValues(filters, options) as FilterFlags
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
      connect: () => connect(session),
      query: {
        ...(await projectFilter(session)),
        ...(flags.slot_id === undefined ? {} : { slot_id: flags.slot_id }),
      },
      since: parseSince(flags.since ?? ''),
      signal: session.signal,
    },
  }
}

async function printLines({ host, out }: Session, feed: FeedOptions, filter: TailFilter): Promise<number> {
  noteFollowing({ host, out }, 'beacons')
  for await (const message of followBeacons(feed)) {
    if (message.kind !== 'item') {
      const note = noteOf(message)
      if (note !== null) out.note(note)
    } else if (passes(beaconSource, message.item, filter)) {
      const { seq: _, ...item } = message.item
      out.item(item, (style) => lineOf(message.item, style))
    }
  }
  return 0
}

function lineOf(beacon: TailBeacon, style: Style): string {
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
