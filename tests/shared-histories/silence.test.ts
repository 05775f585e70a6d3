/** One fault at a time where a random history seldom looks: a network that forgets connections, and a number that is given away. */
import { once } from 'node:events'
import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '#contract/ids.ts'
import { statementTimeoutMs } from '#store/postgres/servers/session.ts'
import { type PostgresServer, startPostgres } from '#tests/postgres/server.ts'
import { type Node, startCluster } from './nodes.ts'
import { secretKey } from './projects.ts'

let postgres: PostgresServer

beforeAll(async () => {
  postgres = await startPostgres({ isDurable: true })
})

afterAll(() => postgres.stop())

const placement = JSON.stringify({ client_id: 'proj_demo', session_id: 's-1', job_type: 'chat' })
const headers = { authorization: `Bearer ${secretKey('proj_demo')}`, 'content-type': 'application/json' }

/** Resolves to the status of a placement. */
async function place({ url }: Node): Promise<number> {
  const response = await fetch(`${url}/v1/placements`, { method: 'POST', headers, body: placement })
  await response.text()
  return response.status
}

async function untilReady({ url }: Node, status: number) {
  await expect.poll(async () => (await fetch(`${url}/_sandbox/readyz`)).status, { interval: 50 }).toBe(status)
}

test('connections that are dead without an end are given up after two heartbeats, and new ones serve at once', async () => {
  // A statement is given up after a time of its own too: here it would wait for ever.
  const env = { NEVER_AFTER_MS: String(statementTimeoutMs + 5_000) }
  const cluster = await startCluster({ store: postgres.url, namespace: 'silence', skews_ms: [0], env })
  const [node] = cluster.nodes as [Node]
  try {
    await untilReady(node, 200)
    node.proxy.set({ kind: 'drop', from: 'both' })
    expect(await place(node)).toBe(503)
    await untilReady(node, 503)
    node.proxy.set(null)
    await untilReady(node, 200)
    expect(await place(node)).toBe(200)
  } finally {
    await cluster.close()
  }
})

test('a node that was paused for longer than its number is its own writes nothing by it when another node has it', async () => {
  const cluster = await startCluster({ store: postgres.url, namespace: 'numbers', skews_ms: [0, 0] })
  const [first, second] = cluster.nodes as [Node, Node]
  const client = new pg.Client({ connectionString: postgres.url })
  try {
    await client.connect()
    const owner = async () => {
      const { rows } = await client.query<{ pid: number }>('SELECT pid FROM svc_numbers.node WHERE number = 0')
      return rows[0]?.pid
    }
    const before = await owner()
    first.pause()
    // Sent to a node that is paused: it is received before the node knows that its number has another owner.
    const sent = request(`${first.url}/v1/placements`, { method: 'POST', headers })
    sent.end(placement)
    await pause(11_000)
    await second.kill()
    await second.start(0)
    expect(await owner()).not.toBe(before)
    first.resume()
    const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream & { statusCode: number }]
    let text = ''
    for await (const piece of response) text += String(piece)
    if (response.statusCode === 200) {
      const { slot_id } = JSON.parse(text) as { slot_id: string }
      expect(decodeId('slot', slot_id)! % 64).not.toBe(0)
    } else expect([response.statusCode, text]).toEqual([503, expect.stringContaining('storage_unavailable')])
    await expect.poll(() => place(first), { interval: 100 }).toBe(200)
  } finally {
    await client.end()
    await cluster.close()
  }
})
