/** What a check says of requests that were refused. */
import type { ReasonCode } from '../../contract/errors.ts'
import { type Exchange, groupBy, member, routeOf, times } from '../exchange.ts'
import { type Outcome, problem } from './finding.ts'

/** One problem for each cause and route among the refused requests. */
export function refusals(
  exchanges: readonly Exchange[],
  fixes: Readonly<Partial<Record<ReasonCode, string>>>,
): Outcome[] {
  const groups = groupBy(exchanges, (exchange) =>
    exchange.reason_code !== null && exchange.reason_code in fixes
      ? `${exchange.reason_code} ${routeOf(exchange)}`
      : null,
  )
  return [...groups.values()].map((group) => {
    const last = group.at(-1) as Exchange
    const reason = last.reason_code as ReasonCode
    const message = member(last.detail?.response_body, 'message')
    return problem(
      `${routeOf(last)} was refused ${times(group.length)} with ${last.status} ${reason}${typeof message === 'string' ? `: ${message}` : '.'} Last: ${last.request_id}.`,
      fixes[reason] as string,
    )
  })
}
