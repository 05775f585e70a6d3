/** Finds the route of a request. A path has many spellings: `/%5fsandbox/` and `http://host/_sandbox/` are one. */
import createRouter from 'find-my-way'
import { ApiError } from '../../src/contract/errors.ts'
import { routeOf } from '../../src/foundation/endpoint-path.ts'
import type { Request, Route } from './exchange.ts'

export interface Routes {
  add(...routes: Route[]): void
  /**
   * Returns the route of a request, and notes its path, parameters and query in the request; null when there is none.
   * @throws ApiError 400 for a path that cannot be decoded, or has a parameter of more than 1 024 characters
   */
  find(request: Request): Route | null
  /** The methods that a path has routes for. HEAD has those of GET. */
  methodsOf(url: string): string[]
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const longestParameter = 1_024

export function createRoutes(): Routes {
  const malformed = () => {}
  const router = createRouter({ maxParamLength: longestParameter, onBadUrl: malformed, onMaxParamLength: malformed })
  return {
    add(...routes) {
      for (const route of routes) {
        const { method, path } = route
        router.on(method === 'GET' ? ['GET', 'HEAD'] : method, routeOf(path), () => {}, route)
      }
    },
    find(request) {
      const found = router.find(request.method as (typeof methods)[number], request.url)
      // A method without any route still has to have a path that can be read.
      if ((found ?? router.find('GET', request.url))?.store === null) throw new ApiError('http_malformed')
      if (found === null) return null
      const route: Route = found.store
      request.path = route.path
      request.params = found.params
      request.query = found.searchParams
      return route
    },
    methodsOf(url) {
      const found = methods.filter((method) => router.find(method, url)?.store)
      return found.includes('GET') ? [...found, 'HEAD'] : found
    },
  }
}

/** The error of a request without a route: 405 with Allow when the path has other methods, else 404. */
export function missingRoute(routes: Routes, { method, url }: Request): ApiError {
  const allowed = routes.methodsOf(url)
  if (allowed.length === 0 || allowed.includes(method)) return unknownPath()
  return new ApiError('method_not_allowed', { headers: { allow: [...allowed, 'OPTIONS'].join(', ') } })
}

export function unknownPath(): ApiError {
  return new ApiError('not_found', {
    message: 'There is no such path.',
    hint: 'See GET /_sandbox/contract, or svc contract show, for the paths there are.',
  })
}
