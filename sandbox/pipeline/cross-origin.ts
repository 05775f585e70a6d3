/**
 * What protects a sandbox beside a browser, and what lets pages use it. Every request must name this host (against DNS
 * rebinding); the control plane serves no page but its own; v1 responses are readable by the origins that some project
 * allows (A90 to A93). Credentials are never allowed by CORS.
 */
import { ApiError } from '../../src/contract/errors.ts'
import { contract } from '../../src/contract/index.ts'
import { isOriginAllowed, serializeOrigin } from '../domain/settings.ts'
import type { Services } from '../operations/context.ts'
import { type Exchange, headerOf, type Request, type Response } from './exchange.ts'

export interface GuardOptions {
  /** The host that the sandbox was started with. */
  host: string
  /** Whether it listens beyond loopback. */
  isPublic: boolean
  /** Proves to the control plane that a write comes from its own pages. */
  admin_token: string
}

const ownHosts = new Set(['localhost', '127.0.0.1', '[::1]'])
const mostKnownHosts = 64

/** Checks Host headers. One that was accepted is cached by its text: a client sends the same with every request. */
export function hostGuard({ host: configured }: GuardOptions): (header: string | undefined) => void {
  const own = configured.toLowerCase()
  const known = new Set<string | undefined>()
  /** @throws ApiError 421 when the Host header names neither loopback nor the configured host */
  return (header) => {
    if (known.has(header)) return
    const host = header?.toLowerCase().replace(/:\d{1,5}$/, '') ?? ''
    if (!ownHosts.has(host) && host !== own && host !== `[${own}]`) throw new ApiError('host_not_allowed')
    if (known.size < mostKnownHosts) known.add(header)
  }
}

/**
 * Programs on loopback need nothing. A browser, known by Origin or Sec-Fetch-Site, must be on the sandbox's own origin,
 * and must carry the token of this start to write. A sandbox that listens beyond loopback demands the token of all.
 * @throws ApiError 403 origin_refused
 */
export function checkControlPlane(request: Request, own_origin: string, { admin_token, isPublic }: GuardOptions): void {
  const hasToken = headerOf(request, 'x-sandbox-token') === admin_token
  if (isPublic && !hasToken) {
    throw new ApiError('origin_refused', {
      message: 'This sandbox listens beyond loopback: its control plane needs the admin token.',
      hint: 'Send the admin token that svc start has printed in the x-sandbox-token header.',
    })
  }
  const { origin } = request.headers
  const sec_fetch_site = headerOf(request, 'sec-fetch-site')
  if (origin === undefined && sec_fetch_site === undefined) return
  const isOwn = (origin === undefined || origin === own_origin) && isOwnSite(sec_fetch_site)
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (!isOwn || (!isRead && !hasToken)) throw new ApiError('origin_refused')
}

/** `none` is an address that was typed. */
function isOwnSite(sec_fetch_site: string | undefined): boolean {
  return sec_fetch_site === undefined || sec_fetch_site === 'same-origin' || sec_fetch_site === 'none'
}

/** `date` beside those of A90: the renderer corrects a wrong client clock by it. */
export const exposedHeaders =
  'x-request-id, date, retry-after, ratelimit, ratelimit-policy, x-sandbox-warning, x-sandbox-would-bill, x-sandbox-slot-ids, x-sandbox-fault'

/** Of files that any page may load (A91). */
export const publicHeaders = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff',
}

/** Lets the page that sent a v1 request read the response: one of a known origin, or any that activates (A90). */
export async function addCors(services: Services, { context, request }: Exchange, response: Response): Promise<void> {
  const { origin } = context
  if (origin === null || !request.path.startsWith('/v1/')) return
  if (response.error?.reason_code === 'origin_mismatch') return
  const isActivation = request.path === contract['browser.activate'].path && serializeOrigin(origin) !== null
  if (isActivation || (await isKnownOrigin(services, origin))) Object.assign(response.headers, readableBy(origin))
}

/** Whether a request asks what a page may send. */
export function isPreflight(request: Request): boolean {
  return request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
}

/** The response to a preflight. @throws ApiError 403 when no project allows the origin */
export async function preflightResponse(
  services: Services,
  { context, request }: Exchange,
  methods: readonly string[],
): Promise<Response> {
  const { origin, request_id } = context
  if (origin === null || !request.path.startsWith('/v1/') || !(await isKnownOrigin(services, origin))) {
    throw new ApiError('origin_not_allowed', {
      message: `No project of this sandbox allows the origin ${origin === null ? '(none)' : origin.slice(0, 256)}.`,
    })
  }
  const isPrivate = headerOf(request, 'access-control-request-private-network') === 'true'
  const headers = {
    'x-request-id': request_id,
    vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    ...readableBy(origin),
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': 'authorization, content-type, if-none-match',
    'access-control-max-age': '600',
    ...(isPrivate ? { 'access-control-allow-private-network': 'true' } : {}),
  }
  return { status: 204, headers, body: '' }
}

/** Whether some project of this sandbox allows the origin, in the mode that allows most. */
async function isKnownOrigin(services: Services, origin: string): Promise<boolean> {
  if (serializeOrigin(origin) === null) return false
  const projects = await services.store.listProjects()
  return projects.some(({ settings }) => isOriginAllowed(origin, settings.allowed_origins, 'test'))
}

/** Headers that let a page of `origin` read the response. */
function readableBy(origin: string): Record<string, string> {
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposedHeaders }
}
