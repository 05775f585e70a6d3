/** The HTTP server: routes, listeners and shutdown. What happens to a request is in pipeline.ts. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { decisionText } from '#compat/decisions.ts'
import type { RestoredRequest } from '#runtime/replay.ts'
import { respondToBroken, trackConnection } from './broken-input.ts'
import { receivedRequest, writeResponse } from './exchange.ts'
import { type Assets, assetRoutes, recordedRoutes } from './files/assets.ts'
import { bundleRoutes } from './files/bundles.ts'
import { archiveRoutes } from './files/export-import.ts'
import { frameRoutes } from './frames.ts'
import { createListeners } from './listeners.ts'
import { consoleRoutes } from './pages/console.ts'
import { type DemoProject, pageRoutes } from './pages/demo.ts'
import { docsRoutes } from './pages/docs.ts'
import { inspectorRoutes } from './pages/inspector.ts'
import { mcpRoutes } from './pages/mcp.ts'
import { metricsRoutes } from './pages/metrics.ts'
import { playgroundRoutes } from './pages/playground.ts'
import { sheetRoutes } from './pages/sheet.ts'
import { createPipeline, type Pipeline, type PipelineOptions, replay, respondTo } from './pipeline.ts'
import { createEventStreams } from './streams/event-stream.ts'
import { createUpgrades } from './streams/upgrades.ts'

interface ServerOptions extends PipelineOptions {
  assets: Assets
  /** How long an import may send nothing, milliseconds. */
  import_idle_ms?: number | undefined
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
  /** Resolves once the port is bound; 0 picks a free one. Rejects with EADDRINUSE when it is taken. */
  listen(host: string | undefined, port: number): Promise<void>
  /** Takes a request of the journal through the pipeline again. Returns the request_id of the new exchange. */
  replay(request: RestoredRequest, signal: AbortSignal): Promise<string>
  /** Stops accepting, ends event streams, and finishes what is under way, for at most five seconds. */
  close(): Promise<void>
}

export function createServer(options: ServerOptions): SandboxServer {
  const { services, assets } = options
  const pipeline = createPipeline(options)
  const streams = createEventStreams(services)
  const inspector = inspectorRoutes(services, assets, options.guard, options.seeded_projects)
  pipeline.page = inspector.page
  const { handle, endConnections } = requestHandler(pipeline)
  const upgrades = services.strict ? null : createUpgrades(loadSockets, services.report)
  const listeners = createListeners({
    tls: options.tls,
    handle,
    attach: (server) => upgrades?.attach(server),
    onBroken: (error, socket) => respondToBroken(services, error, socket),
    report: services.report,
  })
  pipeline.routes.add(
    ...assetRoutes(assets),
    ...frameRoutes(services, assets),
    ...bundleRoutes(services, assets),
    ...archiveRoutes(services, listeners.withoutDeadline, options.import_idle_ms),
    ...pageRoutes(pipeline, assets, options.seeded_projects[0]),
    ...docsRoutes(pipeline.services, assets),
    ...mcpRoutes(pipeline, options.seeded_projects[0]),
    ...metricsRoutes(services),
    ...consoleRoutes(pipeline),
    ...inspector.routes,
    ...playgroundRoutes(pipeline),
    ...sheetRoutes(services, assets),
    streams.route,
    ...(upgrades?.routes ?? []),
  )
  pipeline.routes.add(...recordedRoutes(assets, pipeline.routes))
  let port = 0
  let url = ''
  return {
    get port() {
      return port
    },
    get url() {
      return url
    },
    async listen(host, wanted) {
      port = await listeners.listen(host, wanted)
      url = options.urlAt(port)
    },
    replay: (request, signal) => replay(pipeline, request, signal),
    async close() {
      endConnections()
      streams.close()
      await listeners.close(() => upgrades?.close())
    },
  }

  async function loadSockets() {
    const { createDecisionSockets } = await import('./streams/decision-sockets.ts')
    const readMessage = (slot_id: number) => decisionText(services, slot_id)
    return createDecisionSockets({ services, readMessage, respondTo: (request) => respondTo(pipeline, request) })
  }
}

function requestHandler(pipeline: Pipeline) {
  let isClosing = false

  return {
    handle,
    /** Ends each connection with its next response. */
    endConnections() {
      isClosing = true
    },
  }

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const connection = trackConnection(incoming, outgoing)
    try {
      const request = receivedRequest(incoming, outgoing)
      const { response } = await respondTo(pipeline, request)
      if (connection.isBroken && !incoming.complete) return
      if (isClosing) outgoing.shouldKeepAlive = false
      await writeResponse(outgoing, request, response)
    } catch (error) {
      pipeline.services.report(error)
      outgoing.destroy()
    }
  }
}
