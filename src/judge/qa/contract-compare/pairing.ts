/** Pairs the exchanges of two recordings: the same endpoint, the same session by order, and a comparable request. */
import { findRole } from '#contract/recordings/field-roles.ts'
import type { RecordedExchange } from '#contract/recordings/recording.ts'
import { isObject, type Json } from '#foundation/json.ts'

interface Pairing {
  pairs: (readonly [service: RecordedExchange, other: RecordedExchange])[]
  /** Exchanges without a counterpart. */
  unpaired: { service: number; other: number }
}

/**
 * Pairs exchanges within sessions of the same number first, the others wherever a comparable one is left: sessions of
 * another run may be more, or in another order.
 */
export function pairExchanges(service: readonly RecordedExchange[], other: readonly RecordedExchange[]): Pairing {
  const bySession = pairBy(describeAll(service, true), describeAll(other, true))
  const left = pairBy(describeAll(bySession.left_of_service, false), describeAll(bySession.left_of_other, false))
  return {
    pairs: [...bySession.pairs, ...left.pairs].toSorted(([a], [b]) => a.at_ms - b.at_ms || a.entry - b.entry),
    unpaired: { service: left.left_of_service.length, other: left.left_of_other.length },
  }
}

interface Described {
  exchange: RecordedExchange
  /** The same for requests that can be compared. */
  key: string
}

function describeAll(exchanges: readonly RecordedExchange[], hasSession: boolean): Described[] {
  const sessions = new Map<string, number>()
  return exchanges.map((exchange) => {
    const { session_id } = exchange
    if (session_id !== null && !sessions.has(session_id)) sessions.set(session_id, sessions.size)
    const session = hasSession && session_id !== null ? sessions.get(session_id) : null
    return { exchange, key: JSON.stringify([session, ...describeRequest(exchange)]) }
  })
}

/** Returns what makes requests comparable: everything but what differs with every run. */
function describeRequest({ endpoint, method, query, request_headers, request_body }: RecordedExchange): unknown[] {
  // Browsers leave credentials out of the files that they export.
  const hasSecretKey = /^Bearer sk_/.test(request_headers.authorization ?? '')
  return [
    endpoint,
    method,
    query,
    hasSecretKey,
    request_headers['if-none-match'] !== undefined,
    shapeBody(request_body, ''),
  ]
}

function shapeBody(value: Json, name: string): Json {
  if (Array.isArray(value)) return value.map((item) => shapeBody(item, name))
  if (isObject(value)) {
    const names = Object.keys(value).toSorted()
    return Object.fromEntries(names.map((key) => [key, shapeBody(value[key] ?? null, key)]))
  }
  if (typeof value === 'string' && value.startsWith('[removed: ')) return 'text'
  const differs = ['identifier', 'time', 'token', 'price', 'address', 'count'].includes(findRole(name))
  // Measurements are numbers of one run.
  return differs || (typeof value === 'number' && measured.test(name)) ? typeof value : value
}

const measured = /_(?:ms|px|ratio)$|^seq$/

function pairBy(service: readonly Described[], other: readonly Described[]) {
  const waiting = Map.groupBy(other, ({ key }) => key)
  const pairs: (readonly [RecordedExchange, RecordedExchange])[] = []
  const left_of_service: RecordedExchange[] = []
  for (const { exchange, key } of service) {
    const found = waiting.get(key)?.shift()
    if (found === undefined) left_of_service.push(exchange)
    else pairs.push([exchange, found.exchange])
  }
  return { pairs, left_of_service, left_of_other: [...waiting.values()].flat().map(({ exchange }) => exchange) }
}
