/** The routes of the pipeline, and the errors of requests that have none. */
import { ApiError } from '#contract/errors.ts'
import { withoutQuery } from '#foundation/http.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import type { Request, Route } from './exchange.ts'
import { createRouteTree } from './route-tree.ts'

export interface Routes {
  add(...routes: Route[]): void
  /**
   * Returns the route of a request, and notes its path, parameters and query in the request; null when there is none.
   * @throws ApiError 400 for a path that cannot be decoded, or has a parameter of more than 1 024 characters
   */
  find(request: Request): Route | null
  /** The methods that a path has routes for. HEAD uses the routes of GET. */
  listMethods(url: string): string[]
  /**
   * Returns the fix for a path that has a route without its repeated or trailing slashes, or without the /v1 of a base
   * URL; null when there is none.
   */
  findHint(url: string): string | null
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
    listMethods(url) {
      const found = methods.filter((method) => routeAt(method, url) !== null)
      return found.includes('GET') ? [...found, 'HEAD'] : found
    },
    findHint(url) {
      const sent = withoutQuery(url)
      const path = sent.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '')
      const near = path === sent ? null : pathAt(path)
      if (near !== null) return `Send it to ${near}: with single slashes and no trailing slash.`
      // A base URL that ends in the version, as with other services.
      const rest = path.startsWith('/v1/') ? pathAt(path.slice('/v1'.length)) : null
      if (rest !== null) return `Leave /v1 out of the base URL, and send it to ${rest}.`
      const meant = findIntendedPath(path, paths)
      return meant === null ? null : `Did you mean ${meant}?`
    },
  }
}

const maxComparedCharacters = 200

/** Returns the path that a mistyped one was probably meant for, /v1 left out included, or null. */
function findIntendedPath(path: string, paths: ReadonlySet<string>): string | null {
  if (path.length > maxComparedCharacters) return null
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
export function createRouteError(routes: Routes, { method, url }: Request, isLeftOut: boolean): ApiError {
  const allowed = routes.listMethods(url)
  if (isLeftOut) return new ApiError('not_found', strictly)
  if (allowed.length === 0 || allowed.includes(method)) return createPathError(routes.findHint(url))
  return new ApiError('method_not_allowed', {
    hint: `Use ${allowed.join(' or ')} here.`,
    headers: { allow: [...allowed, 'OPTIONS'].join(', ') },
  })
}

export function createPathError(hint: string | null = null): ApiError {
  return new ApiError('not_found', {
    message: 'No such path.',
    hint: hint ?? 'See svc contract show for all paths.',
  })
}
