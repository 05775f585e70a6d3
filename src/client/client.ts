/**
 * The typed client, computed from the contract: an endpoint `placements.create` is the method
 * `client.placements.create({ body, query })`. It runs in Node and in browsers.
 */
import type { SandboxEvent } from '../contract/control/events.ts'
import type { Endpoint, Input, Output } from '../contract/endpoint.ts'
import { type Contract, contract, type EndpointId } from '../contract/index.ts'
import { buildRequest, type CallInput, type Sender } from './request.ts'
import { parseResponse, type ResponseMeta, serviceError, type Validation } from './response.ts'
import { exchange, type Fetch, globalFetch, readBytes, readEvents, readToEnd, type Transport } from './transport.ts'

export interface ClientOptions extends Sender {
  /** URL of the service: `http://127.0.0.1:4010`. */
  base_url: string
  /** Any fetch with the parameters `(url, init)`. Default: the global one. */
  fetch?: Fetch | undefined
  /** Time limit of a response, milliseconds. Default 30 000. */
  timeout_ms?: number | undefined
  /** Whether responses are compared with the contract. Default true. */
  validate?: Validation | undefined
}

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

type GroupOf<Id extends string> = Id extends `${infer Group}.${string}` ? Group : never
type VerbOf<Id extends string, Group extends string> = Id extends `${Group}.${infer Verb}` ? Verb : never
type At<Group extends string, Verb extends string> = Contract[`${Group}.${Verb}` & EndpointId]

type DataMethods = {
  readonly [Group in GroupOf<EndpointId>]: {
    readonly [Verb in VerbOf<EndpointId, Group>]: Call<At<Group, Verb>, Data<At<Group, Verb>>>
  }
}
type MetaMethods = {
  readonly [Group in GroupOf<EndpointId>]: {
    readonly [Verb in VerbOf<EndpointId, Group>]: Call<At<Group, Verb>, WithMeta<At<Group, Verb>>>
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

/**
 * Creates a client of one service with one credential. Its methods throw ServiceError, UnreachableError, ContractError
 * and RefusedError.
 */
export function createClient(options: ClientOptions): Client {
  const { fetch = globalFetch, timeout_ms = 30_000, validate = true, ...sender } = options
  const transport: Transport = { fetch, base_url: sender.base_url, timeout_ms }

  async function call(id: EndpointId, input: CallInput, { signal }: CallOptions = {}) {
    const request = buildRequest(contract[id], input, sender)
    const response = await exchange(transport, request, signal, readToEnd)
    return parseResponse(contract[id], request, response, validate)
  }

  async function* stream(id: EndpointId, input: CallInput, { signal }: CallOptions = {}) {
    const request = buildRequest(contract[id], input, sender)
    const opened = await exchange(transport, request, signal, async (response) =>
      response.ok ? { reader: response.body?.getReader() } : { failure: await readToEnd(response) },
    )
    if (opened.failure !== undefined) throw serviceError(contract[id], request, opened.failure)
    if (opened.reader !== undefined) yield* isFile(id) ? readBytes(opened.reader) : readEvents(opened.reader)
  }

  const withResponse = methods(
    (id) =>
      (input = {}, options) =>
        isStream(id) || isFile(id) ? stream(id, input, options) : call(id, input, options),
  )
  const data = methods(
    (id) =>
      (input = {}, options) =>
        isStream(id) || isFile(id)
          ? stream(id, input, options)
          : call(id, input, options).then((result) => result.data),
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

type Method = (input?: CallInput, options?: CallOptions) => unknown

/** Returns `{ placements: { create: ... } }` for every endpoint. */
function methods(method: (id: EndpointId) => Method): Record<string, Record<string, Method>> {
  const groups: Record<string, Record<string, Method>> = {}
  for (const id of Object.keys(contract) as EndpointId[]) {
    const [group, verb] = id.split('.') as [string, string]
    groups[group] = { ...groups[group], [verb]: method(id) }
  }
  return groups
}

function isStream(id: EndpointId): boolean {
  const { response } = contract[id]
  return 'media_type' in response && response.media_type === 'text/event-stream'
}

function isFile(id: EndpointId): boolean {
  const { response } = contract[id]
  return 'media_type' in response && response.media_type === 'application/gzip'
}
