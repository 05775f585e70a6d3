/**
 * The HTTP server: sockets, timeouts, input that is not HTTP, and shutdown. What happens to a request is in
 * pipeline.ts.
 */
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { ServerOptions as TlsServerOptions } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { decisionText } from '#compat/index.ts'
import { ApiError } from '#contract/errors.ts'
import { encodeId } from '#contract/ids.ts'
import { contract } from '#contract/index.ts'
import { withoutQuery } from '#foundation/http.ts'
import type { Services } from '#operations/context.ts'
import type { Surface } from '#runtime/access.ts'
import type { RestoredRequest } from '#runtime/replay.ts'
import { archiveRoutes } from './archive.ts'
import type { DecisionSockets } from './decision-sockets.ts'
import { createEventStreams } from './event-stream.ts'
import { type Route, receivedRequest, writeResponse } from './exchange.ts'
import { type Assets, docsRoutes, mediaRoutes } from './media.ts'
import { type DemoProject, pageRoutes, playgroundRoutes } from './pages/demo.ts'
import { inspectorRoutes } from './pages/inspector.ts'
import { mcpRoutes } from './pages/mcp.ts'
import { createPipeline, type PipelineOptions, replay, respondTo } from './pipeline.ts'

interface ServerOptions extends PipelineOptions {
  assets: Assets
  /** How long an import may send nothing, milliseconds. */
  import_idle_ms?: number | undefined
  /** Certificate and private key of https; undefined for http. */
  tls: { cert: string; key: string } | undefined
  /** The projects of the seed with their well-known keys. The first is the project of the demo host. */
  seeded_projects: readonly [
    DemoProject & { live_secret_key: string },
    ...(DemoProject & { live_secret_key: string })[],
  ]
}

interface SandboxServer {
  /**
   * Resolves with the port once it is bound; 0 picks a free one. Without a host it is 127.0.0.1, and ::1 where it
   * exists: clients resolve `localhost` to either. Rejects with EADDRINUSE when the port of one of them is taken.
   */
  listen(host: string | undefined, port: number): Promise<number>
  /** Takes a request of the journal through the pipeline again. Returns the request_id of the new exchange. */
  replay(request: RestoredRequest, signal: AbortSignal): Promise<string>
  /** Stops accepting, ends event streams, and finishes what is under way, for at most five seconds. */
  close(): Promise<void>
}

export const defaultHost = '127.0.0.1'

/** How long a request may take to arrive, and a connection may be idle, milliseconds. */
const arrival_ms = 10_000
const idle_ms = 30_000
/** How long a stop waits for what is under way, and how often it looks for idle connections, milliseconds. */
const stop_ms = 5_000
const idle_check_ms = 20

export function createServer(options: ServerOptions): SandboxServer {
  const { services, assets, tls } = options
  const pipeline = createPipeline(options)
  const streams = createEventStreams(services)
  const inspector = inspectorRoutes(services, assets, options.guard, options.seeded_projects)
  pipeline.page = inspector.page
  const upgrades = services.strict ? null : createUpgrades(loadSockets, services.report)
  pipeline.routes.add(
    ...mediaRoutes(services, assets),
    ...archiveRoutes(services, withoutDeadline, options.import_idle_ms),
    ...pageRoutes(pipeline, assets, options.seeded_projects[0]),
    ...docsRoutes(pipeline.services, assets),
    ...mcpRoutes(pipeline, options.seeded_projects[0]),
    ...inspector.routes,
    ...playgroundRoutes(pipeline),
    streams.route,
    ...(upgrades?.routes ?? []),
  )
  const servers: Server[] = []
  let uploads = 0
  /** The deadline is per server, not per request: other requests have none either while a file is uploaded. */
  async function withoutDeadline<Result>(work: () => Promise<Result>): Promise<Result> {
    uploads++
    for (const server of servers) server.requestTimeout = 0
    try {
      return await work()
    } finally {
      uploads--
      if (uploads === 0) for (const server of servers) server.requestTimeout = arrival_ms
    }
  }
  let isClosing = false

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const connection = connectionOf(incoming, outgoing)
    try {
      const request = receivedRequest(incoming, outgoing)
      const { response } = await respondTo(pipeline, request)
      if (connection.isBroken && !incoming.complete) return
      if (isClosing) outgoing.shouldKeepAlive = false
      await writeResponse(outgoing, request, response)
    } catch (error) {
      services.report(error)
      outgoing.destroy()
    }
  }

  const bind = async (host: string, port: number): Promise<Server> => {
    const times = {
      headersTimeout: arrival_ms,
      requestTimeout: arrival_ms,
      keepAliveTimeout: idle_ms,
      connectionsCheckingInterval: 1_000,
      // A missing Host is a 400 of the contract.
      requireHostHeader: false,
    }
    const server =
      tls === undefined ? createHttpServer(times, handle) : await createTlsServer({ ...times, ...tls }, handle)
    // An expectation that is not 100-continue is ignored, which RFC 9110 allows.
    server.on('checkExpectation', handle)
    upgrades?.attach(server)
    server.on('clientError', (error, socket) => respondToBroken(services, error, socket as Socket))
    server.listen({ host, port })
    await once(server, 'listening')
    // A connection that cannot be accepted, as without descriptors, ends no sandbox.
    server.on('error', services.report)
    servers.push(server)
    return server
  }

  return {
    async listen(host, port) {
      for (let attempts = 1; ; attempts++) {
        try {
          return await bindAll(host, port)
        } catch (error) {
          await Promise.all(servers.splice(0).map(stop))
          // A free port of one address may be taken on the other.
          if (port !== 0 || attempts === maxAttempts || !isTaken(error)) throw error
        }
      }
    },
    replay: (request, signal) => replay(pipeline, request, signal),
    async close() {
      isClosing = true
      streams.close()
      const force = setTimeout(() => {
        for (const server of servers) server.closeAllConnections()
      }, stop_ms)
      await Promise.all([upgrades?.close(), ...servers.map(stop)])
      clearTimeout(force)
    },
  }

  async function loadSockets() {
    const { createDecisionSockets } = await import('./decision-sockets.ts')
    const messageOf = (slot_id: number) => decisionText(services, slot_id)
    return createDecisionSockets({ services, messageOf, respondTo: (request) => respondTo(pipeline, request) })
  }

  /** Binds the host, and what else `localhost` means to a client. Returns the port. */
  async function bindAll(host: string | undefined, port: number): Promise<number> {
    const bound = (await bind(host ?? defaultHost, port)).address() as AddressInfo
    for (const address of await otherAddresses(host, bound.address)) {
      await bind(address, bound.port).catch((error) => {
        // Another program there would get the requests to `localhost`, with the key. An address that cannot be bound
        // is not there.
        if (isTaken(error)) throw error
      })
    }
    return bound.port
  }
}

/** How often a free port is looked for. */
const maxAttempts = 10

function isTaken(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
}

/** Returns the addresses besides the bound one that clients may try for `localhost`. */
async function otherAddresses(host: string | undefined, bound: string): Promise<string[]> {
  if (host === undefined || host === '0.0.0.0') return ['::1']
  if (host !== 'localhost') return []
  const addresses = await lookup('localhost', { all: true }).catch(() => [])
  return addresses.map(({ address }) => address).filter((address) => address !== bound)
}

/** Loads the module only where it is needed. */
async function createTlsServer(options: TlsServerOptions, handle: RequestListener): Promise<Server> {
  const { createServer } = await import('node:https')
  return createServer({ ...options, handshakeTimeout: arrival_ms }, handle)
}

/** Resolves when the last connection has ended. One that is idle, now or once it has its response, is closed. */
function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const idle = setInterval(() => server.closeIdleConnections(), idle_check_ms)
    server.close(() => {
      clearInterval(idle)
      resolve()
    })
  })
}

/** The last requests of a connection: a client may send the next one before it has the response. */
interface Connection {
  incoming: IncomingMessage
  outgoing: ServerResponse
  /** The response before `outgoing`. */
  before: ServerResponse | null
  /** Set once nothing more can be read. A request that is incomplete then gets the error in the place of its response. */
  isBroken: boolean
}

const connections = new WeakMap<Socket, Connection>()

function connectionOf(incoming: IncomingMessage, outgoing: ServerResponse): Connection {
  const known = connections.get(incoming.socket)
  if (known !== undefined) {
    known.before = known.outgoing
    known.incoming = incoming
    known.outgoing = outgoing
    return known
  }
  const connection = { incoming, outgoing, before: null, isBroken: false }
  connections.set(incoming.socket, connection)
  return connection
}

/** How long a connection stays half open after its last response, for the client to read it, milliseconds. */
const linger_ms = 1_000

/**
 * Responds to input that is not HTTP or never fully arrived, then closes the connection. Bytes on a connection are
 * responses in the order of their requests, one each: the error waits for responses under way, and is left out for a
 * request that has its response already, such as one whose body is too large and then stalls.
 */
function respondToBroken(services: Services, error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ERR_SSL_HTTP_REQUEST') {
    respondInPlain(services, socket)
    return
  }
  // After a failed handshake, nobody can read a response.
  const isHandshake = /^(ERR_SSL|ERR_TLS|EPROTO)/.test(error.code ?? '')
  // A browser opens connections in advance: a response before the request would be taken for its own.
  const isUnused = socket.bytesRead === 0
  if (error.code === 'ECONNRESET' || isHandshake || isUnused || !socket.writable) {
    socket.destroy()
    return
  }
  const connection = connections.get(socket)
  if (connection === undefined) {
    endWith(socket, brokenResponse(services, error))
    return
  }
  const { incoming, outgoing, before, isBroken } = connection
  if (isBroken) return
  connection.isBroken = true
  if (incoming.complete) after(outgoing, () => endWith(socket, brokenResponse(services, error)))
  else if (outgoing.headersSent) after(outgoing, () => endWith(socket, ''))
  else after(before, () => endWith(socket, brokenResponse(services, error)))
}

/**
 * Responds to plain HTTP on a port of https, below TLS, as other servers do: a client would only see a connection that
 * was closed. Node has no public way to the socket below.
 */
function respondInPlain(services: Services, socket: Socket & { _parent?: Socket | null }): void {
  const { _parent: below } = socket
  const own = services.base_url.startsWith('https:') ? services.base_url : services.url
  const problem = new ApiError('http_malformed', {
    message: 'This sandbox speaks https, and the request came as plain http.',
    hint: `Use ${own}`,
  })
  if (below == null || below.destroyed) {
    socket.destroy()
    return
  }
  below.write(rawResponse(services, problem), () => {
    socket.destroy()
    below.destroy()
  })
}

/** Calls back once a response has been handed to the socket, or has been given up. */
function after(outgoing: ServerResponse | null, then: () => void): void {
  if (outgoing === null || outgoing.writableFinished) then()
  else outgoing.once('close', then)
}

function endWith(socket: Socket, bytes: string): void {
  if (!socket.writable) return
  socket.end(bytes)
  socket.setTimeout(linger_ms, () => socket.destroy())
}

function brokenResponse(services: Services, { code }: { code?: string }): string {
  const isLate = code === 'ERR_HTTP_REQUEST_TIMEOUT'
  const problem = new ApiError('http_malformed', isLate ? { message: 'The request did not arrive in time.' } : {})
  return rawResponse(services, problem)
}

function rawResponse({ platform, base_url }: Services, problem: ApiError): string {
  const request_id = encodeId('req', platform.newId())
  const body = JSON.stringify(problem.toBody(request_id, base_url))
  return [
    'HTTP/1.1 400 Bad Request',
    'content-type: application/json; charset=utf-8',
    `x-request-id: ${request_id}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}

/**
 * Which requests become WebSockets. Node takes every request with an Upgrade header for one as soon as there is a
 * listener for upgrades, including those of clients that offer HTTP/2 with each request: such a request must get its
 * normal response.
 */
interface Upgrades {
  /** The paths of the sockets: 426 for a request that is not a handshake. */
  routes: Route[]
  /** Makes a server treat handshakes, and nothing else, as upgrades. */
  attach(server: Server): void
  /** Ends every socket, and resolves when all have ended. */
  close(): Promise<void>
}

const surfaces = ['wrapper', 'browser'] as const satisfies readonly Surface[]

/** `load`: loads the sockets. It is called with the first request to one of their paths. */
function createUpgrades(load: () => Promise<DecisionSockets>, report: (error: unknown) => void): Upgrades {
  let loaded: Promise<DecisionSockets> | undefined
  const sockets = () => (loaded ??= load())
  return {
    routes: surfaces.map((surface) => ({
      method: 'GET',
      path: contract[`${surface}.socket`].path,
      respond: async (exchange) => (await sockets()).respond(surface, exchange),
    })),
    attach(server) {
      // Node 24.9 and later; before that, every upgrade is handed over, and the others are given back.
      Object.assign(server, { shouldUpgradeCallback: isHandshake })
      server.on('upgrade', (incoming: IncomingMessage, stream: Duplex, head: Buffer) => {
        if (!isHandshake(incoming)) return giveBack(server, incoming, stream, head)
        sockets()
          .then(({ upgrade }) => upgrade(incoming, stream, head))
          .catch((error) => {
            report(error)
            stream.destroy()
          })
      })
    },
    close: async () => (await loaded)?.close(),
  }
}

/** Whether a request asks for a WebSocket on a path that has them. */
function isHandshake({ method, url = '', headers }: IncomingMessage): boolean {
  if (method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return false
  return withoutQuery(url).endsWith('/decision/ws')
}

/** Makes a server read a request again, without its Upgrade header. */
function giveBack(server: Server, incoming: IncomingMessage, stream: Duplex, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = incoming
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (!/^(upgrade|connection|http2-settings)$/i.test(name)) lines.push(`${name}: ${rawHeaders[index + 1]}`)
  }
  stream.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  server.emit('connection', stream)
}
