/** Integrations at work: a placement, its frame and its beacons, at a steady pace, and a list of what was acknowledged. */
import { Pool } from 'undici'
import type { PlacementResponse } from '#contract/resources/placements.ts'

/** A placement or a beacon that was acknowledged: `slot_id`, or `slot_id.event`. */
export interface Acknowledged {
  id: string
  at_ms: number
}

export interface Traffic {
  readonly acknowledged: Acknowledged[]
  /** Milliseconds of each request. */
  readonly latencies: number[]
  /** Responses that nobody should get. */
  readonly problems: string[]
  /** Requests may fail until the sandbox is back at the address that `restart` resolves with. */
  interrupt(restart: () => Promise<string>): Promise<void>
  /** The state is replaced by that of an earlier moment: what was acknowledged since then, or meanwhile, is forgotten. */
  goBack(saved_ms: number, restore: () => Promise<void>): Promise<void>
  stop(): Promise<void>
}

const formats = ['banner', 'clip', 'native'] as const
const headers = { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' }

/** `lanes` connections, each of which begins a turn every `every_ms`. */
export function startTraffic(first: string, lanes: number, every_ms: number): Traffic {
  let pool = new Pool(first, { connections: lanes })
  let acknowledged: Acknowledged[] = []
  const latencies: number[] = []
  const problems: string[] = []
  let isRunning = true
  let isInterrupted = false
  let interruptions = 0
  let sessions = 0
  /** Counts the states; a response to a request that was sent in another one proves nothing. */
  let state = 0

  const request = async (method: 'GET' | 'POST', path: string, body?: object) => {
    const started = performance.now()
    const before = state
    const reply = await pool.request({ method, path, headers, body: body === undefined ? null : JSON.stringify(body) })
    const text = await reply.body.text()
    latencies.push(performance.now() - started)
    if (reply.statusCode !== 200) throw new Error(`${method} ${path}: ${reply.statusCode} ${text}`)
    const acknowledge = (id: string) => {
      if (before === state) acknowledged.push({ id, at_ms: performance.now() })
    }
    return { text, now_ms: Date.parse(String(reply.headers.date)), acknowledge }
  }

  const turn = async () => {
    const session_id = `soak-${++sessions}`
    const placed = await request('POST', '/v1/placements', {
      client_id: 'proj_demo',
      session_id,
      job_type: 'chat',
      prompt: { topic: 'garden tools' },
      ...(sessions % 2 === 0 && { consent: { semantic_targeting: true } }),
      overrides: { allowed_formats: [formats[sessions % 3]] },
    })
    const { slot_id, decision } = JSON.parse(placed.text) as PlacementResponse
    placed.acknowledge(slot_id)
    if (decision === null || !decision.fill) return
    const { asset_token } = decision
    await request('GET', `/v1/render/${asset_token}`)
    const events = decision.format === 'clip' ? ['render', 'play_started', 'play_completed'] : ['render', 'visible']
    for (const event of events) {
      const beacon_id = `${slot_id}.${event}`
      // The sandbox's own time: its clock jumps.
      const beacon = { beacon_id, asset_token, event, occurred_at_ms: placed.now_ms }
      const sent = await request('POST', '/v1/beacons', beacon)
      sent.acknowledge(beacon_id)
    }
  }

  const lane = async (delay_ms: number) => {
    await pause(delay_ms)
    while (isRunning) {
      const started = performance.now()
      const before = interruptions
      try {
        await turn()
      } catch (error) {
        if (!isInterrupted && before === interruptions) problems.push(String(error))
        await pause(5)
      }
      await pause(started + every_ms - performance.now())
    }
  }
  const running = Array.from({ length: lanes }, (_, index) => lane((every_ms * index) / lanes))
  const interrupt = async <Result>(work: () => Promise<Result>) => {
    interruptions++
    isInterrupted = true
    const result = await work()
    isInterrupted = false
    interruptions++
    return result
  }

  return {
    get acknowledged() {
      return acknowledged
    },
    latencies,
    problems,
    async interrupt(restart) {
      const url = await interrupt(restart)
      void pool.destroy()
      pool = new Pool(url, { connections: lanes })
    },
    async goBack(saved_ms, restore) {
      state++
      await interrupt(restore)
      state++
      acknowledged = acknowledged.filter(({ at_ms }) => at_ms < saved_ms)
    },
    async stop() {
      isRunning = false
      await Promise.all(running)
      await pool.close()
    },
  }
}

/** Resolves after that time, at once if it is past. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)))
}
