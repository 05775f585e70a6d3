/** What pages of other origins may read, on a store of two projects of which one allows `https://app.example`. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { responseHeaders } from '#contract/endpoint.ts'
import { ApiError } from '#contract/errors.ts'
import { contract } from '#contract/index.ts'
import { defaultSettings } from '#contract/resources/projects.ts'
import type { Services } from '#operations/context.ts'
import { openSqliteStore } from '#store/sqlite/index.ts'
import { addCors, isForeign, isPreflight, mayBeForeign, preflightResponse, publicHeaders } from './cors.ts'
import type { OpenExchange, PipelineResponse } from './exchange.ts'

const known = 'https://app.example'
const strange = 'https://elsewhere.example'
const url = 'http://127.0.0.1:4010'

const sha256Hex = (text: string | Uint8Array) => createHash('sha256').update(text).digest('hex')
const store = openSqliteStore({
  ...{ path: ':memory:', pid: process.pid, now_ms: 1, journal_limit: 0, event_limit: 10, sha256Hex, report: () => {} },
  seed: { projects: [], catalogue: { sha256: sha256Hex('{}'), demand: '{}' } },
})
const stored = Promise.all([
  store.insertProject('proj_app', { ...defaultSettings, allowed_origins: [known] }, [], 1),
  store.insertProject('proj_closed', { ...defaultSettings, allowed_origins: [] }, [], 1),
])

async function openServices(changes: Partial<Services> = {}): Promise<Services> {
  await stored
  return { store, url, base_url: url, strict: false, ...changes } as Services
}

function exchange(path: string, origin: string | null, headers: Record<string, string> = {}): OpenExchange {
  const context = { origin, request_id: 'req_1', caller: null, subject: { slot_id: null } }
  return { context, request: { method: 'OPTIONS', path, headers } } as unknown as OpenExchange
}

async function readCors(path: string, origin: string | null, changes?: Partial<Services>, reason_code?: string) {
  const error = reason_code === undefined ? {} : { error: { reason_code } }
  const response = { status: 200, headers: {}, body: '', ...error } as unknown as PipelineResponse
  await addCors(await openServices(changes), exchange(path, origin), response)
  return response.headers
}

test('a page that a project allows may read every header of A90, and those of the sandbox', async () => {
  const headers = await readCors('/v1/beacons', known)
  expect(headers['access-control-allow-origin']).toBe(known)
  const own = Object.keys(responseHeaders).filter((name) => /^x-(request-id$|sandbox-)/.test(name))
  expect(own).toContain('x-sandbox-would-bill')
  expect(String(headers['access-control-expose-headers']).split(', ').toSorted()).toEqual(
    ['date', 'retry-after', 'ratelimit', 'ratelimit-policy', ...own].toSorted(),
  )
})

test.each<[boolean, string, string | null, Partial<Services>?, string?]>([
  [true, '/v1/placements', known],
  [true, '/public/wrapper/v1/jobs', known],
  [true, '/_sandbox/console/page/slots', known],
  // Whoever has a publishable key must see why it is refused.
  [true, contract['browser.activate'].path, strange],
  [true, contract['browser.activation'].path, strange],
  [true, '/v1/placements', 'https://public.example', { base_url: 'https://public.example' }],
  [false, '/v1/placements', strange],
  [false, '/v1/placements', 'null'],
  [false, '/v1/placements', null],
  [false, '/v1/browser/activate', 'null'],
  [false, '/_sandbox/requests', known],
  [false, '/', known],
  [false, '/public/wrapper/v1/jobs', known, { strict: true }],
  [false, '/v1/placements', known, {}, 'origin_mismatch'],
])('%s: a response of %s for a page of %s', async (isAllowed, path, origin, changes, reason_code) => {
  const headers = await readCors(path, origin, changes, reason_code)
  expect(headers).toEqual(isAllowed ? expect.objectContaining({ 'access-control-allow-origin': origin }) : {})
})

test('a preflight lists methods and headers, for ten minutes', async () => {
  const methods = ['POST', 'OPTIONS']
  const { status, headers, body } = await preflightResponse(
    await openServices(),
    exchange('/v1/placements', known),
    methods,
  )
  expect([status, body]).toEqual([204, ''])
  expect(headers).toMatchObject({
    'access-control-allow-origin': known,
    'access-control-allow-methods': 'POST, OPTIONS',
    'access-control-allow-headers':
      'authorization, content-type, if-none-match, x-csl-wrapper-version, traceparent, tracestate, sentry-trace, baggage',
    'access-control-max-age': '600',
    vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    'x-request-id': 'req_1',
  })
  expect(headers).not.toHaveProperty('access-control-allow-private-network')
})

test('a preflight of a private network is answered, and --strict allows the headers of the document alone', async () => {
  const asking = exchange('/v1/placements', known, { 'access-control-request-private-network': 'true' })
  const { headers } = await preflightResponse(await openServices({ strict: true }), asking, ['POST'])
  expect(headers).toMatchObject({
    'access-control-allow-private-network': 'true',
    'access-control-allow-headers': 'authorization, content-type, if-none-match',
  })
})

test('a preflight of an activation passes from anywhere, and a file may be loaded by any page', async () => {
  const asking = exchange(contract['browser.activate'].path, strange)
  const { headers } = await preflightResponse(await openServices(), asking, ['POST'])
  expect(headers).toMatchObject({ 'access-control-allow-origin': strange })
  // The headers of tracing libraries make one necessary.
  for (const path of ['/v1/render.js', '/v1/test-assets/banner']) {
    const response = await preflightResponse(await openServices(), exchange(path, strange), ['GET'])
    expect(response.headers).toMatchObject({ 'access-control-allow-origin': strange })
  }
  expect(publicHeaders).toEqual({
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
    'x-content-type-options': 'nosniff',
  })
})

test.each<[string, string | null, Partial<Services>, string]>([
  ['/v1/placements', strange, {}, strange],
  ['/v1/placements', `https://${'x'.repeat(300)}`, {}, `https://${'x'.repeat(248)}`],
  ['/v1/placements', null, {}, '(none)'],
  ['/v1/render.js', 'null', {}, 'null'],
  ['/_sandbox/requests', known, {}, known],
  ['/v1/browser/activate', strange, { strict: true }, strange],
])('a preflight of %s for a page of %s is refused', async (path, origin, changes, named) => {
  const refused = preflightResponse(await openServices(changes), exchange(path, origin), ['POST'])
  await expect(refused).rejects.toThrow(ApiError)
  await expect(refused).rejects.toThrow(`allows the origin ${named}.`)
})

test('a preflight is OPTIONS with a method that it asks for', () => {
  const asks = { 'access-control-request-method': 'POST' }
  expect(isPreflight(exchange('/', known, asks).request)).toBe(true)
  expect(isPreflight(exchange('/', known).request)).toBe(false)
  expect(isPreflight({ ...exchange('/', known, asks).request, method: 'POST' })).toBe(false)
})

test('a browser may have sent what has an origin or comes from another site, unless it has a credential or a frame', () => {
  expect(mayBeForeign(exchange('/', known))).toBe(true)
  expect(mayBeForeign(exchange('/', null, { 'sec-fetch-site': 'cross-site' }))).toBe(true)
  expect(mayBeForeign(exchange('/', null, { 'sec-fetch-site': 'same-origin' }))).toBe(false)
  expect(mayBeForeign(exchange('/', null))).toBe(false)
  const open = exchange('/', known)
  const framed = { ...open, context: { ...open.context, subject: { slot_id: 1 } } } as unknown as OpenExchange
  expect(mayBeForeign(framed)).toBe(false)
  expect(mayBeForeign({ ...open, context: { ...open.context, caller: {} } } as unknown as OpenExchange)).toBe(false)
})

test.each<[boolean, string | null, Record<string, string>]>([
  [false, known, {}],
  [false, url, {}],
  [false, 'https://public.example', {}],
  [false, null, { referer: `${known}/page` }],
  [true, strange, {}],
  [true, null, { referer: `${strange}/page` }],
  [true, null, {}],
])('foreign: %s, of a page of %s with %j', async (isStrange, origin, headers) => {
  const services = await openServices({ base_url: 'https://public.example' })
  expect(await isForeign(services, exchange('/', origin, headers))).toBe(isStrange)
})
