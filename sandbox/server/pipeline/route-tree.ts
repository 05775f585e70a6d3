import { parse } from 'node:querystring'
import type { Request, Route } from './exchange.ts'

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
  next: Map<string, Segment>
  parameter: Segment | null
}

interface Stored {
  route: Route
  /** Where the path has each of its parameters, by the number of the segment. */
  parameters: { name: string; at: number }[]
}

const maxParameterCharacters = 1_024
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
  const url = target.startsWith('/') ? target : stripOrigin(target)
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
    if (params[name].length > maxParameterCharacters) return 'malformed'
  }
  const query = end === -1 ? none : (parse(url.slice(end + 1), '&', '=', { maxKeys: 0 }) as RouteMatch['query'])
  return { route: stored.route, params, query }
}

/** Returns an absolute URL without its origin, other targets unchanged, and null for an invalid URL. */
function stripOrigin(target: string): string | null {
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
