/** The service that a run tests: what it offers, its control plane, the keys that cases use, and the HTTP to it. */

import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { PermittedKey } from '#cli/settings/settings.ts'
import { describeConnection } from '#client/connection.ts'
import type { ByteReader } from '#client/exchange.ts'
import { contract, type EndpointId } from '#contract/index.ts'
import { pageOrigin } from '#contract/origins.ts'
import { ownAgents } from '#contract/own-requests.ts'
import type { SandboxInfo } from '#contract/resources/sandbox/sandbox.ts'
import { fillPath } from '#foundation/http.ts'
import { type Json, parseJson, valueAt } from '#foundation/json.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import type { Preference } from '../browser/engines.ts'
import type { BrowserHost } from '../browser/launch.ts'
import { explainBody } from '../expect/expectations.ts'
import { QaError, type TargetSummary } from '../result.ts'

/** Something that a case needs of its target. */
export type Need = 'control' | 'browser' | 'publishable_key' | 'test_key' | 'live_key' | 'erasable' | Preference

export interface TargetOptions {
  kind: TargetSummary['kind']
  base_url: string
  client_id: string | null
  origin: string | null
  keys: GivenKeys
  /** For the steps that need a browser; null for a run without. */
  browser: BrowserHost | null
  /** The token that the control plane of a sandbox beyond loopback requires. */
  admin_token?: PermittedKey | undefined
  /** Uses v1 only, with the given keys, even when the service is a sandbox. Default: false. */
  is_plain_client?: boolean
  /** Sent with every request; default: that of `svc qa run`. */
  user_agent?: string
  /** The prefix of the sessions of cases; default: `qa_`. */
  session_prefix?: string
}

/** Calls the control plane for the runner, not for a step. Throws NoResponseError or ControlError. */
type Control = <Body = Json>(
  id: EndpointId,
  params?: Readonly<Record<string, string>>,
  body?: Json,
  signal?: AbortSignal,
) => Promise<Body>

export type Target = Readonly<Awaited<ReturnType<typeof openTarget>>>

/** The control plane refused what the runner itself needs. */
class ControlError extends Error {
  override readonly name = 'ControlError'
}

/** How long a call of the runner may take: as long as a step, since it is often a part of one. */
const withinMs = 10_000

/** Opens a service for a run. Throws QaError. */
export async function openTarget(options: TargetOptions) {
  const base_url = options.base_url.replace(/\/+$/, '')
  const http = new HttpClient({ 'user-agent': options.user_agent ?? ownAgents.qa })
  const control_headers: Record<string, string> =
    options.admin_token === undefined ? {} : { 'x-sandbox-token': options.admin_token }
  const control: Control = async (id, params = {}, body, signal = AbortSignal.timeout(withinMs)) => {
    const endpoint = contract[id]
    const path = fillPath(endpoint.path, params)
    const text = body === undefined ? null : JSON.stringify(body)
    const headers = { ...control_headers, ...(text === null ? {} : { 'content-type': 'application/json' }) }
    const response = await http.send({ method: endpoint.method, url: base_url + path, headers, body: text }, signal)
    if (response.status !== endpoint.status) throw new ControlError(refusal(endpoint.method, path, response))
    return JSON.parse(response.text)
  }
  const seen = await readInfo(options, base_url, http, control)
  const info = options.is_plain_client === true ? null : seen
  const project = info?.projects.find(({ client_id }) => client_id === options.client_id) ?? info?.projects[0]
  const client_id = options.client_id ?? project?.client_id
  if (client_id === undefined || (info === null && options.keys.secret === null)) {
    http.close()
    throw new QaError(
      'target_missing',
      `${base_url} is not a sandbox, so it needs ${client_id === undefined ? 'a project and ' : ''}a secret key.`,
      'Set SVC_CLIENT_ID and SVC_SECRET_KEY, or --client-id and --secret-key. To use a fresh sandbox: svc qa run --fresh',
    )
  }
  const has_control = info !== null
  const keys = createKeys({
    client_id,
    given: options.keys,
    control: has_control ? control : null,
    is_temporary: options.kind === 'fresh',
  })
  const kind = options.kind === 'service' && has_control ? 'sandbox' : options.kind
  const summary: TargetSummary = {
    base_url,
    kind,
    version: info?.version ?? null,
    key_mode: options.keys.secret?.startsWith('sk_live_') === true ? 'live' : 'test',
    ...(options.browser !== null && { browser: options.browser.name }),
  }
  const origin = options.origin ?? pageOrigin(project?.allowed_origins ?? []) ?? 'http://localhost:3000'
  const preference = (each: Preference, field: string): string | null =>
    options.browser?.cannot.includes(each) === true ? `${field}, which svc cannot set in ${options.browser.name}` : null
  const missing: Record<Need, string | null> = {
    control: has_control ? null : 'the control plane of a sandbox, which this service does not have',
    erasable: kind === 'fresh' ? null : 'a sandbox that may be erased: svc qa run --fresh',
    publishable_key: has_control || options.keys.publishable !== null ? null : 'a publishable key: --publishable-key',
    test_key: summary.key_mode === 'test' ? null : 'a test key: test_outcome is never sent with a production key',
    live_key: has_control ? null : 'production keys of a sandbox',
    browser: options.browser === null ? 'a browser: add --browser' : null,
    dark: preference('dark', 'color_scheme: dark'),
    reduced_motion: preference('reduced_motion', 'reduced_motion'),
  }
  return {
    summary,
    base_url,
    client_id,
    /** Projects of the sandbox when the run began; empty for another service. */
    projects: (info?.projects ?? []).map((each) => each.client_id),
    origin,
    /** The prefix of the sessions of cases. */
    session_prefix: options.session_prefix ?? 'qa_',
    browser: options.browser,
    keys,
    http,
    /** Secrets that must not reach another service. */
    secrets: [options.keys.secret, options.admin_token].filter((secret) => secret !== null && secret !== undefined),
    /** Headers that the control plane requires. */
    control_headers,
    /** Returns what is missing, in words, or null when the target has it. */
    missing: (need: Need) => missing[need],
    control,
    async close(): Promise<void> {
      await keys.close().catch((error: unknown) => {
        if (!(error instanceof NoResponseError || error instanceof ControlError)) throw error
      })
      http.close()
    },
  }
}

/** Returns what a sandbox reports about itself, or null for another service. Throws QaError without a response. */
async function readInfo(
  { kind }: TargetOptions,
  base_url: string,
  http: HttpClient,
  control: Control,
): Promise<SandboxInfo | null> {
  try {
    const info = await control<SandboxInfo>('sandbox.info')
    return Array.isArray(info.projects) ? info : null
  } catch (error) {
    if (!(error instanceof NoResponseError)) return null
    http.close()
    throw new QaError(
      'target_missing',
      `${base_url} cannot be reached: ${error.message}.`,
      kind === 'service'
        ? 'Check --base-url, or use a sandbox: svc qa run --fresh'
        : 'Start one: svc start. Or let the run start its own: svc qa run --fresh',
    )
  }
}

function refusal(method: string, path: string, { status, text }: HttpResponse): string {
  const body = parseJson(text)
  const message = valueAt(body, 'message')
  const said = typeof message === 'string' ? [message, ...explainBody(body)].join(' ') : text
  return `${method} ${path} responded ${status}: ${said.replace(/\s+/g, ' ').slice(0, 400)}`
}

/** The keys of the settings. */
interface GivenKeys {
  secret: PermittedKey | null
  publishable: string | null
}

interface KeyRequest {
  client_id: string
  class: 'secret' | 'publishable'
  mode: 'test' | 'live'
}

/** Cases that share one key: few enough that their requests stay within the burst of its limit. */
const casesPerKey: Readonly<Record<KeyRequest['class'], number>> = { secret: 12, publishable: 6 }

interface KeysOptions {
  client_id: string
  given: GivenKeys
  /** Null for a service without a control plane. */
  control: Control | null
  /** The sandbox ends with the run: its keys need not be revoked. */
  is_temporary: boolean
}

/**
 * Credentials for cases. Rate limits are per key: on a sandbox cases take turns with keys that are created for the run, so
 * that no case meets the limit because of the requests of others. Another service has the keys that were given.
 */
function createKeys({ client_id, given, control, is_temporary }: KeysOptions) {
  const shared = new Map<string, { key: Promise<string>; left: number }>()
  const created: string[] = []

  async function create({ client_id, ...body }: KeyRequest, call: Control): Promise<string> {
    const { key, key_id } = await call<{ key: string; key_id: string }>('keys.create', { client_id }, body)
    created.push(key_id)
    return key
  }

  return {
    /** Returns a key for one case. `client_id` null means the project of the target. Throws Error when there is none. */
    take({
      client_id: wanted,
      ...rest
    }: Omit<KeyRequest, 'client_id'> & { client_id: string | null }): Promise<string> {
      const request = { client_id: wanted ?? client_id, ...rest }
      if (control === null) return Promise.resolve(givenKey(request, client_id, given))
      const name = JSON.stringify(request)
      const known = shared.get(name)
      if (known !== undefined && known.left > 0) {
        known.left--
        return known.key
      }
      const key = create(request, control)
      shared.set(name, { key, left: casesPerKey[request.class] - 1 })
      key.catch(() => shared.delete(name))
      return key
    },
    /** Given keys that do not look like keys: results must not show them either. */
    opaque: Object.values(given).filter((key): key is string => key !== null && redactSecrets(key) === key),
    /** Revokes the keys that were created. */
    async close() {
      if (is_temporary || control === null) return
      for (const key_id of created) await control('keys.revoke', { key_id }, {})
    },
  }
}

/** Returns the given key of a class. Throws Error when none was given, or one of another mode is wanted. */
function givenKey({ class: kind, mode, client_id }: KeyRequest, own_client_id: string, given: GivenKeys): string {
  const key = given[kind]
  const isOtherMode = kind === 'secret' && mode === 'live' && key?.includes('_live_') !== true
  if (key !== null && client_id === own_client_id && !isOtherMode) return key
  throw new Error(`No ${mode} ${kind} key of ${client_id} was given.`)
}

/* HTTP for requests that may be malformed: any method, header and bytes; nothing is added, followed or retried. */

export interface HttpRequest {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  body: string | null
}

interface HttpResponse {
  status: number
  headers: Record<string, string>
  text: string
  duration_ms: number
}

/** No complete response came. The message names the cause. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError'
  /** The status when the head of the response came, or 0. */
  readonly status: number
  readonly duration_ms: number

  constructor(message: string, status: number, duration_ms: number) {
    super(message)
    this.status = status
    this.duration_ms = duration_ms
  }
}

const maxResponseBytes = 8_000_000

class HttpClient {
  readonly #agents = {
    'http:': new HttpAgent({ keepAlive: true, maxSockets: 64 }),
    'https:': new HttpsAgent({ keepAlive: true, maxSockets: 64 }),
  }
  readonly #defaults: Readonly<Record<string, string>>

  /** `defaults` are headers of every request that does not have its own of that name. */
  constructor(defaults: Readonly<Record<string, string>> = {}) {
    this.#defaults = defaults
  }

  /** Sends a request and reads the response to its end. Throws NoResponseError. */
  async send(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const started = performance.now()
    let status = 0
    try {
      const response = await this.#head(request, signal)
      status = response.statusCode ?? 0
      const text = await readToEnd(response)
      return { status, headers: joinHeaders(response), text, duration_ms: elapsed(started) }
    } catch (error) {
      throw noResponse(request.url, error, signal, status, elapsed(started))
    }
  }

  /** Opens a response without end. Resolves when its head has come. Throws NoResponseError. */
  async open(request: HttpRequest, signal: AbortSignal): Promise<ByteReader> {
    const started = performance.now()
    try {
      const response = await this.#head(request, signal)
      response.on('error', () => {})
      if (response.statusCode !== 200) throw new Error(`responded ${response.statusCode}`)
      const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
      return {
        read: async () => {
          const { done, value } = await chunks.next()
          return { done: done === true, value: value as Uint8Array | undefined }
        },
        cancel: async () => void response.destroy(),
      }
    } catch (error) {
      throw noResponse(request.url, error, signal, 0, elapsed(started))
    }
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy()
  }

  /** Sends a request. Resolves with the response when its head has come. */
  #head({ method, url, headers, body }: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const isHttps = new URL(url).protocol === 'https:'
    const length = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const agent = this.#agents[isHttps ? 'https:' : 'http:']
    const options = { method, headers: { ...length, ...this.#defaults, ...headers }, signal, agent }
    const request = isHttps ? httpsRequest(url, options) : httpRequest(url, options)
    request.end(body ?? undefined)
    return new Promise((resolve, reject) => request.on('response', resolve).on('error', reject))
  }
}

async function readToEnd(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxResponseBytes) throw new Error(`the response is longer than ${maxResponseBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function joinHeaders({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  )
}

function noResponse(
  url: string,
  error: unknown,
  signal: AbortSignal,
  status: number,
  duration_ms: number,
): NoResponseError {
  if (signal.aborted) return new NoResponseError(abortMessage(signal.reason), status, duration_ms)
  const what = status > 0 ? `the response (${status}) ended early` : 'no response came'
  return new NoResponseError(`${what}: ${describeConnection(error, url).reason}`, status, duration_ms)
}

/** Why a request was aborted: its own limit, that of its step, or the end of the run. */
function abortMessage(reason: unknown): string {
  if (!(reason instanceof Error)) return `the run was interrupted by ${String(reason)}`
  return reason.name === 'TimeoutError' ? 'no response came in time' : reason.message
}

function elapsed(started: number): number {
  return Math.round((performance.now() - started) * 10) / 10
}
