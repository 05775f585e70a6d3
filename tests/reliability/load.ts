/** A load on a sandbox, whose every response must be one of the contract. */
import { Client } from 'undici'
import type { Endpoint } from '#contract/endpoint.ts'
import { contract } from '#contract/index.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import type { Sandbox } from '#sandbox/index.ts'
import { findProblem } from './responses.ts'

export interface Load {
  /** Count of placements so far. */
  readonly placed: number
  /** What the sandbox has acknowledged: a slot's id, and `id event` for each of its beacons. */
  readonly acknowledged: string[]
  /** Responses that violate the contract. */
  readonly problems: string[]
  /** Sends one more request, and checks its response like the others. */
  ask(endpoint: Endpoint, body?: object): Promise<{ status: number; body: string }>
  /** Resolves when there are that many placements, or a problem. */
  until(placed: number): Promise<void>
  stop(): Promise<void>
}

/** Creates placements, frames and beacons in several lanes until it is stopped. */
export function startLoad(sandbox: Sandbox, lanes: number): Load {
  let isRunning = true
  let placed = 0
  const acknowledged: string[] = []
  const problems: string[] = []
  const ask = async (client: Client, endpoint: Endpoint, path: string, body?: object) => {
    const reply = await client.request({
      method: endpoint.method,
      path,
      headers: { authorization: `Bearer ${sandbox.keys.secret_key}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const response = { status: reply.statusCode, headers: reply.headers, body: await reply.body.text() }
    const problem = findProblem(response, endpoint)
    if (problem !== null) problems.push(`${path}: ${problem}`)
    return response
  }
  const placement = { client_id: 'proj_demo', session_id: 'load', job_type: 'chat' }
  const lane = async () => {
    const client = new Client(sandbox.url)
    while (isRunning) {
      const response = await ask(client, contract['placements.create'], '/v1/placements', placement)
      if (response.status !== 200) continue
      const { slot_id, decision } = JSON.parse(response.body) as PlacementResponse
      placed++
      acknowledged.push(slot_id)
      const asset_token = decision?.asset_token ?? ''
      await ask(client, contract['render.frame'], `/v1/render/${asset_token}`)
      for (const event of ['render', 'visible', 'render']) {
        const beacon = { beacon_id: `load.${event}`, asset_token, event, occurred_at_ms: Date.now() }
        const { status } = await ask(client, contract['beacons.send'], '/v1/beacons', beacon)
        if (status === 200) acknowledged.push(`${slot_id} ${event}`)
      }
    }
    await client.close()
  }
  const running = Array.from({ length: lanes }, lane)
  const single = new Client(sandbox.url)
  return {
    get placed() {
      return placed
    },
    acknowledged,
    problems,
    ask: (endpoint, body) => ask(single, endpoint, endpoint.path, body),
    async until(wanted) {
      while (placed < wanted && problems.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    },
    async stop() {
      isRunning = false
      await Promise.all(running)
      await single.close()
    },
  }
}
