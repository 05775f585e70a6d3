/**
 * Compares every response of a known endpoint with the contract: its schema, strictly; the error body; the headers; what
 * goes together in a placement. Each difference carries the provenance of the fact that does not hold, so that a check of
 * a live service can tell a broken promise from a difference of something that only the sandbox assumes.
 */
import {
  type Endpoint,
  failureHeaders,
  listFailures,
  type ResponseHeader,
  responseHeaders,
} from '#contract/endpoint.ts'
import { ErrorBody, errorCodes, explainIssues, type ReasonCode, reasonCodes } from '#contract/errors.ts'
import { formats, isFormat, readFormat } from '#contract/facts/formats.ts'
import { endpointFields, type ListedField } from '#contract/listing.ts'
import { type Provenance, readSource } from '#contract/objects.ts'
import { retryAfterMs } from '#foundation/http.ts'
import { contractPath } from '#foundation/json/walk.ts'
import { isObject, type Json, valueAt } from '#foundation/json.ts'
import { tableNames } from '#foundation/table-entry.ts'
import type { Check, Difference } from '../result.ts'
import { hasContractBody, isListedStatus, listStatuses, reasonsOfAnyEndpoint } from './statuses.ts'

interface SeenResponse {
  status: number
  headers: Readonly<Record<string, string>>
  /** Parsed JSON; undefined when the body is not JSON. */
  json: Json | undefined
  text: string
}

/**
 * Returns one check: whether the contract allows this response. On a sandbox the assumptions about headers count too; on
 * another service they are listed as differences and do not fail the check.
 */
export function contractCheck(endpoint: Endpoint, response: SeenResponse, isSandbox: boolean): Check {
  const isSuccess = response.status < 400
  const differences = [
    ...statusDifferences(endpoint, response.status),
    ...(isSuccess ? successDifferences(endpoint, response) : failureDifferences(endpoint, response)),
    ...headerDifferences(endpoint, response),
    ...(isSandbox ? sandboxHeaderDifferences(endpoint, response.headers) : []),
  ]
  const failing = differences.filter(
    ({ weight, what }) => isSandbox || weight !== 'assumed' || !what.startsWith('header '),
  )
  const passed = failing.length === 0
  return {
    subject: 'contract',
    passed,
    expected: isSuccess ? `the contract of ${endpoint.id}` : `an error of ${endpoint.id}`,
    actual: passed ? 'conforms' : failing.map(differenceText),
    differences,
    ...(passed ? {} : { hint: 'The response differs from the contract: svc contract show.' }),
  }
}

/** Returns a difference as a sentence without its end: `header etag should be there; it is missing`. */
function differenceText({ weight, what, expected, observed }: Difference): string {
  return weight === 'addition'
    ? `${what} is not in the contract; it is ${observed}`
    : `${what} should be ${expected}; it is ${observed}`
}

/** A status that the contract does not have breaks it; 200 for 201 only breaks an assumption. */
function statusDifferences(endpoint: Endpoint, status: number): Difference[] {
  if (!isListedStatus(endpoint, status)) {
    return [difference('documented', 'status', `one of ${listStatuses(endpoint).join(', ')}`, status)]
  }
  return status === 200 && status !== endpoint.status ? [difference('assumed', 'status', endpoint.status, status)] : []
}

function successDifferences(endpoint: Endpoint, { status, headers, json, text }: SeenResponse): Difference[] {
  if (status === 304) return headers.etag === undefined ? [missingHeader('etag')] : []
  const differences: Difference[] = []
  if (!hasContractBody(status)) return differences
  if ('media_type' in endpoint.response) {
    return [...differences, ...contentTypeDifferences(headers, endpoint.response.media_type)]
  }
  differences.push(...contentTypeDifferences(headers, 'application/json'))
  if (json === undefined) return [...differences, difference('documented', 'body', 'JSON', text)]
  const parsed = endpoint.response.safeParse(json)
  if (!parsed.success) differences.push(...schemaDifferences(endpoint, json, parsed.error.issues))
  // The control plane reports on other requests, with their request_id and their keys.
  if (endpoint.stability === 'sandbox') return differences
  const isPlacement = endpoint.id === 'placements.create' || endpoint.id === 'decisions.get'
  return [
    ...differences,
    ...(isPlacement && parsed.success ? placementDifferences(endpoint, json) : []),
    ...requestIdDifferences(json, headers),
    ...(endpoint.id === 'projects.config' ? configDifferences(text) : []),
    ...(endpoint.id === 'browser.activate' ? expiryDifferences(json, headers) : []),
  ]
}

function schemaDifferences(endpoint: Endpoint, json: Json, issues: Parameters<typeof explainIssues>[0]): Difference[] {
  const known = endpoint.stability === 'sandbox' ? null : provenances(endpoint, 'response')
  const declared = endpoint.stability === 'sandbox' ? null : listProvenances(endpoint, 'response', 'documented')
  const broken = new Set<PropertyKey>()
  const differences = explainIssues(issues).fields.map(({ at, message, expected, isUnknown }) => {
    const path = contractPath(at)
    const what = `response ${path || 'body'}`
    const observed = message === 'is missing' ? undefined : valueAt(json, at)
    if (isUnknown) return difference('addition', what, 'no such field', observed)
    broken.add(at[0] ?? '')
    if (!message.includes('allowed values')) {
      // Whatever an assumed response holds, a documented field in it has its type.
      return difference(declared?.get(path) ?? 'documented', what, expected, observed)
    }
    return difference(openValues.has(path) ? 'assumed' : (known?.get(path) ?? 'documented'), what, expected, observed)
  })
  const isForeign = isObject(json) && !Object.keys(json).some((name) => known?.has(name) === true && !broken.has(name))
  const isFound = known === null || differences.some(({ weight }) => weight === 'documented')
  // An object with no field of the contract is another body, even where none of the fields is documented.
  return isForeign && !isFound
    ? [difference('documented', 'response body', `the body of ${endpoint.id}`, json), ...differences]
    : differences
}

/** Fields whose values the API document shows without excluding others: another value only breaks an assumption. */
const openValues: ReadonlySet<string> = new Set([
  'status',
  'authoritative_consent.lifecycle_state',
  'placement.render.strategy',
  'placement.render.native_template_id',
])

function failureDifferences(endpoint: Endpoint, { status, headers, json, text }: SeenResponse): Difference[] {
  if (Object.values(endpoint.pages ?? {}).includes(status) && json === undefined) return []
  if (json === undefined) return [difference('documented', 'body', 'the JSON of an error', text)]
  const type = contentTypeDifferences(headers, 'application/json')
  const parsed = ErrorBody.safeParse(json)
  if (!parsed.success) {
    const differences = explainIssues(parsed.error.issues).fields.map(({ at, message, expected, isUnknown }) => {
      const observed = message === 'is missing' ? undefined : valueAt(json, at)
      const known = at.length === 0 ? 'documented' : (errorFields[String(at[0])] ?? 'observed')
      const weight = isUnknown ? 'addition' : known
      return difference(weight, `error.${contractPath(at) || 'body'}`, isUnknown ? 'no such field' : expected, observed)
    })
    return [...type, ...differences]
  }
  const { error, reason_code, retryable } = parsed.data
  const code = errorCodes[error]
  const codes = tableNames(errorCodes).filter((name) => errorCodes[name].status === status)
  const reason = (expected: string) => difference('assumed', 'error.reason_code', expected, reason_code)
  const reasons: readonly ReasonCode[] = [...listFailures(endpoint), ...reasonsOfAnyEndpoint]
  return [
    ...type,
    ...(code.status === status || !isListedStatus(endpoint, status)
      ? []
      : [difference('documented', 'error.error', `a code of ${status}: ${codes.join(', ') || 'none'}`, error)]),
    ...(reasonCodes[reason_code].error === error ? [] : [reason(`one of ${error}`)]),
    ...(code.retryable === retryable
      ? []
      : [difference('assumed', 'error.retryable', `${code.retryable} for ${error}`, retryable)]),
    ...(reasons.includes(reason_code) ? [] : [reason(`one that ${endpoint.id} has`)]),
    ...requestIdDifferences(json, headers),
  ]
}

/** Where the fields of the error body come from, as its schema declares. */
const errorFields: Readonly<Record<string, Provenance>> = Object.fromEntries(
  Object.entries(ErrorBody.shape).map(([name, field]) => [name, field.meta()?.provenance ?? 'assumed']),
)

function headerDifferences(endpoint: Endpoint, { status, headers }: SeenResponse): Difference[] {
  const byFailure = (failureHeaders as Partial<Record<number, readonly ResponseHeader[]>>)[status] ?? []
  const bySuccess = endpoint.response_headers?.filter((name) => !isConditional(name)) ?? []
  const named = status < 400 ? bySuccess : byFailure
  const missing = (['x-request-id', ...named] as const).filter((name) => headers[name] === undefined)
  const retry = headers['retry-after']
  // At least 1 (A20), or a date.
  const isRetryRight = retry === undefined || (!/^0+$/.test(retry) && retryAfterMs(retry, 0) !== null)
  return [
    ...missing.map(missingHeader),
    ...(isRetryRight ? [] : [difference('documented', 'header retry-after', 'seconds from 1, or a date', retry)]),
  ]
}

/** Whether a response may lack a header: what the sandbox adds, and the encoding, which a client has to accept. */
function isConditional(name: ResponseHeader): boolean {
  return name.startsWith('x-sandbox-') || name === 'content-encoding'
}

function missingHeader(name: ResponseHeader): Difference {
  return difference(responseHeaders[name].provenance, `header ${name}`, 'there', undefined)
}

/** Headers of every JSON response of v1 that keep it out of caches and from being taken for something else. */
function sandboxHeaderDifferences(endpoint: Endpoint, headers: SeenResponse['headers']): Difference[] {
  if (!endpoint.path.startsWith('/v1/') || 'media_type' in endpoint.response) return []
  const cache = headers['cache-control'] ?? ''
  const isConfig = endpoint.id === 'projects.config'
  const rules: readonly [name: string, isRight: boolean, expected: string][] = [
    ['cache-control', isConfig ? /private|no-store/.test(cache) : cache.includes('no-store'), 'no-store'],
    ['vary', /\borigin\b/i.test(headers.vary ?? ''), 'naming Origin'],
    ['x-content-type-options', headers['x-content-type-options'] === 'nosniff', 'nosniff'],
    ['date', !Number.isNaN(Date.parse(headers.date ?? '')), 'a date'],
    ['access-control-allow-credentials', headers['access-control-allow-credentials'] === undefined, 'absent'],
    ['access-control-allow-origin', headers['access-control-allow-origin'] !== '*', 'one origin'],
  ]
  return rules
    .filter(([, isRight]) => !isRight)
    .map(([name, , expected]) => difference('assumed', `header ${name}`, expected, headers[name]))
}

function contentTypeDifferences(headers: SeenResponse['headers'], media_type: string): Difference[] {
  const expected = media_type.split(';')[0]!
  const observed = headers['content-type']?.replace(/;.*/, '').trim().toLowerCase()
  return observed === expected ? [] : [difference('documented', 'header content-type', expected, observed)]
}

function requestIdDifferences(json: Json, headers: SeenResponse['headers']): Difference[] {
  const id = isObject(json) ? json.request_id : undefined
  const header = headers['x-request-id']
  if (id === undefined || header === undefined || id === header) return []
  return [difference('observed', 'response request_id', `${header}, as in the header`, id)]
}

/** The config is for browsers, where a secret key must never be. */
function configDifferences(text: string): Difference[] {
  return /\bsk_(?:test|live)_/.test(text) ? [difference('documented', 'body', 'no secret key', 'a secret key')] : []
}

/** An activation token must outlive the response that carries it, by the clock of the service. */
function expiryDifferences(json: Json, headers: SeenResponse['headers']): Difference[] {
  const isPast = Number(valueAt(json, 'expires_at_ms')) <= Date.parse(headers.date ?? '')
  return isPast ? [difference('documented', 'response expires_at_ms', 'in the future', 'past')] : []
}

/** Fields of a fill that hold the same value, as paths. */
const equalFields: readonly (readonly [path: string, other: string])[] = [
  ['placement.format', 'decision.format'],
  ['placement.asset_token', 'decision.asset_token'],
  ['placement.sponsor_name', 'decision.sponsor_name'],
  ['placement.render.sponsor_name', 'decision.sponsor_name'],
  ['placement.click_url', 'decision.click_url'],
  ['placement.render.click_url', 'decision.click_url'],
  ['placement.ad_label_text', 'decision.ad_label_text'],
  ['placement.render.label_text', 'decision.ad_label_text'],
  ['placement.width', 'decision.dimensions.width'],
  ['placement.render.width', 'decision.dimensions.width'],
  ['placement.height', 'decision.dimensions.height'],
  ['placement.render.height', 'decision.dimensions.height'],
]

/** Returns what the API document says of a placement beyond its fields, where the fields are right by themselves. */
function placementDifferences(endpoint: Endpoint, body: Json): Difference[] {
  const known = provenances(endpoint, 'response')
  const rule = (path: string, isRight: boolean, expected: string): Difference[] =>
    isRight ? [] : [difference(known.get(path) ?? 'documented', `response ${path}`, expected, valueAt(body, path))]
  const { status, placement, decision } = body as Record<string, Json>
  const isEmpty = (when: string) => rule('placement', placement === null, `null ${when}`)
  if (status === 'pending') {
    return [...isEmpty('while pending'), ...rule('decision', decision === null, 'null while pending')]
  }
  if (!isObject(decision)) return rule('decision', status !== 'ready', 'there when ready')
  if (decision.fill !== true) return isEmpty('without a fill')
  if (status === 'expired') return isEmpty('when expired')
  if (!isObject(placement)) return rule('placement', false, 'there with a fill')
  const { format } = decision
  if (!isFormat(format)) return rule('decision.format', false, `one of ${formats.join(', ')}`)
  const { media_type, media_field, has_assets } = readFormat(format)
  const equal = (path: string, other: string) => rule(path, valueAt(body, path) === valueAt(body, other), other)
  const isNull = (path: string) => rule(path, valueAt(body, path) === null, `null for a ${format}`)
  const shape = `${String(placement.width)}/${String(placement.height)}`
  const hasTemplate = valueAt(placement, 'render.native_template_id') !== undefined
  return [
    ...equalFields.flatMap(([path, other]) => equal(path, other)),
    ...rule('placement.render.media_type', valueAt(placement, 'render.media_type') === media_type, media_type),
    ...rule('placement.render.aspect_ratio', valueAt(placement, 'render.aspect_ratio') === shape, shape),
    ...isNull(`placement.${media_field === 'video_url' ? 'image_url' : 'video_url'}`),
    ...(has_assets
      ? [...equal('placement.image_url', 'decision.assets.image_url'), ...isNull('decision.delivery_url')]
      : [...equal('decision.delivery_url', `placement.${media_field}`), ...isNull('decision.assets')]),
    ...rule(`placement.${media_field}`, typeof placement[media_field] === 'string', `the address of the ${format}`),
    ...rule('placement.render.native_template_id', hasTemplate === has_assets, has_assets ? 'there' : 'absent'),
  ]
}

/** Weakest first. */
const strengths: readonly Provenance[] = ['assumed', 'observed', 'documented']

/**
 * Returns the provenance of every field of one part of an endpoint, by path. Where several shapes have a field, the
 * strongest counts; a shape that is itself assumed makes none of its fields more than assumed. Computed once: a comparison
 * asks for it with every response.
 */
export function provenances(endpoint: Endpoint, where: ListedField['where']): ReadonlyMap<string, Provenance> {
  const parts = listed.get(endpoint) ?? new Map()
  const found = parts.get(where) ?? listProvenances(endpoint, where, findCap(endpoint, where))
  listed.set(endpoint, parts.set(where, found))
  return found
}

const listed = new WeakMap<Endpoint, Map<ListedField['where'], ReadonlyMap<string, Provenance>>>()

function findCap({ response }: Endpoint, where: ListedField['where']): Provenance {
  return where === 'response' && 'def' in response ? (readSource(response)?.provenance ?? 'documented') : 'documented'
}

/** `cap` is the strongest that a field can be. */
function listProvenances(endpoint: Endpoint, where: ListedField['where'], cap: Provenance): Map<string, Provenance> {
  const found = new Map<string, Provenance>()
  for (const field of endpointFields(endpoint)) {
    if (field.where !== where) continue
    const strength = Math.min(strengths.indexOf(field.provenance), strengths.indexOf(cap))
    const before = found.get(field.path)
    if (before === undefined || strength > strengths.indexOf(before)) found.set(field.path, strengths[strength]!)
  }
  return found
}

function difference(weight: Difference['weight'], what: string, expected: unknown, observed: unknown): Difference {
  return { weight, what, expected: String(expected), observed: briefValue(observed) }
}

const maxValueLength = 60

/**
 * Returns a value on one line, cut, and `missing` for undefined. Anything that begins like a key or a token is masked: a
 * service other than the sandbox may shape its tokens differently than the contract does, so this is looser than
 * `redactSecrets`.
 */
export function briefValue(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return '-'
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  const line = text
    .replace(/\b((?:sk|pk)_(?:test|live)|ast|at|bt)_[\w-]+/g, '$1_...')
    .replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, ' ')
  return line.length > maxValueLength ? `${line.slice(0, maxValueLength)}…` : line
}
