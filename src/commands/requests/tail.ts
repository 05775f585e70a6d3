/** `svc requests tail` and `svc sandbox logs`: the request journal, line by line. */
import { Option } from 'commander'
import type { Style } from '../../cli/output/style.ts'
import { formatTime, formatValue } from '../../cli/output/text.ts'
import type { Command } from '../../cli/run/command.ts'
import type { Session } from '../../cli/run/session.ts'
import type { RequestItem } from '../../contract/control/requests.ts'
import { connect, noteOf } from '../../tail/follow.ts'
import { followRequests, latestRequests, type RequestQuery } from '../../tail/requests.ts'
import { listOptions, listQuery } from './match.ts'

const options = listOptions()
for (const name of ['limit', 'cursor', 'until', 'after', 'details']) options.delete(name)
const since = options.get('since')
/** How many requests `logs` begins with. */
const defaultLines = 20

export const tailRequests: Command = {
  name: 'tail',
  summary: 'Follow the request journal',
  details:
    'One line a request, as it is answered, until Ctrl-C. With --since, those of the journal come first. A sandbox that is restarted is found again.',
  options: [...options.values()],
  examples: ['requests tail', 'requests tail --status-class 4xx --since 10m -o jsonl'],
  run: (session, given) => {
    const query = listQuery(session, options, given)
    return follow(session, query, query.since === undefined ? 0 : Number.POSITIVE_INFINITY)
  },
}

export const logs: Command = {
  name: 'logs',
  summary: 'Show the latest requests, and follow',
  details: `Begins with the last ${defaultLines} requests of the journal, or with all since --since; then one line a request, until Ctrl-C. svc requests tail has every filter.`,
  options: [
    ...(since === undefined ? [] : [since]),
    new Option('--no-follow', 'end after the requests that are there'),
  ],
  examples: ['sandbox logs --no-follow', 'sandbox logs --since 10m --no-follow -o jsonl'],
  async run(session, given) {
    const query = listQuery(session, options, given)
    const latest = query.since === undefined ? defaultLines : Number.POSITIVE_INFINITY
    if (given.options.follow !== false) return follow(session, query, latest)
    const items = await latestRequests(session.client(), query, latest, session.signal)
    for (const item of items) print(session, item)
    if (items.length === 0) session.out.note('Nothing there.')
    return 0
  },
}

async function follow(session: Session, query: RequestQuery, latest: number): Promise<number> {
  const { out, signal } = session
  for await (const message of followRequests({ connect: () => connect(session), query, latest, signal })) {
    const note = message.kind === 'request' ? null : noteOf(message)
    if (message.kind === 'request') print(session, message.item)
    else if (note !== null) out.note(note)
  }
  return 0
}

function print({ out }: Session, item: RequestItem): void {
  out.item(item, (style) => line(item, style))
}

function line({ at_ms, method, path, status, reason_code, request_id }: RequestItem, style: Style): string {
  return [
    style.dim(formatTime(at_ms)),
    formatValue(status),
    `${formatValue(method)} ${formatValue(path)}`,
    ...(reason_code === null ? [] : [reason_code]),
    style.dim(request_id),
  ].join('  ')
}
