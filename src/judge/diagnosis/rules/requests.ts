/** Request bodies: fields that the service does not know, that it refuses, or that it accepts under an old name. */
import { type FieldError, isTypeWord, type ReasonCode } from '#contract/errors.ts'
import { reasonsAbout } from '#contract/facts/reason-subjects.ts'
import { v1 } from '#contract/index.ts'
import { beaconEventSpellings } from '#contract/resources/beacons.ts'
import { variantFieldNames } from '#contract/variant-fields.ts'
import {
  countPhrase,
  formatRoute,
  groupBy,
  isBeacon,
  type JournaledExchange,
  type NonEmpty,
  takeLast,
  textAt,
} from '#diagnosis/exchange.ts'
import { pathPattern, withoutQuery } from '#foundation/http.ts'
import { isObject, valueAt } from '#foundation/json.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { findRefusals, judgeMatching, judgeRefused, type Observed, type RuleFinding, ruleSet } from '../rule.ts'
import { fieldMeant, fixExpected, fixUnknown, fixValue } from './beacons/fields.ts'

const isPost = ({ method }: JournaledExchange) => method === 'POST'
const isAny = () => true
const strictFix = 'Use the route of v1: svc docs migrating. Or start the sandbox without --strict and SVC_STRICT.'

export const requestRules = ruleSet('journal', {
  'path-unknown': {
    title: 'every request goes to an endpoint of the contract',
    severity: 'error',
    costs: 'The request has no effect: no ad is shown, no beacon counts.',
    fix: 'Correct the method and the path. List the endpoints: svc contract show',
    needs: 'a request',
    judge: judgeMatching(isOfProgram, (requests) => {
      const strays = groupBy(requests, (exchange) => (isStray(exchange) ? formatRoute(exchange) : null))
      return [...strays].map(([route, group]) => {
        const near = group[0].alias === undefined ? nearestEndpoint(group[0]) : null
        return {
          message: `There is no ${route}: ${group[0].status}, ${countPhrase(group.length)}.`,
          ...(near === null ? {} : { fix: fixPath(group[0].path, near) }),
          // Only a strict sandbox has no routes of old clients.
          ...(group[0].alias === undefined ? {} : { fix: strictFix }),
          requests: group,
        }
      })
    }),
  },
  'unknown-fields': {
    title: 'requests contain only fields of the contract',
    severity: 'error',
    costs: 'The request is refused: no ad, or a beacon that does not count.',
    fix: 'Remove the field, or correct its name.',
    needs: 'a request',
    judge: judgeMatching(isAny, (exchanges) => fieldFindings(exchanges, (field) => isUnknown(field))),
  },
  'request-refused': {
    title: 'requests match the schema',
    severity: 'error',
    costs: 'The request is refused: no ad, or a beacon that does not count.',
    fix: 'Correct the fields that the response lists.',
    needs: 'a request',
    judge: judgeMatching(isAny, (exchanges, observed) => [
      ...fieldFindings(exchanges, (field) => !isUnknown(field) && !isMisspelled(field)),
      ...unexplained(exchanges, observed),
      ...findRefusals(exchanges, reasonsAbout.body),
    ]),
  },
  'content-type': {
    title: 'bodies are sent as application/json',
    severity: 'error',
    costs: 'The service refuses the body without reading it, and navigator.sendBeacon does not report the failure.',
    fix: 'Send beacons with fetch, keepalive: true and Content-Type: application/json.',
    needs: 'a request with a body',
    judge: judgeRefused(reasonsAbout.content_type, isPost),
  },
  'old-names': {
    title: 'requests use current names',
    severity: 'warning',
    costs: 'Old names are still accepted, but may be mapped to less than you meant.',
    fix: 'Send the names in the API reference.',
    needs: 'an accepted job, placement or beacon',
    judge: judgeMatching(
      (exchange) => isPost(exchange) && exchange.status < 300 && exchange.status > 0,
      (accepted) => [...oldEvents(accepted), ...oldFields(accepted)],
    ),
  },
})

/** Whether a missing field is there under a name that the service does not know: only the name is wrong. */
function isMisspelled({ path, message, exchange }: RefusedField): boolean {
  const isMeant = (name: string, expected: string) =>
    expected === `the field ${path}` || (isBeacon(exchange) && fieldMeant(name) === path)
  return (
    message === 'is missing' &&
    listRefusedFields(exchange).some((each) => isUnknown(each) && isMeant(each.path, each.expected))
  )
}

/** A browser requests icons and the like on its own, and names their destination. */
function isOfProgram({ request_headers }: JournaledExchange): boolean {
  return ['empty', 'script', 'iframe'].includes(request_headers['sec-fetch-dest'] ?? 'empty')
}

const endpoints = Object.values(v1)

/**
 * Whether the service has no endpoint with this method and path. A path to an unknown slot or project still has one.
 */
function isStray({ method, path, reason_code }: JournaledExchange): boolean {
  if (reason_code !== 'not_found' && reason_code !== 'method_not_allowed') return false
  return !endpoints.some((each) => each.method === method && pathPattern(each.path).test(withoutQuery(path)))
}

/** Returns the endpoint that was probably meant: `GET /v1/decisions/{slot_id}`, or null. */
function nearestEndpoint({ method, path }: JournaledExchange): string | null {
  const wrong = withoutQuery(path)
  const segments = wrong.split('/')
  const sameMethodFirst = endpoints.toSorted((a, b) => Number(b.method === method) - Number(a.method === method))
  // A parameter is as near as the text in its place.
  const known = sameMethodFirst.map((each) => ({
    route: `${each.method} ${each.path}`,
    path: each.path.replaceAll(
      /\/\{\w+\}/g,
      (_, at: number) => `/${segments[each.path.slice(0, at + 1).split('/').length - 1]}`,
    ),
  }))
  const near =
    known.find((each) => each.path.endsWith(wrong))?.path ??
    nearestName(
      wrong,
      known.map((each) => each.path),
    )
  return known.find((each) => each.path === near)?.route ?? null
}

/** A path with the version twice comes from a base URL that ends with it. */
function fixPath(path: string, near: string): string {
  return path.startsWith('/v1/v1/')
    ? `Leave /v1 out of the base URL of the app: its requests then go to ${near}.`
    : `Send it to ${near}.`
}

interface RefusedField extends FieldError {
  exchange: JournaledExchange
}

function isUnknown({ message }: FieldError): boolean {
  return message === 'is unknown'
}

/** The service refuses a body for its fields: it gives one of these reasons, whatever else is wrong in it. */
const fieldReasons: readonly ReasonCode[] = reasonsAbout.fields

/** Returns one finding for each refused field, among the wanted ones. */
function fieldFindings(
  exchanges: readonly JournaledExchange[],
  isWanted: (field: RefusedField) => boolean,
): RuleFinding[] {
  const fields = exchanges.filter(isRefusedForFields).flatMap(listRefusedFields).filter(isWanted)
  const groups = groupBy(fields, ({ exchange, path, message }) => {
    // Each wrong event stands for another one.
    const event = path === 'event' ? textAt(exchange.request_body, path) : null
    return `${formatRoute(exchange)} ${path} ${message} ${event}`
  })
  return [...groups.values()].map(fieldFinding)
}

/** Returns findings about requests whose response lists no field, such as a response made by a fault rule. */
function unexplained(exchanges: readonly JournaledExchange[], { command_name }: Observed): RuleFinding[] {
  const bare = exchanges.filter((exchange) => isRefusedForFields(exchange) && listRefusedFields(exchange).length === 0)
  const fix = `The response lists no field. Compare the body with the contract: ${command_name} contract show -o json`
  return findRefusals(bare, fieldReasons).map((finding) => ({ ...finding, fix }))
}

function isRefusedForFields({ reason_code }: JournaledExchange): boolean {
  return reason_code !== null && fieldReasons.includes(reason_code)
}

/** Returns the fields at fault as the error body lists them (A10). */
function listRefusedFields(exchange: JournaledExchange): RefusedField[] {
  const fields = valueAt(exchange.response_body, 'fields')
  return Array.isArray(fields) ? fields.map((field: FieldError) => ({ exchange, ...field })) : []
}

function fieldFinding(group: NonEmpty<RefusedField>): RuleFinding {
  const { exchange, path, message, expected } = takeLast(group)
  const event = path === 'event' ? ` ${textAt(exchange.request_body, path)}` : ''
  const about = `${path === '' ? 'body' : path}${event} ${message}`
  const found = { requests: group.map((each) => each.exchange), reason: exchange.reason_code!, about }
  const count = countPhrase(group.length)
  const route = formatRoute(exchange)
  const isOfBeacon = isBeacon(exchange) && exchange.alias === undefined
  if (message !== 'is unknown') {
    const subject = path === '' ? `The body of ${route}` : isOfBeacon ? `A beacon's ${path}` : `${path} of ${route}`
    const isMissing = message === 'is missing' && isTypeWord(expected)
    const fix = isMissing
      ? `Send ${path === '' ? 'one' : path.split('.').at(-1)}: it must be ${expected}.`
      : isOfBeacon
        ? fixValue(path.split('.'), expected, exchange.request_body)
        : fixExpected(expected)
    return { ...found, message: `${subject} ${message} (${count}).`, fix }
  }
  const text = `${isOfBeacon ? 'A beacon' : route} has ${path}, which the contract does not define (${count}).`
  if (!isOfBeacon)
    return { ...found, message: text, ...(expected.startsWith('the ') ? { fix: `Send ${expected}.` } : {}) }
  return { ...found, message: text, fix: fixUnknown(fieldMeant(path)) }
}

function oldEvents(accepted: readonly JournaledExchange[]): RuleFinding[] {
  const groups = groupBy(accepted.filter(isBeacon), ({ request_body }) => {
    const event = textAt(request_body, 'event')
    return event !== null && Object.hasOwn(beaconEventSpellings, event) ? event : null
  })
  return [...groups].map(([event, requests]) => ({
    message: `The event ${event} is an old spelling, accepted ${countPhrase(requests.length)}.`,
    about: `event ${event}`,
    fix: `Send ${findEntry(beaconEventSpellings, event)}.`,
    requests,
  }))
}

/** Fields of old clients that have a current name, or no effect. */
const variants = new Set<string>(variantFieldNames().filter((name) => name !== 'callback_url' && name !== 'delivery'))

function oldFields(accepted: readonly JournaledExchange[]): RuleFinding[] {
  const groups = groupBy(accepted, (exchange) => {
    const { request_body } = exchange
    if (isBeacon(exchange) || !isObject(request_body)) return null
    const name = Object.keys(request_body).find((each) => variants.has(each))
    return name === undefined ? null : `${formatRoute(exchange)} had the variant field ${name}`
  })
  return [...groups].map(([text, requests]) => ({
    message: `${text}, ${countPhrase(requests.length)}.`,
    about: text.split(' ').at(-1)!,
    requests,
  }))
}

/** Requests that failed inside the sandbox; failures made by a fault rule are intended. */
export const serviceRules = ruleSet('journal', {
  'service-failed': {
    title: 'no request fails inside the sandbox',
    severity: 'error',
    costs: 'The request may have had no effect, and what was seen of the app is not what the service would do.',
    needs: 'a request',
    fix: 'See why: svc sandbox logs, and the output of svc start.',
    judge: judgeRefused(
      ['storage_unavailable', 'internal_error'],
      ({ response_headers }) => response_headers['x-sandbox-fault'] === undefined,
    ),
  },
})

/** Clients of an older version, and the deprecated routes that they use. */
export const oldClientRules = ruleSet('journal', {
  'deprecated-route': {
    title: 'no client uses a deprecated route',
    severity: 'warning',
    costs: 'The client stops working when the route is withdrawn.',
    needs: 'a request',
    fix: 'Move it to the route named in the Link header of the response. svc start --strict shows what still depends on the old ones.',
    judge({ exchanges }) {
      const uses = exchanges.filter(({ alias }) => alias !== undefined)
      const findings = [...groupBy(uses, describeUser)].map(([user, requests]) => ({
        message: `${user} uses deprecated routes: ${countedRoutes(requests)}.`,
        requests,
      }))
      return { sample_size: exchanges.length, findings }
    },
  },
})

/** Returns who sends a request, as far as the journal shows: the client's version, its project and its page. */
function describeUser({ old_client, client_id, request_headers }: JournaledExchange): string {
  const client = old_client === undefined ? 'A client' : `An old client, version ${old_client},`
  const project = client_id === null ? '' : ` of ${client_id}`
  const page = request_headers.origin === undefined ? '' : ` at ${request_headers.origin}`
  return `${client}${project}${page}`
}

/** Returns `wrapper.job (once), wrapper.decision (3 times)`. */
function countedRoutes(requests: readonly JournaledExchange[]): string {
  const routes = groupBy(requests, ({ alias }) => alias ?? null)
  return [...routes].map(([alias, { length }]) => `${alias} (${countPhrase(length)})`).join(', ')
}
