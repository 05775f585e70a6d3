/** One load generator for every server: 16 connections, the same bodies. */
import autocannon from 'autocannon'

export interface Load {
  per_second: number
  p50_ms: number
  p99_ms: number
  failures: number
}

export const connections = 16
const secretKey = 'sk_test_sandbox_demo'

const placementBody = JSON.stringify({
  client_id: 'proj_demo',
  session_id: 'bench',
  job_type: 'chat',
  overrides: { allowed_formats: ['banner'] },
  slot_hint: { position: 'inline', max_width: 640, max_height: 480 },
})

const headers = { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' }

/** Placements for some seconds, or until `amount` have been answered. */
export async function loadPlacements(url: string, span: { duration: number } | { amount: number }): Promise<Load> {
  return run({ url: `${url}/v1/placements`, method: 'POST', headers, body: placementBody, connections, ...span })
}

/** Slots whose beacons are under way at the same time. */
const window = 500
const events = ['render', 'visible', 'heartbeat', 'click'] as const

/** Beacons as they come: four a slot, a window of slots at a time, each with an identifier of its own. */
export async function loadBeacons(url: string, tokens: readonly string[], duration: number): Promise<Load> {
  const prefix = `bench-${Date.now().toString(36)}`
  let count = 0
  const load = await run({
    url: `${url}/v1/beacons`,
    method: 'POST',
    headers,
    connections,
    duration,
    requests: [
      {
        setupRequest(request) {
          const number = count++
          const slot = Math.floor(number / (window * events.length)) * window + (number % window)
          return {
            ...request,
            body: JSON.stringify({
              beacon_id: `${prefix}-${number}`,
              asset_token: tokens[slot % tokens.length],
              event: events[Math.floor(number / window) % events.length],
              occurred_at_ms: Date.now(),
              measurements: { visible_ratio: 1, visible_ms: 1_000, page_visible: true },
            }),
          }
        },
      },
    ],
  })
  return load
}

/** Asset tokens of fresh fills. */
export async function makeTokens(url: string, amount: number): Promise<string[]> {
  const tokens: string[] = []
  await run({
    url: `${url}/v1/placements`,
    method: 'POST',
    headers,
    body: placementBody,
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

async function run(options: autocannon.Options): Promise<Load> {
  const result = await autocannon(options)
  return {
    per_second: result.requests.total / result.duration,
    p50_ms: result.latency.p50,
    p99_ms: result.latency.p99,
    failures: result.non2xx + result.errors + result.timeouts,
  }
}
