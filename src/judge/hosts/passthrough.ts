/**
 * A forward proxy on loopback, one for each condition. The browser sends every request of a page through it, so the page keeps
 * its own origin while the responses get other headers, some requests are blocked, or the network is down. The driver
 * intercepts nothing: the driver responds to the CORS preflight of an intercepted request.
 */

import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { agentFor } from '#client/node-fetch.ts'
import { listeningPort } from '#foundation/http.ts'
import { isObject } from '#foundation/json.ts'

/** A request of the page or of a frame in it. */
export interface SeenRequest {
  method: string
  url: string
  /** `Sec-Fetch-Dest`: document, iframe, script, image, empty. */
  destination: string
  /** The origin that asked; empty where the browser sent none. */
  from: string
  /** 0: no response came. */
  status: number
  /** Of an error response of the service. */
  reason_code: string | null
  /** The rule of a filter list that blocks it. */
  blocked_by: string | null
}

/** An HTML document on its way to the browser. */
export interface PassedDocument {
  headers: Record<string, string>
  html: string
}

export interface PassthroughOptions {
  /** Whether a URL is one of the service. */
  isOfService: (url: string) => boolean
  /** The origin of the page. */
  origin: string
  /** Changes the documents of the page's origin. */
  changeDocument?: (document: PassedDocument) => PassedDocument
  /** Documents that the proxy itself serves, by URL. */
  documents?: Readonly<Record<string, string>>
  /** The origin that the service sees in place of the page's, as in the shell of an app. */
  shown_origin?: string
  /** Returns the rule that blocks a request, or null. */
  findBlock?: (request: Pick<SeenRequest, 'url' | 'destination' | 'from'>) => string | null
}

interface Passthrough {
  /** Its address, for the browser. */
  readonly address: string
  /** Its port, at which the browser can ask it for its own documents. */
  readonly port: number
  readonly requests: readonly SeenRequest[]
  close(): Promise<void>
}

/** A document that takes longer is not a page that waits for an ad. */
const timeoutMs = 30_000
/** Headers about one connection only. */
const hopHeaders = ['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'te', 'trailer', 'upgrade']

/** Opens the proxy on a free loopback port. */
export async function openPassthrough(options: PassthroughOptions): Promise<Passthrough> {
  const requests: SeenRequest[] = []
  const sockets = new Set<Duplex>()
  const server = createServer((request, response) => void pass(request, response, options, requests))
  server.on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.add(socket)
    tunnel(request.url ?? '', socket as Socket, head, { ...options, requests })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const port = listeningPort(server)
  return {
    address: `http://127.0.0.1:${port}`,
    port,
    requests,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function pass(
  request: IncomingMessage,
  response: ServerResponse,
  options: PassthroughOptions,
  requests: SeenRequest[],
): Promise<void> {
  const url = request.url ?? ''
  const own = options.documents?.[url]
  if (own !== undefined) {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(own)
    return
  }
  const seen: SeenRequest = {
    method: request.method ?? 'GET',
    url,
    destination: header(request, 'sec-fetch-dest') || 'empty',
    from: URL.parse(header(request, 'referer'))?.origin ?? header(request, 'origin'),
    status: 0,
    reason_code: null,
    blocked_by: null,
  }
  requests.push(seen)
  seen.blocked_by = options.findBlock?.(seen) ?? null
  if (seen.blocked_by !== null || !url.startsWith('http:')) return void request.socket.destroy()
  const upstream = httpRequest(url, {
    method: request.method,
    headers: requestHeaders(request, options),
    agent: agentFor(url),
    timeout: timeoutMs,
  })
  upstream.on('error', () => response.destroy())
  upstream.on('timeout', () => upstream.destroy())
  response.on('close', () => upstream.destroy())
  upstream.on('response', (incoming) => {
    seen.status = incoming.statusCode ?? 0
    void answer(incoming, response, seen, options).catch(() => response.destroy())
  })
  request.pipe(upstream)
}

/** Sends the response to the browser: a document with the condition's headers, anything else as it is. */
async function answer(
  incoming: IncomingMessage,
  response: ServerResponse,
  seen: SeenRequest,
  options: PassthroughOptions,
): Promise<void> {
  const { changeDocument } = options
  const headers = responseHeaders(incoming, seen.url, options)
  const type = String(headers['content-type'] ?? '')
  const isDocument =
    changeDocument !== undefined &&
    type.includes('html') &&
    URL.parse(seen.url)?.origin === options.origin &&
    /^(document|iframe)$/.test(seen.destination)
  const isRefusal = seen.status >= 400 && type.includes('json') && options.isOfService(seen.url)
  if (!isDocument && !isRefusal) {
    response.writeHead(seen.status, headers)
    incoming.pipe(response)
    return
  }
  const text = Buffer.concat(await incoming.toArray()).toString('utf8')
  if (isRefusal) seen.reason_code = reasonIn(text)
  const passed = isDocument ? changeDocument({ headers: {}, html: text }) : { headers: {}, html: text }
  const { 'content-length': _length, 'transfer-encoding': _encoding, ...others } = headers
  response.writeHead(seen.status, withAdded(others, passed.headers)).end(passed.html)
}

/** A policy is added to those of the page: the browser enforces all of them. */
function withAdded(
  headers: Record<string, string | string[]>,
  added: Record<string, string>,
): Record<string, string | string[]> {
  const policies = [headers['content-security-policy'] ?? [], added['content-security-policy'] ?? []].flat()
  return policies.length === 0
    ? { ...headers, ...added }
    : { ...headers, ...added, 'content-security-policy': policies.join(', ') }
}

function requestHeaders(request: IncomingMessage, options: PassthroughOptions): Record<string, string | string[]> {
  const { host: _host, ...headers } = withoutHops(request.headers)
  // Documents are changed and refusals read, so they must not be compressed.
  headers['accept-encoding'] = 'identity'
  const { shown_origin, origin, isOfService } = options
  if (shown_origin !== undefined && headers.origin === origin && isOfService(request.url ?? '')) {
    headers.origin = shown_origin
  }
  return headers
}

/**
 * What the service says about the shown origin is put back to the page's, for the browser to enforce: an origin that is not
 * allowed is refused by both.
 */
function responseHeaders(
  incoming: IncomingMessage,
  url: string,
  { shown_origin, origin, isOfService }: PassthroughOptions,
): Record<string, string | string[]> {
  const headers = withoutHops(incoming.headers)
  if (shown_origin === undefined || !isOfService(url)) return headers
  if (headers['access-control-allow-origin'] === shown_origin) headers['access-control-allow-origin'] = origin
  const policy = headers['content-security-policy']
  if (typeof policy === 'string') {
    headers['content-security-policy'] = policy.replace(/frame-ancestors ([^;]+)/, (_, list: string) => {
      const isAllowed = list.split(' ').some((each) => each === '*' || each === shown_origin)
      return `frame-ancestors ${isAllowed ? origin : "'none'"}`
    })
  }
  return headers
}

function withoutHops(headers: IncomingMessage['headers']): Record<string, string | string[]> {
  const entries = Object.entries(headers).filter(([name, value]) => value !== undefined && !hopHeaders.includes(name))
  return Object.fromEntries(entries) as Record<string, string | string[]>
}

function header(request: IncomingMessage, name: string): string {
  return String(request.headers[name] ?? '')
}

function reasonIn(text: string): string | null {
  try {
    const body: unknown = JSON.parse(text)
    const error = isObject(body) && isObject(body.error) ? body.error : body
    const reason = isObject(error) ? (error.reason_code ?? error.code) : null
    return typeof reason === 'string' ? reason : null
  } catch {
    return null
  }
}

/** HTTPS and WebSockets: only the host is known. */
function tunnel(
  target: string,
  socket: Socket,
  head: Buffer,
  { findBlock, requests }: Pick<PassthroughOptions, 'findBlock'> & { requests: SeenRequest[] },
): void {
  const seen = { url: `https://${target}/`, destination: 'empty', from: '' }
  const blocked_by = findBlock?.(seen) ?? null
  requests.push({ method: 'CONNECT', ...seen, status: 0, reason_code: null, blocked_by })
  if (blocked_by !== null) return void socket.destroy()
  const { hostname, port } = new URL(seen.url)
  const upstream = connect(Number(port || 443), hostname.replace(/^\[|\]$/g, ''), () => {
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    upstream.write(head)
    upstream.pipe(socket).pipe(upstream)
  })
  upstream.on('error', () => socket.destroy())
  socket.on('error', () => upstream.destroy())
  socket.on('close', () => upstream.destroy())
}
