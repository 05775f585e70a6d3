/** Callbacks: whether the integration takes them. */

import { problemHeader } from '../../contract/headers.ts'
import { withoutQuery } from '../../foundation/http.ts'
import { type Exchange, groupBy, slotsOf } from '../exchange.ts'
import { type Finding, ruleSet } from '../rule.ts'

export const callbackRules = ruleSet('journal', {
  'callback-failing': {
    severity: 'error',
    fix: 'Answer each callback with a 2xx within 5 s and without a redirect, then send it again: svc callbacks resend SLOT_ID. Receive some here: svc callbacks listen',
    judge: ({ callbacks }) => ({
      looked_at: callbacks.length,
      findings: [...groupBy(callbacks, ({ path }) => withoutQuery(path)).entries()].flatMap(findingsOf),
    }),
  },
})

/** Returns the problems of the callbacks to one URL: those that were not delivered, else those that needed a retry. */
function findingsOf([url, attempts]: [string, readonly Exchange[]]): Finding[] {
  const slots = [...groupBy(attempts, ({ slot_id }) => slot_id).values()]
  const failed = slots.flatMap((tries) => (isDelivered(tries.at(-1)!) ? [] : [tries.at(-1)!]))
  const total = `${slots.length} ${slots.length === 1 ? 'callback' : 'callbacks'}`
  if (failed.length > 0) {
    const last = failed.at(-1)!
    const message = `${failed.length} of ${total} to ${url} not delivered: ${slotsOf(failed)}. ${outcomeOf(last)}`
    return [{ message, requests: failed, cites_last: true }]
  }
  const retried = slots.filter(({ length }) => length > 1)
  if (retried.length === 0) return []
  const first = retried[0]!.find((attempt) => !isDelivered(attempt))
  if (first === undefined) return []
  const message = `${retried.length} of ${total} to ${url} delivered after a retry only. ${outcomeOf(first)}`
  return [{ message, requests: [first], severity: 'warning', cites_last: true }]
}

function isDelivered({ status }: Exchange): boolean {
  return status >= 200 && status < 300
}

function outcomeOf({ status, response_headers }: Exchange): string {
  return status === 0 ? (response_headers[problemHeader] ?? 'No response.') : `The receiver responded ${status}.`
}
