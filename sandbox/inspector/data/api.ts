/** Calls of the control plane from its own page: typed by the contract, over fetch, with the token of this start. */
import type { Endpoint, Input, Output } from '../../../src/contract/endpoint.ts'
import type { Contract, EndpointId } from '../../../src/contract/index.ts'
import { fillPath } from '../../../src/foundation/http.ts'
import { isObject, parseJson } from '../../../src/foundation/json.ts'
import { currentSession, openSession } from './session.ts'

/** Methods and paths by id, from the contract. */
declare const __ENDPOINTS__: Readonly<Record<EndpointId, readonly [method: string, path: string]>>
/** The reason codes of the contract. */
declare const __REASON_CODES__: readonly string[]

export type { EndpointId }
export type InputOf<Id extends EndpointId> = Contract[Id] extends Endpoint ? Input<Contract[Id]> : never
export type OutputOf<Id extends EndpointId> = Contract[Id] extends Endpoint ? Output<Contract[Id]> : never

/** A call that was refused, or reached nobody (`status` 0). */
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
    this.reason_code = textOf(body.reason_code) ?? (status === 0 ? 'unreachable' : `http_${status}`)
    this.hint = textOf(body.hint)
    this.docs_url = textOf(body.docs_url)
    this.request_id = textOf(body.request_id)
    this.fields = Array.isArray(body.fields) ? body.fields : []
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** Returns method and path of an endpoint, the path with its parameters in braces. */
function endpointOf(id: EndpointId): readonly [method: string, path: string] {
  return __ENDPOINTS__[id]
}

/** Whether a text is a reason code. */
export function isReasonCode(text: string): boolean {
  return __REASON_CODES__.includes(text)
}

/** Returns the path and query of a call. */
export function addressOf(id: EndpointId, input: { params?: object; query?: object } = {}): string {
  const query = Object.entries(input.query ?? {}).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(query.map(([name, value]) => [name, String(value)])).toString()
  return fillPath(endpointOf(id)[1], input.params) + (search && `?${search}`)
}

/**
 * Calls an endpoint. A write that is refused because the sandbox was started again is sent once more, with the new token.
 * @throws ApiProblem
 */
export async function call<Id extends EndpointId>(
  id: Id,
  ...[input, signal]: object extends InputOf<Id>
    ? [input?: InputOf<Id>, signal?: AbortSignal]
    : [input: InputOf<Id>, signal?: AbortSignal]
): Promise<OutputOf<Id>> {
  const given = input as unknown
  const { body, ...rest } = (given ?? {}) as { params?: object; query?: object; body?: unknown }
  const send = () => request(endpointOf(id)[0], addressOf(id, rest), body, signal)
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
  return output as OutputOf<Id>
}

/** Returns the problem of a response that is no success. */
export function refusal(status: number, text: string): ApiProblem {
  const body = parseJson(text)
  return new ApiProblem(status, isObject(body) ? body : {}, `The sandbox responded ${status}.`)
}

/** Sends a request to this origin with the token. @throws ApiProblem when nobody responds */
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
      { hint: 'Start it: svc start. This page goes on by itself.' },
      'The sandbox does not respond.',
    )
  }
}
