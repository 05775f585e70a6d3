/**
 * The journal of a sandbox: its records of an integration, read page by page over its control API, and what a request
 * is about.
 */
import { type Client, nextCursor } from '#client/client.ts'
import { contractCheckClient, isOwnRequest } from '#contract/own-requests.ts'
import type { BeaconItem } from '#contract/resources/beacons.ts'
import type { PlacementItem } from '#contract/resources/placements.ts'
import type { ListedRequest, RequestItem } from '#contract/resources/requests.ts'
import type { SandboxInfo } from '#contract/resources/sandbox/sandbox.ts'
import { isLoopback, withoutQuery } from '#foundation/http.ts'
import { parseJson, valueAt } from '#foundation/json.ts'

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

function isOwn({ request_headers }: RecordedExchange): boolean {
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
  { request_headers, slot_id, path }: RecordedExchange,
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
function slotsMadeBy({ slot_id, response_body, response_headers }: RecordedExchange): string[] {
  const listed = valueAt(response_body, 'slot_ids')
  const more = response_headers['x-sandbox-slot-ids']?.split(/[ ,]+/) ?? []
  return [slot_id, ...(Array.isArray(listed) ? listed.map(String) : []), ...more].filter((each) => each !== null)
}

function readBeaconIds({ request_body }: RecordedExchange): string[] {
  const id = textAt(request_body, 'beacon_id')
  return id === null ? [] : [id]
}

function toExchange(item: ListedRequest): RecordedExchange {
  const { request_headers = {}, response_headers = {}, request_body, response_body } = item
  return {
    ...item,
    request_headers,
    response_headers,
    request_body: parseJson(request_body ?? '') ?? null,
    response_body: parseJson(response_body ?? '') ?? null,
  }
}

/** One request and its response. Keys, tokens and prompt text are redacted. */
export interface RecordedExchange extends RequestItem {
  request_headers: Readonly<Record<string, string>>
  response_headers: Readonly<Record<string, string>>
  /** JSON bodies as values; null when there is none, or it is not JSON. */
  request_body: unknown
  response_body: unknown
}

/** The records of a sandbox about an integration in a span of time. */
export interface Journal {
  /** Oldest first. */
  exchanges: readonly RecordedExchange[]
  /** The attempts to deliver callbacks, which go from the sandbox to the integration. Oldest first. */
  callbacks: readonly RecordedExchange[]
  placements: readonly PlacementItem[]
  beacons: readonly BeaconItem[]
  projects: SandboxInfo['projects']
  /** How many requests to the API svc itself sent, which are left out. */
  own_requests: number
  /** Sandbox time when the journal was read, epoch milliseconds. */
  now_ms: number
  /** The project of the settings. */
  client_id: string | null
  /** How commands begin in hints: `svc`, `npx svc-sandbox`. */
  command_name: string
}

/** Returns `POST /v1/beacons`, without the query. */
export function formatRoute({ method, path }: Pick<RecordedExchange, 'method' | 'path'>): string {
  return `${method} ${withoutQuery(path)}`
}

const goesTo = (route: string) => (exchange: RecordedExchange) => formatRoute(exchange) === route

export const isPlacementRequest = goesTo('POST /v1/placements')
const isJobAlias = goesTo('POST /public/wrapper/v1/jobs')
const isJobRequest = (exchange: RecordedExchange) => goesTo('POST /v1/jobs')(exchange) || isJobAlias(exchange)

const beaconRoute = /^POST \/(v1|public\/(wrapper|browser)\/v1)\/beacons$/

/** Whether it is a beacon, also one of an old client. */
export function isBeacon(exchange: RecordedExchange): boolean {
  return beaconRoute.test(formatRoute(exchange))
}

export const isActivation = goesTo('POST /v1/browser/activate')

/** Whether it is a request for an ad. */
export function isAdRequest(exchange: RecordedExchange): boolean {
  return isPlacementRequest(exchange) || isJobRequest(exchange)
}

/** Whether it loads a hosted frame. */
export function isFrame({ method, path }: RecordedExchange): boolean {
  return method === 'GET' && path.startsWith('/v1/render/')
}

/** Whether it is an activation that succeeded. */
export function isActivated(exchange: RecordedExchange): boolean {
  return isActivation(exchange) && exchange.status === 200
}

/** Whether a browser sent it: programs send none of these headers. */
export function isFromBrowser({ request_headers }: RecordedExchange): boolean {
  return ['origin', 'sec-fetch-site', 'sec-fetch-dest'].some((name) => name in request_headers)
}

/** Returns a text in the request or response body by its dotted path, or null. */
export function textAt(body: unknown, path: string): string | null {
  const value = valueAt(body, path)
  return typeof value === 'string' ? value : null
}

/** Returns the reason code of a no-fill, or null for any other response. */
export function readNoFillReason({ response_body }: RecordedExchange): string | null {
  return textAt(response_body, 'decision.no_fill_reason')
}

/** Identifies the session of a request: each project has its own. */
export function sessionKey({ client_id, session_id }: RecordedExchange): string {
  return `${client_id} ${session_id}`
}

/** Whether the sandbox warned of something in its `x-sandbox-warning` header. */
export function hasWarning({ response_headers }: RecordedExchange, warning: string): boolean {
  return response_headers['x-sandbox-warning']?.includes(warning) === true
}

const poll = /^GET \/(?:v1\/decisions\/([^/]+)|public\/(?:wrapper|browser)\/v1\/slots\/([^/]+)\/decision)$/

/** Returns the slot that a request polls, or null when it is not a poll. */
export function polledSlot(exchange: RecordedExchange): string | null {
  const [, canonical, alias] = poll.exec(formatRoute(exchange)) ?? []
  return canonical ?? alias ?? null
}

const ticket = /^POST \/public\/(?:wrapper|browser)\/v1\/slots\/([^/]+)\/decision-ticket$/

/** Returns the slots whose decision was polled for, pushed over a socket, or sent as a callback. */
export function followedSlots({ exchanges, callbacks }: Pick<Journal, 'exchanges' | 'callbacks'>): Set<string | null> {
  const ticketed = exchanges.map((exchange) => ticket.exec(formatRoute(exchange))?.[1] ?? null)
  return new Set([...exchanges.map(polledSlot), ...ticketed, ...callbacks.map(({ slot_id }) => slot_id)])
}

/** Returns the slots that a response leaves to be polled: a pending slot, or the slots of a job. */
export function openSlots(exchange: RecordedExchange): string[] {
  const { method, status, response_body } = exchange
  if (method !== 'POST' || status >= 400) return []
  const slot_ids = valueAt(response_body, 'slot_ids')
  if (isJobRequest(exchange) && Array.isArray(slot_ids)) return slot_ids.map(String)
  const slot_id = textAt(response_body, 'slot_id')
  return valueAt(response_body, 'status') === 'pending' && slot_id !== null ? [slot_id] : []
}

export type NonEmpty<Item> = readonly [Item, ...Item[]]

/** Groups items by a key, in the order in which the keys first occur; items without a key are left out. */
export function groupBy<Item, Key extends string>(
  items: readonly Item[],
  key: (item: Item) => Key | null,
): Map<Key, NonEmpty<Item>> {
  const groups = new Map<Key, [Item, ...Item[]]>()
  for (const item of items) {
    const name = key(item)
    if (name === null) continue
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [item])
    else group.push(item)
  }
  return groups
}

export function takeLast<Item>(items: NonEmpty<Item>): Item {
  return items.at(-1) ?? items[0]
}

/** Returns the slots whose frame was loaded, each with the first time. */
export function loadedFrames(exchanges: readonly RecordedExchange[]): Map<string, RecordedExchange> {
  const loaded = groupBy(exchanges, (exchange) =>
    isFrame(exchange) && exchange.status === 200 ? exchange.slot_id : null,
  )
  return new Map([...loaded].map(([slot_id, [first]]) => [slot_id, first]))
}

/** Returns the slots that requests are about: `slot_a, slot_b`. */
export function listSlots(requests: readonly RecordedExchange[]): string {
  return joinFirst(requests.map(({ slot_id }) => slot_id ?? 'an unknown slot'))
}

/** Returns `once`, `3 times`. */
export function countPhrase(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

/** Returns the first few distinct texts on one line: `a, b, c and 2 more`. */
export function joinFirst(texts: readonly string[], most = 3): string {
  const distinct = [...new Set(texts)]
  const more = distinct.length - most
  return distinct.slice(0, most).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
