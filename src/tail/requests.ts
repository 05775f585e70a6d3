/**
 * The request journal as it is written, for as long as somebody listens. It is asked for what is new twice a second. A
 * lost connection is told, then sought again; what was written meanwhile comes then.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Client } from '../client/client.ts'
import { UnreachableError } from '../client/errors.ts'
import type { RequestItem } from '../contract/control/requests.ts'
import type { SandboxInfo } from '../contract/control/sandbox.ts'
import { firstPause_ms, type Interruption, isAnother, longestPause_ms } from './follow.ts'

/** Filters of `requests.list`, by member name. */
export type RequestQuery = Record<string, unknown>

export type RequestMessage = Exclude<Interruption, { kind: 'gap' }> | { kind: 'request'; item: RequestItem }

export interface RequestFeedOptions {
  /** The client for the next connection: a restarted sandbox may have another address. */
  connect(): Promise<Client>
  query: RequestQuery
  /** How many requests of the journal come first; Infinity for all that pass the filters. */
  latest: number
  signal: AbortSignal
}

const askEvery_ms = 500
/** A request is written when it is answered, and may have waited: polls that reach back over the longest wait. */
const pollsBack = 70
const pageLimit = 1_000

/** Throws what the first connection fails with; later failures are messages. Ends by its signal only, which it throws. */
export async function* followRequests(options: RequestFeedOptions): AsyncGenerator<RequestMessage, never, undefined> {
  const { connect, query, latest, signal } = options
  let reader = null as Reader | null
  let before = null as SandboxInfo | null
  let pause_ms = firstPause_ms
  for (;;) {
    try {
      const client = await connect()
      const info: SandboxInfo = await client.sandbox.info({}, { signal })
      const isAgain = before !== null
      const isNewHistory = before !== null && isAnother(before, info)
      yield { kind: 'connected', info, isAgain, isNewHistory }
      before = info
      if (reader === null) {
        reader = new Reader(query, await newestOf(client, signal))
        yield* await reader.first(client, latest, signal)
      }
      if (isNewHistory) reader.beginAnew()
      for (;;) {
        yield* await reader.next(client, signal)
        pause_ms = firstPause_ms
        await wait(askEvery_ms, undefined, { signal })
      }
    } catch (error) {
      signal.throwIfAborted()
      if (reader === null) throw error
      if (pause_ms === firstPause_ms || !(error instanceof UnreachableError)) {
        yield { kind: 'lost', reason: error instanceof Error ? error.message : String(error) }
      }
    }
    await wait(pause_ms, undefined, { signal }).catch(() => signal.throwIfAborted())
    pause_ms = Math.min(pause_ms * 2, longestPause_ms)
  }
}

/** The last requests of the journal, oldest first. */
export async function latestRequests(
  client: Client,
  query: RequestQuery,
  latest: number,
  signal: AbortSignal,
): Promise<RequestItem[]> {
  return (await collect(client, query, latest, new Set(), signal)).reverse()
}

/** What has been read of one journal. */
class Reader {
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
    return found.map((item) => this.#told(item))
  }

  /** What was written since, oldest first. */
  async next(client: Client, signal: AbortSignal): Promise<RequestMessage[]> {
    const messages: RequestMessage[] = []
    const now = await newestOf(client, signal)
    if ((now ?? '') < (this.#newest.at(-1) ?? '')) {
      this.beginAnew()
      messages.push({ kind: 'reset' })
    }
    const after = this.#newest[0] ?? null
    const query = after === null ? this.#query : { ...this.#query, after }
    const fresh = await collect(client, query, Number.POSITIVE_INFINITY, this.#seen, signal)
    messages.push(...fresh.reverse().map((item) => this.#told(item)))
    this.#newest.push(now)
    if (this.#newest.length > pollsBack) this.#newest.shift()
    this.#seen = new Set([...this.#seen].filter((request_id) => request_id > (this.#newest[0] ?? '')))
    return messages
  }

  /** The journal is another one: all of it is new. */
  beginAnew(): void {
    this.#seen.clear()
    this.#newest = [null]
  }

  #told(item: RequestItem): RequestMessage {
    this.#seen.add(item.request_id)
    return { kind: 'request', item }
  }
}

/** Newest first; it looks no further once a whole page is known. */
async function collect(
  client: Client,
  query: RequestQuery,
  enough: number,
  seen: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<RequestItem[]> {
  const found: RequestItem[] = []
  let cursor: string | null = null
  for (;;) {
    const limit = Math.min(pageLimit, enough - found.length)
    const page: Page = await list(client, { ...query, limit, ...(cursor === null ? {} : { cursor }) }, signal)
    const fresh = page.items.filter(({ request_id }) => !seen.has(request_id))
    found.push(...fresh)
    const isKnown = page.items.length > 0 && fresh.length === 0
    if (page.next_cursor === null || isKnown || found.length >= enough) return found
    cursor = page.next_cursor
  }
}

type Page = { items: RequestItem[]; next_cursor: string | null }

async function newestOf(client: Client, signal: AbortSignal): Promise<string | null> {
  return (await list(client, { limit: 1 }, signal)).items[0]?.request_id ?? null
}

function list(client: Client, query: RequestQuery, signal: AbortSignal): Promise<Page> {
  return client.requests.list({ query }, { signal })
}
