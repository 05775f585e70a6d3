/** Callbacks: whether they are delivered. */

import { problemHeader } from '#contract/endpoint.ts'
import { groupBy, type JournaledExchange, listSlots, takeLast } from '#diagnosis/exchange.ts'
import { withoutQuery } from '#foundation/http.ts'
import { plural } from '#text/text.ts'
import { type RuleFinding, ruleSet } from '../rule.ts'

export const callbackRules = ruleSet('journal', {
  'callback-failing': {
    title: 'every callback is delivered',
    severity: 'error',
    costs: 'The app does not learn that its placement was decided, and the ad is shown late or never.',
    needs: 'a job that asked for a callback',
    fix: 'Respond to each callback with a 2xx within 5 s, without a redirect, then send it again: svc sandbox callbacks resend SLOT_ID. Receive some here: svc sandbox callbacks listen',
    judge: ({ callbacks }) => ({
      sample_size: callbacks.length,
      findings: [...groupBy(callbacks, ({ path }) => withoutQuery(path)).entries()].flatMap(judgeCallbacks),
    }),
  },
})

/** Returns the problems with callbacks to one URL: those not delivered, or else those that needed a retry. */
function judgeCallbacks([url, attempts]: [string, readonly JournaledExchange[]]): RuleFinding[] {
  const slots = [...groupBy(attempts, ({ slot_id }) => slot_id).values()]
  const failed = slots.flatMap((tries) => (isDelivered(takeLast(tries)) ? [] : [takeLast(tries)]))
  const total = plural(slots.length, 'callback')
  if (failed.length > 0) {
    const last = failed.at(-1)!
    const message = `${failed.length} of ${total} to ${url} not delivered: ${listSlots(failed)}. ${describeOutcome(last)}`
    return [{ message, requests: failed }]
  }
  const retried = slots.filter(({ length }) => length > 1)
  if (retried.length === 0) return []
  const first = retried[0]!.find((attempt) => !isDelivered(attempt))
  if (first === undefined) return []
  const message = `${retried.length} of ${total} to ${url} delivered only after a retry. ${describeOutcome(first)}`
  return [{ message, requests: [first], severity: 'warning' }]
}

function isDelivered({ status }: JournaledExchange): boolean {
  return status >= 200 && status < 300
}

function describeOutcome({ status, response_headers }: JournaledExchange): string {
  return status === 0 ? (response_headers[problemHeader] ?? 'No response.') : `The receiver responded ${status}.`
}
