/**
 * Placements and beacons per second on SQLite, and on PostgreSQL with one node up to BENCH_NODES (2), side by side:
 * every node a separate process, in turn in short rounds, since other work on the host makes single rates worthless.
 * PostgreSQL waits for the disk at each commit, as in production, and BENCH_FLUSH_MS longer; SQLite runs as in svc
 * start. Prints medians, the share of SQLite, and a figure that does not depend on processors: how many transactions
 * wait for another one's lock.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { startPostgres } from '#tests/postgres/server.ts'

interface Node {
  url: string
  child: ChildProcess
}

const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const roundMs = Number(process.env.BENCH_ROUND_MS ?? 2_000)
/** Group commit depends on them: with few, each waits for the flush of the others. */
const connections = Number(process.env.BENCH_CONNECTIONS ?? 64)
const maxNodes = Number(process.env.BENCH_NODES ?? 2)
const flushMs = Number(process.env.BENCH_FLUSH_MS ?? 0)
const key = 'sk_test_sandbox_demo'
const home = mkdtempSync(join(tmpdir(), 'svc-bench-'))
const agent = new Agent({ keepAlive: true, maxSockets: connections * 2 })

const server = await startPostgres({
  isDurable: true,
  flags: flushMs === 0 ? [] : ['-c', `commit_delay=${flushMs * 1_000}`, '-c', 'commit_siblings=0'],
})
const admin = new pg.Client({ connectionString: server.url })
const nodes: Node[] = []
let beaconsSent = 0
try {
  await admin.connect()
  const subjects: Record<string, Node[]> = { SQLite: [await start(['--db', join(home, 'bench.db')])] }
  for (let size = 1; size <= maxNodes; size++) {
    // Each team has its own namespace, so none sees the rows of another.
    const team: Node[] = []
    while (team.length < size) team.push(await start(['--store', server.url, '--namespace', `team-${size}`]))
    subjects[`PostgreSQL, ${size} ${size === 1 ? 'node' : 'nodes'}`] = team
  }
  const rates = new Map<string, { placements: number[]; beacons: number[]; waits: number[] }>()
  for (const name of Object.keys(subjects)) rates.set(name, { placements: [], beacons: [], waits: [] })
  for (let round = -1; round < rounds; round++) {
    for (const [name, team] of Object.entries(subjects)) {
      const waits = sampleWaits()
      const placements = await measureRate(team, roundMs, place)
      const tokens = await Promise.all(
        Array.from({ length: connections }, (_, index) => requestToken(team[index % team.length]!)),
      )
      const beacons = await measureRate(team, roundMs, (node, count) => send(node, tokens[count % connections]!))
      const waiting = await waits.stop()
      if (round < 0) continue
      rates.get(name)!.placements.push(placements)
      rates.get(name)!.beacons.push(beacons)
      rates.get(name)!.waits.push(waiting)
    }
  }
  const of = (name: string) => ({
    placements: median(rates.get(name)!.placements),
    beacons: median(rates.get(name)!.beacons),
    waits: median(rates.get(name)!.waits),
  })
  const base = of('SQLite')
  for (const name of Object.keys(subjects)) {
    const { placements, beacons, waits } = of(name)
    const share = (value: number, whole: number) => `${Math.round((100 * value) / whole)} %`
    console.log(
      `${name.padEnd(24)} ${Math.round(placements)} placements/s (${share(placements, base.placements)}), ${Math.round(beacons)} beacons/s (${share(beacons, base.beacons)}), ${waits.toFixed(2)} transactions wait for a lock`,
    )
  }
} finally {
  const ended = nodes.map(({ child }) => child.exitCode ?? once(child, 'exit'))
  for (const { child } of nodes) child.kill('SIGTERM')
  await Promise.all(ended)
  agent.destroy()
  await admin.end()
  await server.stop()
  rmSync(home, { recursive: true, force: true })
}

async function start(words: readonly string[]): Promise<Node> {
  const args = ['bin/svc.js', 'start', '--port', '0', '--rate-limit', 'off', ...words, '-o', 'json']
  const child = spawn(process.execPath, args, {
    env: { ...process.env, SVC_HOME: join(home, String(nodes.length)) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // The notes of healthy nodes are not shown.
  let notes = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    notes += text
  })
  child.once('exit', (code) => {
    if (code !== 0) process.stderr.write(`svc ${args.join(' ')} ended with ${code}:\n${notes}`)
  })
  for await (const line of createInterface({ input: child.stdout! })) {
    const node = { url: (JSON.parse(line) as { url: string }).url, child }
    nodes.push(node)
    return node
  }
  throw new Error(`svc ${args.join(' ')} did not start`)
}

/** Successful requests per second, over connections spread across the nodes. */
async function measureRate(team: readonly Node[], ms: number, call: (node: Node, count: number) => Promise<number>) {
  let succeeded = 0
  let count = 0
  const started = performance.now()
  const client = async (index: number) => {
    while (performance.now() - started < ms) {
      if ((await call(team[index % team.length]!, ++count)) === 200) succeeded++
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, index) => client(index)))
  return (succeeded * 1_000) / (performance.now() - started)
}

/** Counts the transactions that wait for another one's lock, some hundred times per second; resolves to the mean. */
function sampleWaits(): { stop(): Promise<number> } {
  let isOver = false
  const counted = (async () => {
    let sum = 0
    let samples = 0
    while (!isOver) {
      const { rows } = await admin.query<{ waiting: number }>(
        "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
      )
      sum += rows[0]!.waiting
      samples++
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return sum / samples
  })()
  return {
    stop() {
      isOver = true
      return counted
    },
  }
}

async function place(node: Node, count: number): Promise<number> {
  return (await post(node, '/v1/placements', placementBody(count % 500))).status
}

function placementBody(session: number) {
  return { client_id: 'proj_demo', session_id: `sess_${session}`, job_type: 'chat' }
}

async function requestToken(node: Node): Promise<string> {
  const { text } = await post(node, '/v1/placements', placementBody(0))
  return (JSON.parse(text) as { placement: { asset_token: string } }).placement.asset_token
}

async function send(node: Node, asset_token: string): Promise<number> {
  const beacon_id = `beacon-${process.pid}-${++beaconsSent}`
  const body = { beacon_id, asset_token, event: 'heartbeat', occurred_at_ms: Date.now() }
  return (await post(node, '/v1/beacons', body)).status
}

function post({ url }: Node, path: string, body: unknown): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
    const sent = request(`${url}${path}`, { method: 'POST', agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(body))
  })
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
