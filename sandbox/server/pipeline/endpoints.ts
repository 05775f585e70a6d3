/**
 * Steps 6 to 11 of the pipeline: the call of an endpoint whose response is JSON. Content type, credential and rate come
 * before the body is parsed.
 */
import { type CompatOperationId, compatOperations, deprecationHeaders } from '#compat/index.ts'
import { type Endpoint, isControlPlane, requiredRole } from '#contract/endpoint.ts'
import { ApiError } from '#contract/errors.ts'
import type { EndpointId } from '#contract/index.ts'
import type { RecordedId } from '#contract/recordings/recording.ts'
import { journalBody } from '#contract/recordings/redaction.ts'
import { isObject } from '#foundation/json.ts'
import { mayHoldSecrets } from '#foundation/redaction.ts'
import { activationKey } from '#operations/browser.ts'
import type { Context, Services } from '#operations/context.ts'
import { type JsonEndpointId, onRejected, operations } from '#operations/index.ts'
import { parseJson } from './body/body.ts'
import { checkPersonalData } from './body/personal-fields.ts'
import { refuseSecretNames, refuseSecrets, refuseSecretsInQuery } from './body/secret-fields.ts'
import { toStrictBody } from './body/strict.ts'
import { refuseQuery, refuseRepeated, validate, validateBody } from './body/validation.ts'
import { addCors } from './cors.ts'
import { checkActivationHeader, checkLocalKey, findCaller } from './credentials.ts'
import { type OpenExchange, type PipelineResponse, type Request, type Route, successResponse } from './exchange.ts'
import { withPlayback } from './playback.ts'
import type { Rates } from './rates.ts'

export interface EndpointOptions {
  services: Services
  rates: Rates
}

/** Container platforms and load balancers have no admin token. */
const probes: ReadonlySet<string> = new Set<EndpointId>(['health.live', 'health.ready'])

type ServedId = JsonEndpointId | CompatOperationId

const operationsById = { ...operations, ...compatOperations }

export function endpointRoute(pipeline: EndpointOptions, id: ServedId, endpoint: Endpoint): Route {
  const { method, path, body_limit_bytes } = endpoint
  const call = (exchange: OpenExchange) => callEndpoint(pipeline, id, endpoint, exchange)
  const callDeprecated = (exchange: OpenExchange) => {
    Object.assign(exchange.context.headers, deprecationHeaders(endpoint, exchange.request.params))
    return call(exchange)
  }
  const own = endpoint.successor === undefined ? call : callDeprecated
  const respond = isControlPlane(endpoint) ? own : withPlayback(pipeline.services, id as RecordedId, own)
  if (!isControlPlane(endpoint))
    return method === 'GET' ? { method, path, respond } : { method, path, body_limit_bytes, respond }
  const role = requiredRole(endpoint)
  return method === 'GET'
    ? { method, path, role, respond, isOpen: probes.has(id) }
    : { method, path, role, ...(role === 'read' ? {} : { audited_as: id }), body_limit_bytes, respond }
}

async function callEndpoint(
  { services, rates }: EndpointOptions,
  id: ServedId,
  endpoint: Endpoint,
  exchange: OpenExchange,
): Promise<PipelineResponse> {
  const { context, request } = exchange
  let output: unknown
  // A probe reads nothing of the state, and its platform would end a sandbox that is busy replacing it.
  const isProbe = probes.has(id)
  const entering = isProbe ? undefined : services.drainLock.enter()
  if (entering !== undefined) await entering
  try {
    checkContentType(request)
    if (isActivation(id)) await checkActivationHeader(services, exchange)
    if (endpoint.credentials.length > 0) {
      const caller = findCaller(services, exchange, endpoint)
      context.caller = caller instanceof Promise ? await caller : caller
      // A recording has the refusals of its own limits.
      const isLimited = endpoint.rate !== null && context.played === null
      const taking = !isLimited ? undefined : rates.take(endpoint.rate, context.caller, context.now_ms)
      if (taking !== undefined) await taking
    }
    if (isActivation(id)) await takeActivation(services, rates, exchange)
    const parsing = parseInput(services, id, endpoint, exchange)
    const input = parsing instanceof Promise ? await parsing : parsing
    // Only now: a refused body may contain anything, and is kept like one that cannot be parsed.
    exchange.journal_body = input.journal_body
    const operation = operationsById[id] as (services: Services, context: Context, input: unknown) => Promise<unknown>
    const run = () => operation(services, context, input)
    const { shared } = services.store
    output = await (shared === null || isProbe || endpoint.method !== 'GET' ? run() : shared.readShowable(run))
  } finally {
    if (!isProbe) services.drainLock.leave()
  }
  const response = successResponse(endpoint.status, exchange, output)
  if (context.origin !== null) await addCors(services, exchange, response)
  return response
}

function isActivation(id: ServedId): boolean {
  return id === 'browser.activate' || id === 'browser.activation'
}

const jsonType = /^application\/json\s*(;|$)/i

const encodingName = /^[\w-]{1,32}$/

/** Step 6. A GET may carry a body: it is not read, but its type must be right like any other's. */
export function checkContentType({ method, headers, body }: Request): void {
  const hasUnreadBody =
    method === 'GET' && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
  if (body.length === 0 && !hasUnreadBody) return
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding !== 'identity') {
    throw new ApiError('content_type_unsupported', {
      message: `The Content-Encoding ${encodingName.test(encoding) ? encoding : 'of this request'} is not supported.`,
      hint: 'Send the body uncompressed, without a Content-Encoding.',
    })
  }
  if (!jsonType.test(headers['content-type'] ?? '')) throw new ApiError('content_type_unsupported')
}

const noBody = { json: {}, text: '', isExact: false }

/**
 * The first part of step 9: the query, and parameters of the path that may name something new. Other parameters only find
 * something, or nothing (A94).
 */
function refuseSecretsInUrl(endpoint: Endpoint, request: Request): void {
  refuseSecretsInQuery(request)
  const mayName = isControlPlane(endpoint) && !endpoint.errors.includes('not_found')
  if (mayName && mayHoldSecrets(request.url)) refuseSecretNames(request.params)
}

/** Steps 7 and 8 of an activation, which has its key in the body. A body without a key is refused by its schema. */
async function takeActivation(services: Services, rates: Rates, { context, request }: OpenExchange): Promise<void> {
  const text = readPublishableKey(request.body)
  if (text === null) return
  checkLocalKey(services, request, text)
  if (context.played !== null) return
  const { key } = await activationKey(services, context, text)
  await rates.take('activate', { key_id: key.id, project: key.project }, context.now_ms)
}

/** Returns the text in `publishable_key`; null where the body has none, or cannot be read. */
function readPublishableKey(body: Buffer): string | null {
  try {
    const json = parseJson(body, true).json
    return isObject(json) && typeof json.publishable_key === 'string' ? json.publishable_key : null
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}

interface Input {
  params: unknown
  query: unknown
  body: unknown
  journal_body: string | null
}

/** Step 9. Returns a promise only for a refusal that has to be recorded, or of a body that is not JSON. */
function parseInput(
  services: Services,
  id: EndpointId,
  endpoint: Endpoint,
  exchange: OpenExchange,
): Input | Promise<never> {
  const { context, request } = exchange
  let received: unknown
  try {
    refuseSecretsInUrl(endpoint, request)
    const params = endpoint.params === undefined ? {} : validate(endpoint.params, request.params)
    const query = parseQuery(endpoint, request)
    if (endpoint.body === undefined) return { params, query, body: undefined, journal_body: null }
    const isEmptyAllowed = endpoint.stability === 'sandbox' && request.body.length === 0
    const sent = isEmptyAllowed ? noBody : parseJson(request.body, !isControlPlane(endpoint))
    const { json, isPlain } = refuseSecrets(endpoint, sent.json, sent.text, context.warnings)
    received = json
    if (Array.isArray(json) && id === 'beacons.send') throw new ApiError('batch_not_supported')
    const isByDocument = services.strict && endpoint.stability !== 'sandbox'
    const given = isByDocument ? toStrictBody(endpoint, json, context.warnings) : json
    const body = validateBody(endpoint, given, sent.isExact, context)
    checkPersonalData(context, body, (kept) => {
      exchange.journal_body = journalBody(kept, isPlain)
    })
    return { params, query, body, journal_body: journalBody(body, isPlain) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const note = context.caller === null ? undefined : onRejected[id]
    const isMalformed = error.reason_code === 'json_malformed'
    if (note === undefined && !isMalformed) throw error
    return reject(error, isMalformed ? request.body : null, () =>
      note?.(services, context, error.reason_code, received),
    )
  }
}

function parseQuery({ query: schema }: Endpoint, { query }: Request): unknown {
  if (schema === undefined) {
    refuseQuery(query)
    return {}
  }
  refuseRepeated(query, schema)
  return validate(schema, { ...query })
}

/** Records a refusal, and rejects with its error, which has the place of the mistake in a body that is not JSON. */
async function reject(
  error: ApiError,
  malformed: Buffer | null,
  record: () => Promise<unknown> | undefined,
): Promise<never> {
  await record()
  if (malformed === null) throw error
  const { withPlace } = await import('./body/malformed-body.ts')
  throw withPlace(error, malformed)
}
