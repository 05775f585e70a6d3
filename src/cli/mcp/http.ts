/**
 * The Streamable HTTP transport at /_sandbox/mcp, without sessions: each POST gets its own JSON response, so that
 * nothing is kept between requests, and a restart of the sandbox does not disturb agents.
 */

import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import type { Fetch } from '#client/exchange.ts'
import { createClient } from '#client/index.ts'
import { keyOfStarted } from '#client/permitted-key.ts'
import { ownAgents } from '#contract/own-requests.ts'
import { version } from '#text/version.ts'
import type { SandboxAccess } from './access.ts'
import { connectMcpServer } from './server.ts'

/** The sandbox that serves the endpoint. */
export interface ServingSandbox {
  url: string
  keys: { client_id: string; secret_key: string; publishable_key: string }
  /** Sends a request through the pipeline of the sandbox, without a socket. */
  fetch: Fetch
  /** Milliseconds since the Unix epoch. */
  now(): number
  randomText(length: number): string
}

const command_name = 'svc'

/** The caller: a token of the control plane, or a program on this computer that needs none. */
interface Caller {
  token: string | undefined
  tools: 'usual' | 'all'
  mayWrite: boolean
}

/** Returns a function that responds to one request of an agent. Its tools act with the token of the caller. */
export function createMcpEndpoint(sandbox: ServingSandbox): (request: Request, caller: Caller) => Promise<Response> {
  return async (request, caller) => {
    const access = openAccess(sandbox, caller)
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    const server = await connectMcpServer(access, transport)
    request.signal.addEventListener('abort', () => void server.close(), { once: true })
    try {
      return await transport.handleRequest(request)
    } finally {
      await server.close()
    }
  }
}

function openAccess(sandbox: ServingSandbox, { token, tools, mayWrite }: Caller): SandboxAccess {
  const { url, keys, fetch, now, randomText } = sandbox
  const client = createClient({
    base_url: url,
    credential: keys.secret_key,
    headers: {
      'user-agent': `${ownAgents.tools}${version}`,
      ...(token === undefined ? {} : { 'x-sandbox-token': token }),
    },
    fetch,
    validate: false,
  })
  return {
    command_name,
    tools,
    mayWrite,
    client: async () => client,
    clientId: async () => keys.client_id,
    local: null,
    now,
    randomText,
    qaTarget: async () => ({
      kind: 'sandbox',
      base_url: url,
      client_id: keys.client_id,
      origin: null,
      keys: { secret: keyOfStarted({ keys }), publishable: keys.publishable_key },
      ...(token === undefined ? {} : { admin_token: keyOfStarted({ keys: { secret_key: token } }) }),
    }),
  }
}
