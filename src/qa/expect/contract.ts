/**
 * Every answer of a known endpoint against the contract: its schema, strictly; the error body; the headers that answers
 * have. What is assumed of the service, and not documented, is asked of sandboxes only.
 */
/** What the document says of a placement beyond its fields: which of them go together. */
import type { Endpoint } from '../../contract/endpoint.ts'
import { ErrorBody, errorCodes, type ReasonCode, reasonCodes } from '../../contract/errors.ts'
import { failureHeaders, type ResponseHeader, responseHeaders } from '../../contract/headers.ts'
import { isObject, type Json } from '../../foundation/json.ts'
import { valueAt } from '../../foundation/json-path.ts'
import type { Check } from '../result.ts'

export interface SeenAnswer {
  status: number
  headers: Readonly<Record<string, string>>
  /** Parsed JSON; undefined where it is none. */
  json: Json | undefined
  text: string
}

/** One check: whether the answer is one that the contract allows. `isSandbox`: assumptions are checked as well. */
export function contractCheck(endpoint: Endpoint, answer: SeenAnswer, isSandbox: boolean): Check {
  const isSuccess = answer.status < 400
  const problems = [
    ...(isSuccess ? successProblems(endpoint, answer) : failureProblems(endpoint, answer)),
    ...headerProblems(endpoint, answer, isSandbox),
  ]
  return {
    subject: 'contract',
    passed: problems.length === 0,
    expected: isSuccess ? `the contract of ${endpoint.id}` : `an error of ${endpoint.id}`,
    actual: problems.length === 0 ? 'conforms' : problems,
    ...(problems.length === 0 ? {} : { hint: 'The answer differs from the contract: svc contract show.' }),
  }
}

function successProblems(endpoint: Endpoint, { status, headers, json }: SeenAnswer): string[] {
  if (status === 304) return headers.etag === undefined ? ['304 without an ETag'] : []
  const wrongStatus = status === endpoint.status ? [] : [`status ${status} instead of ${endpoint.status}`]
  const type = headers['content-type'] ?? ''
  if ('media_type' in endpoint.response) {
    const { media_type } = endpoint.response
    return [
      ...wrongStatus,
      ...(sameType(type, media_type) ? [] : [`content-type ${type || 'missing'} instead of ${media_type}`]),
    ]
  }
  if (json === undefined) return [...wrongStatus, 'the body is not JSON']
  const parsed = endpoint.response.safeParse(json)
  const differences = parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`)
  const isPlacement = endpoint.id === 'placements.create' || endpoint.id === 'decisions.get'
  return [
    ...wrongStatus,
    ...jsonTypeProblems(type),
    ...differences,
    ...(isPlacement && parsed.success ? placementProblems(json) : []),
    // The control plane tells of other requests by their request_id.
    ...(endpoint.stability === 'sandbox' ? [] : requestIdProblems(json, headers)),
  ]
}

function failureProblems(endpoint: Endpoint, answer: SeenAnswer): string[] {
  const { status, headers, json } = answer
  if (Object.values(endpoint.pages ?? {}).includes(status) && json === undefined) return []
  if (json === undefined) return ['the body is not the JSON of an error']
  const parsed = ErrorBody.safeParse(json)
  if (!parsed.success) return parsed.error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`)
  const { error, reason_code, retryable } = parsed.data
  const code = errorCodes[error]
  const known: readonly ReasonCode[] = [
    ...endpoint.errors,
    'method_not_allowed',
    'not_found',
    'http_malformed',
    'payload_too_large',
    'host_not_allowed',
  ]
  return [
    ...jsonTypeProblems(headers['content-type'] ?? ''),
    ...(code.status === status ? [] : [`error ${error} belongs to ${code.status}, not to ${status}`]),
    ...(reasonCodes[reason_code].error === error ? [] : [`reason_code ${reason_code} is not of ${error}`]),
    ...(code.retryable === retryable ? [] : [`retryable is ${retryable} for ${error}`]),
    ...(known.includes(reason_code) ? [] : [`reason_code ${reason_code} is none of ${endpoint.id}`]),
    ...requestIdProblems(json, headers),
  ]
}

function headerProblems(endpoint: Endpoint, { status, headers }: SeenAnswer, isSandbox: boolean): string[] {
  const isPublic = endpoint.path.startsWith('/v1/')
  const always: ResponseHeader[] = ['x-request-id']
  const bySuccess = endpoint.response_headers ?? []
  const byFailure = (failureHeaders as Partial<Record<number, readonly ResponseHeader[]>>)[status] ?? []
  const named = status < 400 ? bySuccess.filter((name) => !name.startsWith('x-sandbox-')) : byFailure
  const wanted = [...always, ...named].filter((name) => isSandbox || responseHeaders[name].provenance !== 'assumed')
  return [
    ...wanted.filter((name) => headers[name] === undefined).map((name) => `header ${name} is missing`),
    ...retryAfterProblems(status, headers),
    ...(isSandbox && isPublic && !('media_type' in endpoint.response) ? sandboxHeaderProblems(endpoint, headers) : []),
  ]
}

/** Of every JSON answer of v1: what keeps it out of caches and from being taken for something else. */
function sandboxHeaderProblems(endpoint: Endpoint, headers: Readonly<Record<string, string>>): string[] {
  const cache = headers['cache-control'] ?? ''
  const isCacheRight = endpoint.id === 'projects.config' ? /private|no-store/.test(cache) : cache.includes('no-store')
  return [
    ...(isCacheRight ? [] : [`cache-control is ${cache || 'missing'}`]),
    ...(/\borigin\b/i.test(headers.vary ?? '') ? [] : ['vary does not name Origin']),
    ...(headers['x-content-type-options'] === 'nosniff' ? [] : ['x-content-type-options is not nosniff']),
    ...(headers.date === undefined || Number.isNaN(Date.parse(headers.date)) ? ['header date is missing'] : []),
    ...(headers['access-control-allow-credentials'] === undefined ? [] : ['credentials are allowed to other origins']),
    ...(headers['access-control-allow-origin'] === '*' ? ['access-control-allow-origin is *'] : []),
  ]
}

function retryAfterProblems(status: number, headers: Readonly<Record<string, string>>): string[] {
  const value = headers['retry-after']
  if (value === undefined) return status === 429 ? ['header retry-after is missing'] : []
  const isRight = /^[1-9]\d*$/.test(value) || !Number.isNaN(Date.parse(value))
  return isRight ? [] : [`retry-after is ${value}`]
}

function requestIdProblems(json: Json, headers: Readonly<Record<string, string>>): string[] {
  const id = isObject(json) ? json.request_id : undefined
  const header = headers['x-request-id']
  return id === undefined || header === undefined || id === header
    ? []
    : [`request_id ${String(id)} is not the header's ${header}`]
}

function jsonTypeProblems(type: string): string[] {
  return /^application\/json\b/i.test(type) ? [] : [`content-type ${type || 'missing'} instead of application/json`]
}

function sameType(type: string, wanted: string): boolean {
  return type.split(';')[0]!.trim().toLowerCase() === wanted.split(';')[0]
}

const mediaTypes: Readonly<Record<string, string>> = { banner: 'image', clip: 'video', native: 'native' }

/** Of an answer whose fields are right by themselves. */
export function placementProblems(body: Json): string[] {
  const { status, placement, decision } = body as Record<string, Json>
  if (status === 'pending') return placement === null && decision === null ? [] : ['pending, yet decided']
  if (!isObject(decision)) return status === 'ready' ? ['ready without a decision'] : []
  if (decision.fill !== true) return placement === null ? [] : ['a placement without a fill']
  if (status === 'expired') return placement === null ? [] : ['expired, yet a placement']
  if (!isObject(placement)) return ['a fill without a placement']
  const format = String(decision.format)
  const url = format === 'clip' ? placement.video_url : placement.image_url
  const native = valueAt(decision, 'assets.image_url')
  const { width, height } = placement
  return [
    ...same('format', placement.format, format),
    ...same('asset_token', placement.asset_token, decision.asset_token),
    ...same('sponsor_name', placement.sponsor_name, decision.sponsor_name, valueAt(placement, 'render.sponsor_name')),
    ...same('click_url', placement.click_url, decision.click_url, valueAt(placement, 'render.click_url')),
    ...same('label', placement.ad_label_text, decision.ad_label_text, valueAt(placement, 'render.label_text')),
    ...same('width', width, valueAt(decision, 'dimensions.width'), valueAt(placement, 'render.width')),
    ...same('height', height, valueAt(decision, 'dimensions.height'), valueAt(placement, 'render.height')),
    ...same('render.media_type', valueAt(placement, 'render.media_type'), mediaTypes[format]),
    ...same('render.aspect_ratio', valueAt(placement, 'render.aspect_ratio'), `${String(width)}/${String(height)}`),
    ...(format === 'clip' ? [] : same('video_url', placement.video_url, null)),
    ...(format === 'clip' ? same('image_url', placement.image_url, null) : []),
    ...(format === 'native'
      ? same('image_url', placement.image_url, native)
      : same('delivery_url', decision.delivery_url, url)),
    ...(format === 'native'
      ? same('delivery_url', decision.delivery_url, null)
      : same('assets', decision.assets, null)),
    ...(typeof url === 'string' ? [] : [`a ${format} without its address`]),
    ...templateProblems(format, valueAt(placement, 'render.native_template_id')),
  ]
}

function templateProblems(format: string, template: Json | undefined): string[] {
  if (format === 'native') return typeof template === 'string' ? [] : ['native without render.native_template_id']
  return template === undefined ? [] : [`${format} with render.native_template_id`]
}

/** The same thing, said in several places. */
function same(what: string, ...values: (Json | undefined)[]): string[] {
  const [first, ...others] = values
  const different = others.find((value) => value !== first)
  return others.every((value) => value === first)
    ? []
    : [`${what}: ${JSON.stringify(first)} and ${JSON.stringify(different)}`]
}
