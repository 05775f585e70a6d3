import { type Check, orOk, warning } from './finding.ts'
import { type Exchange, member, pathOf, some, type Traffic, times } from './traffic.ts'

/** A client that polls does so within this time. */
const patienceMs = 5_000

/** Slots that were answered as pending, or made by a job, and that nobody asked for again. */
export const polling: Check<Traffic> = {
  name: 'polling',
  find: ({ exchanges, now_ms }) => {
    const asked = new Set(exchanges.flatMap((exchange) => polledSlot(exchange) ?? []))
    const left = exchanges
      .filter(({ at_ms }) => now_ms - at_ms >= patienceMs)
      .flatMap((exchange) => openSlots(exchange))
      .filter((slot_id) => !asked.has(slot_id))
    return orOk(
      left.length === 0
        ? []
        : [
            warning(
              `A pending slot was never asked for again, ${times(left.length)}: ${some(left)}.`,
              'Poll GET /v1/decisions/{slot_id} until its status is ready, or send a longer wait_ms.',
            ),
          ],
      'Every pending slot was asked for again.',
    )
  },
}

function polledSlot(exchange: Exchange): string | undefined {
  return exchange.method === 'GET' ? /^\/v1\/decisions\/([^/]+)$/.exec(pathOf(exchange))?.[1] : undefined
}

/** What an answer leaves to be polled. */
function openSlots(exchange: Exchange): string[] {
  const body = exchange.detail?.response_body
  if (exchange.method !== 'POST' || exchange.status >= 400) return []
  const slot_ids = member(body, 'slot_ids')
  if (pathOf(exchange) === '/v1/jobs' && Array.isArray(slot_ids)) return slot_ids.map(String)
  const slot_id = member(body, 'slot_id')
  return member(body, 'status') === 'pending' && typeof slot_id === 'string' ? [slot_id] : []
}
