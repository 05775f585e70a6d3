/** Requests with names that every object has, wherever a client can send a name. */
import { request } from 'node:http'
import { expect } from 'vitest'
import { z } from 'zod'
import type { Endpoint } from '#contract/endpoint.ts'
import { contract } from '#contract/index.ts'
import { asked, key, type Stage, stage } from '#tests/http/stage.ts'

export const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty'] as const

interface Sent {
  method: string
  path: string
  headers?: readonly [string, string][]
  body?: string
}

interface Answer {
  status: number
  request_id: string | undefined
}

/** Sends a request, and resolves with the head of its response: some have no end. */
function send(on: Stage, { method, path, headers = [], body }: Sent): Promise<Answer> {
  const credentials = {
    authorization: `Bearer ${key}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const fields = [...Object.entries(credentials).filter(([name]) => !headers.some(([own]) => own === name)), ...headers]
  return new Promise((resolve, reject) => {
    const sent = request(
      `${on.sandbox.url}${path}`,
      { method, agent: false, headers: Object.fromEntries(fields) },
      (response) => {
        const { statusCode: status = 0, headers } = response
        const request_id = headers['x-request-id']
        resolve({ status, request_id: typeof request_id === 'string' ? request_id : undefined })
        response.destroy()
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Sends all, and expects that each gets a response, and that the journal has those to the API. */
export async function expectAnswers(all: readonly Sent[]): Promise<void> {
  await using on = await stage({ rate_limit: 'off' })
  const wrong: string[] = []
  const expected = new Map<string, Sent>()
  for (const sent of all) {
    const { status, request_id } = await send(on, sent)
    // A rule without conditions breaks every request after it.
    if (sent.path === '/_sandbox/faults') await on.api.accept('faults.clear')
    if (status >= 500 && !(status === 503 && sent.path.includes('readyz')))
      wrong.push(`${status} ${JSON.stringify(sent)}`)
    if (sent.path.startsWith('/v1/') && request_id !== undefined) expected.set(request_id, sent)
  }
  expect(wrong).toEqual([])
  for (let cursor: string | undefined; ; ) {
    const query = { limit: 1_000, ...(cursor === undefined ? {} : { cursor }) }
    const { items, next_cursor } = (await on.api.accept('requests.list', { query })).body
    for (const { request_id } of items) expected.delete(request_id)
    if (next_cursor === null) break
    cursor = next_cursor
  }
  // An origin that no project allows: such rows are kept apart.
  const { items } = (await on.api.accept('requests.list', { query: { foreign: 'true', limit: 1_000 } })).body
  for (const { request_id } of items) expected.delete(request_id)
  expect([...expected.values()]).toEqual([])
}

/** Resets, stops and replacements of the state would remove the rows that are looked for. */
export const endpoints = Object.values<Endpoint>(contract).filter(
  ({ path }) => !/\/(reset|stop|import|restore)$/.test(path),
)

function pathOf({ path, params }: Endpoint, name: string): string {
  return params === undefined ? path : path.replaceAll(/\{\w+\}/g, encodeURIComponent(name))
}

function bodyOf({ method }: Endpoint): { body?: string } {
  return method === 'GET' ? {} : { body: '{}' }
}

/** A name as that of a header, of a query parameter, and as every parameter of a path. */
export function nameParameters(name: string): Sent[] {
  return endpoints.flatMap((endpoint) => {
    const call = { method: endpoint.method, path: pathOf(endpoint, name), ...bodyOf(endpoint) }
    return [
      { ...call, headers: [[name, name]] as [string, string][] },
      { ...call, path: `${call.path}?${name}=${name}` },
      ...Object.keys(endpoint.query?.shape ?? {}).map((field) => ({
        ...call,
        path: `${call.path}?${field}=${name}`,
      })),
    ]
  })
}

/** A name as a field of every body, and as and in the value of every field. */
export function nameFields(name: string): Sent[] {
  return endpoints.flatMap((endpoint) => {
    if (endpoint.body === undefined) return []
    const variants = endpoint.body instanceof z.ZodUnion ? endpoint.body.options : [endpoint.body]
    const fields = new Set(
      variants.flatMap((variant) => (variant instanceof z.ZodObject ? Object.keys(variant.shape) : [])),
    )
    const inside = `{"${name}":{"${name}":1}}`
    const bodies = [inside, ...[...fields].flatMap((field) => [`{"${field}":"${name}"}`, `{"${field}":${inside}}`])]
    return bodies.map((body) => ({ method: endpoint.method, path: pathOf(endpoint, 'x'), body }))
  })
}

/** Every header that changes what a sandbox does. */
const headers = [
  ...new Set(
    Object.values<Endpoint>(contract).flatMap(({ request_headers }) =>
      Object.keys(request_headers ?? {}).map((header) => header.toLowerCase()),
    ),
  ),
  ...['accept', 'accept-encoding', 'accept-language', 'authorization', 'content-encoding', 'content-type', 'cookie'],
  ...[
    'if-none-match',
    'origin',
    'range',
    'referer',
    'sec-fetch-dest',
    'sec-fetch-site',
    'user-agent',
    'x-sandbox-token',
  ],
]

/** A name as the value of every header that is read. */
export function nameHeaders(name: string): Sent[] {
  return headers.flatMap((header) =>
    [
      { method: 'POST', path: '/v1/placements', body: JSON.stringify(asked()) },
      { method: 'GET', path: '/v1/render.js' },
      { method: 'OPTIONS', path: '/v1/placements' },
      { method: 'GET', path: '/_sandbox/docs' },
      { method: 'GET', path: '/_sandbox/' },
    ].map((call) => ({ ...call, headers: [[header, name]] as [string, string][] })),
  )
}
