/** Bodies of requests: what the service does not know, what it refuses, and what it accepts under an old name. */
import type { FieldError, ReasonCode } from '../../contract/errors.ts'
import { BeaconRequest, beaconEventSpellings, Measurements } from '../../contract/v1/beacons.ts'
import { variantFieldNames } from '../../contract/v1/jobs.ts'
import { isObject } from '../../foundation/json.ts'
import { valueAt } from '../../foundation/json-path.ts'
import { type Exchange, groupBy, isBeacon, routeOf, textAt, times } from '../exchange.ts'
import { type Finding, over, refusals, refusedFor, ruleSet } from '../rule.ts'

const isPost = ({ method }: Exchange) => method === 'POST'

export const requestRules = ruleSet('journal', {
  'unknown-fields': {
    title: 'requests contain only fields of the contract',
    severity: 'error',
    costs: 'The request is refused: no ad, or a beacon that does not count.',
    fix: 'Remove the field, or correct its name.',
    needs: 'a request with a body',
    judge: over(isPost, (posts) => fieldFindings(posts, 'field_unknown')),
  },
  'request-refused': {
    title: 'requests match the schema',
    severity: 'error',
    costs: 'The request is refused: no ad, or a beacon that does not count.',
    fix: 'Correct the fields that the response lists.',
    needs: 'a request with a body',
    judge: over(isPost, (posts) => [...fieldFindings(posts, 'schema_invalid'), ...refusals(posts, malformed)]),
  },
  'content-type': {
    title: 'bodies are sent as application/json',
    severity: 'error',
    costs: 'The service refuses the body without reading it, and navigator.sendBeacon does not report the failure.',
    fix: 'Send beacons with fetch, keepalive: true and Content-Type: application/json.',
    needs: 'a request with a body',
    judge: refusedFor(['content_type_unsupported'], isPost),
  },
  'old-names': {
    title: 'requests use current names',
    severity: 'warning',
    costs: 'Old names are still accepted, but may be mapped to less than you meant.',
    fix: 'Send the names in the API reference.',
    needs: 'a job, a placement or a beacon that was accepted',
    judge: over(
      (exchange) => isPost(exchange) && exchange.status < 300 && exchange.status > 0,
      (accepted) => [...oldEvents(accepted), ...oldFields(accepted)],
    ),
  },
})

/** Why the service refuses a body as a whole. */
const malformed: readonly ReasonCode[] = [
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
]

interface RefusedField extends FieldError {
  exchange: Exchange
}

/** Returns one finding for each field that was refused, of requests with this reason. */
function fieldFindings(exchanges: readonly Exchange[], reason: ReasonCode): Finding[] {
  const refused = exchanges.filter(({ reason_code }) => reason_code === reason)
  const fields = refused.flatMap(fieldsOf)
  const groups = Map.groupBy(fields, ({ exchange, path, message }) => `${routeOf(exchange)} ${path} ${message}`)
  const unnamed = refused.filter((exchange) => fieldsOf(exchange).length === 0)
  return [...[...groups.values()].map((group) => fieldFinding(group, reason)), ...refusals(unnamed, [reason])]
}

/** Returns the fields at fault as the error body lists them (A10). */
function fieldsOf(exchange: Exchange): RefusedField[] {
  const fields = valueAt(exchange.response_body, 'fields')
  return Array.isArray(fields) ? fields.map((field: FieldError) => ({ exchange, ...field })) : []
}

function fieldFinding(group: readonly RefusedField[], reason: ReasonCode): Finding {
  const { exchange, path, message, expected } = group.at(-1)!
  const found = { requests: group.map((each) => each.exchange), reason }
  const count = times(group.length)
  const route = routeOf(exchange)
  const isOfBeacon = isBeacon(exchange)
  if (message !== 'is unknown') {
    const subject = isOfBeacon ? `A beacon's ${path}` : `${path} of ${route}`
    return { ...found, message: `${subject} ${message} (${count}).`, fix: `Send ${expected}.` }
  }
  const text = `${isOfBeacon ? 'A beacon' : route} has ${path}, which the contract does not know (${count}).`
  if (!isOfBeacon) return { ...found, message: text }
  return { ...found, message: text, fix: fixOfUnknown(fieldMeant(path)) }
}

function oldEvents(accepted: readonly Exchange[]): Finding[] {
  const groups = groupBy(accepted.filter(isBeacon), ({ request_body }) => {
    const event = textAt(request_body, 'event')
    return event !== null && event in beaconEventSpellings ? event : null
  })
  return [...groups].map(([event, requests]) => ({
    message: `The event ${event} is an old spelling, accepted ${times(requests.length)}.`,
    fix: `Send ${beaconEventSpellings[event as keyof typeof beaconEventSpellings]}.`,
    requests,
  }))
}

const variants: ReadonlySet<string> = new Set(variantFieldNames)

function oldFields(accepted: readonly Exchange[]): Finding[] {
  const groups = groupBy(accepted, (exchange) => {
    const { request_body } = exchange
    if (isBeacon(exchange) || !isObject(request_body)) return null
    const name = Object.keys(request_body).find((each) => variants.has(each))
    return name === undefined ? null : `${routeOf(exchange)} had the variant field ${name}`
  })
  return [...groups].map(([text, requests]) => ({ message: `${text}, ${times(requests.length)}.`, requests }))
}

/** The fields of a beacon, and those of its measurements. */
export const topFields = Object.keys(BeaconRequest.shape)
export const measurementFields = Object.keys(Measurements.shape)

/** Names that other beacon APIs use, beside those that differ only in their case. */
const otherNames: Readonly<Record<string, string>> = {
  id: 'beacon_id',
  event_id: 'beacon_id',
  idempotency_key: 'beacon_id',
  token: 'asset_token',
  type: 'event',
  kind: 'event',
  event_type: 'event',
  beacon_type: 'event',
  event_name: 'event',
  time: 'occurred_at_ms',
  ts: 'occurred_at_ms',
  timestamp: 'occurred_at_ms',
  timestamp_ms: 'occurred_at_ms',
  occurred_at_ms_client: 'occurred_at_ms',
  slot: 'slot_id',
  instance_id: 'render_instance_id',
  sequence: 'seq',
  revision: 'consent_revision',
  metrics: 'measurements',
  meta: 'metadata',
  data: 'metadata',
  ratio: 'measurements.visible_ratio',
  duration: 'measurements.duration_ms',
}

/** Returns what to do about an unknown field of a beacon that was probably meant for another one, or for none. */
export function fixOfUnknown(meant: string | null): string {
  return meant === null
    ? `Leave it out, or put it into metadata. Known: ${topFields.join(', ')}.`
    : `Its name is ${meant}.`
}

/** Returns the field of a beacon that an unknown name was probably meant for, or null when it resembles none. */
export function fieldMeant(wrong: string): string | null {
  const snake = wrong.replace(/[A-Z]/g, (letter, at: number) => `${at === 0 ? '' : '_'}${letter.toLowerCase()}`)
  if (topFields.includes(snake)) return snake
  if (measurementFields.includes(snake)) return `measurements.${snake}`
  return otherNames[snake] ?? null
}
