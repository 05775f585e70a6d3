/**
 * The calls that every integration makes, in addition to the typed operations: a job, its decision, its beacons and its
 * generation, with retries that never double a placement, a mode in which an ad can fail but the product cannot, and
 * the signature of a callback.
 */
import type { generationEvents } from '#contract/compat.ts'
import type { Input, Output } from '#contract/endpoint.ts'
import type { Contract, EndpointId } from '#contract/index.ts'
import { fillPath } from '#foundation/http.ts'
import type { Client, ClientOptions } from './client.ts'
import { neverArrived } from './connection.ts'
import { ServiceError, UnreachableError } from './errors.ts'
import {
  buildRequest,
  exchange,
  type Fetch,
  globalFetch,
  readToEnd,
  type Sender,
  type SentEndpoint,
} from './exchange.ts'

/** The part of a WebSocket that is used: browsers and Node both have it. */
interface PushSocket {
  addEventListener(type: 'message' | 'error' | 'close', listener: () => void): void
  close(): void
}
export type PushSocketClass = new (url: string) => PushSocket

export interface IntegrationOptions extends ClientOptions, RetryOptions {
  /**
   * Fail-silent mode: createJob, getDecision, sendBeacon and reportGeneration resolve to null instead of throwing, and
   * pass the error to this function. An abort by your own signal resolves to null without calling it. The typed
   * operations always throw.
   */
  onError?: ((error: Error, method: IntegrationMethod) => void) | undefined
  /** The class that `push` connects with. Default: the global WebSocket; without one getDecision polls. */
  WebSocket?: PushSocketClass | undefined
}

/** Options that make these methods fail silently. */
export type SilentOptions = IntegrationOptions & { onError: NonNullable<IntegrationOptions['onError']> }

export type IntegrationMethod = 'createJob' | 'getDecision' | 'sendBeacon' | 'reportGeneration'

export interface SignalOptions {
  /** Aborts the call and its retries. Without onError it throws the reason of the signal. */
  signal?: AbortSignal | undefined
}

export interface DecisionOptions extends SignalOptions {
  /** How long one poll waits at the service, milliseconds, at most 5000. Default 1500. */
  wait_ms?: number | undefined
  /** The longest total wait, milliseconds; then the pending slot is returned. Default 10 000. */
  timeout_ms?: number | undefined
  /**
   * Waits for the decision on a WebSocket instead of polling. If that fails, for any reason, the slot is polled.
   * Default false.
   */
  push?: boolean | undefined
}

type JobBody = Input<Contract['jobs.create']>['body']
type BeaconBody = Input<Contract['beacons.send']>['body']
type GenerationBody = Input<Contract['generation.report']>['body']

/** A beacon; its `beacon_id` and its time are added if left out. */
export type BeaconInput = Omit<BeaconBody, 'beacon_id'> & { beacon_id?: string | undefined }

/** The events of a generation. */
export type GenerationEvent = (typeof generationEvents)[number]

/** `Failed` is null in fail-silent mode, else nothing. */
export interface IntegrationMethods<Failed = never> {
  /**
   * Creates a job and returns its slots. It is sent again only when it was rate limited or never reached the service,
   * so that no job is created twice.
   */
  createJob(body: JobBody, options?: SignalOptions): Promise<Output<Contract['jobs.create']> | Failed>
  /**
   * Returns the decision of a slot as soon as there is one, or the pending slot when the time is up. Polls again after
   * failures, with increasing pauses.
   */
  getDecision(slot_id: string, options?: DecisionOptions): Promise<Output<Contract['decisions.get']> | Failed>
  /**
   * Sends a beacon, adding a `beacon_id` and the current time if it has none. Its id makes retries safe; a browser
   * finishes sending it when the page is closed.
   */
  sendBeacon(beacon: BeaconInput, options?: SignalOptions): Promise<Output<Contract['beacons.send']> | Failed>
  /** Reports that the generation of a job has started, finished or failed. */
  reportGeneration(
    job_id: string,
    event: GenerationEvent,
    report?: GenerationBody,
    options?: SignalOptions,
  ): Promise<Output<Contract['generation.report']> | Failed>
}

/** The endpoints that these methods call. */
type UsedIds = 'jobs.create' | 'decisions.get' | 'beacons.send' | 'generation.report'

const defaultWaitMs = 1_500
const defaultTimeoutMs = 10_000
/** The number of long polls that follow each other without a pause. */
const longPolls = 2

/** Returns a client with these methods in addition to its typed operations. */
export function integrate<Ids extends EndpointId>(
  client: Client<Ids | UsedIds>,
  options: IntegrationOptions,
): Client<Ids> & IntegrationMethods<null> {
  const typed = client as unknown as Client<UsedIds>
  const { onError } = options

  const createJob: IntegrationMethods['createJob'] = (body, { signal } = {}) =>
    withRetries(() => typed.jobs.create({ body }, { signal }), 'once', options, signal)

  const reportGeneration: IntegrationMethods['reportGeneration'] = (job_id, event, report = {}, { signal } = {}) => {
    const send = () => typed.generation.report({ params: { job_id, event }, body: report }, { signal })
    return withRetries(send, 'once', options, signal)
  }

  const sendBeacon: IntegrationMethods['sendBeacon'] = (beacon, { signal } = {}) => {
    const { beacon_id = newBeaconId() } = beacon
    const hasTime = beacon.occurred_at !== undefined || beacon.occurred_at_ms !== undefined
    // The same body in every attempt: otherwise the service takes the second one for another beacon.
    const body = { ...beacon, beacon_id, ...(hasTime ? {} : { occurred_at_ms: Date.now() }) } as BeaconBody
    return withRetries(() => typed.beacons.send({ body }, { signal, keepalive: true }), 'repeatable', options, signal)
  }

  const getDecision: IntegrationMethods['getDecision'] = async (slot_id, chosen = {}) => {
    const { wait_ms = defaultWaitMs, timeout_ms = defaultTimeoutMs, push = false, signal } = chosen
    const end_ms = performance.now() + timeout_ms
    const left_ms = () => Math.max(0, end_ms - performance.now())
    const poll = (most_ms: number) => {
      const query = { wait_ms: Math.floor(Math.min(most_ms, left_ms())) }
      const read = () => typed.decisions.get({ params: { slot_id }, query }, { signal })
      return withRetries(read, 'repeatable', options, signal)
    }
    if (push) await awaitPush(slot_id, left_ms(), signal)
    for (let count = 0; ; count++) {
      const response = await poll(push && count === 0 ? 0 : wait_ms)
      if (response.status !== 'pending' || left_ms() <= 0) return response
      if (count >= longPolls || wait_ms === 0) await pause(Math.min(backoff(count), left_ms()), signal)
    }
  }

  /** Resolves when a decision is announced, or when push does not work. */
  async function awaitPush(slot_id: string, timeout_ms: number, signal: AbortSignal | undefined): Promise<void> {
    const Socket = options.WebSocket ?? (globalThis as { WebSocket?: PushSocketClass }).WebSocket
    if (Socket === undefined) return
    try {
      const params = { surface: clientSide(options), slot_id }
      const ticket = await createTicket(options, params, signal)
      if (ticket !== null) await announced(Socket, options.base_url, { ...params, ticket }, { timeout_ms, signal })
    } catch {
      // If more than push is broken, polling fails too, with the cause.
    }
    signal?.throwIfAborted()
  }

  const methods = { createJob, getDecision, sendBeacon, reportGeneration }
  const chosen = onError === undefined ? methods : failSilent(methods, onError)
  return { ...client, ...chosen } as unknown as Client<Ids> & IntegrationMethods<null>
}

const ticketEndpoint: SentEndpoint = {
  id: 'push.ticket',
  method: 'POST',
  path: '/public/{surface}/v1/slots/{slot_id}/decision-ticket',
  credentials: ['activation_token'],
  status: 200,
  response: {},
}

/** Resolves to a ticket for a socket; null when the service does not issue one. */
async function createTicket(
  options: ClientOptions,
  params: { surface: string; slot_id: string },
  signal: AbortSignal | undefined,
): Promise<string | null> {
  const { fetch = globalFetch as Fetch, timeout_ms = 5_000 } = options
  const request = buildRequest(ticketEndpoint, { params }, options)
  const { ok, text } = await exchange({ ...options, fetch, timeout_ms }, request, signal, readToEnd)
  if (!ok) return null
  const { ticket } = JSON.parse(text) as { ticket?: unknown }
  return typeof ticket === 'string' ? ticket : null
}

/** Returns the same methods, which resolve to null and call `onError` instead of throwing. */
function failSilent(
  methods: IntegrationMethods,
  onError: NonNullable<IntegrationOptions['onError']>,
): IntegrationMethods<null> {
  const silent = Object.entries(methods).map(([name, method]: [string, (...args: never[]) => Promise<unknown>]) => [
    name,
    (...args: never[]) =>
      method(...args).catch((error: unknown) => {
        const { signal } = (args.at(-1) ?? {}) as SignalOptions
        try {
          if (signal?.aborted !== true) onError(error as Error, name as IntegrationMethod)
        } catch {
          // A throwing handler must not defeat its own purpose.
        }
        return null
      }),
  ])
  return Object.fromEntries(silent) as IntegrationMethods<null>
}

function newBeaconId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12))
  return `bcn_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

const socketPath = '/public/{surface}/v1/slots/{slot_id}/decision/ws'

/** Returns the side that a credential belongs to: a secret key to a server, a token to a page. */
function clientSide({ credential }: Pick<Sender, 'credential'>): 'wrapper' | 'browser' {
  const text = typeof credential === 'function' ? credential() : credential
  return text?.startsWith('sk_') === true ? 'wrapper' : 'browser'
}

/**
 * Resolves to whether a slot was announced as decided over WebSocket within the time (C04); false as soon as push
 * fails, so that polling takes over.
 */
async function announced(
  Socket: PushSocketClass,
  base_url: string,
  params: { surface: string; slot_id: string; ticket: string },
  { timeout_ms, signal }: { timeout_ms: number; signal: AbortSignal | undefined },
): Promise<boolean> {
  const path = `${fillPath(socketPath, params)}?ticket=${encodeURIComponent(params.ticket)}`
  const socket = new Socket(base_url.replace(/^http/, 'ws').replace(/\/+$/, '') + path)
  return new Promise((resolve) => {
    const end = (isAnnounced: boolean) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', leave)
      socket.close()
      resolve(isAnnounced)
    }
    const leave = () => end(false)
    const timer = setTimeout(leave, timeout_ms)
    signal?.addEventListener('abort', leave, { once: true })
    socket.addEventListener('message', () => end(true))
    socket.addEventListener('error', leave)
    socket.addEventListener('close', leave)
  })
}

/**
 * - `repeatable`: sending it twice is the same as sending it once: a GET, or a beacon, thanks to its `beacon_id`.
 * - `once`: a POST that creates something. It has no idempotency key, so it is sent again only when it was rate limited
 *   (429), or never reached the service.
 */
type Repetition = 'repeatable' | 'once'

interface RetryOptions {
  /** Attempts after the first. Default 3; 0 turns retries off. */
  retries?: number | undefined
  /** The longest pause to wait for, milliseconds; a longer Retry-After is an immediate error. Default 10 000. */
  max_pause_ms?: number | undefined
}

const firstMs = 500
const maxIntervalMs = 2_000

/**
 * Retries never double a placement: a request is sent again when it cannot have taken effect, or when sending it twice
 * is the same as sending it once. Pauses grow, with jitter, and are at least as long as Retry-After demands.
 *
 * Calls `attempt` until it succeeds, fails with an error that a retry cannot fix, or the retries are used up.
 */
async function withRetries<T>(
  attempt: () => Promise<T>,
  repetition: Repetition,
  { retries = 3, max_pause_ms = 10_000 }: RetryOptions,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (let count = 0; ; count++) {
    try {
      return await attempt()
    } catch (error) {
      const pause_ms = Math.max(backoff(count), demandedPause(error))
      if (count >= retries || pause_ms > max_pause_ms || !mayRepeat(error, repetition)) throw error
      await pause(pause_ms, signal)
    }
  }
}

/** Returns the pause before an attempt, milliseconds: 500, 1000, then 2000, and up to a quarter more at random. */
export function backoff(count: number): number {
  const [dice = 0] = crypto.getRandomValues(new Uint32Array(1))
  return Math.min(maxIntervalMs, firstMs * 2 ** count) * (1 + dice / 2 ** 34)
}

/** Resolves after a time. Rejects with the reason of the signal if it is aborted first. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason)
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}

function demandedPause(error: unknown): number {
  return error instanceof ServiceError ? (error.retry_after_s ?? 0) * 1_000 : 0
}

function mayRepeat(error: unknown, repetition: Repetition): boolean {
  if (error instanceof ServiceError) {
    return error.status === 429 || (repetition === 'repeatable' && error.status >= 500)
  }
  return error instanceof UnreachableError && (repetition === 'repeatable' || neverArrived(error.cause))
}

/**
 * Whether a callback was signed with a key: `signature` is its x-csl-signature header, `key` the secret key used to
 * create the job. Pass the body as it arrived, before parsing: the signature covers these bytes. The comparison takes
 * the same time wherever the signatures differ. Never throws; false for anything that is not a signature (C07). It uses
 * only WebCrypto, so it works in Node, workers and browsers.
 */
export async function verifyCallback(
  body: string | Uint8Array | ArrayBuffer,
  signature: string | null | undefined,
  key: string,
): Promise<boolean> {
  const hex = /^sha256=([0-9a-f]{64})$/.exec(signature ?? '')?.[1]
  if (hex === undefined || key === '') return false
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body)
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const secret = await crypto.subtle.importKey('raw', new TextEncoder().encode(key), algorithm, false, ['verify'])
  const expected = Uint8Array.from(hex.match(/../g)!, (pair) => Number.parseInt(pair, 16))
  return crypto.subtle.verify('HMAC', secret, expected, bytes)
}
