/**
 * The journal of a sandbox: its records of an integration, read page by page over its control API, and what a request
 * is about.
 */
import { type Client, nextCursor } from '#client/client.ts'
import { contractCheckClient, isOwnRequest } from '#contract/own-requests.ts'
import type { BeaconItem } from '#contract/resources/beacons.ts'
import type { PlacementItem } from '#contract/resources/placements.ts'
import type { ListedRequest } from '#contract/resources/requests.ts'
import type { SandboxInfo } from '#contract/resources/sandbox/sandbox.ts'
import { isLoopback, withoutQuery } from '#foundation/http.ts'
import { parseJson, valueAt } from '#foundation/json.ts'
import {
  formatRoute,
  isAdRequest,
  isBeacon,
  type JournaledExchange,
  openSlots,
  polledSlot,
  textAt,
  ticket,
} from './exchange.ts'

interface ReadOptions {
  /** Only records since then: epoch milliseconds or a span such as `10m`. */
  since?: string | undefined
  /**
   * Only requests that arrived after the one with this id, and the slots that they are about, however the sandbox clock
   * has been set since. Null: from the first request on.
   */
  after?: string | null | undefined
  /** The maximum number of exchanges, of placements and of beacons to read. */
  limit: number
}

/**
 * Returns the newest exchanges, with the placements and beacons of the same time. Requests that svc itself sent, and
 * the placements and beacons of those, are left out: they do not come from an integration.
 */
export async function readJournal(
  client: Client,
  { projects, clock, url }: SandboxInfo,
  { since, after, limit }: ReadOptions,
  about: Pick<Journal, 'client_id' | 'command_name'>,
): Promise<Journal> {
  const query = since === undefined ? {} : { since }
  const listed = await readPages(
    limit,
    (page) => client.requests.list({ query: { ...query, ...(after ? { after } : {}), ...page, details: 'true' } }),
    ({ request_headers = {} }) => !isOwnRequest(request_headers),
  )
  // Pages that are not allowed yet are the most common mistake of integrations.
  const foreign = await client.requests.list({
    query: { ...query, ...(after ? { after } : {}), foreign: 'true', details: 'true' },
  })
  const placements = await readPages(limit, (page) => client.placements.list({ query: { ...query, ...page } }))
  const beacons = await readPages(limit, (page) => client.beacons.list({ query: { ...query, ...page } }))
  const read = [...listed, ...foreign.items]
    .sort((one, other) => (one.request_id < other.request_id ? 1 : -1))
    .map(toExchange)
    .reverse()
  const sent = read.filter(isOwn)
  const ownSlots = new Set(sent.flatMap((exchange) => (isAdRequest(exchange) ? slotsMadeBy(exchange) : [])))
  const origins = listOrigins(url)
  // The demo and the playground run render.js in a browser, whose requests no User-Agent marks.
  const own = new Set([...sent, ...read.filter((exchange) => isFromOwnPage(exchange, origins, ownSlots))])
  const ownBeacons = new Set([...own].flatMap((exchange) => (isBeacon(exchange) ? readBeaconIds(exchange) : [])))
  const exchanges = read.filter((exchange) => exchange.path.startsWith('/') && !own.has(exchange))
  const slots = after === undefined ? null : new Set(exchanges.flatMap((each) => [each.slot_id, ...openSlots(each)]))
  const isConcerned = ({ slot_id }: { slot_id: string | null }) => slots === null || slots.has(slot_id)
  const isOfCheck = (id: string | null) => id?.startsWith(contractCheckClient.session_prefix) === true
  return {
    exchanges,
    callbacks: read.filter(({ path }) => !path.startsWith('/')),
    placements: placements.filter(
      (each) => isConcerned(each) && !isOfCheck(each.session_id) && !ownSlots.has(each.slot_id),
    ),
    beacons: beacons.filter(
      (each) => isConcerned(each) && !isOfCheck(each.beacon_id) && !ownBeacons.has(each.beacon_id ?? ''),
    ),
    own_requests: [...own].filter(({ path }) => path.startsWith('/v1/')).length,
    projects,
    now_ms: clock.now_ms,
    ...about,
  }
}

/** A suite of `svc qa run` may have sent this many times as many requests since as are read of an integration. */
const maxPassedOverFactor = 10

/** Reads a list page by page, newest first, until its end or `limit` items that count. */
async function readPages<Item>(
  limit: number,
  read: (page: { limit: number; cursor?: string }) => Promise<{ items: Item[]; next_cursor: string | null }>,
  counts: (item: Item) => boolean = () => true,
): Promise<Item[]> {
  const items: Item[] = []
  let counted = 0
  let cursor: string | null = null
  do {
    const size = Math.min(1_000, limit - counted)
    const page = await read({ limit: size, ...(cursor === null ? {} : { cursor }) })
    items.push(...page.items)
    counted += page.items.filter(counts).length
    cursor = nextCursor(page, cursor)
  } while (cursor !== null && counted < limit && items.length < maxPassedOverFactor * limit)
  return items
}

function isOwn({ request_headers }: JournaledExchange): boolean {
  return isOwnRequest(request_headers)
}

/**
 * Returns the origins of the pages of a sandbox, by the address that it listens at. Its public URL can be a proxy that
 * serves pages of the integration too.
 */
function listOrigins(url: string): ReadonlySet<string> {
  const address = URL.parse(url)
  // A service that says it is a sandbox may say anything.
  if (address === null) return new Set()
  const { origin, hostname } = address
  const names = isLoopback(hostname) ? [hostname, '127.0.0.1', 'localhost'] : [hostname]
  return new Set(names.map((name) => origin.replace(hostname, name)))
}

/**
 * Whether a page of the sandbox itself sent it: the demo or the playground. Not a hosted frame, which has the same origin
 * but belongs to an ad of the integration.
 */
function isFromOwnPage(
  { request_headers, slot_id, path }: JournaledExchange,
  origins: ReadonlySet<string>,
  ownSlots: ReadonlySet<string>,
): boolean {
  // A browser sends no Origin with a script, or a frame, of the origin of the page.
  const isSameOrigin = request_headers['sec-fetch-site'] === 'same-origin'
  const isOfPage = origins.has(request_headers.origin ?? '')
  if (slot_id === null) return isOfPage || (isSameOrigin && withoutQuery(path).endsWith('.js'))
  return ownSlots.has(slot_id) && (isOfPage || isSameOrigin)
}

/** Returns the slots that a request created: the first one of a placement, and all of a job. */
function slotsMadeBy({ slot_id, response_body, response_headers }: JournaledExchange): string[] {
  const listed = valueAt(response_body, 'slot_ids')
  const more = response_headers['x-sandbox-slot-ids']?.split(/[ ,]+/) ?? []
  return [slot_id, ...(Array.isArray(listed) ? listed.map(String) : []), ...more].filter((each) => each !== null)
}

function readBeaconIds({ request_body }: JournaledExchange): string[] {
  const id = textAt(request_body, 'beacon_id')
  return id === null ? [] : [id]
}

function toExchange(item: ListedRequest): JournaledExchange {
  const { request_headers = {}, response_headers = {}, request_body, response_body } = item
  return {
    ...item,
    request_headers,
    response_headers,
    request_body: parseJson(request_body ?? '') ?? null,
    response_body: parseJson(response_body ?? '') ?? null,
  }
}

/** The records of a sandbox about an integration in a span of time. */
export interface Journal {
  /** Oldest first. */
  exchanges: readonly JournaledExchange[]
  /** The attempts to deliver callbacks, which go from the sandbox to the integration. Oldest first. */
  callbacks: readonly JournaledExchange[]
  placements: readonly PlacementItem[]
  beacons: readonly BeaconItem[]
  projects: SandboxInfo['projects']
  /** How many requests to the API svc itself sent, which are left out. */
  own_requests: number
  /** Sandbox time when the journal was read, epoch milliseconds. */
  now_ms: number
  /** The project of the settings. */
  client_id: string | null
  /** How commands begin in hints: `svc`, `npx --no svc-sandbox`. */
  command_name: string
}

/** Returns the slots whose decision was polled for, pushed over a socket, or sent as a callback. */
export function followedSlots({ exchanges, callbacks }: Pick<Journal, 'exchanges' | 'callbacks'>): Set<string | null> {
  const ticketed = exchanges.map((exchange) => ticket.exec(formatRoute(exchange))?.[1] ?? null)
  return new Set([...exchanges.map(polledSlot), ...ticketed, ...callbacks.map(({ slot_id }) => slot_id)])
}
