/** The HTTP server: contract to routes, and the answers that are due before any route. */
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { ApiError } from '../../src/contract/errors.ts'
import { encodeId } from '../../src/contract/ids.ts'
import { contract } from '../../src/contract/index.ts'
import { type JsonEndpointId, operations } from '../operations/index.ts'
import { registerArchive } from './archive.ts'
import type { Assets } from './assets.ts'
import { isKnownOrigin, preflightHeaders, readableBy } from './cors.ts'
import { type DemoProject, demoPaths, registerDemo } from './pages.ts'
import { type EventStreams, registerEventStream } from './event-stream.ts'
import { registerFaults } from './faults.ts'
import { checkControl, hostGuard } from './cross-origin.ts'
import { homePage } from './home-page.ts'
import { assetPaths, registerMedia } from './media.ts'
import { type Door, errorAnswer, header, jsonHandler, openExchange, record, send, toApiError } from './pipeline.ts'
import { registerReplays } from './replays.ts'

export interface ServerOptions {
  door: Door
  assets: Assets
  host: string
  /** Whether the sandbox listens beyond loopback. */
  isPublic: boolean
  admin_token: string
  demo_project: DemoProject
}

export interface HttpServer {
  app: FastifyInstance
  streams: EventStreams
}

/** How long a request may take to arrive, milliseconds. */
const arriveWithin_ms = 10_000

export function createServer(options: ServerOptions): HttpServer {
  const { door, assets } = options
  const app = Fastify({
    logger: false,
    exposeHeadRoutes: true,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    keepAliveTimeout: 30_000,
    requestTimeout: arriveWithin_ms,
    http: { headersTimeout: arriveWithin_ms, connectionsCheckingInterval: 1_000, requireHostHeader: false },
    routerOptions: { maxParamLength: 1_024 },
    clientErrorHandler(error, socket) {
      answerBroken(door, error, socket)
    },
    frameworkErrors(error, request, reply) {
      void answerError(door, request, reply as FastifyReply, asApiError(error))
    },
  })
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  const checkHost = hostGuard(options.host)
  app.addHook('onRequest', (request, reply, done) => {
    try {
      checkHost(request.headers.host)
      if (isControlPlane(request)) {
        const { origin } = request.headers
        const sec_fetch_site = header(request, 'sec-fetch-site')
        const token = header(request, 'x-sandbox-token')
        const own = door.services.base_url
        checkControl(
          { method: request.method, origin, sec_fetch_site, token },
          own,
          options.admin_token,
          options.isPublic,
        )
      }
      if (request.method === 'OPTIONS' && header(request, 'access-control-request-method') !== undefined) {
        answerPreflight(door, request, reply).catch(door.services.report)
      } else if (request.is404) throw missingRoute(request)
      else done()
    } catch (thrown) {
      answerError(door, request, reply, thrown).catch(door.services.report)
    }
  })
  registerReplays(app, door.replays)
  registerFaults(app, door)
  app.setErrorHandler((error, request, reply) => answerError(door, request, reply, asApiError(error)))
  app.setNotFoundHandler((request, reply) => answerError(door, request, reply, missingRoute(request)))

  for (const [id, endpoint] of Object.entries(contract) as [JsonEndpointId, Endpoint][]) {
    if (!(id in operations)) continue
    app.route({
      method: endpoint.method,
      url: routeOf(endpoint),
      bodyLimit: endpoint.body_limit_bytes,
      handler: jsonHandler(door, id, endpoint),
    })
  }
  registerMedia(app, door, assets)
  registerArchive(app, door)
  registerDemo(app, { door, assets, project: options.demo_project, token: options.admin_token })
  const streams = registerEventStream(app, door)
  app.get('/_sandbox/', (_request, reply) => homePage(door.services, reply))
  app.get('/', (request, reply) => {
    const { context } = openExchange(door, request, reply)
    return reply.header('x-request-id', context.request_id).redirect('/_sandbox/')
  })
  return { app, streams }
}

/** By the route that was matched: a path has many spellings, `/%5fsandbox/` and `http://host/_sandbox/` among them. */
function isControlPlane({ routeOptions, url }: FastifyRequest): boolean {
  return (routeOptions.url ?? url).startsWith('/_sandbox')
}

function routeOf(endpoint: Endpoint): string {
  return endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1')
}

const routes = [
  ...Object.values(contract as Record<string, Endpoint>),
  ...[...assetPaths, ...demoPaths].map((path) => ({ method: 'GET', path })),
].map(({ method, path }) => ({ method, path: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }))

function methodsOf(url: string): string[] {
  const path = url.split('?')[0]!
  const methods = routes.filter((route) => route.path.test(path)).map((route) => route.method)
  return methods.includes('GET') ? [...methods, 'HEAD'] : methods
}

/** 405 with Allow when the path exists for other methods, else 404: of files, only some are there. */
function missingRoute(request: FastifyRequest): ApiError {
  const methods = methodsOf(request.url)
  if (methods.length === 0 || methods.includes(request.method)) {
    return new ApiError('not_found', {
      message: 'There is no such path.',
      hint: 'See GET /_sandbox/contract, or svc contract show, for the paths there are.',
    })
  }
  return new ApiError('method_not_allowed', { headers: { allow: [...methods, 'OPTIONS'].join(', ') } })
}

async function answerError(
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
  thrown: unknown,
): Promise<FastifyReply> {
  const exchange = openExchange(door, request, reply)
  const error = toApiError(door.services, thrown, exchange.context.request_id)
  const answer = errorAnswer(exchange.context, error)
  const { origin } = exchange.context
  if (request.url.startsWith('/v1/')) {
    if (origin !== null && (await isKnownOrigin(door.services, origin)))
      Object.assign(answer.headers, readableBy(origin))
    record(door, exchange, answer)
  }
  return send(reply, answer)
}

async function answerPreflight(door: Door, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const exchange = openExchange(door, request, reply)
  const { origin } = exchange.context
  if (origin === null || !request.url.startsWith('/v1/') || !(await isKnownOrigin(door.services, origin))) {
    const error = new ApiError('origin_not_allowed', {
      message: `No project of this sandbox allows the origin ${origin === null ? '(none)' : origin.slice(0, 256)}.`,
    })
    return answerError(door, request, reply, error)
  }
  const isPrivate = header(request, 'access-control-request-private-network') === 'true'
  const methods = methodsOf(request.url)
  const headers = {
    'x-request-id': exchange.context.request_id,
    vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    ...preflightHeaders(origin, methods, isPrivate),
  }
  const answer = { status: 204, headers, body: '', error: null }
  record(door, exchange, answer)
  return send(reply, answer)
}

/** Errors of the server itself, before a handler runs. */
function asApiError(error: unknown): unknown {
  if (error instanceof ApiError || !(error instanceof Error) || !('code' in error)) return error
  const code = String(error.code)
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new ApiError('payload_too_large')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new ApiError('content_type_unsupported')
  if (code.startsWith('FST_ERR_CTP_') || code === 'FST_ERR_BAD_URL' || code === 'FST_ERR_MAX_PARAM_LENGTH') {
    return new ApiError('http_malformed')
  }
  if (code === 'FST_ERR_ASYNC_CONSTRAINT') return new ApiError('http_malformed')
  if (code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ECONNRESET') return new ApiError('http_malformed')
  return error
}

/** What is not HTTP gets an answer all the same, then the connection is closed. */
function answerBroken(door: Door, error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const late = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
  const request_id = encodeId('req', door.services.platform.newId())
  const problem = new ApiError('http_malformed', late ? { message: 'The request did not arrive in time.' } : {})
  const body = JSON.stringify(problem.toBody(request_id))
  socket.end(
    [
      'HTTP/1.1 400 Bad Request',
      'content-type: application/json; charset=utf-8',
      `x-request-id: ${request_id}`,
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}
