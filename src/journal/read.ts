/** Reads the traffic of an integration from the journal. Only the control plane is called. */
import type { Client } from '../client/client.ts'
import type { RequestItem } from '../contract/control/requests.ts'
import type { SandboxInfo } from '../contract/control/sandbox.ts'
import type { Exchange, ExchangeDetail, Traffic } from './exchange.ts'
import { openSlots } from './slots.ts'

/** Requests under way at once. */
const atOnce = 8

export interface ReadOptions {
  /** Only what came since: epoch milliseconds or a span such as `10m`. */
  since?: string | undefined
  /**
   * Only requests that arrived after this one, and the slots that they are about, whatever the sandbox clock did meanwhile;
   * null: from the first on.
   */
  after?: string | null | undefined
  /** How far back the look goes: exchanges, placements and beacons each. */
  most: number
  /** Of which exchanges headers and bodies are read; given newest first. */
  detailsOf(items: readonly RequestItem[]): readonly RequestItem[]
  /** Traffic that is no integration's: requests by their User-Agent, sessions and beacons by what they begin with. */
  leaveOut: { user_agent: string; prefix: string }
}

/** The journal as far as asked for, oldest first, with the placements and beacons of the same time. */
export async function readTraffic(
  client: Client,
  info: SandboxInfo,
  { since, after, most, detailsOf, leaveOut }: ReadOptions,
  about: Pick<Traffic, 'client_id' | 'command_name'>,
): Promise<Traffic> {
  const query = since === undefined ? {} : { since }
  const own = await pages(most, (page) =>
    client.requests.find({ body: { headers: { 'user-agent': leaveOut.user_agent }, ...query, ...page } }),
  )
  const ownIds = new Set(own.map(({ request_id }) => request_id))
  const listed = await pages(most, (page) =>
    client.requests.list({ query: { ...query, ...(after ? { after } : {}), ...page } }),
  )
  const items = listed.filter(({ request_id }) => !ownIds.has(request_id))
  const details = await readDetails(client, detailsOf(items))
  const placements = await pages(most, (page) => client.placements.list({ query: { ...query, ...page } }))
  const beacons = await pages(most, (page) => client.beacons.list({ query: { ...query, ...page } }))
  const exchanges = items.map((item): Exchange => ({ ...item, detail: details.get(item.request_id) ?? null })).reverse()
  const slots = after === undefined ? null : new Set(exchanges.flatMap((each) => [each.slot_id, ...openSlots(each)]))
  const isConcerned = ({ slot_id }: { slot_id: string | null }) => slots === null || slots.has(slot_id)
  return {
    exchanges,
    placements: placements.filter((each) => isConcerned(each) && each.session_id?.startsWith(leaveOut.prefix) !== true),
    beacons: beacons.filter((each) => isConcerned(each) && each.beacon_id?.startsWith(leaveOut.prefix) !== true),
    projects: info.projects,
    now_ms: info.clock.now_ms,
    ...about,
  }
}

/** Items of a list, page by page, newest first. */
async function pages<Item>(
  most: number,
  read: (page: { limit: number; cursor?: string }) => Promise<{ items: Item[]; next_cursor: string | null }>,
): Promise<Item[]> {
  const items: Item[] = []
  for (let cursor: string | null | undefined; cursor !== null && items.length < most; ) {
    const limit = Math.min(1_000, most - items.length)
    const page = await read(cursor === undefined ? { limit } : { limit, cursor })
    items.push(...page.items)
    cursor = page.next_cursor
  }
  return items
}

async function readDetails(client: Client, wanted: readonly RequestItem[]): Promise<Map<string, ExchangeDetail>> {
  const details = new Map<string, ExchangeDetail>()
  const waiting = [...new Set(wanted.map(({ request_id }) => request_id))]
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
        const detail = await readDetail(client, id)
        if (detail !== null) details.set(id, detail)
      }
    }),
  )
  return details
}

/** Null when it has gone from the journal meanwhile. */
async function readDetail(client: Client, request_id: string): Promise<ExchangeDetail | null> {
  const found = await client.requests.show({ params: { request_id } }).catch((error: Error & { status?: number }) => {
    if (error.status === 404) return null
    throw error
  })
  if (found === null) return null
  const { request_headers, response_headers, request_body, response_body } = found
  return {
    request_headers,
    response_headers,
    request_body: readJson(request_body),
    response_body: readJson(response_body),
  }
}

function readJson(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return null
  }
}
