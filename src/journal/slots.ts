/** Slots that have no decision yet, and who asked for them again. */
import { type Exchange, member, pathOf } from './exchange.ts'

/** The slot that a request polls. */
export function polledSlot(exchange: Exchange): string | undefined {
  return exchange.method === 'GET' ? /^\/v1\/decisions\/([^/]+)$/.exec(pathOf(exchange))?.[1] : undefined
}

/** What an answer leaves to be polled: a pending slot, or the slots of a job. */
export function openSlots(exchange: Exchange): string[] {
  const body = exchange.detail?.response_body
  if (exchange.method !== 'POST' || exchange.status >= 400) return []
  const slot_ids = member(body, 'slot_ids')
  if (pathOf(exchange) === '/v1/jobs' && Array.isArray(slot_ids)) return slot_ids.map(String)
  const slot_id = member(body, 'slot_id')
  return member(body, 'status') === 'pending' && typeof slot_id === 'string' ? [slot_id] : []
}

/** Slots that answers before `until_ms` left open, and that nobody asked for again. */
export function forgottenSlots(
  exchanges: readonly Exchange[],
  until_ms: number,
): { slot_id: string; exchange: Exchange }[] {
  const asked = new Set(exchanges.flatMap((exchange) => polledSlot(exchange) ?? []))
  return exchanges
    .filter(({ at_ms }) => at_ms <= until_ms)
    .flatMap((exchange) => openSlots(exchange).map((slot_id) => ({ slot_id, exchange })))
    .filter(({ slot_id }) => !asked.has(slot_id))
}
