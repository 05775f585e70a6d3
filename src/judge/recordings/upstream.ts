/** Requests to the service, and what can be wrong with its responses. */
import {
  type AgentOptions,
  type ClientRequest,
  Agent as HttpAgent,
  globalAgent as httpGlobal,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http'
import { Agent as HttpsAgent, globalAgent as httpsGlobal, request as httpsRequest } from 'node:https'
import { isHopHeader, isLoopback } from '#foundation/http.ts'
import { systemErrorBehind, systemReason } from '#foundation/system-error.ts'
import type { Rewriting } from './rewriting.ts'

/** The maximum length of the headers of a request and of a response, bytes. */
export const maxHeaderBytes = 262_144

interface Upstream {
  /** The origin of the service. */
  service: URL
  agent: HttpAgent
}

/** Node has the options of an agent, and its types do not. */
type GlobalAgent = HttpAgent & { options: AgentOptions }

/**
 * Returns an agent that opens a connection for each request. A service closes idle connections as a request comes, and whether it
 * has seen a POST that was on its way then, nobody knows: it could be sent twice, or never.
 */
export function createAgent({ protocol, hostname }: URL): HttpAgent {
  const isHttps = protocol === 'https:'
  // The proxy of the environment, where Node is asked to use it.
  const { proxyEnv } = ((isHttps ? httpsGlobal : httpGlobal) as GlobalAgent).options
  const options = { keepAlive: false, ...(isLoopback(hostname) || proxyEnv === undefined ? {} : { proxyEnv }) }
  return isHttps ? new HttpsAgent(options) : new HttpAgent(options)
}

/** Returns the headers of a request for the service, in their order and spelling. */
export function requestHeaders(
  { service, rewriting }: { service: URL; rewriting: Rewriting },
  { rawHeaders, headers, method = '' }: IncomingMessage,
): string[] {
  const passed = ['Host', service.host, ...withoutHops(rawHeaders, headers.connection, /^host$/i)]
  // How a body is framed is a matter of each connection, and without a frame it would be taken for the next request.
  if (headers['transfer-encoding'] !== undefined) passed.push('Transfer-Encoding', 'chunked')
  else if (headers['content-length'] === undefined && /^(?:POST|PUT|PATCH)$/.test(method)) {
    passed.push('Content-Length', '0')
  }
  return rewriting.toService(passed)
}

/** Opens the request to the service. It fails when only responses with a status of 1xx come. */
export function sendRequest(
  { service, agent }: Upstream,
  { method, url: path }: IncomingMessage,
  headers: string[],
): ClientRequest {
  const { protocol, hostname, port } = service
  const request = protocol === 'https:' ? httpsRequest : httpRequest
  const host = hostname.replace(/^\[|\]$/g, '')
  const sent = request({ host, port, method, path, headers, agent, setHost: false, maxHeaderSize: maxHeaderBytes })
  let interim = 0
  sent.on('information', () => {
    if (++interim > maxInterim) sent.destroy(endlessInterim)
  })
  return sent
}

/** The maximum number of responses such as 100 Continue and 103 Early Hints, before the one that counts. */
const maxInterim = 16

/** Returns headers without those of one connection. */
export function withoutHops(raw: readonly string[], connection: string | undefined, others?: RegExp): string[] {
  const kept: string[] = []
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index]!
    if (!isHopHeader(name, connection) && others?.test(name) !== true) kept.push(name, raw[index + 1]!)
  }
  return kept
}

/** The service sent something that is no response to its request. */
class ResponseError extends Error {
  override readonly name = 'ResponseError'
}

/** Returns what is wrong with the head of a response that Node's parser accepts; null for nothing. */
export function findResponseError({ statusCode = 0 }: IncomingMessage): Error | null {
  if (statusCode >= 200 && statusCode <= 999) return null
  return new ResponseError(`its status is ${String(statusCode).padStart(3, '0')}`)
}

/** The service switched to another protocol than that of the request. */
export const unaskedSwitch: Error = new ResponseError('it switches to another protocol, which nobody asked for')

const endlessInterim: Error = new ResponseError(`more than ${maxInterim} responses with a status of 1xx precede it`)

/** Whether the service sent something that cannot be passed on, instead of nothing. */
export function isUnreadable(error: Error): boolean {
  return error instanceof ResponseError || ('code' in error && /^HPE_/.test(String(error.code)))
}

/** Returns why there is no response of the service, as a sentence. */
export function describeFailure(error: Error): string {
  if ('code' in error && error.code === 'HPE_HEADER_OVERFLOW') {
    return `The response of the service cannot be read: its headers are longer than ${maxHeaderBytes / 1_024} kB.`
  }
  if (isUnreadable(error)) return `The response of the service cannot be read: ${error.message}.`
  const system = systemErrorBehind(error)
  return `The service did not respond: ${system === null ? error.message : systemReason(system)}.`
}
