import { type Check, orOk, warning } from './finding.ts'
import { type Exchange, groupBy, member, pathOf, type Traffic, times } from './traffic.ts'

/** Asking again within this time is a loop, not the next turn of a conversation. */
const atOnceMs = 1_000

/** No-fills after which the same session asked again at once. */
export const noFill: Check<Traffic> = {
  name: 'no-fill',
  find: ({ exchanges }) => {
    const sessions = groupBy(exchanges, ({ method, session_id, client_id, ...exchange }) =>
      method === 'POST' && session_id !== null && pathOf(exchange) === '/v1/placements'
        ? `${client_id} ${session_id}`
        : null,
    )
    const repeated = [...sessions.values()].flatMap((group) =>
      group.filter((each, index) => isLoop(each, group[index + 1])),
    )
    const last = repeated.at(-1)
    return orOk(
      last === undefined
        ? []
        : [
            warning(
              `A no-fill (${String(reasonOf(last))}) was asked for again within a second, ${times(repeated.length)}. Last: ${last.request_id}.`,
              'Show nothing, and ask with the next turn; the same request gets the same answer.',
            ),
          ],
      'No no-fill was asked for again at once.',
    )
  },
}

function isLoop(exchange: Exchange, next: Exchange | undefined): boolean {
  if (next === undefined || next.at_ms - exchange.at_ms >= atOnceMs || reasonOf(exchange) === undefined) return false
  return JSON.stringify(exchange.detail?.request_body) === JSON.stringify(next.detail?.request_body)
}

function reasonOf({ detail }: Exchange): unknown {
  return member(detail?.response_body, 'decision', 'no_fill_reason')
}
