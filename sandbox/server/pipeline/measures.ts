/** What is measured of each request: counts and times of responses, and the span that a tracer gets. */
import { encodeId } from '#contract/ids.ts'
import type { Services } from '#operations/context.ts'
import type { RoutePath } from '#runtime/metrics/node-metrics.ts'
import { endTrace } from '#runtime/traces/request-trace.ts'
import { isApi, type OpenExchange, type PipelineResponse } from './exchange.ts'

/** One that the client did not get has no status. */
export function countResponse(
  { metrics }: Services,
  route: RoutePath,
  { request, started }: OpenExchange,
  { status, error, broken }: PipelineResponse,
): void {
  const { endpoint, statuses, durations } = metrics.findRoute(route)
  const isUnsent = broken === 'drop' || broken === 'reset' || request.hasLeft()
  statuses[isUnsent ? 0 : Math.trunc(status / 100)]!++
  durations.observe((performance.now() - started) / 1_000)
  if (error !== undefined) metrics.countError(endpoint, error.reason_code)
}

/** Ends the span of a request to the API. Paths are those of routes: as they are sent, they may have tokens. */
export function recordSpan(
  { tracing, metrics, base_url }: Services,
  route: RoutePath,
  { context, request }: OpenExchange,
  { status, error }: PipelineResponse,
): void {
  const { endpoint } = metrics.findRoute(route)
  const { caller, subject, trace, request_id } = context
  const isTraced = isApi(request) && endpoint.includes('.') && endpoint !== 'render.script'
  if (tracing === null || trace === null || !isTraced) return
  const { protocol, hostname, port } = new URL(base_url)
  const isFailed = status === 0 || status >= 500
  endTrace(tracing, trace, {
    'http.request.method': request.method,
    'http.route': request.path,
    'url.scheme': protocol.slice(0, -1),
    'server.address': hostname,
    ...(port === '' ? {} : { 'server.port': Number(port) }),
    ...(status === 0 ? {} : { 'http.response.status_code': status }),
    ...(isFailed ? { 'error.type': error?.reason_code ?? String(status) } : {}),
    'svc.endpoint': endpoint,
    'svc.request_id': request_id,
    ...(error === undefined ? {} : { 'svc.reason_code': error.reason_code }),
    ...(caller === null ? {} : { 'svc.client_id': caller.project.client_id }),
    ...(subject.slot_id === null ? {} : { 'svc.slot_id': encodeId('slot', subject.slot_id) }),
  })
}
