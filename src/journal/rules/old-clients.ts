/** Clients of an older version: which they are, and what of theirs is deprecated. For `svc doctor`. */
import { type Exchange, groupBy, times } from '../exchange.ts'
import { ruleSet } from '../rule.ts'

export const oldClientRules = ruleSet('journal', {
  'deprecated-route': {
    severity: 'warning',
    fix: 'Move it to the route that the Link header of the response names. svc start --strict shows what still depends on the old ones.',
    judge({ exchanges }) {
      const uses = exchanges.filter(({ alias }) => alias !== undefined)
      const findings = [...groupBy(uses, userOf)].map(([user, requests]) => ({
        message: `${user} uses deprecated routes: ${countedRoutes(requests)}.`,
        requests,
        cites_last: true as const,
      }))
      return { looked_at: uses.length, findings }
    },
  },
})

/** Returns who sends a request, as far as the journal shows it: the client's version, its project and its page. */
function userOf({ old_client, client_id, request_headers }: Exchange): string {
  const client = old_client === undefined ? 'A client' : `An old client, version ${old_client},`
  const project = client_id === null ? '' : ` of ${client_id}`
  const page = request_headers.origin === undefined ? '' : ` at ${request_headers.origin}`
  return `${client}${project}${page}`
}

/** Returns `wrapper.job (once), wrapper.decision (3 times)`. */
function countedRoutes(requests: readonly Exchange[]): string {
  const routes = groupBy(requests, ({ alias }) => alias ?? null)
  return [...routes].map(([alias, { length }]) => `${alias} (${times(length)})`).join(', ')
}
