/** `svc requests tail`: new exchanges of the journal, as they are written. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from '../cli/command.ts'
import { callEndpoint } from '../cli/endpoint-command.ts'
import { listOptions, listQuery } from '../cli/request-match.ts'
import type { Session } from '../cli/session.ts'
import type { Style } from '../cli/style.ts'
import { formatTime, formatValue } from '../cli/text.ts'
import type { RequestItem } from '../contract/control/requests.ts'
import type { Output } from '../contract/endpoint.ts'
import type { Contract } from '../contract/index.ts'

type Query = Record<string, unknown>

const askEvery_ms = 500
/** A request is written when it is answered, and may have waited: polls that reach back over the longest wait. */
const pollsBack = 70
const pageLimit = 1_000

const options = listOptions()
for (const name of ['limit', 'cursor', 'until', 'after']) options.delete(name)

export const tailRequests: Command = {
  name: 'tail',
  summary: 'Follow the request journal',
  details: 'One line a request, as it is answered, until Ctrl-C. With --since, those of the journal come first.',
  options: [...options.values()],
  examples: ['requests tail', 'requests tail --status-class 4xx --since 10m -o jsonl'],
  async run(session, given) {
    for await (const item of follow(session, listQuery(session, options, given))) {
      session.out.item(item, (style) => line(item, style))
    }
    return 0
  },
}

/** Without end, oldest first. Throws what the session's signal is aborted with. */
async function* follow(session: Session, query: Query): AsyncGenerator<RequestItem, never, undefined> {
  let seen = new Set<string>()
  /** The newest request at each of the last polls; null while the journal was empty. */
  const newest: (string | null)[] = [query.since === undefined ? await newestOf(session) : null]
  for (;;) {
    const after = newest[0] ?? null
    newest.push(await newestOf(session))
    const fresh = await unseen(session, after === null ? query : { ...query, after }, seen)
    for (const item of fresh.reverse()) {
      seen.add(item.request_id)
      yield item
    }
    if (newest.length > pollsBack) newest.shift()
    seen = new Set([...seen].filter((request_id) => request_id > (newest[0] ?? '')))
    await sleep(askEvery_ms, undefined, { signal: session.signal }).catch(() => {
      throw session.signal.reason
    })
  }
}

async function newestOf(session: Session): Promise<string | null> {
  return (await page(session, { limit: 1 })).items[0]?.request_id ?? null
}

/** Newest first; it looks no further once a whole page is known. */
async function unseen(session: Session, query: Query, seen: ReadonlySet<string>): Promise<RequestItem[]> {
  const found: RequestItem[] = []
  let cursor: string | null = null
  for (;;) {
    const { items, next_cursor } = await page(session, {
      ...query,
      limit: pageLimit,
      ...(cursor === null ? {} : { cursor }),
    })
    const fresh = items.filter(({ request_id }) => !seen.has(request_id))
    found.push(...fresh)
    if (next_cursor === null || (items.length > 0 && fresh.length === 0)) return found
    cursor = next_cursor
  }
}

async function page(session: Session, query: Query): Promise<Output<Contract['requests.list']>> {
  const { data } = await callEndpoint(session, 'requests.list', { query })
  return data as Output<Contract['requests.list']>
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
