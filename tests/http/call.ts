/**
 * Calls over a real socket, checked against the contract: every response must parse with the schema of its endpoint, or
 * be an error body whose cause the endpoint declares.
 */
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http'
import { expect } from 'vitest'
import { z } from 'zod'
import { type Endpoint, listFailures, type Output } from '#contract/endpoint.ts'
import { ErrorBody, errorCodes, type ReasonCode, reasonCodes } from '#contract/errors.ts'
import { type Contract, contract, type EndpointId } from '#contract/index.ts'

export interface Call {
  /** Sent as `Authorization: Bearer`. */
  as?: string
  origin?: string
  headers?: OutgoingHttpHeaders
  params?: Record<string, string>
  query?: Record<string, string | number>
  /** Sent as JSON. */
  body?: unknown
  /** Sent unchanged; application/json unless `headers` has another type. */
  raw?: string | Uint8Array
  /** Without a Content-Length, in two chunks. */
  chunked?: boolean
  signal?: AbortSignal
}

export interface Response<Body> {
  status: number
  headers: IncomingHttpHeaders
  body: Body
  /** The unparsed body. */
  text: string
  warnings: string[]
}

/** The causes of errors before any endpoint is reached, and of a body where none belongs. */
const beforeRoutes: readonly ReasonCode[] = [
  'host_not_allowed',
  'method_not_allowed',
  'not_found',
  'payload_too_large',
  'content_type_unsupported',
]

/** The requests that a test can send to one sandbox. */
export function connect(sandbox: { url: string }) {
  return {
    /** A call that must succeed. */
    async accept<Id extends EndpointId>(id: Id, call: Call = {}): Promise<Response<Output<Contract[Id]>>> {
      const endpoint: Endpoint = contract[id]
      const response = await exchange(sandbox.url, endpoint.method, pathOf(endpoint, call), call)
      expect(response.status, response.text).toBe(endpoint.status)
      return { ...response, body: successBody(endpoint, response) as Output<Contract[Id]> }
    },
    /** A call that must be refused with an error body of the contract. */
    async refuse(id: EndpointId, call: Call = {}): Promise<Response<ErrorBody>> {
      const endpoint: Endpoint = contract[id]
      const response = await exchange(sandbox.url, endpoint.method, pathOf(endpoint, call), call)
      const body = errorBody(response)
      expect([...listFailures(endpoint), ...beforeRoutes]).toContain(body.reason_code)
      return { ...response, body }
    },
    /** A call that must be refused with a page: of an endpoint that responds to errors so. */
    async refusePage(id: 'render.frame', call: Call): Promise<Response<string> & { reason_code: ReasonCode }> {
      const endpoint: Endpoint = contract[id]
      const response = await exchange(sandbox.url, endpoint.method, pathOf(endpoint, call), call)
      expect(response.headers['content-type']).toBe((endpoint.response as { media_type: string }).media_type)
      const reason_code = Object.keys(reasonCodes).find((code) => response.text.includes(code)) as ReasonCode
      expect(listFailures(endpoint)).toContain(reason_code)
      expect(response.status).toBe(endpoint.pages?.[reason_code])
      return { ...response, body: response.text, reason_code }
    },
    /** An address below /_sandbox/ that is opened in a tab. The response may be a page, whatever its status. */
    open(path: string, headers: NonNullable<Call['headers']>): Promise<Response<unknown>> {
      return exchange(sandbox.url, 'GET', path, { headers })
    },
    /** Any request; a response of 400 and above must be an error body. */
    async send(method: string, path: string, call: Call = {}): Promise<Response<unknown>> {
      const response = await exchange(sandbox.url, method, path, call)
      const isJson = response.headers['content-type']?.startsWith('application/json') === true && response.text !== ''
      if (response.status >= 400 && method !== 'HEAD') return { ...response, body: errorBody(response) }
      return { ...response, body: isJson ? JSON.parse(response.text) : response.text }
    },
  }
}

export type Api = ReturnType<typeof connect>

function pathOf(endpoint: Endpoint, { params = {}, query = {} }: Call): string {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name]!))
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString()
  return search === '' ? path : `${path}?${search}`
}

function successBody(endpoint: Endpoint, response: Response<unknown>): unknown {
  if (!(endpoint.response instanceof z.ZodType)) {
    expect(response.headers['content-type']).toBe(endpoint.response.media_type)
    return response.text
  }
  expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
  const body = endpoint.response.parse(JSON.parse(response.text)) as { request_id?: string }
  const namesRequest = endpoint.path.startsWith('/v1/') && body.request_id !== undefined
  if (namesRequest) expect(body.request_id).toBe(response.headers['x-request-id'])
  return body
}

function errorBody(response: Response<unknown>): ErrorBody {
  expect(response.status, response.text).toBeGreaterThanOrEqual(400)
  expect(response.headers['content-type'], response.text).toBe('application/json; charset=utf-8')
  const body = ErrorBody.parse(JSON.parse(response.text))
  expect(body.request_id).toBe(response.headers['x-request-id'])
  expect(body.error).toBe(reasonCodes[body.reason_code].error)
  expect(response.status).toBe(errorCodes[body.error].status)
  expect(body.retryable).toBe(errorCodes[body.error].retryable)
  expect(body.hint).not.toBe('')
  expect(body.docs_url).toMatch(new RegExp(`^http://[^/]+/_sandbox/docs/errors/${body.reason_code}$`))
  return body
}

async function exchange(url: string, method: string, path: string, call: Call): Promise<Response<unknown>> {
  const response = await overSocket(url, method, path, call)
  expect(response.headers['x-request-id'], `${method} ${path}`).toMatch(/^req_[0-9a-z]{11}$/)
  expect(response.headers['access-control-allow-credentials']).toBeUndefined()
  // Only a redirect that takes the token of a control plane out of its address sets a cookie.
  if (response.status !== 303) expect(response.headers['set-cookie']).toBeUndefined()
  return response
}

function overSocket(url: string, method: string, path: string, call: Call): Promise<Response<unknown>> {
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
