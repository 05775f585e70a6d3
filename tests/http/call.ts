/**
 * Calls over a real socket, held against the contract: whatever a test asks for, the answer must parse with the schema
 * of its endpoint, or be an error body whose cause the endpoint declares.
 */
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http'
import { expect } from 'vitest'
import { z } from 'zod'
import { commonErrors, type Endpoint, type Output } from '../../src/contract/endpoint.ts'
import { ErrorBody, errorCodes, type ReasonCode, reasonCodes } from '../../src/contract/errors.ts'
import { type Contract, contract, type EndpointId } from '../../src/contract/index.ts'

export interface Call {
  /** Sent as `Authorization: Bearer`. */
  as?: string
  origin?: string
  headers?: OutgoingHttpHeaders
  params?: Record<string, string>
  query?: Record<string, string | number>
  /** Sent as JSON. */
  body?: unknown
  /** Sent as it is; application/json unless `headers` say otherwise. */
  raw?: string | Uint8Array
  /** Without a Content-Length, in two chunks. */
  chunked?: boolean
  signal?: AbortSignal
}

export interface Answer<Body> {
  status: number
  headers: IncomingHttpHeaders
  body: Body
  /** The body as it came. */
  text: string
  warnings: string[]
}

/** What may answer before any endpoint does. */
const beforeRoutes: readonly ReasonCode[] = ['host_not_allowed', 'method_not_allowed', 'not_found']

/** Everything a test can ask of one sandbox. */
export function connect(sandbox: { url: string }) {
  return {
    /** A call that must succeed. */
    async accept<Id extends EndpointId>(id: Id, call: Call = {}): Promise<Answer<Output<Contract[Id]>>> {
      const endpoint: Endpoint = contract[id]
      const answer = await exchange(sandbox.url, endpoint.method, pathOf(endpoint, call), call)
      expect(answer.status, answer.text).toBe(endpoint.status)
      return { ...answer, body: successBody(endpoint, answer) as Output<Contract[Id]> }
    },
    /** A call that must be refused with an error body of the contract. */
    async refuse(id: EndpointId, call: Call = {}): Promise<Answer<ErrorBody>> {
      const endpoint: Endpoint = contract[id]
      const answer = await exchange(sandbox.url, endpoint.method, pathOf(endpoint, call), call)
      const body = errorBody(answer)
      expect([...endpoint.errors, ...commonErrors, ...beforeRoutes]).toContain(body.reason_code)
      return { ...answer, body }
    },
    /** A call of an endpoint that answers errors with a page of its own. */
    async refusePage(id: 'render.frame', call: Call): Promise<Answer<string> & { reason_code: ReasonCode }> {
      const endpoint: Endpoint = contract[id]
      const answer = await exchange(sandbox.url, endpoint.method, pathOf(endpoint, call), call)
      expect(answer.headers['content-type']).toBe((endpoint.response as { media_type: string }).media_type)
      const reason_code = Object.keys(reasonCodes).find((code) => answer.text.includes(code)) as ReasonCode
      expect(endpoint.errors).toContain(reason_code)
      expect(answer.status).toBe(endpoint.pages?.[reason_code])
      return { ...answer, body: answer.text, reason_code }
    },
    /** Any request at all; an answer of 400 and above must be an error body. */
    async send(method: string, path: string, call: Call = {}): Promise<Answer<unknown>> {
      const answer = await exchange(sandbox.url, method, path, call)
      const isJson = answer.headers['content-type']?.startsWith('application/json') === true && answer.text !== ''
      if (answer.status >= 400 && method !== 'HEAD') return { ...answer, body: errorBody(answer) }
      return { ...answer, body: isJson ? JSON.parse(answer.text) : answer.text }
    },
  }
}

export type Api = ReturnType<typeof connect>

function pathOf(endpoint: Endpoint, { params = {}, query = {} }: Call): string {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name]!))
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString()
  return search === '' ? path : `${path}?${search}`
}

function successBody(endpoint: Endpoint, answer: Answer<unknown>): unknown {
  if (!(endpoint.response instanceof z.ZodType)) {
    expect(answer.headers['content-type']).toBe(endpoint.response.media_type)
    return answer.text
  }
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  const body = endpoint.response.parse(JSON.parse(answer.text)) as { request_id?: string }
  const namesRequest = endpoint.path.startsWith('/v1/') && body.request_id !== undefined
  if (namesRequest) expect(body.request_id).toBe(answer.headers['x-request-id'])
  return body
}

function errorBody(answer: Answer<unknown>): ErrorBody {
  expect(answer.status, answer.text).toBeGreaterThanOrEqual(400)
  expect(answer.headers['content-type'], answer.text).toBe('application/json; charset=utf-8')
  const body = ErrorBody.parse(JSON.parse(answer.text))
  expect(body.request_id).toBe(answer.headers['x-request-id'])
  expect(body.error).toBe(reasonCodes[body.reason_code].error)
  expect(answer.status).toBe(errorCodes[body.error].status)
  expect(body.retryable).toBe(errorCodes[body.error].retryable)
  expect(body.hint).not.toBe('')
  expect(body.docs_url).toMatch(/^\//)
  return body
}

async function exchange(url: string, method: string, path: string, call: Call): Promise<Answer<unknown>> {
  const answer = await overSocket(url, method, path, call)
  expect(answer.headers['x-request-id'], `${method} ${path}`).toMatch(/^req_[0-9a-z]{11}$/)
  expect(answer.headers['access-control-allow-credentials']).toBeUndefined()
  expect(answer.headers['set-cookie']).toBeUndefined()
  return answer
}

function overSocket(url: string, method: string, path: string, call: Call): Promise<Answer<unknown>> {
  const payload = call.raw ?? (call.body === undefined ? undefined : JSON.stringify(call.body))
  const headers: OutgoingHttpHeaders = {
    ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
    ...(call.as === undefined ? {} : { authorization: `Bearer ${call.as}` }),
    ...(call.origin === undefined ? {} : { origin: call.origin }),
    ...(payload === undefined || call.chunked === true ? {} : { 'content-length': Buffer.byteLength(payload) }),
    ...call.headers,
  }
  for (const name in headers) if (headers[name] === undefined) delete headers[name]
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      { method, path, headers, ...(call.signal === undefined ? {} : { signal: call.signal }) },
      (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.on('error', reject)
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          const warnings = String(incoming.headers['x-sandbox-warning'] ?? '')
            .split(', ')
            .filter((warning) => warning !== '')
          resolve({ status: incoming.statusCode!, headers: incoming.headers, body: null, text, warnings })
        })
      },
    )
    outgoing.on('error', reject)
    if (payload === undefined) outgoing.end()
    else if (call.chunked === true) {
      const bytes = Buffer.from(payload)
      outgoing.write(bytes.subarray(0, bytes.length >> 1))
      outgoing.end(bytes.subarray(bytes.length >> 1))
    } else outgoing.end(payload)
  })
}
