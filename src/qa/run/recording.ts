/** The turn of a step over a real target: what it sends is written down, and checked against the contract. */
import type { Endpoint } from '../../contract/endpoint.ts'
import { contract } from '../../contract/index.ts'
import { contractCheck } from '../expect/contract.ts'
import { isObject, withoutValue, withValue } from '../expect/paths.ts'
import type { JsonValue } from '../json.ts'
import type { Check, Exchange, Screenshot } from '../result.ts'
import { pause } from '../steps/slot-steps.ts'
import type { Answer, RequestMembers } from '../steps/step-kind.ts'
import type { Target } from '../target/target.ts'
import type { CaseState } from './case-state.ts'
import type { Environment } from './environment.ts'
import { keptBody, redact, shellVariables, toVariables } from './redact.ts'
import type { RawCall, Turn } from './turn.ts'
import { NoAnswer, type RawAnswer, type RawRequest } from './wire.ts'

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
      const wait_s = Number(raw.headers['retry-after'])
      if (raw.status === 429 && target.summary.kind === 'service' && mayWaitForRate && wait_s > 0) {
        await pause(wait_s * 1_000, { signal })
        return await send(request, endpoint)
      }
      const json = parseJson(raw.text)
      const isSpoilt = raw.headers['x-sandbox-fault'] !== undefined
      if (endpoint !== null && checksContract && !isSpoilt && request.method !== 'HEAD') {
        const seen = { status: raw.status, headers: raw.headers, json, text: raw.text }
        checks.push(contractCheck(endpoint, seen, target.summary.kind !== 'service'))
      }
      return { status: raw.status, headers: raw.headers, body: json ?? raw.text, duration_ms: raw.duration_ms }
    } catch (error) {
      if (error instanceof NoAnswer) {
        Object.assign(kept, { status: 0, error: redact(error.message), duration_ms: error.duration_ms })
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
      const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
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

function changedBody(body: JsonValue, { set = {}, unset = [] }: RequestMembers): JsonValue {
  const written = Object.entries(set).reduce((whole, [path, value]) => withValue(whole, path, value), body)
  return unset.reduce(withoutValue, written)
}

function queryText(query: Readonly<Record<string, JsonValue>>): string {
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
  const found = Object.values<Endpoint>(contract).find(
    (endpoint) =>
      endpoint.method === method && new RegExp(`^${endpoint.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  return found ?? null
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
    url: redact(url),
    request_headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, redact(value)])),
    request_body: body === null ? null : keptBody(body),
    status: 0,
    response_headers: {},
    response_body: null,
    error: null,
    duration_ms: 0,
    curl: curl(masked, shellVariables),
  }
}

function answerMembers({ status, headers, text, duration_ms }: RawAnswer): Partial<Exchange> {
  const response_headers = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, redact(value)]))
  return { status, response_headers, response_body: text === '' ? null : keptBody(text), duration_ms }
}

/** undefined when the text is not JSON. */
function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
}
