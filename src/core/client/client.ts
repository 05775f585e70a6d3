/**
 * The typed client, computed from the contract: an endpoint `placements.create` is the method
 * `client.placements.create({ body, query })`. It runs in Node and in browsers.
 */

import type { Endpoint, Input, Output, ResponseHeader } from '#contract/endpoint.ts'
import type { Contract, EndpointId } from '#contract/index.ts'
import type { SandboxEvent } from '#contract/resources/events.ts'
import { retryAfterMs } from '#foundation/http.ts'
import { parseAnyJson } from '#foundation/json.ts'
import { tableNames } from '#foundation/table-entry.ts'
import { ContractError, ServiceError } from './errors.ts'
import {
  buildRequest,
  type CallInput,
  exchange,
  type Fetch,
  globalFetch,
  type openStream,
  type RawResponse,
  type Redirect,
  type ResponseMeta,
  readMediaType,
  readToEnd,
  type Sender,
  type SentEndpoint,
  type Transport,
  unlimited,
} from './exchange.ts'

export type { ResponseMeta } from './exchange.ts'

export interface ClientOptions extends Sender {
  /** URL of the service: `http://127.0.0.1:4010`. */
  base_url: string
  /** Any fetch with the parameters `(url, init)`. Default: the global one. */
  fetch?: Fetch | undefined
  /** Time limit of a response, milliseconds; Infinity for none. Default 30 000. */
  timeout_ms?: number | undefined
  /** Most bytes of a response, unpacked; a larger one is a ContractError. Default 67 108 864 (64 MiB). */
  max_bytes?: number | undefined
  /**
   * `manual` makes a redirect an error. `follow` follows it, and sends headers and body to wherever it leads. Default
   * manual: no service of the contract sends one.
   */
  redirect?: Redirect | undefined
  /** Whether responses are compared with the contract, or a function that decides. Default true. */
  validate?: Validation | ((response: RawResponse, endpoint: EndpointId) => Validation) | undefined
}

/** The contract as a client uses it. Its schemas can be loaded on demand. */
export interface KnownContract<Ids extends EndpointId = EndpointId> {
  endpoints: Readonly<Record<Ids, SentEndpoint>>
  schemas(): Schemas | Promise<Schemas>
  /** Reads responses piece by piece; left out when no endpoint has such a response. */
  stream?: typeof openStream
  /** Whether the response of an endpoint is read piece by piece. */
  isStream?: (endpoint: SentEndpoint) => boolean
}

export type Schemas = typeof import('./response.ts')

export interface CallOptions {
  /** Aborts the call, which throws the reason of the signal. */
  signal?: AbortSignal | undefined
  /** Lets a browser finish the request when its page is closed. Default false; true for `sendBeacon`. */
  keepalive?: boolean | undefined
  /** Called when a stream is open: it has every event from then on. */
  onOpen?: (() => void) | undefined
}

/** One call of an endpoint; the input may be left out where nothing in it is required. */
type Call<E extends Endpoint, Result> = (
  ...args: object extends Input<E>
    ? [input?: Input<E>, options?: CallOptions]
    : [input: Input<E>, options?: CallOptions]
) => Result

/** A response that is read piece by piece: events, or the bytes of a file. */
type Stream<E extends Endpoint> = E['response'] extends { media_type: 'text/event-stream' }
  ? AsyncGenerator<SandboxEvent, void, undefined>
  : E['response'] extends { media_type: 'application/gzip' }
    ? AsyncGenerator<Uint8Array, void, undefined>
    : never

type Data<E extends Endpoint> = [Stream<E>] extends [never] ? Promise<Output<E>> : Stream<E>

/** Streams have no meta: they are the same with and without it. */
type WithMeta<E extends Endpoint> = [Stream<E>] extends [never]
  ? Promise<{ data: Output<E>; meta: ResponseMeta }>
  : Stream<E>

/** The endpoints that a plain request can call: all but the handshake of a socket. */
type CallableId = { [Id in EndpointId]: Contract[Id]['status'] extends 101 ? never : Id }[EndpointId]

type GroupOf<Id extends string> = Id extends `${infer Group}.${string}` ? Group : never
type VerbOf<Id extends string, Group extends string> = Id extends `${Group}.${infer Verb}` ? Verb : never
type At<Group extends string, Verb extends string> = Contract[`${Group}.${Verb}` & EndpointId]

type DataMethods<Ids extends EndpointId> = {
  readonly [Group in GroupOf<Extract<Ids, CallableId>>]: {
    readonly [Verb in VerbOf<Extract<Ids, CallableId>, Group>]: Call<At<Group, Verb>, Data<At<Group, Verb>>>
  }
}
type MetaMethods<Ids extends EndpointId> = {
  readonly [Group in GroupOf<Extract<Ids, CallableId>>]: {
    readonly [Verb in VerbOf<Extract<Ids, CallableId>, Group>]: Call<At<Group, Verb>, WithMeta<At<Group, Verb>>>
  }
}

/** The typed operations of some endpoints; by default of all. */
export type Client<Ids extends EndpointId = EndpointId> = DataMethods<Ids> & {
  /** The same methods, returning `{ data, meta }`: with the request id, sandbox warnings and so on. */
  readonly withResponse: MetaMethods<Ids>
  /** Calls an endpoint by its id, for callers that only know it at run time. Returns `{ data, meta }`. */
  call(id: Ids, input: CallInput, options?: CallOptions): Promise<{ data: unknown; meta: ResponseMeta }>
}

/**
 * Whether a response that differs from the contract is thrown (`true`), reported in the meta (`'report'`) or ignored
 * (`false`).
 */
type Validation = boolean | 'report'

/** Creates a client, as createClient does, from the contract in its own form. */
export function buildClient<Ids extends EndpointId>(known: KnownContract<Ids>, options: ClientOptions): Client<Ids> {
  const { endpoints, schemas } = known
  const { fetch = globalFetch, timeout_ms = 30_000, validate = true } = options
  const transport: Transport = { ...options, fetch, timeout_ms }

  async function call(id: Ids, input: CallInput, { signal, keepalive }: CallOptions = {}) {
    const endpoint = endpoints[id]
    const request = buildRequest(endpoint, input, options)
    const sent = keepalive === true ? { ...request, keepalive } : request
    const response = await exchange(
      input.body instanceof Blob ? unlimited(transport) : transport,
      sent,
      signal,
      readToEnd,
    )
    if (!response.ok) throw await failure(endpoint, response)
    const meta = readMeta(response)
    if (readMediaType(endpoint) !== undefined) return { data: response.text, meta }
    const json = parseAnyJson(response.text)
    if (json === undefined) throw new ContractError(id, response.status, ['the body is not JSON'], meta.request_id)
    const validation = typeof validate === 'function' ? validate(response, id) : validate
    if (validation === false) return { data: json, meta }
    return (await schemas()).validated(id, json, meta, validation)
  }

  function stream(id: Ids, input: CallInput, { signal, onOpen }: CallOptions = {}) {
    const endpoint = endpoints[id]
    return known.stream!({
      transport,
      endpoint,
      request: buildRequest(endpoint, input, options),
      signal,
      onOpen,
      schemas,
      failure,
    })
  }

  /** Returns the error of a response that is not a success. */
  async function failure({ method, path }: SentEndpoint, response: RawResponse): Promise<ServiceError> {
    const { status, text, request_id } = response
    const { parseErrorBody, describeOther } = await schemas()
    return new ServiceError({
      method,
      path,
      status,
      body: parseErrorBody(text),
      instead: describeOther(text, status, response.headers.get('location')),
      retry_after_s: retryAfterSeconds(response),
      request_id,
    })
  }

  const isStreamed = (id: Ids) => known.isStream?.(endpoints[id])
  const ids = tableNames(endpoints).filter((id) => endpoints[id].status !== 101)
  const withResponse = methods(
    ids,
    (id) =>
      (input = {}, options) =>
        isStreamed(id) ? stream(id, input, options) : call(id, input, options),
  )
  const data = methods(
    ids,
    (id) =>
      (input = {}, options) =>
        isStreamed(id) ? stream(id, input, options) : call(id, input, options).then((result) => result.data),
  )
  const client = data as unknown as DataMethods<Ids>
  return {
    ...client,
    withResponse: withResponse as unknown as MetaMethods<Ids>,
    call,
  }
}

/**
 * Returns the cursor of the next page of a list, or null at its end. Throws ContractError for a cursor that would read
 * the same page again, forever.
 */
export function nextCursor({ next_cursor }: { next_cursor: string | null }, cursor?: string | null): string | null {
  if (next_cursor === null || (typeof next_cursor === 'string' && next_cursor !== cursor)) return next_cursor
  const wrong = next_cursor === cursor ? 'is the cursor of this page' : 'is neither text nor null'
  throw new ContractError('a list', 200, [`next_cursor: ${wrong}`], null)
}

type Method = (input?: CallInput, options?: CallOptions) => unknown

/** Returns `{ placements: { create: ... } }` for every endpoint. */
function methods<Ids extends EndpointId>(
  ids: readonly Ids[],
  method: (id: Ids) => Method,
): Record<string, Record<string, Method>> {
  const groups: Record<string, Record<string, Method>> = {}
  for (const id of ids) {
    const [group, verb] = id.split('.') as [string, string]
    groups[group] = { ...groups[group], [verb]: method(id) }
  }
  return groups
}

function readMeta({ status, headers }: RawResponse): ResponseMeta {
  const header = (name: ResponseHeader) => headers.get(name)
  return {
    status,
    request_id: header('x-request-id'),
    warnings: list(header('x-sandbox-warning')),
    would_bill: header('x-sandbox-would-bill'),
    slot_ids: list(header('x-sandbox-slot-ids')),
    differences: [],
  }
}

function list(header: string | null): string[] {
  return (header ?? '').split(/[\s,]+/).filter((item) => item !== '')
}

/**
 * Returns whole seconds. A date counts from the response's own Date header; from the local clock when there is none.
 */
function retryAfterSeconds({ headers }: RawResponse): number | null {
  const date = headers.get('date')
  const wait_ms = retryAfterMs(headers.get('retry-after'), date === null ? Date.now() : Date.parse(date))
  return wait_ms === null ? null : Math.ceil(wait_ms / 1000)
}
