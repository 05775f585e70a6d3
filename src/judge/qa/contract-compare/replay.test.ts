/** Requests of a recording at another service: when it is told that things happened, and what is not called compared. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test, vi } from 'vitest'
import { readRecording } from '#contract/recordings/recording.ts'
import { listeningPort } from '#foundation/http.ts'
import type { Json, JsonObject } from '#foundation/json.ts'
import { compareExchanges, type ExchangePair } from './findings.ts'
import { replayExchanges, toPair } from './replay.ts'

const start_ms = Date.parse('2026-11-01T10:00:00Z')
const token = `ast_00000000001_${'t'.repeat(43)}`

/** An entry of a HAR file, sent so many milliseconds after the first one. */
function entry(after_ms: number, path: string, body: Json, response: Json | null, status = 200) {
  return {
    startedDateTime: new Date(start_ms + after_ms).toISOString(),
    time: 0,
    request: { method: 'POST', url: `https://ads.example${path}`, postData: { text: JSON.stringify(body) } },
    response: { status, content: response === null ? {} : { text: JSON.stringify(response) } },
  }
}

const placement = entry(
  0,
  '/v1/placements',
  { client_id: 'proj_demo', session_id: 's', job_type: 'chat', prompt: { topic: 'tea' } },
  { placement: { asset_token: token } },
)
const beacon = (event: string, after_ms: number) =>
  entry(
    after_ms,
    '/v1/beacons',
    { beacon_id: `beacon-${event}`, asset_token: token, event, occurred_at_ms: start_ms + after_ms },
    { accepted: true },
  )

const read = (...entries: object[]) => readRecording(JSON.stringify({ log: { entries } })).exchanges

interface Replayed {
  sent: JsonObject[]
  passed: number[]
  waited: number[]
  pairs: ExchangePair[]
}

async function replay(
  entries: object[],
  hasClock: boolean,
  respond: (incoming: IncomingMessage, response: ServerResponse) => void = (_, response) => response.end('{}'),
): Promise<Replayed> {
  const replayed: Replayed = { sent: [], passed: [], waited: [], pairs: [] }
  const server = createServer(async (incoming, response) => {
    // By its own clock, which is that of the recording.
    response.sendDate = false
    replayed.sent.push(JSON.parse(await text(incoming)) as JsonObject)
    respond(incoming, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const base_url = `http://127.0.0.1:${listeningPort(server)}`
  const own = { client_id: 'proj_demo', publishable_key: null, origin: null, prefix: 'own_' }
  try {
    await replayExchanges(read(...entries), {
      own: { base_url, secret_key: 'sk_test_sandbox_demo' as never, ...own },
      user_agent: 'test',
      now: () => start_ms,
      signal: new AbortController().signal,
      onPair: (exchange, recorded, sent) => replayed.pairs.push(...toPair(exchange, recorded, sent)),
      onWait(wait_ms) {
        replayed.waited.push(wait_ms)
        queueMicrotask(() => vi.advanceTimersByTime(wait_ms))
      },
      passTime: hasClock ? async (time_ms) => void replayed.passed.push(time_ms) : null,
    })
    return replayed
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

afterEach(() => void vi.useRealTimers())

test.each([
  ['a sandbox of its own', true, [500, 1_500, 3_600_000]],
  ['a service with a clock that nobody moves', false, []],
])('%s is told of a view as long after the render as it was', async (_, hasClock, passed) => {
  const entries = [placement, beacon('render', 500), beacon('visible', 2_000), beacon('click', 3_602_000)]
  const respond = (incoming: IncomingMessage, response: ServerResponse) => {
    response.end(JSON.stringify(incoming.url === '/v1/placements' ? { placement: { asset_token: 'own-token' } } : {}))
  }
  const replayed = await replay(entries, hasClock, respond)
  const [, render, view, click] = replayed.sent.map(({ occurred_at_ms }) => Number(occurred_at_ms))
  expect(replayed.passed).toEqual(passed)
  expect([render! - start_ms, view! - render!]).toEqual([500, 1_500])
  // Never further ahead of the service than a service allows.
  expect(click! - start_ms).toBe(hasClock ? 3_602_000 : 50_000)
})

test('a wait for the rate limit is reported, with how long it takes', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let refused = 0
  const { waited, sent } = await replay([placement], false, (_, response) => {
    if (refused++ === 0) response.writeHead(429, { 'retry-after': '7' })
    response.end('{}')
  })
  expect([waited, sent.length]).toEqual([[7_000], 2])
})

test('a service that is always over its rate limit ends the comparison; one that is now and then does not', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const limit = (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(429, { 'retry-after': '0' })
    response.end('{}')
  }
  let count = 0
  const each = await replay([placement, placement, placement, placement], false, (incoming, response) => {
    if (count++ % 4 === 3) response.end('{}')
    else limit(incoming, response)
  })
  expect([each.waited.length, each.pairs.length]).toEqual([12, 4])
  const always = replay([placement, placement, placement, placement], false, limit)
  await expect(always).rejects.toMatchObject({
    code: 'target_rate_limited',
    message: expect.stringMatching(/^http.* responded with 429 8 times in a row\.$/),
  })
})

test.each([200, 304, 204])('an exchange without a body is not called compared: %i', async (status) => {
  const { pairs } = await replay(
    [placement, entry(0, '/v1/placements', { client_id: 'proj_demo' }, null, status)],
    true,
  )
  expect(compareExchanges(pairs)).toMatchObject({ compared: 1, without_body: 1 })
})

test('an exchange without a body is not called compared, and its status still is', async () => {
  const withoutBody = entry(0, '/v1/placements', { client_id: 'proj_demo' }, null, 403)
  const { pairs } = await replay([placement, withoutBody], true)
  const { compared, without_body, findings } = compareExchanges(pairs)
  expect([compared, without_body]).toEqual([1, 1])
  expect(findings.filter(({ what }) => what === 'status')).toMatchObject([{ expected: '200', observed: '403' }])
})
