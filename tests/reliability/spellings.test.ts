/** Cases that seeded dice meet too seldom: each once, by name. */
import { lookup } from 'node:dns/promises'
import { request } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { contract } from '#contract/index.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { exchange, responsesIn } from './wire.ts'

let sandbox: Sandbox
const reports: unknown[] = []

beforeAll(async () => {
  sandbox = await startSandbox({ rate_limit: 'off', report: (error) => reports.push(error) })
})

afterAll(async () => {
  await sandbox.close()
  expect(reports).toEqual([])
})

test.each(['/_sandbox/reset', '/%5fsandbox/reset', '/%5Fsandbox/%72eset', 'http://localhost/_sandbox/reset'])(
  'a page of another origin cannot reset through %s',
  async (target) => {
    const slot_id = await place()
    const head = `Host: localhost\r\nOrigin: https://evil.example\r\nContent-Type: application/json\r\n`
    const bytes = Buffer.from(`POST ${target} HTTP/1.1\r\n${head}Content-Length: 2\r\n\r\n{}`)
    const { received } = await exchange(sandbox.url, { name: target, bytes, ending: 'idle' }, 5_000)
    expect(responsesIn(received)[0]?.status).toBe(403)
    const explained = await request(`${sandbox.url}/_sandbox/placements/${slot_id}`)
    expect(explained.statusCode).toBe(200)
    await explained.body.dump()
  },
)

test.each(['1960-01-01T00:00:00Z', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999999999-23:59'])(
  'a beacon of %s is rejected, and listed by the contract',
  async (occurred_at) => {
    const placement = await post('/v1/placements', { client_id: 'proj_demo', session_id: 'dates', job_type: 'chat' })
    const { asset_token } = (placement.body as { decision: { asset_token: string } }).decision
    const sent = await post('/v1/beacons', {
      beacon_id: `at.${occurred_at}`.replaceAll('+', '.'),
      asset_token,
      event: 'render',
      occurred_at,
    })
    expect(sent.status).toBe(400)
    const list = await request(`${sandbox.url}/_sandbox/beacons?limit=1`)
    const parsed = contract['beacons.list'].response.safeParse(await list.body.json())
    expect(parsed.error?.message).toBeUndefined()
  },
)

test.each([
  ['PUT', '/_sandbox/livez', 405, 'GET, HEAD, OPTIONS'],
  ['PUT', '/%5fsandbox/livez', 405, 'GET, HEAD, OPTIONS'],
  ['PUT', 'http://localhost/_sandbox/livez', 405, 'GET, HEAD, OPTIONS'],
  ['DELETE', '/v1/%70lacements', 405, 'POST, OPTIONS'],
  ['PUT', '/v1/decisions/%zz', 400, undefined],
  ['PROPFIND', `/v1/decisions/${'a'.repeat(1_025)}`, 400, undefined],
  ['PUT', '/v1/nothing', 404, undefined],
])('%s %s responds with %i', async (method, target, status, allow) => {
  const bytes = Buffer.from(`${method} ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  const { received } = await exchange(sandbox.url, { name: target, bytes, ending: 'idle' }, 5_000)
  const [response] = responsesIn(received)
  expect([response?.status, response?.headers.allow]).toEqual([status, allow])
})

test('a foreign host is refused before its path is read', async () => {
  const bytes = Buffer.from('GET /v1/decisions/%zz HTTP/1.1\r\nHost: evil.example\r\n\r\n')
  const { received } = await exchange(sandbox.url, { name: 'host', bytes, ending: 'idle' }, 5_000)
  expect(responsesIn(received)[0]?.status).toBe(421)
})

test('a body that is too large is refused by its length, for any type (A13)', async () => {
  const head = 'Host: localhost\r\nContent-Type: /\r\nContent-Length: 9000000\r\n'
  const bytes = Buffer.from(`POST /v1/placements HTTP/1.1\r\n${head}\r\n`)
  const { received } = await exchange(sandbox.url, { name: 'size', bytes, ending: 'idle' }, 5_000)
  expect(responsesIn(received)[0]?.status).toBe(413)
})

test('localhost is every address that it names', async () => {
  await using local = await startSandbox({ host: 'localhost' })
  for (const { address, family } of await lookup('localhost', { all: true })) {
    const host = family === 6 ? `[${address}]` : address
    const response = await request(`http://${host}:${local.port}/_sandbox/livez`)
    expect([address, response.statusCode, await response.body.json()]).toEqual([address, 200, { ok: true }])
  }
})

test('HEAD of the event stream ends', async () => {
  const reply = await request(`${sandbox.url}/_sandbox/events`, { method: 'HEAD', headersTimeout: 2_000 })
  expect(reply.statusCode).toBe(200)
  await reply.body.dump()
})

async function place(): Promise<string> {
  const { body } = await post('/v1/placements', { client_id: 'proj_demo', session_id: 'spelling', job_type: 'chat' })
  return (body as { slot_id: string }).slot_id
}

async function post(path: string, body: object): Promise<{ status: number; body: unknown }> {
  const reply = await request(`${sandbox.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sandbox.keys.secret_key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: reply.statusCode, body: await reply.body.json() }
}
