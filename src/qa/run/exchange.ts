/** The turn of a step over a real target: what it sends is written down, and checked against the contract. */
/** Nothing that opens a door may stand in a result: keys and tokens are replaced by what they are. */
/** What a run needs of the machine and of the command line; `src/commands` fills it in. */
import type { Endpoint } from '../../contract/endpoint.ts'
import { contract } from '../../contract/index.ts'
import { fillPath, pathPattern } from '../../foundation/endpoint-path.ts'
import { isObject, type Json, parseJson } from '../../foundation/json.ts'
import { withoutValue, withValue } from '../../foundation/json-path.ts'
import { redactSecrets, replaceSecrets } from '../../foundation/redaction.ts'
import { retryAfterMs } from '../../foundation/retry-after.ts'
import { contractCheck } from '../expect/contract.ts'
import type { Answer, Check, Exchange, Screenshot } from '../result.ts'
import { pause, type RawCall, type RequestMembers, type Turn } from '../steps/step-kind.ts'
import type { CaseState } from './case-state.ts'
import { NoAnswer, type RawAnswer, type RawRequest } from './http.ts'
import type { Target } from './target.ts'

export interface RunContext {
  target: Target
  state: CaseState
  environment: Environment
  step_timeout_ms: number
  update_snapshots: boolean
  /** Folder of the suite file. */
  folder: string
}

export interface StepContext extends RunContext {
  /** When the time of the step is up, as performance.now() counts. */
  ends_at_ms: number
}

/** What a step leaves behind. */
export interface Recording {
  exchanges: Exchange[]
  checks: Check[]
  screenshots: Screenshot[]
}

export interface TurnOptions {
  checksContract: boolean
  /** A service that asks to wait is waited for, as a correct client does. */
  mayWaitForRate: boolean
  placeOf: Turn['placeOf']
}

export function createTurn(
  context: StepContext,
  recording: Recording,
  checks: Check[],
  signal: AbortSignal,
  { checksContract, mayWaitForRate, placeOf }: TurnOptions,
): Turn {
  const { target, state, environment } = context

  async function send(request: RawRequest, endpoint: Endpoint | null): Promise<Answer> {
    const kept = exchangeOf(withoutUnmarked(request, target.keys.unmarked), environment)
    recording.exchanges.push(kept)
    try {
      const raw = await target.wire.send(request, signal)
      Object.assign(kept, answerMembers(raw))
      const json = parseJson(raw.text)
      const isLimited = raw.status === 429 && target.summary.kind === 'service' && mayWaitForRate
      const isSpoilt = raw.headers['x-sandbox-fault'] !== undefined
      if (endpoint !== null && checksContract && !isSpoilt && request.method !== 'HEAD') {
        const seen = { status: raw.status, headers: raw.headers, json, text: raw.text }
        const check = contractCheck(endpoint, seen, target.summary.kind !== 'service')
        checks.push(isLimited ? { ...check, subject: rateLimitSubject } : check)
      }
      if (isLimited) {
        const wait_ms = retryAfterMs(raw.headers['retry-after'], environment.now()) ?? 0
        await pause(Math.max(leastWait_ms, wait_ms), { signal })
        return await send(request, endpoint)
      }
      return { status: raw.status, headers: raw.headers, body: json ?? raw.text, duration_ms: raw.duration_ms }
    } catch (error) {
      if (error instanceof NoAnswer) {
        Object.assign(kept, { status: 0, error: redactSecrets(error.message), duration_ms: error.duration_ms })
      }
      throw error
    }
  }

  return {
    target,
    state,
    signal,
    ends_at_ms: context.ends_at_ms,
    update_snapshots: context.update_snapshots,
    folder: context.folder,
    placeOf,
    check: (check) => checks.push(check),
    screenshot: (picture) => recording.screenshots.push(picture),
    async call(id, { params = {}, query = {}, body, members = {} }) {
      const endpoint: Endpoint = contract[id]
      const isSandbox = endpoint.stability === 'sandbox'
      const path = fillPath(endpoint.path, params)
      const changed = body === undefined ? undefined : changedBody(body, members)
      const isBare = endpoint.credentials.length === 0 && members.key === undefined
      const headers = {
        ...(isSandbox ? target.control_headers : {}),
        ...(changed === undefined ? {} : { 'content-type': 'application/json' }),
        ...(await credentialHeaders(state, isBare ? { ...members, key: 'none' } : members)),
      }
      return send(
        {
          method: endpoint.method,
          url: target.base_url + path + queryText({ ...query, ...members.query }),
          headers: withHeaders(headers, members),
          body: changed === undefined ? null : JSON.stringify(changed),
        },
        endpoint,
      )
    },
    async request({ method, path, body, headers = {}, members = {} }: RawCall) {
      const isSandbox = path.startsWith('/_sandbox')
      const isBare = isSandbox || members.key === undefined
      const sent = {
        ...(isSandbox ? target.control_headers : {}),
        ...headers,
        ...(await credentialHeaders(state, isBare ? { ...members, key: 'none' } : members)),
      }
      const [bare = '', question] = path.split('?')
      const query = queryText(members.query ?? {})
      const isWhole = /^https?:/.test(bare)
      const url =
        (isWhole ? '' : target.base_url) +
        bare +
        (question === undefined ? query : `?${question}${query.replace('?', '&')}`)
      return send(
        { method, url, headers: withHeaders(sent, members), body },
        endpointAt(method, bare.replace(target.base_url, '')),
      )
    },
  }
}

/** Subject of the contract check of a 429 that was waited out; the request was sent again after it. */
export const rateLimitSubject = 'contract over the rate limit'
/** For a 429 without a usable Retry-After. */
const leastWait_ms = 1_000

async function credentialHeaders(state: CaseState, { key, origin }: RequestMembers): Promise<Record<string, string>> {
  const credential = await state.credential(key)
  const page = origin === undefined ? credential?.origin : origin
  return {
    ...(credential === null ? {} : { authorization: `Bearer ${credential.token}` }),
    ...(page === null || page === undefined ? {} : { origin: page }),
  }
}

/** Headers of the step replace those that would be sent; null takes one away. */
function withHeaders(headers: Record<string, string>, { headers: own = {} }: RequestMembers): Record<string, string> {
  const result = { ...headers }
  for (const [name, value] of Object.entries(own)) {
    delete result[name.toLowerCase()]
    if (value !== null) result[name.toLowerCase()] = value
  }
  return result
}

function changedBody(body: Json, { set = {}, unset = [] }: RequestMembers): Json {
  const written = Object.entries(set).reduce((whole, [path, value]) => withValue(whole, path, value), body)
  return unset.reduce(withoutValue, written)
}

function queryText(query: Readonly<Record<string, Json>>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((each): [string, string] => [
      name,
      isObject(each) ? JSON.stringify(each) : String(each),
    ]),
  )
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}

/** The endpoint of this method and path; null where the contract has none. */
function endpointAt(method: string, path: string): Endpoint | null {
  const endpoints = Object.values<Endpoint>(contract)
  return endpoints.find((endpoint) => endpoint.method === method && pathPattern(endpoint.path).test(path)) ?? null
}

/** Keys that only their owner can tell for keys: a shell puts them in again. */
function withoutUnmarked(request: RawRequest, unmarked: readonly string[]): RawRequest {
  if (unmarked.length === 0) return request
  const hide = (text: string) => unmarked.reduce((all, key) => all.replaceAll(key, '$SVC_SECRET_KEY'), text)
  const { method, url, headers, body } = request
  return {
    method,
    url: hide(url),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, hide(value)])),
    body: body === null ? null : hide(body),
  }
}

function exchangeOf(request: RawRequest, { curl }: Environment): Exchange {
  const { method, url, headers, body } = request
  const masked = {
    method,
    url: toVariables(url),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, toVariables(value)])),
    body: body === null ? null : toVariables(body.slice(0, 4_096)),
  }
  return {
    method,
    url: redactSecrets(url),
    request_headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, redactSecrets(value)])),
    request_body: body === null ? null : keptBody(body),
    status: 0,
    response_headers: {},
    response_body: null,
    error: null,
    duration_ms: 0,
    curl: curl(masked, Object.values(variables)),
  }
}

function answerMembers({ status, headers, text, duration_ms }: RawAnswer): Partial<Exchange> {
  const response_headers = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, redactSecrets(value)]),
  )
  return { status, response_headers, response_body: text === '' ? null : keptBody(text), duration_ms }
}

const longest_body = 65_536

/** Returns a JSON value with every key and token in its texts redacted. */
export function redactValue(value: Json): Json {
  if (typeof value === 'string') return redactSecrets(value)
  if (Array.isArray(value)) return value.map(redactValue)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, redactValue(member)]))
}

/** Returns a text for a shell: `Bearer $SVC_SECRET_KEY`, with the names of variables in place of keys and tokens. */
function toVariables(text: string): string {
  return replaceSecrets(text, ({ kind, mode }) => {
    if (kind !== 'sk') return variables[kind]
    return mode === 'live' ? variables.sk_live : variables.sk
  })
}

const variables = {
  sk: '$SVC_SECRET_KEY',
  sk_live: '$SVC_LIVE_SECRET_KEY',
  pk: '$SVC_PUBLISHABLE_KEY',
  ast: '$ASSET_TOKEN',
  at: '$ACTIVATION_TOKEN',
  bt: '$BEACON_TOKEN',
} as const

/** Returns a body for the result: redacted, and cut to 64 kB. */
function keptBody(text: string): string {
  return redactSecrets(
    text.length > longest_body ? `${text.slice(0, longest_body)}... [cut: ${text.length} characters]` : text,
  )
}

export interface Environment {
  /** Milliseconds since the epoch. */
  now(): number
  /** The command that sends the same request; `variables` are put in by the shell. */
  curl(request: RawRequest, variables: readonly string[]): string
}
