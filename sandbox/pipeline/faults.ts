/**
 * Faults on the way of a request: a hook before the handler, which costs nothing while there are no rules. They come
 * before credentials and rates, as a broken network would. What takes effect all the same (`served`) passes on, and its
 * answer is caught where it leaves.
 */
import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../src/contract/errors.ts'
import { type Format, formats } from '../../src/contract/fields.ts'
import { decodeId } from '../../src/contract/ids.ts'
import { contract } from '../../src/contract/index.ts'
import { errorOf, type FaultRequest, rewritten } from '../domain/faults.ts'
import { serializeOrigin } from '../domain/settings.ts'
import { parseToken } from '../domain/tokens.ts'
import type { Services } from '../operations/context.ts'
import type { Injection } from '../runtime/faults.ts'
import type { SlotRow } from '../store/store.ts'
import { isKnownOrigin, readableBy } from './cors.ts'
import { httpDate } from './date.ts'
import { publicHeaders } from './media.ts'
import { bodyOf, type Door, errorAnswer, faultHeader, openExchange, record } from './pipeline.ts'

const activateBrowser = contract['browser.activate']

type Headers = Record<string, string>

/** An answer as it is about to leave. */
interface Leaving {
  status: number
  headers: Headers
  body: Buffer
}

export function registerFaults(app: FastifyInstance, door: Door): void {
  const { faults } = door.services
  app.addHook('preHandler', (request, reply, done) => {
    if (faults.isEmpty || !isPublic(request.routeOptions.url)) return done()
    meetFault(door, request, reply, done).catch((error: unknown) => {
      door.services.report(error)
      reply.raw.destroy()
    })
  })
}

async function meetFault(door: Door, request: FastifyRequest, reply: FastifyReply, done: () => void): Promise<void> {
  const { faults, drainLock, platform } = door.services
  // Within the drain lock: what is counted belongs to the state that the rules are of.
  const injection = await drainLock.run(async () =>
    faults.inject(await readRequest(door.services, request), platform.clock.now()),
  )
  if (injection === null) return done()
  if (injection.latency_ms > 0) await pause(injection.latency_ms, reply.raw)
  if (reply.raw.destroyed) return
  request.fault = injection
  const { effect, served } = injection.rule
  if (effect !== 'delay' && (served || effect === 'rewrite')) catchAnswer(door, request, reply.raw, injection)
  else if (effect !== 'delay') await refuse(door, request, reply, injection)
  if (effect === 'delay' || served || effect === 'rewrite') done()
}

/** The routes of the v1 API and its files. */
function isPublic(route: string | undefined): boolean {
  return route !== undefined && (route.startsWith('/v1/') || route.startsWith('/assets/'))
}

/** What rules look at. Body and store are read only when a rule asks for what is there. */
async function readRequest({ faults, store }: Services, request: FastifyRequest): Promise<FaultRequest> {
  const { method, url, headers } = request
  const path = url.split('?')[0]!
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? null
  const isActivation = path === activateBrowser.path
  const body = faults.needsDetails || isActivation ? readBody(request) : {}
  const key = bearer ?? (isActivation ? text(body.publishable_key) : null)
  const asked = { method, path, key, session_id: null, formats: [] }
  if (!faults.needsDetails) return asked
  const slot_id = slotOf(request.params as Record<string, string>, body)
  const slot = slot_id === null ? null : await store.findSlot(slot_id)
  if (slot !== null) return { ...asked, session_id: slot.job.session_id, formats: formatsOfSlot(slot) }
  const context = object(body.context)
  const isAsking = path === '/v1/placements' || path === '/v1/jobs'
  return {
    ...asked,
    session_id: text(body.session_id) ?? text(body.chat_session_id) ?? text(context.chat_session_id),
    formats: isAsking ? formatsAsked(body) : [],
  }
}

function readBody(request: FastifyRequest): Record<string, unknown> {
  try {
    return object(JSON.parse(bodyOf(request).toString('utf8')))
  } catch {
    return {}
  }
}

/** The slot that a decision, a frame or a beacon is about. */
function slotOf(params: Record<string, string>, body: Record<string, unknown>): number | null {
  if (params.slot_id !== undefined) return decodeId('slot', params.slot_id)
  const token = params.asset_token ?? text(body.asset_token)
  return token === null ? null : (parseToken(token)?.id ?? null)
}

function formatsOfSlot({ decision, job, project }: SlotRow): readonly Format[] {
  if (decision?.outcome.status === 'filled') return [decision.outcome.format]
  return job.facts.allowed_formats ?? project.settings.defaults.allowed_formats
}

function formatsAsked(body: Record<string, unknown>): readonly Format[] {
  const named = object(body.overrides).allowed_formats ?? object(body.slot_config).allowed_formats
  return Array.isArray(named) ? formats.filter((format) => named.includes(format)) : formats
}

/** Until the wait is over or the client has gone. */
function pause(ms: number, raw: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      raw.off('close', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    raw.once('close', end)
  })
}

/** The request takes no effect. */
async function refuse(door: Door, request: FastifyRequest, reply: FastifyReply, injection: Injection): Promise<void> {
  const { effect } = injection.rule
  const exchange = openExchange(door, request, reply)
  const { raw } = reply.hijack()
  if (effect === 'drop' || effect === 'reset') {
    const headers = { [faultHeader]: injection.fault_id }
    if (isJournaled(request)) record(door, exchange, { status: 0, headers, body: '', error: null })
    hangUp(raw, effect)
    return
  }
  const { error, answer } = await errorLeaving(door, request, injection, exchange.context)
  if (isJournaled(request)) record(door, exchange, { ...answer, body: answer.body.toString('utf8'), error })
  leave(raw, injection, answer)
}

/** The request takes effect; what it is answered with is caught here. */
function catchAnswer(door: Door, request: FastifyRequest, raw: ServerResponse, injection: Injection): void {
  const { writeHead, end } = raw
  let status = 200
  let headers: Headers = {}
  raw.writeHead = ((code: number, given: Headers) => {
    status = code
    headers = { ...(raw.getHeaders() as Headers), ...given }
    return raw
  }) as typeof raw.writeHead
  raw.end = ((chunk?: unknown) => {
    raw.writeHead = writeHead
    raw.end = end
    for (const name of raw.getHeaderNames()) raw.removeHeader(name)
    const body = Buffer.isBuffer(chunk) ? chunk : Buffer.from(typeof chunk === 'string' ? chunk : '')
    answerServed(door, request, raw, injection, { status, headers, body }).catch((error: unknown) => {
      door.services.report(error)
      raw.destroy()
    })
    return raw
  }) as typeof raw.end
}

async function answerServed(
  door: Door,
  request: FastifyRequest,
  raw: ServerResponse,
  injection: Injection,
  leaving: Leaving,
): Promise<void> {
  const { effect, rewrite } = injection.rule
  if (effect === 'drop' || effect === 'reset') hangUp(raw, effect)
  else if (effect === 'error') {
    const now_ms = door.services.platform.clock.now()
    const request_id = String(leaving.headers['x-request-id'])
    leave(raw, injection, (await errorLeaving(door, request, injection, { now_ms, request_id })).answer)
  } else if (effect === 'rewrite') {
    leave(raw, injection, { ...leaving, body: rewriteBody(leaving, rewrite ?? {}) })
  } else leave(raw, injection, leaving)
}

/** The error of a rule, readable by the page that asked. */
async function errorLeaving(
  { services }: Door,
  request: FastifyRequest,
  { rule, fault_id }: Injection,
  { now_ms, request_id }: { now_ms: number; request_id: string },
) {
  const { status, reason_code } = errorOf(rule)
  const error = new ApiError(reason_code)
  const context = { now_ms, request_id, warnings: [], headers: { [faultHeader]: fault_id } }
  const { headers, body } = errorAnswer(context, error)
  const { retry_after_format, retry_after_s } = rule
  if ((status === 429 || status === 503) && retry_after_format !== 'none') {
    headers['retry-after'] =
      retry_after_format === 'seconds' ? String(retry_after_s) : httpDate(now_ms + retry_after_s * 1000)
  }
  Object.assign(headers, await corsOf(services, request))
  return { error, answer: { status, headers, body: Buffer.from(body) } }
}

/** As the door would have it: files are for every page, activation tells whoever calls, the rest known origins. */
async function corsOf(services: Services, request: FastifyRequest): Promise<Headers> {
  const { origin } = request.headers
  const route = request.routeOptions.url ?? ''
  if (route === '/v1/render.js' || route.startsWith('/v1/test-assets/') || route.startsWith('/assets/')) {
    return publicHeaders
  }
  if (origin === undefined) return {}
  const isActivation = route === activateBrowser.path && serializeOrigin(origin) !== null
  return isActivation || (await isKnownOrigin(services, origin)) ? readableBy(origin) : {}
}

/** Writes an answer, whole, cut in the middle, or backwards: JSON backwards is none. */
function leave(raw: ServerResponse, { rule }: Injection, { status, headers, body }: Leaving): void {
  const isBodiless = status === 204 || status === 304 || raw.req.method === 'HEAD'
  if (!isBodiless) headers['content-length'] = String(body.length)
  raw.writeHead(status, headers)
  if (isBodiless) raw.end()
  else if (rule.effect === 'truncate') raw.write(body.subarray(0, body.length >> 1), () => raw.socket?.destroy())
  else raw.end(rule.effect === 'garble' ? body.toReversed() : body)
}

function hangUp(raw: ServerResponse, effect: 'drop' | 'reset'): void {
  if (effect === 'reset') raw.socket?.resetAndDestroy()
  else raw.socket?.destroy()
}

function rewriteBody({ headers, body }: Leaving, members: Readonly<Record<string, unknown>>): Buffer {
  if (!String(headers['content-type']).startsWith('application/json')) return body
  return Buffer.from(JSON.stringify(rewritten(JSON.parse(body.toString('utf8')), members)))
}

/** Files outside of v1 are not recorded. */
function isJournaled(request: FastifyRequest): boolean {
  return request.url.startsWith('/v1/')
}

function object(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
