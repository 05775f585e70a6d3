/**
 * The typed client, computed from the contract: an endpoint `placements.create` is the method
 * `client.placements.create({ body, query })`. It runs in Node and in browsers.
 */
import type { SandboxEvent } from '../contract/control/events.ts'
import type { Endpoint, Input, Output } from '../contract/endpoint.ts'
import type { ResponseHeader } from '../contract/headers.ts'
import type { Contract, EndpointId } from '../contract/index.ts'
import { parseJson } from '../foundation/json.ts'
import { retryAfterMs } from '../foundation/retry-after.ts'
import { ContractError, ServiceError } from './errors.ts'
import {
  buildRequest,
  type CallInput,
  exchange,
  type Fetch,
  globalFetch,
  mediaTypeOf,
  type RawResponse,
  readBytes,
  readToEnd,
  type Sender,
  type SentEndpoint,
  type Transport,
} from './exchange.ts'

export interface ClientOptions extends Sender {
  /** URL of the service: `http://127.0.0.1:4010`. */
  base_url: string
  /** Any fetch with the parameters `(url, init)`. Default: the global one. */
  fetch?: Fetch | undefined
  /** Time limit of a response, milliseconds. Default 30 000. */
  timeout_ms?: number | undefined
  /** Whether responses are compared with the contract, or how to decide it. Default true. */
  validate?: Validation | ((response: RawResponse, endpoint: EndpointId) => Validation) | undefined
}

/** What a client knows of the contract. Its schemas may be loaded when they are needed. */
export interface KnownContract {
  endpoints: Readonly<Record<EndpointId, SentEndpoint>>
  schemas(): Schemas | Promise<Schemas>
}

type Schemas = typeof import('./response.ts')

export interface CallOptions {
  /** Aborts the call, which throws the reason of the signal. */
  signal?: AbortSignal | undefined
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

/** What a request alone can call: not the handshake of a socket. */
type CallableId = { [Id in EndpointId]: Contract[Id]['status'] extends 101 ? never : Id }[EndpointId]

type GroupOf<Id extends string> = Id extends `${infer Group}.${string}` ? Group : never
type VerbOf<Id extends string, Group extends string> = Id extends `${Group}.${infer Verb}` ? Verb : never
type At<Group extends string, Verb extends string> = Contract[`${Group}.${Verb}` & EndpointId]

type DataMethods = {
  readonly [Group in GroupOf<CallableId>]: {
    readonly [Verb in VerbOf<CallableId, Group>]: Call<At<Group, Verb>, Data<At<Group, Verb>>>
  }
}
type MetaMethods = {
  readonly [Group in GroupOf<CallableId>]: {
    readonly [Verb in VerbOf<CallableId, Group>]: Call<At<Group, Verb>, WithMeta<At<Group, Verb>>>
  }
}

export interface Client extends DataMethods {
  /** The same methods, returning `{ data, meta }`: with the request id, the warnings of the sandbox and so on. */
  readonly withResponse: MetaMethods
  /** Calls an endpoint by its id, for callers that get it at run time. Returns `{ data, meta }`. */
  call(id: EndpointId, input: CallInput, options?: CallOptions): Promise<{ data: unknown; meta: ResponseMeta }>
  /** POST /v1/jobs under its SDK name. */
  createJob(
    body: Input<Contract['jobs.create']>['body'],
    options?: CallOptions,
  ): Promise<Output<Contract['jobs.create']>>
  /** GET /v1/decisions/{slot_id} under its SDK name. */
  getDecision(
    slot_id: string,
    query?: Input<Contract['decisions.get']>['query'],
    options?: CallOptions,
  ): Promise<Output<Contract['decisions.get']>>
  /** POST /v1/beacons under its SDK name. */
  sendBeacon(
    body: Input<Contract['beacons.send']>['body'],
    options?: CallOptions,
  ): Promise<Output<Contract['beacons.send']>>
}

/** The facts of a response beside its body. */
export interface ResponseMeta {
  /** HTTP status. */
  status: number
  /** Support identifier, from the x-request-id header. */
  request_id: string | null
  /** Warnings of the sandbox, such as `wait_ms_clamped`. */
  warnings: string[]
  /** What production would have billed for this beacon, as the sandbox states it. */
  would_bill: string | null
  /** Every slot of the job, if a placement request asked for several. */
  slot_ids: string[]
  /** Differences from the contract, with `validate: 'report'` only. */
  differences: string[]
}

/** Whether a response that differs from the contract is thrown (`true`), reported in the meta or not noticed. */
export type Validation = boolean | 'report'

/** Creates a client, as createClient does, that knows the contract in its own way. */
export function clientOf({ endpoints, schemas }: KnownContract, options: ClientOptions): Client {
  const { fetch = globalFetch, timeout_ms = 30_000, validate = true, ...sender } = options
  const transport: Transport = { fetch, base_url: sender.base_url, timeout_ms }

  /** The state of a sandbox may be gigabytes: sent or copied, it takes as long as it takes. */
  const unlimited: Transport = { ...transport, timeout_ms: Number.POSITIVE_INFINITY }
  const transportOf = ({ body }: CallInput) => (body instanceof Blob ? unlimited : transport)

  async function call(id: EndpointId, input: CallInput, { signal }: CallOptions = {}) {
    const endpoint = endpoints[id]
    const response = await exchange(transportOf(input), buildRequest(endpoint, input, sender), signal, readToEnd)
    if (!response.ok) throw await failure(endpoint, response)
    const meta = readMeta(response)
    if (mediaTypeOf(endpoint) !== undefined) return { data: response.text, meta }
    const json = parseJson(response.text)
    if (json === undefined) throw new ContractError(id, response.status, ['the body is not JSON'], meta.request_id)
    const validation = typeof validate === 'function' ? validate(response, id) : validate
    if (validation === false) return { data: json, meta }
    const { data, differences } = (await schemas()).compareResponse(id, json)
    const { status } = endpoint
    if (response.status !== status) differences.unshift(`status ${response.status} instead of ${status}`)
    if (differences.length > 0 && validation === true) {
      throw new ContractError(id, response.status, differences, meta.request_id)
    }
    return { data, meta: { ...meta, differences } }
  }

  async function* stream(id: EndpointId, input: CallInput, { signal }: CallOptions = {}) {
    const request = buildRequest(endpoints[id], input, sender)
    const isFile = mediaTypeOf(endpoints[id]) === fileType
    const opened = await exchange(isFile ? unlimited : transport, request, signal, async (response) =>
      response.ok ? { reader: response.body?.getReader() } : { failure: await readToEnd(response) },
    )
    if (opened.failure !== undefined) throw await failure(endpoints[id], opened.failure)
    if (opened.reader === undefined) return
    yield* isFile ? readBytes(opened.reader) : (await schemas()).readEvents(opened.reader)
  }

  /** Returns the error of a response that is not a success. */
  async function failure({ method, path }: SentEndpoint, response: RawResponse): Promise<ServiceError> {
    const { status, text, request_id } = response
    const body = (await schemas()).errorBodyOf(text)
    return new ServiceError({
      method,
      path,
      status,
      body,
      text,
      retry_after_s: retryAfterSeconds(response),
      request_id,
      location: response.headers.get('location'),
    })
  }

  const isStreamed = (id: EndpointId) => [eventsType, fileType].includes(mediaTypeOf(endpoints[id]) ?? '')
  const ids = Object.keys(endpoints).filter((id) => endpoints[id as EndpointId].status !== 101)
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
  const client = data as unknown as DataMethods
  return {
    ...client,
    withResponse: withResponse as unknown as MetaMethods,
    call,
    createJob: (body, options) => client.jobs.create({ body }, options),
    getDecision: (slot_id, query = {}, options) => client.decisions.get({ params: { slot_id }, query }, options),
    sendBeacon: (body, options) => client.beacons.send({ body }, options),
  }
}

const eventsType = 'text/event-stream'
const fileType = 'application/gzip'

type Method = (input?: CallInput, options?: CallOptions) => unknown

/** Returns `{ placements: { create: ... } }` for every endpoint. */
function methods(ids: string[], method: (id: EndpointId) => Method): Record<string, Record<string, Method>> {
  const groups: Record<string, Record<string, Method>> = {}
  for (const id of ids as EndpointId[]) {
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
  return header === null
    ? []
    : header
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '')
}

/** Returns whole seconds. A date counts from the response's own Date header, so that no local clock is read. */
function retryAfterSeconds({ headers }: RawResponse): number | null {
  const wait_ms = retryAfterMs(headers.get('retry-after'), Date.parse(headers.get('date') ?? ''))
  return wait_ms === null ? null : Math.ceil(wait_ms / 1000)
}
