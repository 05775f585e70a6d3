/** Sends the requests of a step, records each exchange with its secrets redacted, and compares it with the contract. */
import type { Endpoint } from '#contract/endpoint.ts'
import { contract } from '#contract/index.ts'
import { fillPath, isLoopback, pathPattern, retryAfterMs } from '#foundation/http.ts'
import { isObject, type Json, parseJson, withoutValue, withValue } from '#foundation/json.ts'
import { redactSecrets, replaceSecrets } from '#foundation/redaction.ts'
import { contractCheck } from '../expect/contract.ts'
import type { CaseExchange, Check, Screenshot, StepResponse } from '../result.ts'
import { type AnyRequest, type Call, pause, type RequestFields, type StepContext } from '../steps/step-kind.ts'
import type { CaseState } from './case-state.ts'
import { type HttpRequest, NoResponseError } from './http-client.ts'
import type { RatePatience } from './rate-patience.ts'
import type { StepTime } from './step-time.ts'
import type { Target } from './target.ts'

/** The dependencies of a run on the host and the command line, which `src/cli/commands` provides. */
export interface Environment {
  /** Milliseconds since the epoch. */
  now(): number
  /** Returns the command that repeats a request; the shell fills in `variables`. */
  curl(request: HttpRequest, variables: readonly string[]): string
  /** How commands of the command line begin: `svc`, `npx --no svc-sandbox`. */
  command_name: string
  /** Notes waits for the rate limit of a service. Its signal is part of the interrupt of the run. */
  patience?: RatePatience
}

export interface CaseContext {
  target: Target
  state: CaseState
  environment: Environment
  step_timeout_ms: number
  update_snapshots: boolean
  /** Folder of the suite file. */
  folder: string
}

/** The outcome of a step. */
export interface Recording {
  exchanges: CaseExchange[]
  checks: Check[]
  screenshots: Screenshot[]
}

interface StepOptions {
  signal: AbortSignal
  time: StepTime
  checksContract: boolean
  /** Waits when a service is over its rate limit, as a correct client does. */
  waitsForRate: boolean
  locate: StepContext['locate']
}

/** Subject of the contract check of a 429 that was waited out; the request was sent again after it. */
export const rateLimitSubject = 'contract over the rate limit'
/** The wait after a 429 without a usable Retry-After. */
const minWaitMs = 1_000

/** Returns what a step may use. Exchanges go to `recording`, checks to `checks`. */
export function createStepContext(
  { target, state, environment, update_snapshots, folder }: CaseContext,
  recording: Recording,
  checks: Check[],
  { signal, time, checksContract, waitsForRate, locate }: StepOptions,
): StepContext {
  async function send(request: HttpRequest, endpoint: Endpoint | null): Promise<StepResponse> {
    const exchange = openRecord(withoutOpaqueKeys(request, target.keys.opaque), target, environment)
    recording.exchanges.push(exchange)
    if (isElsewhere(request.url, target.base_url)) refuseKeys(request, target, await state.keysInUse())
    try {
      const { status, headers, text, duration_ms } = await target.http.send(request, signal)
      const response_body = text === '' ? null : keptBody(text)
      Object.assign(exchange, {
        status,
        response_headers: mapHeaders(headers, redactSecrets),
        response_body,
        duration_ms,
      })
      const json = parseJson(text)
      const isLimited = status === 429 && target.summary.kind === 'service' && waitsForRate
      const isFaulty = headers['x-sandbox-fault'] !== undefined
      if (endpoint !== null && checksContract && !isFaulty && request.method !== 'HEAD') {
        const check = contractCheck(endpoint, { status, headers, json, text }, target.summary.kind !== 'service')
        checks.push(isLimited ? { ...check, subject: rateLimitSubject } : check)
      }
      if (isLimited) {
        const wait_ms = Math.max(minWaitMs, retryAfterMs(headers['retry-after'], environment.now()) ?? 0)
        environment.patience?.note(wait_ms)
        await pause(wait_ms, { signal })
        return await send(request, endpoint)
      }
      environment.patience?.reset()
      return { status, headers, body: json ?? text, duration_ms }
    } catch (error) {
      if (error instanceof NoResponseError) {
        const { duration_ms } = error
        Object.assign(exchange, { status: 0, error: redactSecrets(error.message), duration_ms })
      }
      throw error
    }
  }

  return {
    target,
    state,
    signal,
    get ends_at_ms() {
      return time.ends_at_ms
    },
    beforeTime: (work) => time.after(work),
    update_snapshots,
    folder,
    locate,
    check: (check) => checks.push(check),
    screenshot: (picture) => recording.screenshots.push(picture),
    call: async (id, call) => send(await buildCall(target, state, contract[id], call), contract[id]),
    async request(wanted) {
      const request = await buildRequest(target, state, wanted)
      const [address = ''] = wanted.path.split('?')
      return send(request, endpointAt(wanted.method, address.replace(target.base_url, '')))
    },
  }
}

async function buildCall(
  target: Target,
  state: CaseState,
  endpoint: Endpoint,
  { params = {}, query = {}, body, fields = {} }: Call,
): Promise<HttpRequest> {
  const changed = body === undefined ? undefined : changedBody(body, fields)
  const needsNoKey = endpoint.credentials.length === 0 && fields.key === undefined
  const headers = {
    ...(endpoint.stability === 'sandbox' ? target.control_headers : {}),
    ...(changed === undefined ? {} : { 'content-type': 'application/json' }),
    ...(await credentialHeaders(state, needsNoKey ? { ...fields, key: 'none' } : fields)),
  }
  return {
    method: endpoint.method,
    url: target.base_url + fillPath(endpoint.path, params) + queryText({ ...query, ...fields.query }),
    headers: withHeaders(headers, fields),
    body: changed === undefined ? null : JSON.stringify(changed),
  }
}

async function buildRequest(
  { base_url, control_headers }: Target,
  state: CaseState,
  { method, path, body, headers: given = {}, fields = {} }: AnyRequest,
): Promise<HttpRequest> {
  const isControl = path.startsWith('/_sandbox')
  const isPlain = isControl || fields.key === undefined
  const headers = {
    ...(isControl ? control_headers : {}),
    ...given,
    ...(await credentialHeaders(state, isPlain ? { ...fields, key: 'none' } : fields)),
  }
  const [address = '', written] = path.split('?')
  const query = queryText(fields.query ?? {})
  const search = written === undefined ? query : `?${written}${query.replace('?', '&')}`
  const url = (/^https?:/.test(address) ? '' : base_url) + address + search
  return { method, url, headers: withHeaders(headers, fields), body }
}

async function credentialHeaders(state: CaseState, { key, origin }: RequestFields): Promise<Record<string, string>> {
  const credential = await state.credential(key)
  const page = origin === undefined ? credential?.origin : origin
  return {
    ...(credential === null ? {} : { authorization: `Bearer ${credential.token}` }),
    ...(page === null || page === undefined ? {} : { origin: page }),
  }
}

/** Returns the headers with those of the step in their place; null removes one. */
function withHeaders(headers: Record<string, string>, { headers: own = {} }: RequestFields): Record<string, string> {
  const result = { ...headers }
  for (const [name, value] of Object.entries(own)) {
    delete result[name.toLowerCase()]
    if (value !== null) result[name.toLowerCase()] = value
  }
  return result
}

/** Returns a copy of a body with fields set and removed, by dotted path. */
export function changedBody(body: Json, { set = {}, unset = [] }: Pick<RequestFields, 'set' | 'unset'>): Json {
  const written = Object.entries(set).reduce((whole, [path, value]) => withValue(whole, path, value), body)
  return unset.reduce(withoutValue, written)
}

function queryText(query: Readonly<Record<string, Json>>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((each): [string, string] => [name, isObject(each) ? JSON.stringify(each) : String(each)]),
  )
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}

/** Returns the endpoint of a method and path, or null when the contract has none. */
function endpointAt(method: string, path: string): Endpoint | null {
  const endpoints = Object.values<Endpoint>(contract)
  return endpoints.find((endpoint) => endpoint.method === method && pathPattern(endpoint.path).test(path)) ?? null
}

/** A suite may name any address. A key goes to the service under test only. Throws Error. */
function refuseKeys({ url, headers, body }: HttpRequest, { base_url, secrets }: Target, own: string[]): void {
  const text = [url, ...Object.values(headers), body ?? ''].join('\n')
  const sent = decodedForms(text).join('\n')
  if (![...secrets, ...own].some((secret) => sent.includes(secret))) return
  throw new Error(`Not sent: a key of ${base_url} would go to ${new URL(url).origin}`)
}

function isElsewhere(url: string, base_url: string): boolean {
  if (!URL.canParse(url)) return false
  const [one, other] = [new URL(url), new URL(base_url)]
  const isSameHost = one.hostname === other.hostname || (isLoopback(one.hostname) && isLoopback(other.hostname))
  return one.protocol !== other.protocol || one.port !== other.port || !isSameHost
}

/** Returns a text unchanged, and percent-decoded. */
function decodedForms(text: string): string[] {
  const decoded = text.replace(/%[0-9a-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
  return decoded === text ? [text] : [text, decoded]
}

/** Returns a request without keys that do not look like keys: a shell variable takes their place. */
function withoutOpaqueKeys(request: HttpRequest, opaque: readonly string[]): HttpRequest {
  if (opaque.length === 0) return request
  const hide = (text: string) => opaque.reduce((all, key) => all.replaceAll(key, variables.sk), text)
  const { method, url, headers, body } = request
  return { method, url: hide(url), headers: mapHeaders(headers, hide), body: body === null ? null : hide(body) }
}

const maxBodyLength = 65_536
const maxCurlBodyLength = 4_096

/** Returns the record of a request that has no response yet. */
function openRecord(
  { method, url, headers, body }: HttpRequest,
  target: Target,
  environment: Environment,
): CaseExchange {
  return {
    method,
    url: redactSecrets(url),
    request_headers: mapHeaders(headers, redactSecrets),
    request_body: body === null ? null : keptBody(body),
    status: 0,
    response_headers: {},
    response_body: null,
    error: null,
    duration_ms: 0,
    curl: curlCommand({ method, url, headers, body }, target, environment),
  }
}

/** Returns the command that repeats a request, with variables for credentials, and for a sandbox that ends with the run. */
export function curlCommand(
  { method, url, headers, body }: HttpRequest,
  { summary, base_url }: Target,
  { curl }: Environment,
): string {
  const address = summary.kind === 'fresh' ? url.replace(base_url, variables.base_url) : url
  const forShell = {
    method,
    url: withVariables(address),
    headers: mapHeaders(headers, withVariables),
    body: body === null ? null : withVariables(body.slice(0, maxCurlBodyLength)),
  }
  return curl(forShell, Object.values(variables))
}

function mapHeaders(headers: HttpRequest['headers'], map: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, map(value)]))
}

/** Returns a body for the result: redacted, and cut to 64 kB. */
function keptBody(text: string): string {
  const isLong = text.length > maxBodyLength
  return redactSecrets(isLong ? `${text.slice(0, maxBodyLength)}... [cut: ${text.length} characters]` : text)
}

/** Returns a JSON value with every key and token in its texts redacted. */
export function redactValue(value: Json): Json {
  return JSON.parse(redactSecrets(JSON.stringify(value)))
}

const variables = {
  base_url: '$SVC_BASE_URL',
  sk: '$SVC_SECRET_KEY',
  sk_live: '$SVC_LIVE_SECRET_KEY',
  pk: '$SVC_PUBLISHABLE_KEY',
  ast: '$ASSET_TOKEN',
  at: '$ACTIVATION_TOKEN',
  bt: '$BEACON_TOKEN',
  wst: '$TICKET',
} as const

/** Returns a text for a shell, `Bearer $SVC_SECRET_KEY`: variables in place of keys and tokens. */
function withVariables(text: string): string {
  return replaceSecrets(text, ({ kind, mode }) => variables[kind === 'sk' && mode === 'live' ? 'sk_live' : kind])
}
