import { expect, test } from 'vitest'
import type { Route } from './exchange.ts'
import { createRouteTree, type RouteTree } from './route-tree.ts'

test('a path without parameters, and one with two', () => {
  const tree = buildTree('POST /v1/placements', 'POST /v1/jobs/{job_id}/generation/{event}')
  expect(found(tree, 'POST', '/v1/placements')).toEqual({ path: '/v1/placements', params: {}, query: {} })
  expect(found(tree, 'POST', '/v1/jobs/job_1/generation/started?wait_ms=5')).toEqual({
    path: '/v1/jobs/{job_id}/generation/{event}',
    params: { job_id: 'job_1', event: 'started' },
    query: { wait_ms: '5' },
  })
})

test('fixed text goes before a parameter, and leads to one where it has no route of the method', () => {
  const tree = buildTree(
    'GET /requests/{request_id}',
    'GET /requests/count',
    'POST /requests/find',
    'GET /{any}/count/x',
  )
  expect(found(tree, 'GET', '/requests/count')).toMatchObject({ path: '/requests/count', params: {} })
  expect(found(tree, 'GET', '/requests/find')).toMatchObject({ params: { request_id: 'find' } })
  expect(found(tree, 'GET', '/requests/count/x')).toMatchObject({ params: { any: 'requests' } })
  expect(found(tree, 'DELETE', '/requests/count')).toBeNull()
})

test('HEAD has the routes of GET; one path may have a route for each method', () => {
  const tree = buildTree('GET /keys', 'POST /keys')
  expect(found(tree, 'HEAD', '/keys')).toMatchObject({ path: '/keys' })
  expect(found(tree, 'POST', '/keys')).toMatchObject({ path: '/keys' })
  expect(() => tree.add(route('GET', '/keys'))).toThrow('There are two routes for GET /keys.')
})

test.each([
  ['/v1/x', '/v1/x'],
  ['/%761/%78', '/v1/x'],
  ['http://localhost:4010/v1/x', '/v1/x'],
  ['HTTPS://localhost', '/'],
  ['http://localhost?a=1', '/'],
  ['/v1/docs/', '/v1/docs/'],
])('%s leads to %s', (target, path) => {
  expect(found(buildTree('GET /', 'GET /v1/x', 'GET /v1/docs/'), 'GET', target)).toMatchObject({ path })
})

test.each(['*', '/v1', '/v1/x/', '//v1/x', '/V1/x', 'v1/x', 'ftp://localhost/v1/x', '/__proto__', '/constructor'])(
  '%s leads nowhere',
  (target) => {
    expect(found(buildTree('GET /v1/x', 'GET /v1/y/{id}/z'), 'GET', target)).toBeNull()
  },
)

test('a parameter and a query are decoded after they have been split', () => {
  const tree = buildTree('GET /v1/decisions/{slot_id}')
  expect(found(tree, 'GET', '/v1/decisions/a%2Fb%25zz%C3%A9?a=1&a=2&b+c=%26&__proto__=x')).toEqual({
    path: '/v1/decisions/{slot_id}',
    params: { slot_id: 'a/b%zzé' },
    query: Object.assign(Object.create(null), { a: ['1', '2'], 'b c': '&', ['__proto__']: 'x' }),
  })
})

test.each([
  '/v1/decisions/%zz',
  '/nothing/%ff',
  `/v1/decisions/${'a'.repeat(1_025)}`,
  'http:///v1/decisions/x',
  'http://localhost:99999/v1/decisions/x',
  'http://localhost/v1/decisions/x#top',
])('%.60s is malformed', (target) => {
  const tree = buildTree('GET /v1/decisions/{slot_id}')
  expect(found(tree, 'GET', target)).toBe('malformed')
  expect(found(tree, 'GET', `/v1/decisions/${'%41'.repeat(1_024)}`)).toMatchObject({ query: {} })
})

function buildTree(...routes: string[]): RouteTree {
  const tree = createRouteTree()
  for (const text of routes) {
    const [method, path] = text.split(' ') as [Route['method'], string]
    tree.add(route(method, path))
  }
  return tree
}

function route(method: Route['method'], path: string): Route {
  return {
    method,
    path,
    respond() {
      throw new Error('no request is made')
    },
  }
}

function found(tree: RouteTree, method: string, target: string) {
  const match = tree.find(method, target)
  return match === null || match === 'malformed'
    ? match
    : { path: match.route.path, params: match.params, query: match.query }
}
