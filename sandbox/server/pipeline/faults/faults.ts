/**
 * The second step of faults: it breaks or replaces the response. A request that may not take effect gets its response
 * here. Skipped while there are no rules.
 */
import { ApiError } from '#contract/errors.ts'
import { resolveError, rewriteFields } from '#domain/faults.ts'
import type { Services } from '#operations/context.ts'
import type { Injection } from '#runtime/faults.ts'
import { addCors, isPublicFile, publicHeaders } from '../cors.ts'
import { faultHeader, formatHttpDate, type OpenExchange, type PipelineResponse } from '../exchange.ts'
import { errorResponse } from '../failures.ts'

/** Whether a rule keeps the request from taking effect. */
export function isRefused({ rule: { effect, served } }: Injection): boolean {
  return effect !== 'delay' && effect !== 'rewrite' && !served
}

/**
 * The response to a refused request. For a connection that is dropped, it has the status 0, which only the journal
 * sees.
 */
export async function faultResponse(services: Services, exchange: OpenExchange): Promise<PipelineResponse> {
  const { fault } = exchange.request
  const { effect } = fault!.rule
  if (effect !== 'drop' && effect !== 'reset') return faultError(services, exchange, fault!)
  return { status: 0, headers: { [faultHeader]: fault!.fault_id }, body: '' }
}

/** The fault after: replaces, rewrites, garbles or breaks a response. */
export async function applyFault(
  services: Services,
  exchange: OpenExchange,
  response: PipelineResponse,
): Promise<PipelineResponse> {
  const fault = exchange.request.fault!
  const { effect, rewrite } = fault.rule
  switch (effect) {
    case 'delay':
      return response
    case 'error':
      return isRefused(fault) ? response : faultError(services, exchange, fault)
    case 'rewrite':
      return rewriteResponse(response, rewrite ?? {})
    case 'garble':
      // JSON backwards is not JSON.
      return { ...response, body: toBytes(response).reverse() }
    default:
      return { ...response, broken: effect }
  }
}

/** The error of a rule, readable by the page that asked. */
async function faultError(
  services: Services,
  exchange: OpenExchange,
  { rule, fault_id }: Injection,
): Promise<PipelineResponse> {
  const { now_ms, request_id } = exchange.context
  const { status, reason_code } = resolveError(rule)
  const context = { now_ms, request_id, warnings: [], headers: { [faultHeader]: fault_id } }
  const response = { ...errorResponse(services, context, new ApiError(reason_code)), status }
  const { retry_after_format, retry_after_s } = rule
  if ((status === 429 || status === 503) && retry_after_format !== 'none') {
    response.headers['retry-after'] =
      retry_after_format === 'seconds' ? String(retry_after_s) : formatHttpDate(now_ms + retry_after_s * 1000)
  }
  if (isPublicFile(exchange.request.path)) Object.assign(response.headers, publicHeaders)
  else await addCors(services, exchange, response)
  return response
}

function rewriteResponse(response: PipelineResponse, fields: Readonly<Record<string, unknown>>): PipelineResponse {
  const body = toBytes(response)
  if (body.length === 0 || !String(response.headers['content-type']).startsWith('application/json')) return response
  return { ...response, body: JSON.stringify(rewriteFields(JSON.parse(body.toString('utf8')), fields)) }
}

/** The body of a response. Faults never apply to a stream. */
function toBytes({ body }: PipelineResponse): Buffer {
  return typeof body === 'function' ? Buffer.alloc(0) : Buffer.from(body)
}
