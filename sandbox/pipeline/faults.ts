/**
 * Faults on the way of a request, in two steps. The first comes before credentials and rates, as a broken network
 * would. It counts the request and waits; a request that may not take effect goes no further. The second step breaks or
 * replaces the response. Both are skipped while there are no rules.
 */
import { ApiError } from '#contract/errors.ts'
import { type Format, formats } from '#contract/fields.ts'
import { decodeId, parseToken } from '#contract/ids.ts'
import { contract } from '#contract/index.ts'
import { type FaultRequest, resolveError, rewriteFields } from '#domain/faults.ts'
import { withoutQuery } from '#foundation/http.ts'
import { isObject, parseJsonObject } from '#foundation/json.ts'
import type { Services } from '#operations/context.ts'
import type { Injection } from '#runtime/faults.ts'
import type { SlotRow } from '#store/store.ts'
import { addCors, publicHeaders } from './cors.ts'
import { faultHeader, formatHttpDate, type OpenExchange, type PipelineResponse, type Request } from './exchange.ts'
import { errorResponse } from './failures.ts'

/**
 * The fault before: counts the request for the rule that matches it, notes the rule in the request, and waits its
 * latency.
 */
export async function injectFault(services: Services, request: Request): Promise<void> {
  const { faults, drainLock, platform } = services
  // Inside the drain lock: the count belongs to the same state as the rules.
  request.fault = await drainLock.run(async () =>
    faults.inject(await describeRequest(services, request), platform.clock.now()),
  )
  const { latency_ms } = request.fault ?? { latency_ms: 0 }
  if (latency_ms > 0) await wait(latency_ms, request.signal())
}

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

function isPublicFile(path: string): boolean {
  return path === '/v1/render.js' || path.startsWith('/v1/test-assets/') || path.startsWith('/assets/')
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

/** The paths of the requests for a decision. */
const decisionPaths: ReadonlySet<string> = new Set(
  (['placements.create', 'jobs.create', 'wrapper.job'] as const).map((id) => contract[id].path),
)

/** Returns the request as fault rules see it. Body and store are read only when a rule needs them. */
async function describeRequest({ faults, store }: Services, request: Request): Promise<FaultRequest> {
  const path = withoutQuery(request.url)
  const bearer = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? null
  const isActivation = path === contract['browser.activate'].path
  const body = faults.needsDetails || isActivation ? (parseJsonObject(request.body.toString('utf8')) ?? {}) : {}
  const key = bearer ?? (isActivation ? toText(body.publishable_key) : null)
  const description = { method: request.method, path, key, session_id: null, formats: [] }
  if (!faults.needsDetails) return description
  const slot_id = findSlotId(request.params, body)
  const slot = slot_id === null ? null : await store.findSlot(slot_id)
  if (slot !== null) return { ...description, session_id: slot.job.session_id, formats: listSlotFormats(slot) }
  return {
    ...description,
    session_id:
      toText(body.session_id) ?? toText(body.chat_session_id) ?? toText(toObject(body.context).chat_session_id),
    formats: decisionPaths.has(request.path) ? listRequestedFormats(body) : [],
  }
}

/** The slot that a decision, a frame or a beacon is about. */
function findSlotId(params: Request['params'], body: Record<string, unknown>): number | null {
  if (params.slot_id !== undefined) return decodeId('slot', params.slot_id)
  const token = params.asset_token ?? toText(body.asset_token)
  return token === null ? null : (parseToken(token)?.id ?? null)
}

function listSlotFormats({ decision, job, project }: SlotRow): readonly Format[] {
  if (decision?.outcome.status === 'filled') return [decision.outcome.format]
  return job.facts.allowed_formats ?? project.settings.defaults.allowed_formats
}

function listRequestedFormats(body: Record<string, unknown>): readonly Format[] {
  const named = toObject(body.overrides).allowed_formats ?? toObject(body.slot_config).allowed_formats
  return Array.isArray(named) ? formats.filter((format) => named.includes(format)) : formats
}

/** Resolves after some time, or as soon as the client has gone. */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}

function toObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}

function toText(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
