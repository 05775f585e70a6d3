/**
 * The proxy between a window of WebKit and the network: WebDriver shows no requests, and can neither respond to one nor run code
 * before a page's own. Requests over https pass through unread.
 */

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
  request as send,
} from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { listeningPort } from '#foundation/http.ts'

/** A request of a page, with the methods of Playwright's that svc uses. */
export interface SeenRequest {
  url(): string
  method(): string
  headers(): Record<string, string>
  allHeaders(): Promise<Record<string, string>>
  postData(): string | null
  postDataJSON(): unknown
  isNavigationRequest(): boolean
  /** `document` also for a frame, `fetch`, `script`, `other`. */
  resourceType(): string
  /** Its address by what the request says it is for. */
  frame(): { parentFrame(): object | null; url(): string }
  response(): Promise<SeenResponse | null>
  failure(): { errorText: string } | null
}

interface SeenResponse {
  url(): string
  status(): number
  ok(): boolean
  headers(): Record<string, string>
  text(): Promise<string>
  request(): SeenRequest
  frame(): ReturnType<SeenRequest['frame']>
}

/** The response to a request that is not forwarded. */
export interface Fulfilment {
  status?: number
  contentType?: string
  headers?: Record<string, string>
  body?: string
}

interface ProxyOptions {
  /** Host names that may be reached beside loopback. */
  reachable: readonly string[] | 'anything'
  /** Returns what nobody can guess, for a policy of scripts. */
  newNonce(): string
  onRequest(request: SeenRequest): void
  onResponse(response: SeenResponse): void
  onFailure(request: SeenRequest): void
  /** Returns the function that responds to the request, or null to let it through. */
  findRoute(url: URL): ((request: SeenRequest) => Promise<Fulfilment>) | null
  /** Code that runs in each document before its own scripts. */
  scripts(): readonly string[]
}

export interface PageProxy {
  port: number
  /** Why the last request for this URL got no response, or null. */
  findFailure(url: string): string | null
  close(): void
}

/** Bodies are kept up to this size. */
const maxBodyBytes = 4_000_000
const readable = /javascript|json|html|css|text|xml/

export async function openProxy(options: ProxyOptions): Promise<PageProxy> {
  const failures = new Map<string, string>()
  const tunnels = openTunnels(isReachable)
  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy())
  })
  server.on('connect', tunnels.connect)
  server.on('upgrade', tunnels.upgrade)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: listeningPort(server),
    findFailure: (url) => failures.get(URL.parse(url)?.href ?? url) ?? null,
    close() {
      server.close()
      server.closeAllConnections()
      tunnels.close()
    },
  }

  function isReachable(hostname: string): boolean {
    const { reachable } = options
    return reachable === 'anything' || [...reachable, 'localhost', '127.0.0.1', '[::1]', '::1'].includes(hostname)
  }

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = URL.parse(incoming.url ?? '')
    if (url === null) return void outgoing.writeHead(400).end()
    const proxied = openProxied({ incoming, outgoing, url, body: await buffer(incoming) }, failures, options)
    const route = options.findRoute(url)
    if (route !== null) return fulfil(proxied, await route(proxied.request), options)
    if (!isReachable(url.hostname)) return proxied.fail('the host cannot be reached from here')
    forward(proxied, options)
  }
}

/** A request that is on its way, with its body. */
interface ReceivedRequest {
  incoming: IncomingMessage
  outgoing: ServerResponse
  url: URL
  body: Buffer
}

interface Proxied extends ReceivedRequest {
  request: SeenRequest
  fail(why: string): void
  /** Reports a response; its text follows when it is read. */
  respond(status: number, headers: Record<string, string>, text: Promise<string>): void
}

/** Reports a request, and returns what reports its end. */
function openProxied(
  received: ReceivedRequest,
  failures: Map<string, string>,
  { onRequest, onResponse, onFailure }: ProxyOptions,
): Proxied {
  const { url, outgoing } = received
  const responded = Promise.withResolvers<SeenResponse | null>()
  let failure: string | null = null
  const request = seenRequest(received, responded.promise, () => failure)
  onRequest(request)
  return {
    ...received,
    request,
    fail(why) {
      failure = why
      failures.set(url.href, why)
      responded.resolve(null)
      onFailure(request)
      outgoing.destroy()
    },
    respond(status, headers, text) {
      failures.delete(url.href)
      const response: SeenResponse = {
        url: () => url.href,
        status: () => status,
        ok: () => status >= 200 && status < 300,
        headers: () => headers,
        text: () => text,
        request: () => request,
        frame: () => request.frame(),
      }
      responded.resolve(response)
      onResponse(response)
    },
  }
}

function fulfil({ outgoing, respond }: Proxied, fulfilment: Fulfilment, options: ProxyOptions): void {
  const { status = 200, contentType, headers = {}, body = '' } = fulfilment
  const all = { ...(contentType === undefined ? {} : { 'content-type': contentType }), ...headers }
  respond(status, all, Promise.resolve(body))
  const changed = withScripts(all, body, options)
  outgoing.writeHead(status, changed.headers).end(changed.body)
}

function forward(proxied: Proxied, options: ProxyOptions): void {
  const { incoming, outgoing, url, body, fail } = proxied
  const isDocument = isNavigation(incoming.headers)
  const upstream = send(url, {
    method: incoming.method,
    headers: {
      ...withoutHops(incoming.headers),
      host: url.host,
      ...(isDocument && { 'accept-encoding': 'identity' }),
    },
    agent: false,
  })
  upstream.on('error', (error: NodeJS.ErrnoException) => {
    if (!outgoing.headersSent) fail(error.code ?? error.message)
    else outgoing.destroy()
  })
  outgoing.on('close', () => upstream.destroy())
  upstream.on('response', (response) => passOn(response, isDocument, proxied, options))
  upstream.end(body)
}

/** Passes a response on: a document as a whole, with the scripts in it, anything else piece by piece. */
function passOn(
  response: IncomingMessage,
  isDocument: boolean,
  { outgoing, respond }: Proxied,
  options: ProxyOptions,
): void {
  const headers = flat(withoutHops(response.headers))
  const status = response.statusCode ?? 502
  const type = headers['content-type'] ?? ''
  const isChanged = isDocument && type.includes('html') && options.scripts().length > 0
  const kept: Buffer[] = []
  let size = 0
  const text = Promise.withResolvers<string>()
  text.promise.catch(() => {})
  respond(status, headers, text.promise)
  if (!isChanged) outgoing.writeHead(status, headers)
  response.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (isChanged || (size <= maxBodyBytes && readable.test(type))) kept.push(chunk)
    if (!isChanged) outgoing.write(chunk)
  })
  response.on('end', () => {
    const all = Buffer.concat(kept).toString()
    if (isChanged) {
      const { 'content-length': _, ...rest } = headers
      const changed = withScripts(rest, all, options)
      outgoing.writeHead(status, changed.headers).write(changed.body)
    }
    outgoing.end()
    text.resolve(all)
  })
  response.on('error', (error) => {
    text.reject(error)
    outgoing.destroy()
  })
}

/** Connections that pass through unread: https and WebSockets. */
function openTunnels(isReachable: (hostname: string) => boolean) {
  const sockets = new Set<Socket | Duplex>()
  return {
    connect(incoming: IncomingMessage, socket: Duplex): void {
      const { hostname, port } = new URL(`http://${incoming.url}`)
      tunnel(socket, hostname, Number(port || 443), () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      })
    },
    upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
      const url = URL.parse(incoming.url ?? '')
      if (url === null) return void socket.destroy()
      tunnel(socket, url.hostname, Number(url.port || 80), (upstream) => {
        const headers = Object.entries(incoming.headers).map(([name, value]) => `${name}: ${value}`)
        upstream.write([`${incoming.method} ${url.pathname}${url.search} HTTP/1.1`, ...headers, '', ''].join('\r\n'))
        upstream.write(head)
      })
    },
    close(): void {
      for (const socket of sockets) socket.destroy()
    },
  }

  function tunnel(socket: Duplex, hostname: string, port: number, open: (upstream: Socket) => void): void {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    if (!isReachable(hostname)) return void socket.destroy()
    const upstream = connect(port, hostname.replace(/^\[|\]$/g, ''), () => {
      open(upstream)
      upstream.pipe(socket).pipe(upstream)
    })
    sockets.add(upstream)
    upstream
      .on('error', () => socket.destroy())
      .on('close', () => {
        sockets.delete(upstream)
        socket.destroy()
      })
  }
}

function seenRequest(
  { incoming, url, body }: ReceivedRequest,
  response: Promise<SeenResponse | null>,
  failure: () => string | null,
): SeenRequest {
  const headers = flat(incoming.headers)
  const destination = headers['sec-fetch-dest']
  const types: Readonly<Record<string, string>> = { empty: 'fetch', iframe: 'document' }
  return {
    url: () => url.href,
    method: () => incoming.method ?? 'GET',
    headers: () => headers,
    allHeaders: async () => headers,
    postData: () => (body.length === 0 ? null : body.toString()),
    postDataJSON: (): unknown => JSON.parse(body.toString()),
    isNavigationRequest: () => isNavigation(incoming.headers),
    resourceType: () => types[destination ?? ''] ?? destination ?? 'other',
    frame: () => ({
      parentFrame: () => (destination === 'iframe' ? {} : null),
      url: () => headers.referer ?? url.href,
    }),
    response: () => response,
    failure: () => {
      const errorText = failure()
      return errorText === null ? null : { errorText }
    },
  }
}

/** A page that is not secure sends no Sec-Fetch headers: then a document is what accepts HTML first. */
function isNavigation(headers: IncomingHttpHeaders): boolean {
  const mode = headers['sec-fetch-mode']
  return mode === undefined ? /^text\/html/.test(headers.accept ?? '') : mode === 'navigate'
}

const hops = ['connection', 'proxy-connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'proxy-authorization']

function withoutHops(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hops.includes(name)))
}

function flat(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  )
}

/**
 * Puts scripts before those of a document, in a way that its policy permits. A document that its own policy isolates, as the
 * service's frames are, is left alone.
 */
function withScripts(
  headers: Record<string, string>,
  html: string,
  options: Pick<ProxyOptions, 'scripts' | 'newNonce'>,
): { headers: Record<string, string>; body: string } {
  const name = Object.keys(headers).find((each) => each.toLowerCase() === 'content-security-policy')
  const policy = name === undefined ? '' : headers[name]!
  const scripts = options.scripts()
  const isIsolated = /(^|[;,])\s*sandbox\b/.test(policy)
  if (scripts.length === 0 || isIsolated) return { headers, body: html }
  const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? options.newNonce()
  const inlined = scripts.map(
    (script) => `<script nonce="${nonce}">${script.replace(/<\/(script)/gi, '<\\/$1')}</script>`,
  )
  const body = html.replace(/^(\s*<!doctype[^>]*>)?(\s*<html[^>]*>)?(\s*<head[^>]*>)?/i, `$&${inlined.join('')}`)
  if (name === undefined || policy.includes('nonce-')) return { headers, body }
  return { headers: { ...headers, [name]: withNonce(policy, nonce) }, body }
}

/** Permits the nonce where scripts are limited. Beside 'unsafe-inline' it would forbid what that permits. */
function withNonce(policy: string, nonce: string): string {
  const directives = policy.split(';').map((directive) => directive.trim())
  const name = ['script-src-elem', 'script-src', 'default-src'].find((each) =>
    directives.some((directive) => directive.split(/\s+/)[0] === each),
  )
  return directives
    .flatMap((directive) => {
      const [own, ...sources] = directive.split(/\s+/)
      if (own !== name || sources.includes("'unsafe-inline'")) return [directive]
      const permitted = [...sources.filter((source) => source !== "'none'"), `'nonce-${nonce}'`].join(' ')
      return own === 'default-src' ? [directive, `script-src ${permitted}`] : [`${own} ${permitted}`]
    })
    .join('; ')
}
