/**
 * Tools for coding agents at /_sandbox/mcp, with ?tools=all the whole list, over the Streamable HTTP transport. It is a part of the control plane: the same
 * rules about hosts, origins and the admin token hold. Its code is loaded by the first request.
 */
import { randomBytes } from 'node:crypto'
import type { createMcpEndpoint, ServingSandbox } from '#mcp/http.ts'
import type { OpenExchange, Route } from '../exchange.ts'
import { internalRequest, type PipelineResponse } from '../exchange.ts'
import { type Pipeline, respondTo } from '../pipeline.ts'
import type { DemoProject } from './demo.ts'

type McpEndpoint = ReturnType<typeof createMcpEndpoint>

const path = '/_sandbox/mcp'
/** Room for a file of beacons to check. */
const maxBodyBytes = 1_048_576
const letters = 'abcdefghijklmnopqrstuvwxyz234567'

export function mcpRoutes(pipeline: Pipeline, project: DemoProject): Route[] {
  let endpoint: Promise<McpEndpoint> | undefined
  const load = async () => {
    const { createMcpEndpoint } = await import('#mcp/http.ts')
    return createMcpEndpoint(servingSandbox(pipeline, project))
  }
  const respond = async ({ request, context }: OpenExchange): Promise<PipelineResponse> => {
    endpoint ??= load()
    const { 'content-length': _, ...headers } = request.headers
    const given = new Request(new URL(path, pipeline.services.url), {
      method: 'POST',
      headers: Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
      body: new Uint8Array(request.body),
      signal: context.signal(),
    })
    const { holder } = request
    const tools = request.query.tools === 'all' ? 'all' : 'usual'
    const response = await (await endpoint)(given, { token: holder?.text, tools, mayWrite: holder?.role !== 'read' })
    const own = { 'x-request-id': context.request_id, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
    return {
      status: response.status,
      headers: { ...Object.fromEntries(response.headers), ...own },
      body: await response.text(),
    }
  }
  return [{ method: 'POST', path, body_limit_bytes: maxBodyBytes, role: 'read', respond }]
}

function servingSandbox(pipeline: Pipeline, { client_id, secret_key, publishable_key }: DemoProject): ServingSandbox {
  const { services } = pipeline
  return {
    url: services.url,
    keys: { client_id, secret_key, publishable_key },
    // Read on each call: the clock of the host, which the sandbox clock is ahead of by its offset.
    now: () => services.platform.clock.now() - services.platform.clock.offset_ms,
    randomText: (length) => Array.from(randomBytes(length), (byte) => letters[byte & 31]).join(''),
    async fetch(url, init) {
      const { pathname, search, host } = new URL(url)
      const headers = { ...Object.fromEntries(new Headers(init.headers)), host }
      const { response } = await respondTo(
        pipeline,
        internalRequest({
          method: init.method ?? 'GET',
          url: pathname + search,
          headers,
          body: typeof init.body === 'string' ? init.body : '',
          signal: () => init.signal ?? new AbortController().signal,
        }),
      )
      const body = typeof response.body === 'function' ? '' : response.body
      return new Response(typeof body === 'string' ? body : new Uint8Array(body), {
        status: response.status === 0 ? 502 : response.status,
        headers: response.headers,
      })
    },
  }
}
