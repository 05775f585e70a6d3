/**
 * The session with the running sandbox: the token sent with every call, and the projects of the seed. Also calls to the
 * control plane, and API requests over the wire: as a server, through the sandbox's own backend that names a key by its
 * id, or as a page, from here, with an activation token.
 */

import { keepToken, tokenHeaders } from '#browser/tab-token.ts'
import type { Endpoint, Input, Output } from '#contract/endpoint.ts'
import type { Contract, EndpointId } from '#contract/index.ts'
import { fillPath } from '#foundation/http.ts'
import { isObject, type JsonObject, parseJson } from '#foundation/json.ts'
import { createCell } from './cell.ts'

export interface SeededProject {
  client_id: string
  secret_key: string
  live_secret_key: string
  publishable_key: string
}

interface InspectorSession {
  /** Proves that a call comes from this page. It changes with each start of the sandbox. */
  token: string
  /** Origin of frame URLs and links. */
  base_url: string
  version: string
  /** Whether every read needs the token too. */
  is_public: boolean
  last_event_seq: number
  projects: readonly SeededProject[]
}

type SessionState = 'opening' | 'open' | 'locked' | 'unreachable'

const session = createCell<InspectorSession | null>(null)
const state = createCell<SessionState>('opening')

export function currentSession(): InspectorSession | null {
  return session.get()
}

function set(next: SessionState): SessionState {
  state.set(next)
  return next
}

/**
 * Reads the session again. Beyond loopback it needs the admin token, from the address or this tab, else the session is
 * `locked`.
 */
export async function openSession(): Promise<SessionState> {
  try {
    const response = await fetch('/_sandbox/inspector/session', { headers: tokenHeaders(), cache: 'no-store' })
    if (response.status === 403) {
      keepToken(null)
      return set('locked')
    }
    if (!response.ok) return state.get() === 'open' ? 'open' : set('unreachable')
    session.set((await response.json()) as InspectorSession)
    return set('open')
  } catch {
    return state.get() === 'open' ? 'open' : set('unreachable')
  }
}

/** Tries an admin token: keeps it for this tab when it is the right one. */
export function unlock(token: string): Promise<SessionState> {
  keepToken(token)
  return openSession()
}

export function useSessionState(): SessionState {
  return state.use()
}

/** Returns the session, which every visible page has. */
export function useSession(): InspectorSession {
  const open = session.use()
  if (open === null) throw new Error('views are shown once the session is open')
  return open
}

/** Returns the address of a page or a file of this sandbox for a plain link: beyond loopback with the token. */
export function linkTo(address: string): string {
  const open = currentSession()
  if (open?.is_public !== true) return address
  return `${address}${address.includes('?') ? '&' : '?'}token=${encodeURIComponent(open.token)}`
}

/* Calls of the control plane */

/** Methods and paths by id, from the contract; a path has its parameters in braces. */
declare const __ENDPOINTS__: Readonly<Record<EndpointId, readonly [method: string, path: string]>>
/** The reason codes of the contract. */
declare const __REASON_CODES__: readonly string[]

export type { EndpointId }
export type EndpointInput<Id extends EndpointId> = Contract[Id] extends Endpoint ? Input<Contract[Id]> : never
export type EndpointOutput<Id extends EndpointId> = Contract[Id] extends Endpoint ? Output<Contract[Id]> : never

/** A call that was refused, or got no response (`status` 0). */
export class ApiProblem extends Error {
  readonly status: number
  readonly reason_code: string
  readonly hint: string | null
  readonly docs_url: string | null
  readonly fields: readonly { path: string; message: string }[]
  readonly request_id: string | null
  constructor(status: number, body: Readonly<Record<string, unknown>>, message: string) {
    super(typeof body.message === 'string' ? body.message : message)
    this.name = 'ApiProblem'
    this.status = status
    this.reason_code = stringOrNull(body.reason_code) ?? (status === 0 ? 'unreachable' : `http_${status}`)
    this.hint = stringOrNull(body.hint)
    this.docs_url = stringOrNull(body.docs_url)
    this.request_id = stringOrNull(body.request_id)
    this.fields = Array.isArray(body.fields) ? body.fields : []
  }
}

function stringOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** Whether a text is a reason code. */
export function isReasonCode(text: string): boolean {
  return __REASON_CODES__.includes(text)
}

/** Returns the path and query of a call. */
export function buildAddress(id: EndpointId, input: { params?: object; query?: object } = {}): string {
  const query = Object.entries(input.query ?? {}).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(query.map(([name, value]) => [name, String(value)])).toString()
  return fillPath(__ENDPOINTS__[id][1], input.params) + (search && `?${search}`)
}

/**
 * Calls an endpoint. A write that is refused because the sandbox was restarted is sent once more, with the new token.
 * @throws ApiProblem
 */
export async function call<Id extends EndpointId>(
  id: Id,
  ...[input, signal]: object extends EndpointInput<Id>
    ? [input?: EndpointInput<Id>, signal?: AbortSignal]
    : [input: EndpointInput<Id>, signal?: AbortSignal]
): Promise<EndpointOutput<Id>> {
  const given = input as unknown
  const { body, ...rest } = (given ?? {}) as { params?: object; query?: object; body?: unknown }
  const send = () => request(__ENDPOINTS__[id][0], buildAddress(id, rest), body, signal)
  let response = await send()
  if (response.status === 403) {
    const before = currentSession()?.token
    const state = await openSession()
    if (state === 'open' && currentSession()?.token !== before) response = await send()
  }
  const text = await response.text()
  if (!response.ok) throw refusal(response.status, text)
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  const output: unknown = isJson ? parseJson(text) : text
  return output as EndpointOutput<Id>
}

/** Returns the problem of an unsuccessful response. */
export function refusal(status: number, text: string): ApiProblem {
  const body = parseJson(text)
  return new ApiProblem(status, isObject(body) ? body : {}, `The sandbox responded ${status}.`)
}

/** Sends a request to this origin with the token. @throws ApiProblem when there is no response */
export async function request(
  method: string,
  address: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  const headers: Record<string, string> = { 'x-sandbox-token': currentSession()?.token ?? '' }
  if (body !== undefined) headers['content-type'] = 'application/json'
  const init: RequestInit = { method, headers, cache: 'no-store' }
  if (body !== undefined) init.body = JSON.stringify(body)
  if (signal !== undefined) init.signal = signal
  try {
    return await fetch(address, init)
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiProblem(
      0,
      { hint: 'Start it: svc start. This page reconnects automatically.' },
      'The sandbox does not respond.',
    )
  }
}

/* Requests of the API */

/** One exchange as the playground shows it. */
export interface Sent {
  method: string
  path: string
  status: number
  headers: Readonly<Record<string, string>>
  /** The body as sent by the sandbox. */
  text: string
  duration_ms: number
  request_id: string | null
  /** How a fault rule broke the connection. */
  broken: string | null
}

/** A sender of API requests: as a server, or as a page. */
export type Send = (call: { method: string; path: string; body?: string }, signal?: AbortSignal) => Promise<Sent>

/** Returns the sender that acts as a server with a secret key; null: without a credential. */
export function serverSender(key_id: string | null): Send {
  return async ({ method, path, body }, signal) => {
    const response = await request(
      'POST',
      '/_sandbox/inspector/send',
      { key_id, method, path, body: body ?? null },
      signal,
    )
    const text = await response.text()
    const sent = parseJson(text)
    if (!response.ok || !isObject(sent)) throw refusal(response.status, text)
    const headers = sent.headers as Record<string, string>
    return {
      method,
      path,
      status: Number(sent.status),
      headers,
      text: String(sent.body),
      duration_ms: Number(sent.duration_ms),
      request_id: headers['x-request-id'] ?? null,
      broken: sent.broken === null ? null : String(sent.broken),
    }
  }
}

/** Returns the sender of this page. @param token an activation token; null: without one */
export function pageSender(token: string | null): Send {
  return async ({ method, path, body }, signal) => {
    const started = performance.now()
    const init: RequestInit = {
      method,
      cache: 'no-store',
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    }
    try {
      const response = await fetch(path, init)
      const text = await response.text()
      return {
        method,
        path,
        status: response.status,
        headers: Object.fromEntries(response.headers),
        text,
        duration_ms: performance.now() - started,
        request_id: response.headers.get('x-request-id'),
        broken: null,
      }
    } catch (error) {
      if (signal?.aborted) throw error
      return {
        method,
        path,
        status: 0,
        headers: {},
        text: '',
        duration_ms: performance.now() - started,
        request_id: null,
        broken: 'connection lost',
      }
    }
  }
}

/** Returns the object of a response body, or null. */
export function parseBody({ text }: Sent): JsonObject | null {
  const body = parseJson(text)
  return isObject(body) ? body : null
}

/** How long to poll for a pending decision, and how long each poll waits, milliseconds. */
const maxPollMs = 60_000
const waitMs = 5_000
const pauseMs = 250

/** Polls the decision of a slot until it is not pending; `onPoll` is called with every response. */
export async function pollDecision(
  send: Send,
  slot_id: string,
  signal: AbortSignal,
  onPoll: (sent: Sent) => void,
): Promise<Sent | null> {
  const started = performance.now()
  while (!signal.aborted && performance.now() - started < maxPollMs) {
    const sent = await send({ method: 'GET', path: `/v1/decisions/${slot_id}?wait_ms=${waitMs}` }, signal)
    onPoll(sent)
    if (sent.status !== 200) return sent
    if (parseBody(sent)?.status !== 'pending') return sent
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  return null
}
