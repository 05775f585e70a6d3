/** Calls of the control plane. */
import type { Endpoint, Input, Output } from '#contract/endpoint.ts'
import type { Contract, EndpointId } from '#contract/index.ts'
import { fillPath } from '#foundation/http.ts'
import { isObject, parseJson } from '#foundation/json.ts'
import { currentSession, openSession } from './session.ts'

/** Methods and paths by id, from the contract; a path has its parameters in braces. */
declare const __ENDPOINTS__: Readonly<Record<EndpointId, readonly [method: string, path: string]>>
declare const __REASON_CODES__: readonly string[]

export type { EndpointId }

interface AnyInput {
  params?: object
  query?: object
  body?: unknown
}
export type EndpointInput<Id extends EndpointId> = Contract[Id] extends Endpoint
  ? Input<Contract[Id]> & AnyInput
  : never
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

export function isReasonCode(text: string): boolean {
  return __REASON_CODES__.includes(text)
}

export function buildAddress(id: EndpointId, input: { params?: object; query?: object } = {}): string {
  const query = Object.entries(input.query ?? {}).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(query.map(([name, value]) => [name, String(value)])).toString()
  return fillPath(__ENDPOINTS__[id][1], input.params) + (search && `?${search}`)
}

/** Calls an endpoint. @throws ApiProblem */
export function call<Id extends EndpointId>(
  id: Id,
  ...args: object extends EndpointInput<Id>
    ? [input?: EndpointInput<Id>, signal?: AbortSignal]
    : [input: EndpointInput<Id>, signal?: AbortSignal]
): Promise<EndpointOutput<Id>> {
  const [input, signal] = args
  return callAny(id, input, signal)
}

/**
 * Calls an endpoint whose input or output the caller knows. A write that is refused because the sandbox was restarted opens
 * the page again: only a new document gets its new token. @throws ApiProblem
 */
export async function callAny<Output>(id: EndpointId, input: AnyInput = {}, signal?: AbortSignal): Promise<Output> {
  const { body, ...rest } = input
  const response = await request(__ENDPOINTS__[id][0], buildAddress(id, rest), body, signal)
  if (response.status === 403 && (await openSession()) === 'open' && currentSession()?.token === null) location.reload()
  const text = await response.text()
  if (!response.ok) throw refusal(response.status, text)
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  const output: unknown = isJson ? parseJson(text) : text
  return output as Output
}

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

/** Reads a page of the sandbox that is no endpoint of the contract. @throws ApiProblem */
export async function readJson<Output>(address: string): Promise<Output> {
  const response = await request('GET', address)
  if (!response.ok) throw refusal(response.status, await response.text())
  return response.json()
}
