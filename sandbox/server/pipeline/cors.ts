/**
 * What pages of other origins may read (A90, A91, C01): v1 responses if some project allows the origin, files always.
 * CORS credentials are never allowed. Of the control plane, only the routes of the console on a page have CORS (A93, A114).
 */
import { ApiError } from '#contract/errors.ts'
import { contract } from '#contract/index.ts'
import { originOfUrl, serializeOrigin } from '#contract/origins.ts'
import { allowsOrigin, type Services } from '#operations/context.ts'
import { type OpenExchange, type PipelineResponse, type Request, readHeader } from './exchange.ts'

/** The headers of A90, and `date`: the renderer uses it to correct a wrong client clock. */
const exposedHeaders =
  'x-request-id, date, retry-after, ratelimit, ratelimit-policy, x-sandbox-warning, x-sandbox-would-bill, x-sandbox-slot-ids, x-sandbox-fault, x-sandbox-source, x-sandbox-trace'

const documentHeaders = 'authorization, content-type, if-none-match'

/** Request headers that a page may send, including headers of old clients (C01) and of tracing libraries. */
const allowedHeaders = `${documentHeaders}, x-csl-wrapper-version, traceparent, tracestate, sentry-trace, baggage`

/** The headers of files that any page may load (A91). */
export const publicHeaders = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff',
}

/** Whether a path is that of a file which any page may load. */
export function isPublicFile(path: string): boolean {
  return path === '/v1/render.js' || path.startsWith('/v1/test-assets/') || path.startsWith('/assets/')
}

/** Lets the page that sent a v1 request read the response, if its origin is known or it posts an activation (A90). */
export async function addCors(
  services: Services,
  { context, request }: OpenExchange,
  response: PipelineResponse,
): Promise<void> {
  const { origin } = context
  if (origin === null || !isPublic(services, request)) return
  if (response.error?.reason_code === 'origin_mismatch') return
  const isReadable = isActivation(request) && serializeOrigin(origin) !== null
  if (isReadable || (await isKnownOrigin(services, origin))) {
    Object.assign(response.headers, createCorsHeaders(origin))
  }
}

/** The routes of the control plane for pages of other origins. */
export const hostPagesRoot = '/_sandbox/console/page/'

/** Whether a request is to the API, the routes of old clients included, or of the console on a page. */
function isPublic({ strict }: Services, { path }: Request): boolean {
  return path.startsWith('/v1/') || (!strict && path.startsWith('/public/')) || path.startsWith(hostPagesRoot)
}

/** Whether any page may read the response: its key is in the body, and the developer must see why it is refused. */
function isActivation({ path }: Request): boolean {
  return path === contract['browser.activate'].path || path === contract['browser.activation'].path
}

export function isPreflight(request: Request): boolean {
  return request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
}

/** The response to a preflight. @throws ApiError 403 when no project allows the origin */
export async function preflightResponse(
  services: Services,
  { context, request }: OpenExchange,
  methods: readonly string[],
): Promise<PipelineResponse> {
  const { origin, request_id } = context
  const isOpen =
    isPublicFile(request.path) || (isPublic(services, request) && !services.strict && isActivation(request))
  const isAllowed =
    origin !== null &&
    serializeOrigin(origin) !== null &&
    (isOpen || (isPublic(services, request) && (await isKnownOrigin(services, origin))))
  if (!isAllowed) {
    throw new ApiError('origin_not_allowed', {
      message: `No project of this sandbox allows the origin ${origin === null ? '(none)' : origin.slice(0, 256)}.`,
    })
  }
  const isPrivate = readHeader(request, 'access-control-request-private-network') === 'true'
  const headers = {
    'x-request-id': request_id,
    vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    ...createCorsHeaders(origin),
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': services.strict ? documentHeaders : allowedHeaders,
    'access-control-max-age': '600',
    ...(isPrivate ? { 'access-control-allow-private-network': 'true' } : {}),
  }
  return { status: 204, headers, body: '' }
}

/** Whether a browser may have sent a request for a page elsewhere: it had no valid credential, and loaded no frame. */
export function mayBeForeign({ context, request }: OpenExchange): boolean {
  if (context.caller !== null || context.subject.slot_id !== null) return false
  return context.origin !== null || readHeader(request, 'sec-fetch-site') === 'cross-site'
}

/** Whether the page behind such a request has an origin that no project allows, or sent none. */
export async function isForeign(services: Services, { context, request }: OpenExchange): Promise<boolean> {
  const origin = context.origin ?? originOfUrl(request.headers.referer ?? '') ?? 'null'
  return origin !== services.base_url && origin !== services.url && !(await isKnownOrigin(services, origin))
}

/** Whether some project of this sandbox allows the origin, in the mode that allows most. */
export async function isKnownOrigin(services: Services, origin: string): Promise<boolean> {
  if (serializeOrigin(origin) === null) return false
  const projects = await services.store.listProjects()
  return projects.some((project) => allowsOrigin(services, project, origin, 'test'))
}

/** Headers that let a page of `origin` read the response. */
function createCorsHeaders(origin: string): Record<string, string> {
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposedHeaders }
}
