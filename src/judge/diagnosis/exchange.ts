import type { RequestItem } from '#contract/exports.ts'
import { withoutQuery } from '#foundation/http.ts'
import { valueAt } from '#foundation/json.ts'

/** One request and its response. Keys, tokens and prompt text are redacted. */
export interface JournaledExchange extends RequestItem {
  request_headers: Readonly<Record<string, string>>
  response_headers: Readonly<Record<string, string>>
  /** JSON bodies as values; null when there is none, or it is not JSON. */
  request_body: unknown
  response_body: unknown
}

/** Returns `POST /v1/beacons`, without the query. */
export function formatRoute({ method, path }: Pick<JournaledExchange, 'method' | 'path'>): string {
  return `${method} ${withoutQuery(path)}`
}

const goesTo = (route: string) => (exchange: JournaledExchange) => formatRoute(exchange) === route

export const isPlacementRequest = goesTo('POST /v1/placements')
const isJobAlias = goesTo('POST /public/wrapper/v1/jobs')
const isJobRequest = (exchange: JournaledExchange) => goesTo('POST /v1/jobs')(exchange) || isJobAlias(exchange)

const beaconRoute = /^POST \/(v1|public\/(wrapper|browser)\/v1)\/beacons$/

/** Whether it is a beacon, also one of an old client. */
export function isBeacon(exchange: JournaledExchange): boolean {
  return beaconRoute.test(formatRoute(exchange))
}

export const isActivation = goesTo('POST /v1/browser/activate')

/** Whether it is a request for an ad. */
export function isAdRequest(exchange: JournaledExchange): boolean {
  return isPlacementRequest(exchange) || isJobRequest(exchange)
}

/** Whether it loads a hosted frame. */
export function isFrame({ method, path }: JournaledExchange): boolean {
  return method === 'GET' && path.startsWith('/v1/render/')
}

/** Whether it is an activation that succeeded. */
export function isActivated(exchange: JournaledExchange): boolean {
  return isActivation(exchange) && exchange.status === 200
}

/** Whether a browser sent it: programs send none of these headers. */
export function isFromBrowser({ request_headers }: JournaledExchange): boolean {
  return ['origin', 'sec-fetch-site', 'sec-fetch-dest'].some((name) => name in request_headers)
}

/** Returns a text in the request or response body by its dotted path, or null. */
export function textAt(body: unknown, path: string): string | null {
  const value = valueAt(body, path)
  return typeof value === 'string' ? value : null
}

/** Returns the reason code of a no-fill, or null for any other response. */
export function readNoFillReason({ response_body }: JournaledExchange): string | null {
  return textAt(response_body, 'decision.no_fill_reason')
}

/** Identifies the session of a request: each project has its own. */
export function sessionKey({ client_id, session_id }: JournaledExchange): string {
  return `${client_id} ${session_id}`
}

/** Whether the sandbox warned of something in its `x-sandbox-warning` header. */
export function hasWarning({ response_headers }: JournaledExchange, warning: string): boolean {
  return response_headers['x-sandbox-warning']?.includes(warning) === true
}

const poll = /^GET \/(?:v1\/decisions\/([^/]+)|public\/(?:wrapper|browser)\/v1\/slots\/([^/]+)\/decision)$/

/** Returns the slot that a request polls, or null when it is not a poll. */
export function polledSlot(exchange: JournaledExchange): string | null {
  const [, canonical, alias] = poll.exec(formatRoute(exchange)) ?? []
  return canonical ?? alias ?? null
}

export const ticket = /^POST \/public\/(?:wrapper|browser)\/v1\/slots\/([^/]+)\/decision-ticket$/

/** Returns the slots that a response leaves to be polled: a pending slot, or the slots of a job. */
export function openSlots(exchange: JournaledExchange): string[] {
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
export function loadedFrames(exchanges: readonly JournaledExchange[]): Map<string, JournaledExchange> {
  const loaded = groupBy(exchanges, (exchange) =>
    isFrame(exchange) && exchange.status === 200 ? exchange.slot_id : null,
  )
  return new Map([...loaded].map(([slot_id, [first]]) => [slot_id, first]))
}

/** Returns the frame_url of each slot as the service gave it out, its token redacted. */
export function readFrameUrls(exchanges: readonly JournaledExchange[]): Map<string, string> {
  const given = exchanges.flatMap(({ slot_id, response_body }) => {
    const frame_url = textAt(response_body, 'placement.render.frame_url')
    return slot_id !== null && frame_url !== null ? [[slot_id, frame_url] as const] : []
  })
  return new Map(given)
}

/** Returns the slots that requests are about: `slot_a, slot_b`. */
export function listSlots(requests: readonly JournaledExchange[]): string {
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
