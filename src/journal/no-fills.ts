/** No-fills, and what a session asked for after them. */
import { type Exchange, groupBy, member, pathOf } from './exchange.ts'

/** Asking again within this time is a loop, not the next turn of a conversation. */
const atOnceMs = 1_000

/** No-fills after which the same session asked for the same at once. */
export function noFillLoops(exchanges: readonly Exchange[]): { first: Exchange; again: Exchange }[] {
  const sessions = groupBy(exchanges, (exchange) =>
    exchange.session_id !== null && isPlacementRequest(exchange)
      ? `${exchange.client_id} ${exchange.session_id}`
      : null,
  )
  return [...sessions.values()].flatMap((group) =>
    group.flatMap((first, index) => {
      const again = group[index + 1]
      return again !== undefined && isLoop(first, again) ? [{ first, again }] : []
    }),
  )
}

/** The reason code of a no-fill; undefined of any other answer. */
export function noFillReasonOf({ detail }: Exchange): string | undefined {
  const reason = member(detail?.response_body, 'decision', 'no_fill_reason')
  return typeof reason === 'string' ? reason : undefined
}

export function isPlacementRequest(exchange: Exchange): boolean {
  return exchange.method === 'POST' && pathOf(exchange) === '/v1/placements'
}

function isLoop(first: Exchange, again: Exchange): boolean {
  if (again.at_ms - first.at_ms >= atOnceMs || noFillReasonOf(first) === undefined) return false
  return JSON.stringify(first.detail?.request_body) === JSON.stringify(again.detail?.request_body)
}
