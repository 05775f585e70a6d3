/**
 * `svc sandbox logs`: the request journal, line by line. The journal is polled twice a second
 * for new requests. After a lost connection, requests written in the meantime follow.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { Option } from 'commander'
import { emptyNote } from '#cli/endpoint/listed-page.ts'
import { type Command, type CommandContext, noteFollowing } from '#cli/run/command.ts'
import { untilCtrlC } from '#cli/run/errors.ts'
import { type Client, nextCursor } from '#client/client.ts'
import type { RequestItem } from '#contract/resources/requests.ts'
import { connect, describeInterruption, follow, type Interruption } from '#tail/feed.ts'
import { requestLine } from '#tail/request-line.ts'
import { emptyJournal, listOptions, listQuery } from '../requests/match.ts'

const options = listOptions()
for (const name of ['limit', 'cursor', 'until', 'after', 'details', 'foreign']) options.delete(name)
/** The number of requests that `logs` starts with. */
const defaultLines = 20
const pollIntervalMs = 500
/** A request is journalled when it is answered, which can be late: this many polls cover the longest wait. */
const pollsBack = 70
const pageLimit = 1_000

export const logs: Command = {
  name: 'logs',
  summary: 'Show the latest requests, and follow new ones',
  details: `Starts with the last ${defaultLines} requests of the journal that the filters select, or with all since --since; then prints one line for each request when it is answered, until Ctrl-C, with exit code 130. It reconnects to a sandbox that is restarted.`,
  options: [
    ...options.values(),
    new Option('-f, --follow', 'follow new requests: the default'),
    new Option('--no-follow', 'stop after the requests that the journal has'),
  ],
  examples: ['sandbox logs --no-follow', 'sandbox logs --status-class 4xx --since 10m --no-follow -o jsonl'],
  async run(context, input) {
    const query = await listQuery(context, options, input)
    const latest = query.since === undefined ? defaultLines : Number.POSITIVE_INFINITY
    if (input.options.follow !== false) return untilCtrlC(printFollowed(context, query, latest))
    const items = await latestRequests(context.client(), query, latest, context.signal)
    for (const item of items) print(context, item)
    if (items.length === 0) context.out.note(emptyNote(query, emptyJournal))
    return 0
  },
}

async function printFollowed(context: CommandContext, query: RequestQuery, latest: number): Promise<number> {
  const { out, signal } = context
  for await (const message of followRequests(() => connect(context), query, latest, signal)) {
    if (message.kind === 'connected' && !message.is_again) noteFollowing(context, 'requests')
    const note = message.kind === 'request' ? null : describeInterruption(message)
    if (message.kind === 'request') print(context, message.item)
    else if (note !== null) out.note(note)
  }
  return 0
}

function print({ out }: CommandContext, item: RequestItem): void {
  out.item(item, (style) => requestLine(item, style))
}

/** Filters of `requests.list`, by field name. */
type RequestQuery = Record<string, unknown>
type RequestMessage = Interruption | { kind: 'request'; item: RequestItem; is_live: boolean }

/**
 * Follows the journal after its `latest` requests; Infinity for all that pass the filters. See `follow` for failures.
 */
function followRequests(
  connect: () => Promise<Client>,
  query: RequestQuery,
  latest: number,
  signal: AbortSignal,
): AsyncGenerator<RequestMessage> {
  let reader = null as JournalReader | null
  return follow({ connect, signal }, async ({ client, is_new_history }) => {
    const isFirst = reader === null
    reader ??= new JournalReader(query, await findNewest(client, signal))
    const first = isFirst ? await reader.first(client, latest, signal) : []
    if (is_new_history) reader.restart()
    return poll(reader, first, client, signal)
  })
}

async function* poll(
  reader: JournalReader,
  first: readonly RequestMessage[],
  client: Client,
  signal: AbortSignal,
): AsyncGenerator<RequestMessage, never> {
  yield* first
  for (;;) {
    yield* await reader.next(client, signal)
    await wait(pollIntervalMs, undefined, { signal })
  }
}

/** The part of a journal that has been read. */
class JournalReader {
  readonly #query: RequestQuery
  #seen = new Set<string>()
  /** The newest request at each of the last polls; null while the journal was empty. */
  #newest: (string | null)[]

  constructor(query: RequestQuery, newest: string | null) {
    this.#query = query
    this.#newest = [newest]
  }

  async first(client: Client, latest: number, signal: AbortSignal): Promise<RequestMessage[]> {
    const found = latest === 0 ? [] : await latestRequests(client, this.#query, latest, signal)
    return found.map((item) => this.#message(item, false))
  }

  /** Returns the requests written since the last poll, oldest first. */
  async next(client: Client, signal: AbortSignal): Promise<RequestMessage[]> {
    const messages: RequestMessage[] = []
    const newest = await findNewest(client, signal)
    if ((newest ?? '') < (this.#newest.at(-1) ?? '')) {
      this.restart()
      messages.push({ kind: 'reset' })
    }
    const after = this.#newest[0] ?? null
    const query = after === null ? this.#query : { ...this.#query, after }
    const fresh = await collect(client, { query, most: Number.POSITIVE_INFINITY, seen: this.#seen }, signal)
    messages.push(...fresh.reverse().map((item) => this.#message(item, true)))
    this.#newest.push(newest)
    if (this.#newest.length > pollsBack) this.#newest.shift()
    this.#seen = new Set([...this.#seen].filter((request_id) => request_id > (this.#newest[0] ?? '')))
    return messages
  }

  /** Starts over with another journal: every request in it is new. */
  restart(): void {
    this.#seen.clear()
    this.#newest = [null]
  }

  #message(item: RequestItem, is_live: boolean): RequestMessage {
    this.#seen.add(item.request_id)
    return { kind: 'request', item, is_live }
  }
}

/** Returns the last requests of the journal, oldest first. */
async function latestRequests(
  client: Client,
  query: RequestQuery,
  latest: number,
  signal: AbortSignal,
): Promise<RequestItem[]> {
  return (await collect(client, { query, most: latest, seen: new Set() }, signal)).reverse()
}

interface WantedRequests {
  query: RequestQuery
  /** The maximum number of them. */
  most: number
  seen: ReadonlySet<string>
}

/**
 * Returns requests that are not in `seen`, newest first, including those of pages that no project allows, which are
 * just what someone following the journal is looking for.
 */
async function collect(client: Client, wanted: WantedRequests, signal: AbortSignal): Promise<RequestItem[]> {
  const { query, most, seen } = wanted
  const found = await collectJournal(client, wanted, signal)
  const { items } = await list(client, { ...query, foreign: 'true' }, signal)
  const foreign = items.filter(({ request_id }) => !seen.has(request_id))
  if (foreign.length === 0) return found
  const all = [...found, ...foreign].sort((one, other) => (one.request_id < other.request_id ? 1 : -1))
  return all.slice(0, most)
}

/** Returns requests of the journal that are not in `seen`, newest first. Stops at a page with no new requests. */
async function collectJournal(
  client: Client,
  { query, most, seen }: WantedRequests,
  signal: AbortSignal,
): Promise<RequestItem[]> {
  const found: RequestItem[] = []
  for (let cursor: string | null = null; ; ) {
    const limit = Math.min(pageLimit, most - found.length)
    const page: Page = await list(client, { ...query, limit, ...(cursor === null ? {} : { cursor }) }, signal)
    const fresh = page.items.filter(({ request_id }) => !seen.has(request_id))
    found.push(...fresh)
    const isKnown = page.items.length > 0 && fresh.length === 0
    if (page.next_cursor === null || isKnown || found.length >= most) return found
    cursor = nextCursor(page, cursor)
  }
}

type Page = { items: RequestItem[]; next_cursor: string | null }

async function findNewest(client: Client, signal: AbortSignal): Promise<string | null> {
  return (await list(client, { limit: 1 }, signal)).items[0]?.request_id ?? null
}

function list(client: Client, query: RequestQuery, signal: AbortSignal): Promise<Page> {
  return client.requests.list({ query }, { signal })
}
