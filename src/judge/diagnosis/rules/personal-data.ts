/** Personal data on the way out: in session ids, topics, metadata and labels. A finding names the field, never the data. */

import type { FieldError } from '#contract/errors.ts'
import { findPersonalFields } from '#contract/personal-data/personal-fields.ts'
import {
  countPhrase,
  formatRoute,
  groupBy,
  isAdRequest,
  isBeacon,
  type JournaledExchange,
  takeLast,
} from '#diagnosis/exchange.ts'
import { isObject, valueAt } from '#foundation/json.ts'
import { listPersonalKinds } from '#foundation/personal-data/personal-kinds.ts'
import { judgeMatching, type RuleFinding, ruleSet } from '../rule.ts'

export const personalDataRules = ruleSet('journal', {
  'personal-data-sent': {
    title: 'session ids, topics, metadata and labels contain no personal data',
    severity: 'warning',
    costs: 'The data leaves your systems without a legal basis, and a topic goes to every demand partner.',
    fix: 'Remove it before you send the request: a topic of a few words, a random session_id. To refuse such requests: svc sandbox projects update --personal-data reject.',
    needs: 'a request with a session, a topic or metadata',
    judge: judgeMatching(hasOwnWords, (requests) => [...findAccepted(requests), ...findRefused(requests)]),
  },
})

function hasOwnWords(exchange: JournaledExchange): boolean {
  const isConsent = formatRoute(exchange) === 'POST /v1/consent'
  return isObject(exchange.request_body) && (isAdRequest(exchange) || isBeacon(exchange) || isConsent)
}

/** A field of a request, and what is wrong with it: `seems to contain an IBAN`. */
interface Found {
  exchange: JournaledExchange
  path: string
  problem: string
}

function findAccepted(requests: readonly JournaledExchange[]): RuleFinding[] {
  const found = requests.flatMap((exchange) =>
    findPersonalFields(exchange.request_body).map(({ path, kinds }): Found => {
      return { exchange, path, problem: `seems to contain ${listPersonalKinds(kinds)}` }
    }),
  )
  return findingPerField(found)
}

/** The journal has no text of a request that was refused for it: the response says which field it was. */
function findRefused(requests: readonly JournaledExchange[]): RuleFinding[] {
  const reason = 'personal_data_in_field'
  const refused = requests.filter(({ reason_code }) => reason_code === reason)
  const found = refused.flatMap((exchange) => {
    const fields = valueAt(exchange.response_body, 'fields')
    if (!Array.isArray(fields)) return []
    return fields.map(({ path, message }: FieldError): Found => ({ exchange, path, problem: `${message}, refused` }))
  })
  return findingPerField(found).map((finding) => ({ ...finding, severity: 'error', reason }))
}

/** Returns one finding for each field of each route, and what is wrong with it. */
function findingPerField(found: readonly Found[]): RuleFinding[] {
  const groups = groupBy(found, ({ exchange, path, problem }) => `${formatRoute(exchange)} ${path} ${problem}`)
  return [...groups.values()].map((group) => {
    const { exchange, path, problem } = takeLast(group)
    return {
      message: `${path} of ${formatRoute(exchange)} ${problem} (${countPhrase(group.length)}).`,
      requests: group.map((each) => each.exchange),
    }
  })
}
