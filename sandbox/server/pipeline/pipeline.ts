/**
 * The request pipeline: what happens to every request, top-down, in one fixed order (A13). The first step that throws
 * ends it, and the error is the response. Every response is recorded, and may be changed by a fault.
 *
 *   respondTo       1 host guard   2 route and method   3 size   4 fault before   5 exchange
 *   callEndpoint    6 content type   7 credential, key class and origin   8 rate   9 parse   10 operation   11 respond
 *                   (with --overrides, as the recorded service does)
 *   respondTo      12 journal   13 fault after
 *
 * Files, frames, pages and streams have their own routes, which leave out steps 6 to 10.
 */

import { compatOperations } from '#compat/index.ts'
import { type Endpoint, problemHeader } from '#contract/endpoint.ts'
import { ApiError } from '#contract/errors.ts'
import { compat, contract } from '#contract/index.ts'
import { pathPattern, withoutQuery } from '#foundation/http.ts'
import type { MaybePromise } from '#foundation/maybe-promise.ts'
import { isTableName } from '#foundation/table-entry.ts'
import type { Services } from '#operations/context.ts'
import { operations } from '#operations/index.ts'
import { noRoute, type RoutePath } from '#runtime/metrics/node-metrics.ts'
import type { RestoredRequest } from '#runtime/replay.ts'
import { findTraceId } from '#runtime/traces/request-trace.ts'
import { readBody, refuseUnstorableUrl, tooLarge } from './body/body.ts'
import { applyServiceOverrides } from './body/overrides.ts'
import { guardControlPlane, noteAction } from './control-plane.ts'
import { addCors, isForeign, isPreflight, mayBeForeign, preflightResponse } from './cors.ts'
import { type EndpointOptions, endpointRoute } from './endpoints.ts'
import {
  formatHttpDate,
  internalRequest,
  isApi,
  type OpenExchange,
  openExchange,
  type PipelineResponse,
  type Request,
  type Route,
  traceHeader,
} from './exchange.ts'
import { errorResponse, toApiError } from './failures.ts'
import { injectFault } from './faults/fault-requests.ts'
import { applyFault, faultResponse, isRefused } from './faults/faults.ts'
import { readableInFrame } from './frames.ts'
import { createHostGuard, type GuardOptions, isForPage, isOpened } from './guards.ts'
import { record } from './journal.ts'
import { countResponse, recordSpan } from './measures.ts'
import { createRouteError, createRoutes, type Routes } from './routes.ts'

export interface PipelineOptions extends EndpointOptions {
  guard: GuardOptions
  /** Whether exchanges of the v1 API, and calls that miss it, are recorded. */
  isJournalOn: boolean
}

export interface Pipeline extends PipelineOptions {
  /** Responds with the page of the inspector; null until the server has added it. */
  page: Route['respond'] | null
  /** @throws ApiError 421 when the Host header names neither loopback nor a configured host */
  checkHost(header: string | undefined): void
  routes: Routes
}

/** Returns a pipeline with the routes of all endpoints whose response is JSON. */
export function createPipeline(options: PipelineOptions): Pipeline {
  const pipeline: Pipeline = {
    ...options,
    checkHost: createHostGuard(options.guard),
    routes: createRoutes(),
    page: null,
  }
  for (const [id, endpoint] of Object.entries<Endpoint>(contract)) {
    if (isTableName(operations, id) || (isTableName(compatOperations, id) && !options.services.strict))
      pipeline.routes.add(endpointRoute(pipeline, id, endpoint))
  }
  return pipeline
}

/** Takes one request through all steps. Only writing the response is left to the caller. */
export async function respondTo(
  pipeline: Pipeline,
  request: Request,
): Promise<{ exchange: OpenExchange; response: PipelineResponse }> {
  const { services } = pipeline
  let exchange: OpenExchange | undefined
  let response: PipelineResponse
  let audited_as: string | undefined
  let counted: RoutePath = noRoute
  try {
    pipeline.checkHost(request.headers.host)
    let found = pipeline.routes.find(request)
    if (request.path.startsWith('/_sandbox')) {
      found = pageInstead(pipeline, found, request)
      audited_as = found?.audited_as
      found = await guardControlPlane(pipeline, found, request)
    }
    const route = found ?? preflightRoute(pipeline, request)
    counted = route
    refuseUnstorableUrl(request)
    if (route.body_limit_bytes !== undefined) request.body = await loadBody(request, route.body_limit_bytes)
    if (!services.faults.isEmpty && isApi(route)) await injectFault(services, request)
    exchange = openExchange(services, request)
    response = await callRoute(services, route, exchange)
  } catch (thrown) {
    exchange ??= openExchange(services, request)
    response = errorResponse(
      services,
      exchange.context,
      await toApiError(services, thrown, exchange.context.request_id),
    )
    await addCors(services, exchange, response)
  }
  response = applyServiceOverrides(services, request, response)
  // Files and frames too: clients learn the sandbox clock from any response.
  response.headers.date ??= formatHttpDate(exchange.context.now_ms)
  const trace_id = isOfApi(request, response) ? findTraceId(exchange.context.trace) : null
  if (trace_id !== null) response.headers[traceHeader] = trace_id
  if (audited_as !== undefined) await noteAction(services, audited_as, request, response)
  // Before it leaves: a client that has its response finds the exchange in the journal.
  if (pipeline.isJournalOn && isOfApi(request, response)) {
    await recordSafely(services, exchange, request.hasLeft() ? toUnsent(response) : response)
  }
  if (request.fault !== null) response = await applyFault(services, exchange, response)
  countResponse(services, counted, exchange, response)
  if (services.tracing !== null) recordSpan(services, counted, exchange, response)
  return { exchange, response: readableInFrame(request, response) }
}

/** Returns the response of a route, or of the fault rule that refuses the request. */
function callRoute(services: Services, route: Route, exchange: OpenExchange): MaybePromise<PipelineResponse> {
  const { request } = exchange
  if (request.fault === null) return route.respond(exchange)
  // It left while a fault delayed its request, which takes no effect then.
  if (request.hasLeft()) return noResponse
  return isRefused(request.fault) ? faultResponse(services, exchange) : route.respond(exchange)
}

/** The request has taken effect: a failure of the journal is reported, and never costs the response. */
async function recordSafely(services: Services, exchange: OpenExchange, response: PipelineResponse): Promise<void> {
  try {
    const isApart = mayBeForeign(exchange) && (await isForeign(services, exchange))
    record(services, exchange, response, isApart ? 'foreign' : 'journal')
  } catch (error) {
    services.report(new Error(`request ${exchange.context.request_id} is not in the journal`, { cause: error }))
  }
}

/** The page of the inspector in place of JSON: of an endpoint that has one too, and for an unknown address. */
function pageInstead({ page, routes }: Pipeline, found: Route | null, request: Request): Route | null {
  if (page === null) return found
  if (found !== null) return isForPage(request) ? { ...found, respond: page, isOpen: true, isPage: true } : found
  if (!request.path.startsWith('/_sandbox/') || !isOpened(request)) return null
  if (routes.listMethods(request.url).length > 0) return null
  const respond = async (exchange: OpenExchange) => {
    const response = await page(exchange)
    return response.status === 200 ? { ...response, status: 404 } : response
  }
  return { method: 'GET', path: request.path, respond, isOpen: true, isPage: true }
}

/** The v1 API, and calls that miss it: a mistyped base URL or path must show up in the journal. */
function isOfApi({ method, path, headers }: Request, { status }: PipelineResponse): boolean {
  if (path.startsWith('/v1/') || path.startsWith('/public/')) return true
  const isCall = headers.authorization !== undefined || (method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS')
  return status === 404 && isCall && !path.startsWith('/_sandbox')
}

/**
 * Takes a request of the journal through all steps again. Returns the request_id of the new exchange.
 * @throws ApiError 404 for a path beyond the API: the control plane is for its clients alone
 */
export async function replay(
  pipeline: Pipeline,
  { replayed, identity, method, path, headers, body }: RestoredRequest,
  signal: AbortSignal,
): Promise<string> {
  const marked = { ...headers, 'x-sandbox-replay': replayed }
  const request = internalRequest({
    method,
    url: path,
    headers: marked,
    body: body ?? '',
    identity,
    signal: () => signal,
  })
  if (leadsBeyondApi(pipeline, { ...request })) throw new ApiError('not_found')
  return (await respondTo(pipeline, request)).exchange.context.request_id
}

function leadsBeyondApi({ routes }: Pipeline, request: Request): boolean {
  try {
    const route = routes.find(request)
    return route !== null && !/^\/(v1|public)\//.test(route.path)
  } catch {
    return false
  }
}

/** The response to a preflight for a path that has no route of this method. @throws ApiError 404 or 405 for other requests */
function preflightRoute({ services, routes }: Pipeline, request: Request): Route {
  if (!isPreflight(request)) throw createRouteError(routes, request, services.strict && isOfCompat(request))
  return {
    method: 'OPTIONS',
    path: '*',
    respond: (exchange) => preflightResponse(services, exchange, routes.listMethods(request.url)),
  }
}

/** Whether `strict` leaves a path out. */
function isOfCompat({ url }: Request): boolean {
  return Object.values<Endpoint>(compat).some(({ path }) => pathPattern(path).test(withoutQuery(url)))
}

/** Step 3: returns the body, read within the limit of its route. */
function loadBody({ incoming, body }: Request, limit_bytes: number): Buffer | Promise<Buffer> {
  if (incoming !== null) return readBody(incoming, limit_bytes)
  if (body.length > limit_bytes) throw tooLarge(limit_bytes)
  return body
}

const noResponse: PipelineResponse = { status: 0, headers: {}, body: '', broken: 'drop' }

/** A response as the journal has it when its client had left. The cause of a failure stays. */
function toUnsent({ status, headers: { [traceHeader]: trace_id }, error }: PipelineResponse): PipelineResponse {
  const problem =
    status === 0
      ? 'The client left before the request took effect.'
      : `The client left before it got the response, ${status}.`
  const headers = { [problemHeader]: problem, ...(trace_id === undefined ? {} : { [traceHeader]: trace_id }) }
  return { status: 0, headers, body: '', ...(error === undefined ? {} : { error }) }
}
