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
import { decisionText } from '#compat/decisions.ts'
import type { RestoredRequest } from '#runtime/replay.ts'
import { type Assets, assetRoutes } from './assets.ts'
import { respondToBroken, trackConnection } from './broken-input.ts'
import { receivedRequest, writeResponse } from './exchange.ts'
import { archiveRoutes } from './export-import.ts'
import { frameRoutes } from './frames.ts'
import { type DemoProject, pageRoutes } from './pages/demo.ts'
import { docsRoutes } from './pages/docs.ts'
import { inspectorRoutes } from './pages/inspector.ts'
import { mcpRoutes } from './pages/mcp.ts'
import { playgroundRoutes } from './pages/playground.ts'
import { createPipeline, type PipelineOptions, replay, respondTo } from './pipeline.ts'
import { createEventStreams } from './streams/event-stream.ts'
import { createUpgrades } from './streams/upgrades.ts'

interface ServerOptions extends PipelineOptions {
  assets: Assets
  /** How long an import may send nothing, milliseconds. */
  import_idle_ms?: number | undefined
  /** Returns the origin of this server on a port. */
  urlAt(port: number): string
  /** Certificate and private key of https; undefined for http. */
  tls: { cert: string; key: string } | undefined
  /** The projects of the seed with their well-known keys. The first is the project of the demo host. */
  seeded_projects: readonly [
    DemoProject & { live_secret_key: string },
    ...(DemoProject & { live_secret_key: string })[],
  ]
}

export interface SandboxServer {
  /** The bound port, and the URL with it; 0 and empty before `listen`. */
  readonly port: number
  readonly url: string
  /**
   * Resolves once the port is bound; 0 picks a free one. Without a host it is 127.0.0.1, and ::1 where it
   * exists: clients resolve `localhost` to either. Rejects with EADDRINUSE when the port of one of them is taken.
   */
  listen(host: string | undefined, port: number): Promise<void>
  /** Takes a request of the journal through the pipeline again. Returns the request_id of the new exchange. */
  replay(request: RestoredRequest, signal: AbortSignal): Promise<string>
  /** Stops accepting, ends event streams, and finishes what is under way, for at most five seconds. */
  close(): Promise<void>
}

export const defaultHost = '127.0.0.1'

/** How long a request may take to arrive, and a connection may be idle, milliseconds. */
const arrivalTimeoutMs = 10_000
const idleTimeoutMs = 30_000
/** How long a stop waits for what is under way, and how often it looks for idle connections, milliseconds. */
const stopTimeoutMs = 5_000
const idleCheckMs = 20

export function createServer(options: ServerOptions): SandboxServer {
  const { services, assets, tls } = options
  const pipeline = createPipeline(options)
  const streams = createEventStreams(services)
  const inspector = inspectorRoutes(services, assets, options.guard, options.seeded_projects)
  pipeline.page = inspector.page
  const upgrades = services.strict ? null : createUpgrades(loadSockets, services.report)
  pipeline.routes.add(
    ...assetRoutes(assets),
    ...frameRoutes(services, assets),
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
      if (uploads === 0) for (const server of servers) server.requestTimeout = arrivalTimeoutMs
    }
  }
  let isClosing = false

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const connection = trackConnection(incoming, outgoing)
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
      headersTimeout: arrivalTimeoutMs,
      requestTimeout: arrivalTimeoutMs,
      keepAliveTimeout: idleTimeoutMs,
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

  let bound = 0
  let url = ''
  return {
    get port() {
      return bound
    },
    get url() {
      return url
    },
    async listen(host, port) {
      for (let attempts = 1; ; attempts++) {
        try {
          bound = await bindAll(host, port)
          url = options.urlAt(bound)
          return
        } catch (error) {
          await Promise.all(servers.splice(0).map(stop))
          // A free port of one address may be taken on the other.
          if (port !== 0 || attempts === maxBindAttempts || !isTaken(error)) throw error
        }
      }
    },
    replay: (request, signal) => replay(pipeline, request, signal),
    async close() {
      isClosing = true
      streams.close()
      const force = setTimeout(() => {
        for (const server of servers) server.closeAllConnections()
      }, stopTimeoutMs)
      await Promise.all([upgrades?.close(), ...servers.map(stop)])
      clearTimeout(force)
    },
  }

  async function loadSockets() {
    const { createDecisionSockets } = await import('./streams/decision-sockets.ts')
    const readMessage = (slot_id: number) => decisionText(services, slot_id)
    return createDecisionSockets({
      services,
      readMessage: readMessage,
      respondTo: (request) => respondTo(pipeline, request),
    })
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
const maxBindAttempts = 10

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
  return createServer({ ...options, handshakeTimeout: arrivalTimeoutMs }, handle)
}

/** Resolves when the last connection has ended. One that is idle, now or once it has its response, is closed. */
function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const idle = setInterval(() => server.closeIdleConnections(), idleCheckMs)
    server.close(() => {
      clearInterval(idle)
      resolve()
    })
  })
}
