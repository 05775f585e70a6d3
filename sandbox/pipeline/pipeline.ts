/**
 * The door: every v1 and control request in one fixed order (A13). Route, method and size come before it; here follow
 * content type, credential, key class, rate, JSON and schema; then the operation checks resource and rule. The first
 * failure answers.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { ApiError, reasonCodes } from '../../src/contract/errors.ts'
import { encodeId } from '../../src/contract/ids.ts'
import type { EndpointId } from '../../src/contract/index.ts'
import { redactSecrets } from '../../src/foundation/redaction.ts'
import { serializeOrigin } from '../domain/settings.ts'
import { publishableKey } from '../operations/browser.ts'
import { type Context, keyKind, type Services } from '../operations/context.ts'
import { type JsonEndpointId, onRejected, operations } from '../operations/index.ts'
import { StorageError } from '../store/store.ts'
import { isKnownOrigin, readableBy } from './cors.ts'
import { authenticate, restoreCaller } from './credentials.ts'
import { httpDate } from './date.ts'
import { namesTag } from './etag.ts'
import { journalBody, journalHeaders, journalPath, journalUnreadable } from './journal.ts'
import type { Rates } from './rates.ts'
import type { Replay, Replays } from './replays.ts'
import { parseJson, validate } from './body.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The fault rule that it has met. */
    fault?: { fault_id: string }
    /** What it is the replay of. */
    replay?: Replay
  }
}

/** The header that names the rule that an answer was broken by. */
export const faultHeader = 'x-sandbox-fault'

export interface Door {
  services: Services
  rates: Rates
  replays: Replays
  /** Whether exchanges of v1 are recorded. */
  isJournalOn: boolean
}

/** One exchange on its way through: what the journal will say of it. */
export interface Exchange {
  id: number
  context: Context
  started: number
  request: FastifyRequest
  /** The body as the journal may keep it. */
  body: string | null
}

/** What an answer says of its request. */
export type AnswerContext = Pick<Context, 'now_ms' | 'request_id' | 'warnings' | 'headers'>

interface Answer {
  status: number
  headers: Record<string, string>
  body: string
  error: ApiError | null
}

const jsonType = /^application\/json\s*(;|$)/i
const noBody = Buffer.alloc(0)

/** Begins an exchange: one identifier, one instant. */
export function openExchange({ services }: Door, request: FastifyRequest, reply: FastifyReply): Exchange {
  const id = services.platform.newId()
  let controller: AbortController | undefined
  const context: Context = {
    now_ms: services.platform.clock.now(),
    request_id: encodeId('req', id),
    caller: null,
    origin: request.headers.origin ?? null,
    get signal() {
      if (controller === undefined) {
        const fresh = new AbortController()
        reply.raw.once('close', () => fresh.abort())
        controller = fresh
      }
      return controller.signal
    },
    warnings: [],
    headers: request.fault === undefined ? {} : { [faultHeader]: request.fault.fault_id },
    subject: { session_id: null, slot_id: null },
  }
  if (request.replay !== undefined) request.replay.request_id = context.request_id
  return { id, context, started: performance.now(), request, body: null }
}

/** The handler of an endpoint whose answer is JSON. */
export function jsonHandler(door: Door, id: JsonEndpointId, endpoint: Endpoint) {
  const isPublic = !endpoint.path.startsWith('/_sandbox/')
  const serve = async (request: FastifyRequest, reply: FastifyReply) => {
    const exchange = openExchange(door, request, reply)
    const answer = await answerOf(door, id, endpoint, exchange)
    if (isPublic) {
      if (exchange.context.origin !== null) await addCors(door, endpoint, exchange, answer)
      record(door, exchange, answer)
    }
    send(reply, answer)
  }
  return (request: FastifyRequest, reply: FastifyReply) => {
    serve(request, reply).catch((error: unknown) => {
      door.services.report(error)
      reply.raw.destroy()
    })
  }
}

/** An error on its way out: of the door, or of the server before it. */
export function errorAnswer(context: AnswerContext, error: ApiError): Answer {
  return {
    status: error.status,
    headers: {
      ...headersOf(context),
      ...error.headers,
      ...(error.retry_after_s === undefined ? {} : { 'retry-after': String(error.retry_after_s) }),
    },
    body: JSON.stringify(error.toBody(context.request_id)),
    error,
  }
}

/** Writes the answer in one go. It goes past the framework's reply, which would copy every header once more. */
export function send(reply: FastifyReply, { status, headers, body }: Answer): FastifyReply {
  const { raw } = reply.hijack()
  if (status !== 304 && status !== 204) headers['content-length'] = String(Buffer.byteLength(body))
  raw.writeHead(status, headers)
  raw.end(raw.req.method === 'HEAD' ? undefined : body)
  return reply
}

/** Anything thrown, as the caller's mistake or as ours: ours is reported and never explained to the caller. */
export function toApiError(services: Services, error: unknown, request_id: string): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof StorageError) {
    services.report(error)
    return new ApiError('storage_unavailable', { retry_after_s: 1 })
  }
  services.report(new Error(`request ${request_id} failed`, { cause: error }))
  return new ApiError('internal_error')
}

/** Writes the exchange to the journal, with the next commit. */
export function record({ services, isJournalOn }: Door, exchange: Exchange, answer: Answer): void {
  if (!isJournalOn) return
  const { context, request } = exchange
  const { caller, subject } = context
  services.store.appendExchange({
    id: exchange.id,
    at_ms: context.now_ms,
    method: request.method,
    path: journalPath(request.url),
    status: answer.status,
    error: answer.error === null ? null : reasonCodes[answer.error.reason_code].error,
    reason_code: answer.error?.reason_code ?? null,
    duration_us: Math.round((performance.now() - exchange.started) * 1000),
    project_id: caller?.project.id ?? null,
    session_id: subject.session_id,
    slot_id: subject.slot_id,
    request_headers: journalHeaders(request.headers),
    request_body: exchange.body ?? journalUnreadable(bodyOf(request).toString('utf8')),
    response_headers: JSON.stringify(answer.headers),
    response_body: redactSecrets(answer.body),
    key_kind: caller === null ? null : keyKind(caller),
    key_id: caller?.key_id ?? null,
  })
}

async function answerOf(door: Door, id: JsonEndpointId, endpoint: Endpoint, exchange: Exchange): Promise<Answer> {
  const { services } = door
  const { context } = exchange
  try {
    const output = await services.drainLock.run(() => admit(door, id, endpoint, exchange))
    return successAnswer(endpoint, exchange, output)
  } catch (thrown) {
    const error = toApiError(services, thrown, context.request_id)
    return errorAnswer(context, error)
  }
}

async function admit(door: Door, id: JsonEndpointId, endpoint: Endpoint, exchange: Exchange): Promise<unknown> {
  const { services, rates } = door
  const { context, request } = exchange
  const body = bodyOf(request)
  if ((body.length > 0 || hasUnreadBody(request)) && !jsonType.test(request.headers['content-type'] ?? '')) {
    throw new ApiError('content_type_unsupported')
  }
  if (endpoint.credentials.length > 0) {
    const presented = {
      authorization: request.headers.authorization,
      origin: request.headers.origin,
      sec_fetch_site: header(request, 'sec-fetch-site'),
      method: request.method,
    }
    const identity = request.replay?.identity ?? null
    context.caller =
      identity === null
        ? await authenticate(services, context, endpoint, presented)
        : await restoreCaller(services, context, endpoint, identity, presented)
    if (endpoint.rate !== null) rates.take(endpoint.rate, context.caller, context.now_ms)
  }
  const input = await readInput(door, id, endpoint, exchange, body)
  const operation = operations[id] as (services: Services, context: Context, input: unknown) => Promise<unknown>
  return operation(services, context, input)
}

async function readInput(
  { services, rates }: Door,
  id: EndpointId,
  endpoint: Endpoint,
  exchange: Exchange,
  body: Buffer,
): Promise<{ params: unknown; query: unknown; body: unknown }> {
  const { context, request } = exchange
  try {
    const params = endpoint.params === undefined ? {} : validate(endpoint.params, request.params)
    const query = endpoint.query === undefined ? {} : validate(endpoint.query, { ...(request.query as object) })
    if (endpoint.body === undefined) return { params, query, body: undefined }
    const isEmptyAllowed = endpoint.stability === 'sandbox' && body.length === 0
    const json = isEmptyAllowed ? {} : parseJson(body)
    if (Array.isArray(json) && id === 'beacons.send') throw new ApiError('batch_not_supported')
    const parsed = validate(endpoint.branch?.(json) ?? endpoint.body, json)
    if (id === 'browser.activate') {
      const key = await publishableKey(services, (parsed as { publishable_key: string }).publishable_key)
      rates.take('activate', { key_id: key.id, project: key.project }, context.now_ms)
    }
    exchange.body = journalBody(parsed)
    return { params, query, body: parsed }
  } catch (error) {
    if (error instanceof ApiError && context.caller !== null) {
      await onRejected[id]?.(services, context, error.reason_code)
    }
    throw error
  }
}

/** A success on its way out. */
export function successAnswer(endpoint: Endpoint, { context, request }: Exchange, output: unknown): Answer {
  const headers = headersOf(context)
  if (headers.etag !== undefined && namesTag(request.headers['if-none-match'], headers.etag)) {
    return { status: 304, headers, body: '', error: null }
  }
  return { status: endpoint.status, headers, body: JSON.stringify(output), error: null }
}

function headersOf(context: AnswerContext): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json; charset=utf-8',
    date: httpDate(context.now_ms),
    'x-request-id': context.request_id,
    vary: 'Origin',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...context.headers,
  }
  if (context.warnings.length > 0) headers['x-sandbox-warning'] = context.warnings.join(', ')
  return headers
}

/** Activation is readable by its caller even on 403; elsewhere by known origins, then by the bound one (A90). */
async function addCors({ services }: Door, endpoint: Endpoint, exchange: Exchange, answer: Answer): Promise<void> {
  const { origin } = exchange.context
  if (origin === null || answer.error?.reason_code === 'origin_mismatch') return
  const isActivation = endpoint.id === 'browser.activate' && serializeOrigin(origin) !== null
  if (isActivation || (await isKnownOrigin(services, origin))) Object.assign(answer.headers, readableBy(origin))
}

/** A GET may carry a body: it is not read, but its type must be right like any other's. */
function hasUnreadBody({ method, headers }: FastifyRequest): boolean {
  if (method !== 'GET') return false
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

export function bodyOf(request: FastifyRequest): Buffer {
  return Buffer.isBuffer(request.body) ? request.body : noBody
}

export function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value[0] : value
}
