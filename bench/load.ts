/** One load generator for every server: 16 connections, the same bodies. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type autocannon from 'autocannon'
import { installTools } from '#build/tools/installed.ts'

/** The generator, which the first benchmark of a checkout installs. */
export const generate: typeof autocannon = createRequire(join(installTools('load'), 'load.js'))('autocannon')

export interface Load {
  requests: number
  per_second: number
  p50_ms: number
  p99_ms: number
  failures: number
}

export const connections = 16
const secretKey = 'sk_test_sandbox_demo'

const placement = {
  client_id: 'proj_demo',
  session_id: 'bench',
  job_type: 'chat',
  overrides: { allowed_formats: ['banner'] },
  slot_hint: { position: 'inline', max_width: 640, max_height: 480 },
}
const consent = { semantic_targeting: true, prompt_shared: false, gdpr_applies: true }

const targeting = Object.fromEntries(
  Array.from({ length: 20 }, (_, index) => [`of_${index}`, { words: 'a few words', numbers: [1, 2, 3], index }]),
)

const plain = [JSON.stringify(placement)]

/**
 * The bodies that are sent in turn: for one session, for one session with its consent each time, for 5,000 sessions; and with
 * a field of words of its own, of 160 values.
 */
export const placementBodies = {
  plain,
  consent: [JSON.stringify({ ...placement, session_id: 'bench-consent', consent })],
  sessions: Array.from({ length: 5_000 }, (_, n) => JSON.stringify({ ...placement, session_id: `bench-${n}` })),
  open: [JSON.stringify({ ...placement, overrides: { ...placement.overrides, targeting } })],
}

/** The headers of every request that the generators send. */
export const headers = { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' }

/** Sends placements until `amount` have a response. */
export async function loadPlacements(url: string, amount: number, bodies: readonly string[] = plain): Promise<Load> {
  let clients = 0
  return run({
    url: `${url}/v1/placements`,
    method: 'POST',
    headers,
    connections,
    amount,
    body: bodies[0]!,
    // Each connection has its own bodies, made beforehand: making them costs the generator as much as sending them.
    setupClient(client) {
      const own = bodies.filter((_, index) => index % connections === clients % connections)
      clients++
      if (own.length > 0) client.setRequests(own.map((body) => ({ body })))
    },
  })
}

/** The beacons of a slot, in their order. */
export const events = ['render', 'visible', 'heartbeat', 'click'] as const

/** Beacons as they arrive: four for each slot, soon after its placement, each with its own identifier. */
export async function loadBeacons(url: string, tokens: readonly string[]): Promise<Load> {
  const prefix = `bench-${Date.now().toString(36)}`
  let count = 0
  return run({
    url: `${url}/v1/beacons`,
    method: 'POST',
    headers,
    connections,
    amount: tokens.length * events.length,
    requests: [
      {
        setupRequest(request) {
          const number = count++
          return {
            ...request,
            body: JSON.stringify({
              beacon_id: `${prefix}-${number}`,
              asset_token: tokens[number % tokens.length],
              event: events[Math.floor(number / tokens.length) % events.length],
              occurred_at_ms: Date.now(),
              measurements: { visible_ratio: 1, visible_ms: 1_000, page_visible: true },
            }),
          }
        },
      },
    ],
  })
}

/** Asset tokens of fresh fills. */
export async function makeTokens(url: string, amount: number): Promise<string[]> {
  const tokens: string[] = []
  await run({
    url: `${url}/v1/placements`,
    method: 'POST',
    headers,
    body: plain[0]!,
    connections,
    amount,
    requests: [
      {
        onResponse(_status, body) {
          tokens.push(/"asset_token":"(ast_[^"]+)"/.exec(body)![1]!)
        },
      },
    ],
  })
  return tokens
}

/** Taken response by response: the generator's own figures are in whole milliseconds and seconds. */
async function run(options: autocannon.Options): Promise<Load> {
  const latencies: number[] = []
  const started = performance.now()
  let ended = started
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    // It ends at the first sample after the last response; by default it would take one per second.
    const instance = generate({ ...options, sampleInt: 50 }, (error, done) => (error ? reject(error) : resolve(done)))
    instance.on('response', (_client, _status, _bytes, milliseconds) => {
      latencies.push(milliseconds)
      ended = performance.now()
    })
  })
  const seconds = (ended - started) / 1000
  latencies.sort((a, b) => a - b)
  const quantile = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0
  return {
    requests: latencies.length,
    per_second: latencies.length / seconds,
    p50_ms: quantile(0.5),
    p99_ms: quantile(0.99),
    failures: result.non2xx + result.errors + result.timeouts,
  }
}
