/** Reads what an integration did from a sandbox, page by page, over its control API. */
import { type Client, nextCursor } from '../client/client.ts'
import type { ListedRequest } from '../contract/control/requests.ts'
import type { SandboxInfo } from '../contract/control/sandbox.ts'
import { contractCheckClient } from '../contract/headers.ts'
import { parseJson } from '../foundation/json.ts'
import { type Exchange, type Journal, openSlots } from './exchange.ts'

interface ReadOptions {
  /** Only what came since: epoch milliseconds or a span such as `10m`. */
  since?: string | undefined
  /**
   * Only requests that arrived after the one with this id, and the slots that they are about, however the sandbox clock
   * was set meanwhile. Null: from the first request on.
   */
  after?: string | null | undefined
  /** How many exchanges, placements and beacons are read, each. */
  limit: number
}

/**
 * Returns the newest exchanges, with the placements and beacons of the same time. Requests of `svc contract check` are
 * left out: they are no integration's.
 */
export async function readJournal(
  client: Client,
  { projects, clock }: SandboxInfo,
  { since, after, limit }: ReadOptions,
  about: Pick<Journal, 'client_id' | 'command_name'>,
): Promise<Journal> {
  const query = since === undefined ? {} : { since }
  const listed = await readPages(limit, (page) =>
    client.requests.list({ query: { ...query, ...(after ? { after } : {}), ...page, details: 'true' } }),
  )
  // Pages that are not allowed yet are what an integration most often gets wrong.
  const foreign = await client.requests.list({
    query: { ...query, ...(after ? { after } : {}), foreign: 'true', details: 'true' },
  })
  const placements = await readPages(limit, (page) => client.placements.list({ query: { ...query, ...page } }))
  const beacons = await readPages(limit, (page) => client.beacons.list({ query: { ...query, ...page } }))
  const read = [...listed, ...foreign.items]
    .sort((one, other) => (one.request_id < other.request_id ? 1 : -1))
    .map(exchangeOf)
    .filter(({ request_headers }) => request_headers['user-agent'] !== contractCheckClient.user_agent)
    .reverse()
  const exchanges = read.filter(({ path }) => path.startsWith('/'))
  const slots = after === undefined ? null : new Set(exchanges.flatMap((each) => [each.slot_id, ...openSlots(each)]))
  const isConcerned = ({ slot_id }: { slot_id: string | null }) => slots === null || slots.has(slot_id)
  const isOfCheck = (id: string | null) => id?.startsWith(contractCheckClient.session_prefix) === true
  return {
    exchanges,
    callbacks: read.filter(({ path }) => !path.startsWith('/')),
    placements: placements.filter((each) => isConcerned(each) && !isOfCheck(each.session_id)),
    beacons: beacons.filter((each) => isConcerned(each) && !isOfCheck(each.beacon_id)),
    projects,
    now_ms: clock.now_ms,
    ...about,
  }
}

/** Reads a list page by page, newest first, until its end or `limit` items. */
async function readPages<Item>(
  limit: number,
  read: (page: { limit: number; cursor?: string }) => Promise<{ items: Item[]; next_cursor: string | null }>,
): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | null = null
  do {
    const size = Math.min(1_000, limit - items.length)
    const page = await read({ limit: size, ...(cursor === null ? {} : { cursor }) })
    items.push(...page.items)
    cursor = nextCursor(page, cursor)
  } while (cursor !== null && items.length < limit)
  return items
}

function exchangeOf(item: ListedRequest): Exchange {
  const { request_headers = {}, response_headers = {}, request_body, response_body } = item
  return {
    ...item,
    request_headers,
    response_headers,
    request_body: parseJson(request_body ?? '') ?? null,
    response_body: parseJson(response_body ?? '') ?? null,
  }
}
