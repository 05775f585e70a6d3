/**
 * Where a request may go: to this host, to a route, and to the control plane only from its own pages or from programs.
 * A path has many spellings, `/%5fsandbox/` and `http://host/_sandbox/` among them: guards look at the route.
 */
import { parse } from 'node:querystring'
import { includesRole, type Role } from '#contract/endpoint.ts'
import { ApiError } from '#contract/errors.ts'
import { contract } from '#contract/index.ts'
import { withoutQuery } from '#foundation/http.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import type { Access, TokenHolder } from '#runtime/access.ts'
import { headerOf, type Request, type Route } from './exchange.ts'

export interface Routes {
  add(...routes: Route[]): void
  /**
   * Returns the route of a request, and notes its path, parameters and query in the request; null when there is none.
   * @throws ApiError 400 for a path that cannot be decoded, or has a parameter of more than 1 024 characters
   */
  find(request: Request): Route | null
  /** The methods that a path has routes for. HEAD uses the routes of GET. */
  methodsOf(url: string): string[]
  /**
   * Returns the fix for a path that has a route without its repeated or trailing slashes, or without the /v1 of a base
   * URL; null when there is none.
   */
  nearestHint(url: string): string | null
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

export function createRoutes(): Routes {
  const tree = createRouteTree()
  const paths = new Set<string>()
  const routeAt = (method: string, url: string) => {
    const found = tree.find(method, url)
    return found === null || found === 'malformed' ? null : found.route
  }
  const pathAt = (path: string): string | null => {
    const method = methods.find((method) => routeAt(method, path) !== null)
    return method === undefined ? null : routeAt(method, path)!.path
  }
  return {
    add(...routes) {
      for (const route of routes) {
        tree.add(route)
        paths.add(route.path)
      }
    },
    find(request) {
      const found = tree.find(request.method, request.url)
      // A method without any route still has to have a path that can be read.
      if ((found ?? tree.find('GET', request.url)) === 'malformed') throw new ApiError('http_malformed')
      if (found === null || found === 'malformed') return null
      request.path = found.route.path
      request.params = found.params
      request.query = found.query
      return found.route
    },
    methodsOf(url) {
      const found = methods.filter((method) => routeAt(method, url) !== null)
      return found.includes('GET') ? [...found, 'HEAD'] : found
    },
    nearestHint(url) {
      const sent = withoutQuery(url)
      const path = sent.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '')
      const near = path === sent ? null : pathAt(path)
      if (near !== null) return `Send it to ${near}: with single slashes and no trailing slash.`
      // A base URL that ends in the version, as with other services.
      const rest = path.startsWith('/v1/') ? pathAt(path.slice('/v1'.length)) : null
      if (rest !== null) return `Leave /v1 out of the base URL, and send it to ${rest}.`
      const meant = pathMeant(path, paths)
      return meant === null ? null : `Did you mean ${meant}?`
    },
  }
}

const longestCompared = 200

/** Returns the path that a mistyped one was probably meant for, /v1 left out included, or null. */
function pathMeant(path: string, paths: ReadonlySet<string>): string | null {
  if (path.length > longestCompared) return null
  const spellings = path.startsWith('/v1/') || path.startsWith('/_') ? [path] : [path, `/v1${path}`]
  for (const known of paths)
    if (spellings.some((spelling) => isNear(spelling.split('/'), known.split('/')))) return known
  return null
}

/** Whether all parts are those of a path, but for typing errors in the fixed ones. */
function isNear(parts: readonly string[], known: readonly string[]): boolean {
  return (
    parts.length === known.length &&
    known.every((part, at) => {
      if (part.startsWith('{')) return parts[at] !== ''
      return part === parts[at] || (part.length > 3 && nearestName(parts[at]!, [part]) !== null)
    })
  )
}

const strictly = {
  message: 'No such path: this sandbox is strict and has no routes for old clients.',
  hint: 'Use the route of v1: svc docs migrating. Or start the sandbox without --strict and SVC_STRICT.',
}

/**
 * Returns the error of a request without a route: 405 with Allow when the path has other methods, else 404.
 * `isLeftOut`: the path exists without `strict`.
 */
export function missingRoute(routes: Routes, { method, url }: Request, isLeftOut: boolean): ApiError {
  const allowed = routes.methodsOf(url)
  if (isLeftOut) return new ApiError('not_found', strictly)
  if (allowed.length === 0 || allowed.includes(method)) return unknownPath(routes.nearestHint(url))
  return new ApiError('method_not_allowed', {
    hint: `Use ${allowed.join(' or ')} here.`,
    headers: { allow: [...allowed, 'OPTIONS'].join(', ') },
  })
}

export function unknownPath(hint: string | null = null): ApiError {
  return new ApiError('not_found', {
    message: 'No such path.',
    hint: hint ?? 'See svc contract show for all paths.',
  })
}

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
const mostKnownHosts = 64

/** Checks Host headers. One that was accepted is cached by its text: a client sends the same one with every request. */
export function hostGuard({ hosts }: GuardOptions): (header: string | undefined) => void {
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
    if (known.size < mostKnownHosts) known.add(header)
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
  own_origins: readonly string[],
  { needsToken }: GuardOptions,
  access: Access,
  { isOpen = false, isPage = false, role }: Pick<Route, 'isOpen' | 'isPage' | 'role'>,
): Promise<void> {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  const token =
    headerOf(request, 'x-sandbox-token') ??
    (needsToken && isRead ? (takeQueryToken(request) ?? cookieToken(request)) : undefined)
  // An open route works without the database that has the tokens.
  request.holder = token === undefined || isOpen ? null : await access.find(token)
  const hasToken = request.holder !== null
  if (needsToken && !hasToken && !isOpen) throw tokenNeeded(token !== undefined)
  const needed = role ?? (isRead ? 'read' : 'write')
  if (request.holder !== null && !includesRole(request.holder.role, needed)) throw roleMissing(request.holder, needed)
  const { origin } = request.headers
  const sec_fetch_site = headerOf(request, 'sec-fetch-site')
  if (origin === undefined && sec_fetch_site === undefined) return
  if (isPage && isNavigation(request)) return
  const isOwn = (origin === undefined || own_origins.includes(origin)) && isOwnSite(sec_fetch_site)
  if (!isOwn || (!isRead && !hasToken)) throw new ApiError('origin_refused')
}

function tokenNeeded(isSent: boolean): ApiError {
  return new ApiError('origin_refused', {
    message: isSent
      ? 'The control plane of this sandbox does not know this token, or it was revoked.'
      : 'The control plane of this sandbox needs a token: it can be reached from other computers, or is shared.',
    hint: 'Commands take a token from --control-token or SVC_CONTROL_TOKEN; other clients send it in the x-sandbox-token header, a browser as ?token=TOKEN. Use the admin token that svc start printed, or create one: svc tokens create.',
  })
}

function roleMissing({ name, role }: TokenHolder, needed: Role): ApiError {
  return new ApiError('role_missing', { message: `The token ${name} has the role ${role}; this needs ${needed}.` })
}

/** Returns the token of the query, which the endpoint does not see. */
function takeQueryToken(request: Request): string | undefined {
  const { token, ...query } = request.query
  if (typeof token !== 'string') return undefined
  request.query = query
  return token
}

/* A token in the address of a page would stay in its history, its bookmarks and every copied link. */

/**
 * Returns the route of a read that is opened in a tab with its token in the address: it moves the token to a cookie,
 * for reads of this control plane alone. Any other route is returned unchanged. The pages that are open to all move it
 * with their own scripts, which need it for writes.
 */
export function movingToken(route: Route, request: Request, { needsToken }: GuardOptions, isTls: boolean): Route {
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

/** Open to all, and without a script. */
const probes: ReadonlySet<string> = new Set([contract['health.live'].path, contract['health.ready'].path])

/** Cookies ignore ports, and several sandboxes may run on one host. */
function cookieName(request: Request): string {
  return `svc_token_${/:(\d+)$/.exec(headerOf(request, 'host') ?? '')?.[1] ?? 'default'}`
}

function cookieToken(request: Request): string | undefined {
  const start = `${cookieName(request)}=`
  const pairs = request.headers.cookie?.split(/; */) ?? []
  return pairs.find((pair) => pair.startsWith(start))?.slice(start.length)
}

/** `none` means that the address was typed. */
function isOwnSite(sec_fetch_site: string | undefined): boolean {
  return sec_fetch_site === undefined || sec_fetch_site === 'same-origin' || sec_fetch_site === 'none'
}

/** Whether a browser opens the address in its own tab. A prefetch does not count: nobody has opened it. */
function isNavigation(request: Request): boolean {
  return (
    request.method === 'GET' &&
    request.headers.origin === undefined &&
    headerOf(request, 'sec-fetch-mode') === 'navigate' &&
    headerOf(request, 'sec-fetch-dest') === 'document' &&
    headerOf(request, 'sec-purpose') === undefined
  )
}

/**
 * Whether an address is opened in a tab. Browsers that predate Sec-Fetch-Mode are recognized by their Accept header.
 */
export function isOpened(request: Request): boolean {
  const mode = headerOf(request, 'sec-fetch-mode')
  if (request.method !== 'GET') return false
  return mode === undefined ? request.headers.accept?.startsWith('text/html') === true : mode === 'navigate'
}

/** A route that a request target leads to, with the parameters and query of the target. */
interface RouteMatch extends Pick<Request, 'params' | 'query'> {
  route: Route
}

/**
 * Routes by method and path. A path without parameters is looked up whole; others are matched segment by segment, fixed
 * text before a parameter. Nothing is compiled when a route is added: startup adds 170, and most are never called.
 */
export interface RouteTree {
  add(route: Route): void
  /**
   * Returns the route of a request target: a path with its query, or an absolute URL; null when there is none. It is
   * `malformed` when it cannot be decoded, or has a parameter of more than 1 024 characters.
   */
  find(method: string, target: string): RouteMatch | 'malformed' | null
}

/** The part after a slash in the paths of several routes. */
interface Segment {
  /** By method. */
  routes: Map<string, Stored>
  /** The next segments, by their text. */
  next: Map<string, Segment>
  /** The next segment where it is a parameter. */
  parameter: Segment | null
}

interface Stored {
  route: Route
  /** Where the path has each of its parameters, by the number of the segment. */
  parameters: { name: string; at: number }[]
}

const longestParameter = 1_024
const scheme = /^https?:\/\//i
const absoluteUrl = /^https?:\/\/[^/?#]+([/?][^#]*)?$/i
const none = Object.freeze({})

export function createRouteTree(): RouteTree {
  const root = newSegment()
  /** Paths without parameters. */
  const whole = new Map<string, Map<string, RouteMatch>>()
  return {
    add(route) {
      const parts = route.path.split('/')
      const parameters: Stored['parameters'] = []
      let segment = root
      for (const [at, part] of parts.entries()) {
        if (!part.startsWith('{')) {
          const next = segment.next.get(part) ?? newSegment()
          segment.next.set(part, next)
          segment = next
        } else {
          parameters.push({ name: part.slice(1, -1), at })
          segment.parameter ??= newSegment()
          segment = segment.parameter
        }
      }
      const methods = parameters.length === 0 ? (whole.get(route.path) ?? new Map<string, RouteMatch>()) : null
      if (methods !== null) whole.set(route.path, methods)
      for (const method of route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]) {
        if (segment.routes.has(method)) throw new Error(`There are two routes for ${method} ${route.path}.`)
        segment.routes.set(method, { route, parameters })
        methods?.set(method, { route, params: none, query: none })
      }
    },
    find(method, target) {
      const match = whole.get(target)?.get(method)
      return match ?? findInTree(root, method, target)
    },
  }
}

function newSegment(): Segment {
  return { routes: new Map(), next: new Map(), parameter: null }
}

function findInTree(root: Segment, method: string, target: string): RouteMatch | 'malformed' | null {
  const url = target.startsWith('/') ? target : pathOf(target)
  if (url === null) return 'malformed'
  const end = url.search(/[?#]/)
  const path = end === -1 ? url : url.slice(0, end)
  const parts = path.split('/')
  if (path.includes('%') && !decodeAll(parts)) return 'malformed'
  const stored = search(root, method, parts, 0)
  if (stored === null) return null
  const params: Record<string, string> = {}
  for (const { name, at } of stored.parameters) {
    params[name] = parts[at]!
    if (params[name].length > longestParameter) return 'malformed'
  }
  const query = end === -1 ? none : (parse(url.slice(end + 1), '&', '=', { maxKeys: 0 }) as RouteMatch['query'])
  return { route: stored.route, params, query }
}

/** Returns an absolute URL without its origin, other targets unchanged, and null for an invalid URL. */
function pathOf(target: string): string | null {
  if (!scheme.test(target)) return target
  const found = absoluteUrl.exec(target)
  if (found === null || !URL.canParse(target)) return null
  const [, path = '/'] = found
  return path.startsWith('/') ? path : `/${path}`
}

/** Decodes each part in place. Returns whether all can be decoded. */
function decodeAll(parts: string[]): boolean {
  try {
    for (const [at, part] of parts.entries()) parts[at] = decodeURIComponent(part)
    return true
  } catch (error) {
    if (error instanceof URIError) return false
    throw error
  }
}

function search(segment: Segment, method: string, parts: readonly string[], at: number): Stored | null {
  if (at === parts.length) return segment.routes.get(method) ?? null
  const next = segment.next.get(parts[at]!)
  const found = next === undefined ? null : search(next, method, parts, at + 1)
  if (found !== null || segment.parameter === null) return found
  return search(segment.parameter, method, parts, at + 1)
}
