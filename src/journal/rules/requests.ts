/** Bodies: what the service does not know, what it refuses, and what it only still takes. */
import { beaconEventSpellings } from '../../contract/v1/beacons.ts'
import { variantFieldNames } from '../../contract/v1/jobs.ts'
import { beaconMembers, rightName } from '../beacon-names.ts'
import { type Exchange, groupBy, member, pathOf, routeOf, times } from '../exchange.ts'
import { type Finding, type Rule, refusalRule } from '../rule.ts'

const isPost = ({ method }: Exchange) => method === 'POST'

export const unknownFields: Rule = {
  title: 'requests have only members of the contract',
  severity: 'error',
  costs: 'The request is refused: no ad, or a beacon that does not count.',
  fix: 'Remove the member, or correct its name.',
  needs: 'a request with a body',
  judge({ exchanges }) {
    const posts = exchanges.filter(isPost)
    const refused = posts.filter(({ reason_code }) => reason_code === 'field_unknown')
    const groups = groupBy(refused, (exchange) => `${routeOf(exchange)} ${fieldsOf(exchange).join(' ')}`)
    return { looked_at: posts.length, findings: [...groups.values()].map(unknownOf) }
  },
}

function fieldsOf({ detail }: Exchange): string[] {
  const fields = member(detail?.response_body, 'fields')
  return Array.isArray(fields) ? fields.map((field) => String(member(field, 'path'))) : []
}

function unknownOf(group: readonly Exchange[]): Finding {
  const last = group.at(-1) as Exchange
  const fields = fieldsOf(last)
  const isBeacon = pathOf(last) === '/v1/beacons'
  const names = fields.flatMap((field) => {
    const right = isBeacon && !beaconMembers.includes(field) ? rightName(field) : null
    return right === null ? [] : [`${field} is called ${right}`]
  })
  return {
    seen: `${routeOf(last)} had ${fields.join(', ')}, which the contract does not know, ${times(group.length)}.`,
    requests: group,
    ...(names.length === 0 ? {} : { fix: `${names.join(', ')}.` }),
  }
}

export const requestRefused = refusalRule(
  {
    title: 'requests match the schema',
    severity: 'error',
    costs: 'The request is refused: no ad, or a beacon that does not count.',
    fix: 'Correct the members that the answer lists in fields.',
    needs: 'a request with a body',
  },
  [
    'schema_invalid',
    'json_malformed',
    'body_empty',
    'formats_empty',
    'format_unsupported',
    'format_combination_unsupported',
    'slots_requested_out_of_range',
    'contract_version_unsupported',
    'consent_revision_conflict',
    'batch_not_supported',
    'event_not_supported_for_format',
    'beacon_id_conflict',
    'payload_too_large',
    'http_malformed',
  ],
  isPost,
)

export const contentType = refusalRule(
  {
    title: 'bodies are sent as application/json',
    severity: 'error',
    costs: 'The service refuses the body unread; navigator.sendBeacon does not even tell.',
    fix: 'Send beacons with fetch, keepalive: true and Content-Type: application/json.',
    needs: 'a request with a body',
  },
  ['content_type_unsupported'],
  isPost,
)

export const oldNames: Rule = {
  title: 'requests use the present names',
  severity: 'warning',
  costs: 'Old names are taken as they stand today; what they are mapped to may be less than what you meant.',
  fix: 'Send the names of the reference.',
  needs: 'a job, a placement or a beacon that was accepted',
  judge({ exchanges }) {
    const accepted = exchanges.filter((exchange) => isPost(exchange) && exchange.status < 300 && exchange.status > 0)
    const groups = groupBy(accepted, (exchange) => oldName(exchange))
    return {
      looked_at: accepted.length,
      findings: [...groups].map(([name, group]) => ({ seen: `${name}, ${times(group.length)}.`, requests: group })),
    }
  },
}

const variants: ReadonlySet<string> = new Set(variantFieldNames)

/** The first old name of a request, with what to write instead; null without one. */
function oldName(exchange: Exchange): string | null {
  const body = exchange.detail?.request_body
  if (pathOf(exchange) === '/v1/beacons') {
    const event = member(body, 'event')
    if (typeof event !== 'string' || !(event in beaconEventSpellings)) return null
    return `A beacon's event was ${event}, which is ${beaconEventSpellings[event as keyof typeof beaconEventSpellings]} now`
  }
  if (typeof body !== 'object' || body === null) return null
  const name = Object.keys(body).find((each) => variants.has(each))
  return name === undefined ? null : `${routeOf(exchange)} had the variant member ${name}`
}
