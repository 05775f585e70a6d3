/**
 * Guards: requests must name this host, and only its own pages and programs may use the control plane. A path has many
 * spellings, `/%5fsandbox/` and `http://host/_sandbox/` among them: guards look at the route.
 */
import { includesRole, type Role } from '#contract/endpoint.ts'
import { ApiError } from '#contract/errors.ts'
import { contract } from '#contract/index.ts'
import type { Access, TokenHolder } from '#runtime/access.ts'
import { type Request, type Route, readHeader } from './exchange.ts'

export interface GuardOptions {
  /** Host names and addresses other than loopback that a request may name, in lower case; IPv6 in brackets. */
  hosts: ReadonlySet<string>
  /**
   * Whether the control plane demands a token of every client: it listens beyond loopback, has a name beyond it, or
   * shares its store.
   */
  needsToken: boolean
}

const ownHosts = new Set(['localhost', '127.0.0.1', '[::1]'])
const maxKnownHosts = 64

/** Checks Host headers. One that was accepted is cached by its text: a client sends the same one with every request. */
export function createHostGuard({ hosts }: GuardOptions): (header: string | undefined) => void {
  const known = new Set<string | undefined>()
  /** @throws ApiError 400 without a Host header, 421 when it names neither loopback nor a configured host */
  return (header) => {
    if (known.has(header)) return
    if (header === undefined) {
      throw new ApiError('http_malformed', {
        message: 'The request has no Host header.',
        hint: 'Send Host: localhost and the port of the sandbox. HTTP/1.1 requires it.',
      })
    }
    const host = header.toLowerCase().replace(/:\d{1,5}$/, '')
    const isOwn = (ownHosts.has(host) || hosts.has(host)) && URL.canParse(`http://${header}`)
    if (!isOwn) throw new ApiError('host_not_allowed')
    if (known.size < maxKnownHosts) known.add(header)
  }
}

/**
 * Programs on loopback need nothing. A browser, recognized by Origin or Sec-Fetch-Site, must be on the sandbox's own
 * origin, and needs a token to write. A link on another site can open a page, but that site cannot read it. Beyond
 * loopback, and with a shared store, all clients need a token, except for open routes. A browser cannot send a header
 * with an address, so a read may have its token in the query, or in the cookie that it was moved to. A token can do
 * what its role includes, wherever it is sent from. Its holder is noted in the request.
 * @throws ApiError 403 origin_refused or role_missing
 */
export async function checkControlPlane(
  request: Request,
  {
    isOpen = false,
    isPage = false,
    takesBearer = false,
    role,
  }: Pick<Route, 'isOpen' | 'isPage' | 'takesBearer' | 'role'>,
  guard: ControlPlane,
): Promise<void> {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  const bearer = takesBearer ? readBearer(request) : undefined
  const token = bearer ?? readToken(request, guard.needsToken && isRead)
  // An open route works without the database that has the tokens.
  // One that the sandbox makes itself has its holder already.
  request.holder ??= isOpen ? null : await findHolder(token, guard)
  if (request.holder !== null) checkRole(request.holder, role ?? (isRead ? 'read' : 'write'))
  if (!isFromBrowser(request) || (isPage && isNavigation(request))) return
  const mayAct = isRead || request.holder !== null
  if (!mayAct || !isFromOwnPage(request, guard.own_origins)) throw new ApiError('origin_refused')
}

interface ControlPlane extends Pick<GuardOptions, 'needsToken'> {
  access: Access
  own_origins: readonly string[]
}

function readToken(request: Request, mayBeInUrl: boolean): string | undefined {
  const token = readHeader(request, 'x-sandbox-token')
  return token ?? (mayBeInUrl ? (takeQueryToken(request) ?? readCookieToken(request)) : undefined)
}

function readBearer({ headers }: Request): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
}

async function findHolder(
  token: string | undefined,
  { access, needsToken }: ControlPlane,
): Promise<TokenHolder | null> {
  const holder = token === undefined ? null : await access.find(token)
  if (holder === null && needsToken) throw createTokenError(token !== undefined)
  return holder
}

function isFromBrowser(request: Request): boolean {
  return request.headers.origin !== undefined || readHeader(request, 'sec-fetch-site') !== undefined
}

function isFromOwnPage(request: Request, own_origins: readonly string[]): boolean {
  const { origin } = request.headers
  const site = readHeader(request, 'sec-fetch-site')
  // `none` means that the address was typed.
  const isOwnSite = site === undefined || site === 'same-origin' || site === 'none'
  return isOwnSite && (origin === undefined || own_origins.includes(origin))
}

function createTokenError(isSent: boolean): ApiError {
  return new ApiError('origin_refused', {
    message: isSent
      ? 'The control plane of this sandbox does not know this token, or it was revoked.'
      : 'The control plane of this sandbox needs a token: it can be reached from other computers, or is shared.',
    hint: 'Commands take a token from --control-token or SVC_CONTROL_TOKEN; other clients send it in the x-sandbox-token header, a browser as ?token=TOKEN. Use the admin token that svc start printed, or create one: svc team tokens create.',
  })
}

function checkRole({ name, role }: TokenHolder, needed: Role): void {
  if (includesRole(role, needed)) return
  throw new ApiError('role_missing', { message: `The token ${name} has the role ${role}; this needs ${needed}.` })
}

/** Returns the token of the query, which the endpoint does not see. */
function takeQueryToken(request: Request): string | undefined {
  const { token, ...query } = request.query
  if (typeof token !== 'string') return undefined
  request.query = query
  return token
}

/**
 * Returns the route of a read that is opened in a tab with its token in the address: it moves the token to a cookie,
 * for reads of this control plane alone. Any other route is returned unchanged. The pages that are open to all move it
 * with their own scripts, which need it for writes. A token in the address of a page would stay in its history, its
 * bookmarks and every copied link.
 */
export function moveTokenToCookie(route: Route, request: Request, { needsToken }: GuardOptions, isTls: boolean): Route {
  const { url, holder } = request
  const hasScript = route.isOpen === true && !probes.has(route.path)
  const target = needsToken && !hasScript && isOpened(request) ? URL.parse(url, 'http://localhost') : null
  if (target?.searchParams.has('token') !== true) return route
  target.searchParams.delete('token')
  const attributes = `Path=/_sandbox; HttpOnly; SameSite=Strict${isTls ? '; Secure' : ''}`
  return {
    ...route,
    respond: ({ context }) => ({
      status: 303,
      headers: {
        'x-request-id': context.request_id,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        location: target.pathname + target.search,
        ...(holder === null ? {} : { 'set-cookie': `${cookieName(request)}=${holder.text}; ${attributes}` }),
      },
      body: '',
    }),
  }
}

/**
 * Returns the element with the token of this start, for a document of the sandbox that a tab has opened on this computer;
 * else the empty text. Only such a document gets it: a script that merely shares the origin can neither send these headers
 * nor read the document, whose opener policy and `frame-ancestors` part it from every other page.
 */
export function documentToken(request: Request, { needsToken }: GuardOptions, start_token: string): string {
  const dest = readHeader(request, 'sec-fetch-dest')
  // Clients without the header are programs, and browsers from before 2023.
  const isDocument = request.headers.origin === undefined && (dest === undefined || dest === 'document')
  return needsToken || !isDocument ? '' : `\n<meta name="svc-token" content="${start_token}">`
}

/** Open to all, and without a script. */
const probes: ReadonlySet<string> = new Set([contract['health.live'].path, contract['health.ready'].path])

/** Cookies ignore ports, and several sandboxes may run on one host. */
function cookieName(request: Request): string {
  return `svc_token_${/:(\d+)$/.exec(readHeader(request, 'host') ?? '')?.[1] ?? 'default'}`
}

function readCookieToken(request: Request): string | undefined {
  const start = `${cookieName(request)}=`
  const pairs = request.headers.cookie?.split(/; */) ?? []
  return pairs.find((pair) => pair.startsWith(start))?.slice(start.length)
}

/** Whether a browser opens the address in its own tab. A prefetch does not count: nobody has opened it. */
function isNavigation(request: Request): boolean {
  return (
    request.method === 'GET' &&
    request.headers.origin === undefined &&
    readHeader(request, 'sec-fetch-mode') === 'navigate' &&
    readHeader(request, 'sec-fetch-dest') === 'document' &&
    readHeader(request, 'sec-purpose') === undefined
  )
}

/**
 * Whether an address is opened in a tab. Browsers that predate Sec-Fetch-Mode are recognized by their Accept header.
 */
export function isOpened(request: Request): boolean {
  const mode = readHeader(request, 'sec-fetch-mode')
  if (request.method !== 'GET') return false
  return mode === undefined ? request.headers.accept?.startsWith('text/html') === true : mode === 'navigate'
}

/** Paths of endpoints that have a page too. */
export const sharedPaths: ReadonlySet<string> = new Set([
  '/_sandbox/placements',
  '/_sandbox/placements/{slot_id}',
  '/_sandbox/bundles',
  '/_sandbox/bundles/{bundle_id}',
  '/_sandbox/beacons',
  '/_sandbox/requests',
  '/_sandbox/requests/{request_id}',
  '/_sandbox/callbacks',
  '/_sandbox/consent',
  '/_sandbox/evidence',
  '/_sandbox/billing',
  '/_sandbox/projects',
  '/_sandbox/projects/{client_id}',
])

/**
 * Whether a request of an endpoint's path is for the page in its place. `?raw`, which shows its JSON in a tab, is
 * removed.
 */
export function isForPage(request: Request): boolean {
  if (!sharedPaths.has(request.path)) return false
  if (request.query.raw === undefined) return isOpened(request)
  const { raw: _, ...query } = request.query
  request.query = query
  return false
}
