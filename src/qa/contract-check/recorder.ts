/** Sends the requests of a check, compares each answer with the contract, and keeps what came out. */

import { formatValue } from '../../cli/output/text.ts'
import { buildRequest, type CallInput, type HttpRequest } from '../../client/request.ts'
import type { RawResponse } from '../../client/transport.ts'
import type { Endpoint } from '../../contract/endpoint.ts'
import { ErrorBody, type ErrorCode, errorCodes, type ReasonCode } from '../../contract/errors.ts'
import { explainIssues } from '../../contract/field-errors.ts'
import { responseHeaders } from '../../contract/headers.ts'
import { v1 } from '../../contract/index.ts'
import type { Provenance } from '../../contract/provenance.ts'
import type { Difference, EndpointReport, NotChecked, V1Id, Weight } from './difference.ts'
import { pathsIn, pathText, provenances, valueProvenance } from './fields.ts'
import { checkAgent } from './mark.ts'

/** The error that an answer must be, and how far that is documented. */
export interface ExpectedError {
  error: ErrorCode
  /** null where nothing says which. */
  reason_code: ReasonCode | null
  provenance: Provenance
}

/** An answer that was as it should be, so that the next request may build on it. */
export interface Answer {
  json: unknown
  text: string
  headers: RawResponse['headers']
}

export interface Recorder {
  /** A request of the contract, as the client would send it. */
  request(id: V1Id, input: CallInput, sender?: { credential?: string | undefined; origin?: string }): HttpRequest
  /** Sends a request that must succeed. Null when the answer is none to build on. */
  succeeds(id: V1Id, check: string, request: HttpRequest): Promise<Answer | null>
  /** Sends a request that must be refused. */
  refuses(id: V1Id, check: string, request: HttpRequest, expected: ExpectedError): Promise<void>
  /** A fact about an answer beside its shape. */
  fact(id: V1Id, check: string, weight: Weight, what: string, expected: unknown, observed: unknown): void
  differs(difference: Difference): void
  skip(id: V1Id, check: string, why: string): void
  /** The time of the service, epoch milliseconds, as its last answer told it; never behind by more than the way there. */
  now_ms(): number
  result(): { endpoints: EndpointReport[]; differences: Difference[] }
}

export interface RecorderOptions {
  base_url: string
  send(request: HttpRequest): Promise<RawResponse>
  pause(duration_ms: number): Promise<void>
  /** The time of this machine, for a service that does not tell its own. */
  now_ms(): number
}

export function createRecorder({ base_url, send, pause, now_ms }: RecorderOptions): Recorder {
  const differences: Difference[] = []
  const checks = new Map<V1Id, EndpointReport['checks']>()
  const skipped = new Map<V1Id, NotChecked[]>()
  const seen = new Map<V1Id, Set<string>>()
  let told_ms = Number.NaN

  const differs = (difference: Difference) => void differences.push(difference)
  const fact: Recorder['fact'] = (endpoint, check, weight, what, expected, observed) => {
    const texts = { expected: formatValue(expected), observed: brief(observed) }
    if (texts.expected !== texts.observed) differs({ endpoint, check, weight, what, ...texts })
  }

  /** Waits where the service asks for it: a check is no reason to be refused. What it says then is looked at too. */
  async function sendPatiently(id: V1Id, request: HttpRequest): Promise<RawResponse> {
    for (let tries = 1; ; tries++) {
      const answer = await send({ ...request, headers: { ...request.headers, 'user-agent': checkAgent } })
      if (answer.status !== 429 || tries === mostTries) return answer
      const retry_after = answer.headers.get('retry-after')
      const seconds = /^\d+$/.test(retry_after ?? '') ? Number(retry_after) : 1
      compareError(id, 'over the rate limit', answer, {
        error: 'rate_limited',
        reason_code: null,
        provenance: 'documented',
      })
      fact(
        id,
        'over the rate limit',
        'documented',
        'header retry-after',
        'there',
        retry_after === null ? 'missing' : 'there',
      )
      if (seconds > longestWait_s) return answer
      await pause(seconds * 1000)
    }
  }

  async function probe(id: V1Id, check: string, request: HttpRequest, compare: (answer: RawResponse) => void) {
    const answer = await sendPatiently(id, request)
    // A Date header is in whole seconds, rounded down.
    told_ms = Date.parse(answer.headers.get('date') ?? '') + 1000
    const before = differences.length
    fact(id, check, 'observed', 'header x-request-id', 'there', answer.request_id === null ? 'missing' : 'there')
    compare(answer)
    const ok = differences.slice(before).every(({ weight }) => weight === 'addition')
    checks.set(id, [...(checks.get(id) ?? []), { check, ok, request_id: answer.request_id }])
    return answer
  }

  return {
    request: (id, input, { credential, origin } = {}) => buildRequest(v1[id], input, { base_url, credential, origin }),
    async succeeds(id, check, request) {
      const endpoint: Endpoint = v1[id]
      let json: unknown
      const answer = await probe(id, check, request, (answer) => {
        if (!answer.ok) {
          fact(id, check, 'documented', 'status', 'a success, 2xx', `${answer.status} ${excerpt(answer.text)}`)
          return
        }
        fact(id, check, 'assumed', 'status', endpoint.status, answer.status)
        compareType(id, check, answer, 'media_type' in endpoint.response ? endpoint.response.media_type : null)
        compareHeaders(id, check, answer)
        if ('media_type' in endpoint.response) return
        json = parse(answer.text)
        if (json !== undefined) compareBody(id, check, json)
      })
      const isUsable = answer.ok && ('media_type' in endpoint.response || isObject(json))
      return isUsable ? { json, text: answer.text, headers: answer.headers } : null
    },
    async refuses(id, check, request, expected) {
      await probe(id, check, request, (answer) => compareError(id, check, answer, expected))
    },
    fact,
    differs,
    skip: (id, check, why) => void skipped.set(id, [...(skipped.get(id) ?? []), { check, why }]),
    now_ms: () => (Number.isNaN(told_ms) ? now_ms() : told_ms),
    result: () => ({ endpoints: (Object.keys(v1) as V1Id[]).map(reportOf), differences }),
  }

  function compareType(id: V1Id, check: string, { headers, text }: RawResponse, media_type: string | null): void {
    const expected = media_type?.replace(/;.*/, '') ?? 'application/json'
    const observed =
      headers
        .get('content-type')
        ?.replace(/\s*;.*/, '')
        .toLowerCase() ?? 'missing'
    fact(id, check, 'documented', 'header content-type', expected, observed)
    if (media_type === null && parse(text) === undefined) fact(id, check, 'documented', 'body', 'JSON', excerpt(text))
  }

  /** Those that every success of the endpoint has; what only a sandbox sends is no matter of a service. */
  function compareHeaders(id: V1Id, check: string, { headers }: RawResponse): void {
    const endpoint: Endpoint = v1[id]
    for (const name of endpoint.response_headers ?? []) {
      if (name.startsWith('x-sandbox-')) continue
      const isThere = headers.get(name) !== null
      fact(id, check, responseHeaders[name].provenance, `header ${name}`, 'there', isThere ? 'there' : 'missing')
    }
  }

  function compareBody(id: V1Id, check: string, json: unknown): void {
    const known = provenances(id, 'response')
    const paths = seen.get(id) ?? new Set<string>()
    for (const path of pathsIn(json)) if (known.has(path)) paths.add(path)
    seen.set(id, paths)
    const { response } = v1[id] as Endpoint
    const parsed = 'media_type' in response ? { success: true as const } : response.safeParse(json)
    if (parsed.success) return
    for (const { at, message, expected, isUnknown } of explainIssues(parsed.error.issues).fields) {
      const path = pathText(at)
      const observed = brief(at.reduce<unknown>(step, json))
      const what = `response ${path || 'body'}`
      if (isUnknown) differs({ endpoint: id, check, weight: 'addition', what, expected: 'no such field', observed })
      else {
        const weight = valueProvenance(path, known.get(path) ?? 'documented', message.includes('allowed values'))
        differs({
          endpoint: id,
          check,
          weight,
          what,
          expected,
          observed: message === 'is missing' ? 'missing' : observed,
        })
      }
    }
  }

  function compareError(id: V1Id, check: string, answer: RawResponse, expected: ExpectedError): void {
    const { status } = errorCodes[expected.error]
    fact(id, check, expected.provenance, 'status', status, answer.status)
    if (answer.status !== status) return
    compareType(id, check, answer, null)
    const json = parse(answer.text)
    if (json === undefined) return
    const error = isObject(json) ? json.error : undefined
    fact(id, check, expected.provenance, 'error.error', expected.error, error)
    const reason_code = isObject(json) ? json.reason_code : undefined
    if (expected.reason_code !== null)
      fact(id, check, 'assumed', 'error.reason_code', expected.reason_code, reason_code)
    for (const { at, message, expected: right, isUnknown } of issuesOf(json)) {
      const name = String(at[0] ?? 'body')
      if (name === 'error' || name === 'reason_code') continue
      const weight: Weight = isUnknown ? 'addition' : (errorFields[name] ?? 'observed')
      const what = `error.${pathText(at) || 'body'}`
      differs({ endpoint: id, check, weight, what, expected: isUnknown ? 'no such field' : right, observed: message })
    }
  }

  function reportOf(endpoint: V1Id): EndpointReport {
    const { method, path } = v1[endpoint]
    const own = differences.filter((difference) => difference.endpoint === endpoint && difference.weight !== 'addition')
    const made = checks.get(endpoint) ?? []
    const wrong = new Set(own.map(({ what }) => what))
    const met = seen.get(endpoint) ?? new Set()
    return {
      endpoint,
      method,
      path,
      verdict: own.length > 0 ? 'differs' : made.length === 0 ? 'not checked' : 'ok',
      checks: made,
      not_checked: skipped.get(endpoint) ?? [],
      fields: [...provenances(endpoint, 'response')].map(([path, provenance]) => ({
        path,
        provenance,
        verdict: wrong.has(`response ${path}`) ? 'differs' : met.has(path) ? 'ok' : 'not seen',
      })),
    }
  }
}

const mostTries = 4
const longestWait_s = 10

/** Where the members of the error body come from, as its schema says. */
const errorFields: Readonly<Record<string, Provenance>> = Object.fromEntries(
  Object.entries(ErrorBody.shape).map(([name, field]) => [name, field.meta()?.provenance ?? 'assumed']),
)

function issuesOf(json: unknown) {
  const parsed = ErrorBody.safeParse(json)
  return parsed.success ? [] : explainIssues(parsed.error.issues).fields
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function step(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined
}

const longest = 60

/** A value on one line. What looks like a key or token is not repeated. */
function brief(value: unknown): string {
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : formatValue(value)
  return excerpt(value === undefined ? 'missing' : text)
}

function excerpt(text: string): string {
  const line = text
    .replace(/\b((?:sk|pk)_(?:test|live)|ast|at|bt)_[\w-]+/g, '$1_...')
    .replace(/[\u0000-\u001f\u007f-\u009f\s]+/g, ' ')
  return line.length > longest ? `${line.slice(0, longest)}…` : line
}
