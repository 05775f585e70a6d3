/**
 * Bytes of someone else leave the sandbox as data: what a recording, a client or a file has sent acts on no page of this
 * origin, whoever leads a browser there.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Endpoint, isControlPlane } from '#contract/endpoint.ts'
import { contract } from '#contract/index.ts'
import { playing, record, service } from '../recorded.ts'
import { asked, fill, key, type Stage, stage } from '../stage.ts'

const evil = '"><script>alert(1)</script>'
const json = 'application/json; charset=utf-8'
const inert = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

/** Types of recorded failures, and those that they leave with. */
const recordedTypes: readonly [recorded: string, sent: string][] = [
  ['text/html', 'text/html; charset=utf-8'],
  ['text/html; charset=utf-7', 'text/html; charset=utf-8'],
  ['application/problem+json', 'application/problem+json; charset=utf-8'],
  ['application/json', 'text/plain; charset=utf-8'],
  ['text/javascript', 'text/plain; charset=utf-8'],
  ['image/svg+xml', 'text/plain; charset=utf-8'],
  ['application/xhtml+xml', 'text/plain; charset=utf-8'],
  ['multipart/x-mixed-replace; boundary=x', 'text/plain; charset=utf-8'],
  ['text/html, text/plain', 'text/plain; charset=utf-8'],
  ['', 'text/plain; charset=utf-8'],
]

const pictures = ['/', '/_sandbox', '/assets/one.svg', '/docs/%zz/one.svg', '/v1/test-assets/banner?x=1']

function entry(path: string, status: number, type: string, text: string) {
  const headers = type === '' ? [] : [{ name: 'Content-Type', value: type }]
  return {
    startedDateTime: '2026-01-01T00:00:00.000Z',
    time: 1,
    request: { method: 'GET', url: service + path, headers: [] },
    response: { status, headers: [...headers, { name: 'Service-Worker-Allowed', value: '/' }], content: { text } },
  }
}

let on: Stage
let slot_id: string
beforeAll(async () => {
  const body = asked({ session_id: 's', prompt: { topic: evil } })
  const { log } = JSON.parse(await record(({ api }) => api.accept('placements.create', { as: key, body })))
  log.entries.push(
    ...recordedTypes.map(([type], index) => entry(`/v1/decisions/slot_${index}`, 404, type, evil)),
    entry('/v1/decisions/slot_json', 404, 'text/html', JSON.stringify({ error: evil })),
    ...pictures.map((path) =>
      entry(path, 200, 'image/svg+xml', `<svg xmlns="http://www.w3.org/2000/svg">${evil}</svg>`),
    ),
  )
  on = await stage(playing(JSON.stringify({ log }), { fallback: true }))
  slot_id = (await fill(on.api, { body })).slot_id
})
afterAll(() => on[Symbol.asyncDispose]())

async function read(path: string) {
  const response = await fetch(on.sandbox.url + path, {
    redirect: 'manual',
    headers: { authorization: `Bearer ${key}` },
  })
  await response.body?.cancel()
  const [type, policy, sniffing, worker] = [
    'content-type',
    'content-security-policy',
    'x-content-type-options',
    'service-worker-allowed',
  ].map((name) => response.headers.get(name))
  return { status: response.status, type, policy, sniffing, worker }
}

test.each(recordedTypes)('a recorded failure of the type %j leaves as %j, without scripts', async (recorded, type) => {
  const index = recordedTypes.findIndex(([each]) => each === recorded)
  const headers = { type, policy: inert, sniffing: 'nosniff', worker: null }
  expect(await read(`/v1/decisions/slot_${index}`)).toEqual({ status: 404, ...headers })
})

describe('each response with bytes of someone else', () => {
  const page = /^default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:$/
  const ownScript = /^default-src 'none'.*script-src ('self'|'nonce-[\w-]+')(;|$)/
  const rows: readonly [path: string, status: number, type: string | null, policy: string | RegExp | null][] = [
    ['/v1/decisions/slot_json', 404, json, null],
    ['/v1/decisions/{slot_id}', 200, json, null],
    ['/assets/one.svg', 200, 'image/svg+xml', inert],
    ['/', 302, null, null],
    ['/_sandbox', 302, null, null],
    [`/${evil}`, 404, json, null],
    [
      `/v1/render/${encodeURIComponent(evil)}`,
      404,
      'text/html; charset=utf-8',
      /^default-src 'none'; .*sandbox|script-src 'nonce-/,
    ],
    ['/_sandbox/placements/{slot_id}', 200, json, null],
    ['/_sandbox/placements/{slot_id}/preview', 200, 'text/html; charset=utf-8', ownScript],
    ['/_sandbox/bundle.html?slot_id={slot_id}', 200, 'text/html; charset=utf-8', page],
    [`/_sandbox/docs/${encodeURIComponent(evil)}`, 404, 'text/html; charset=utf-8', ownScript],
    ['/_sandbox/requests?details=true', 200, json, null],
    ['/_sandbox/metrics', 200, 'text/plain; version=0.0.4; charset=utf-8', null],
  ]
  test.each(rows)('%s: %i, %s', async (path, status, type, policy) => {
    const sent = await read(path.replace('{slot_id}', slot_id))
    expect(sent).toMatchObject({ status, type, worker: null, ...(type === null ? {} : { sniffing: 'nosniff' }) })
    if (policy instanceof RegExp) expect(sent.policy).toMatch(policy)
    else expect(sent.policy).toBe(policy)
  })

  test('no other read of the control plane leaves with a type that a browser may run', async () => {
    const reads = Object.values<Endpoint>(contract).filter(
      (endpoint) => endpoint.method === 'GET' && isControlPlane(endpoint) && endpoint.status === 200,
    )
    expect(reads.length).toBeGreaterThan(30)
    for (const { path } of reads) {
      const { type, policy, sniffing } = await read(path.replace('{slot_id}', slot_id).replaceAll(/\{\w+\}/g, 'x'))
      const isData = /^(application\/json|text\/plain|text\/event-stream|application\/x-ndjson|application\/gzip)/.test(
        type ?? '',
      )
      expect([path, type, sniffing, isData || policy]).toEqual([path, type, 'nosniff', isData || expect.any(String)])
    }
  })
})

describe('the token of a start', () => {
  const document = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  const pages = ['/_sandbox/', '/_sandbox/demo', '/_sandbox/placements', '/_sandbox/console?grant=x']
  const settings = ['/_sandbox/inspector/session', '/_sandbox/demo/settings']
  const holds = async (path: string, headers: Record<string, string>) =>
    (await on.api.open(path, { accept: 'text/html', ...headers })).text.includes(on.sandbox.admin_token)

  test('is in a document that a tab has opened, which is stored nowhere, and opens its settings', async () => {
    for (const path of pages) {
      expect([path, await holds(path, document)]).toEqual([path, true])
      expect([path, await holds(path, { ...document, 'sec-purpose': 'prefetch;prerender' })]).toEqual([path, true])
      const { headers } = await on.api.open(path, document)
      expect(headers).toMatchObject({ 'cache-control': 'no-store', 'cross-origin-opener-policy': 'same-origin' })
    }
    for (const path of settings) {
      const own = { 'sec-fetch-site': 'same-origin', 'x-sandbox-token': on.sandbox.admin_token }
      expect([path, await holds(path, own)]).toEqual([path, true])
    }
  })

  test.each([
    ['fetch', { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors' }],
    ['fetch of the same origin', { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'same-origin' }],
    ['a frame', { 'sec-fetch-dest': 'iframe', 'sec-fetch-mode': 'navigate' }],
    ['an object', { 'sec-fetch-dest': 'object', 'sec-fetch-mode': 'navigate' }],
    ['a script', { 'sec-fetch-dest': 'script', 'sec-fetch-mode': 'no-cors' }],
    ['a guess', { 'sec-fetch-dest': 'empty', 'x-sandbox-token': 'sbx_guess' }],
  ])('is in nothing that a script of the same origin can read by %s', async (_, headers) => {
    for (const path of [...pages, ...settings])
      expect([path, await holds(path, { 'sec-fetch-site': 'same-origin', ...headers })]).toEqual([path, false])
  })
})
