/**
 * Placements and beacons per second on SQLite, and on PostgreSQL with one node up to BENCH_NODES (2), side by side:
 * every node a separate process, in turn in short rounds, since other work on the host makes single rates worthless.
 * PostgreSQL waits for the disk at each commit, as in production, and BENCH_FLUSH_MS longer; SQLite runs as in svc
 * start. Prints medians, the share of SQLite, and what other work changes less: processor milliseconds of the nodes and
 * of the database for a request, and how many transactions wait for another one's lock. BENCH_PROJECTS spreads the
 * clients over projects; BENCH_NODE_SHARE=0.2 gives each node that part of a processor, as if it had a small computer of
 * its own, so that neither the database nor the clients are the limit.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '#tests/postgres/server.ts'
import { type Client, createTeams, type Team } from './postgres-teams.ts'
import { findParent, readProcessorMs } from './processors.ts'

/** Requests a second, and the processor milliseconds of one. */
interface Cost {
  rate: number
  nodes_ms: number
  database_ms: number
}

interface Round {
  placements: Cost
  beacons: Cost
  waits: number
}

const rounds = readNumber('BENCH_ROUNDS', 5)
const roundMs = readNumber('BENCH_ROUND_MS', 2_000)
const maxNodes = readNumber('BENCH_NODES', 2)
const nodeShare = readNumber('BENCH_NODE_SHARE', 0)
const flushMs = readNumber('BENCH_FLUSH_MS', 0)
/** Requests of each kind that a node has had before it is measured: before, it is compiling. */
const warmUp = readNumber('BENCH_WARM_UP', 8_000)
const home = mkdtempSync(join(tmpdir(), 'svc-bench-'))
const teams = createTeams({
  home,
  /** Group commit depends on them: with few, each waits for the flush of the others. */
  clients: readNumber('BENCH_CONNECTIONS', 64),
  projects: readNumber('BENCH_PROJECTS', 1),
})

const server = await startPostgres({
  isDurable: true,
  flags: flushMs === 0 ? [] : ['-c', `commit_delay=${flushMs * 1_000}`, '-c', 'commit_siblings=0'],
})
const admin = new pg.Client({ connectionString: server.url })
try {
  await admin.connect()
  const { rows } = await admin.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const serverPid = findParent(rows[0]!.pid)
  const subjects: Record<string, Team> = { SQLite: await teams.start(1, ['--db', join(home, 'bench.db')]) }
  for (let size = 1; size <= maxNodes; size++) {
    // Each team has its own namespace, so none sees the rows of another.
    const words = ['--store', server.url, '--namespace', `team-${size}`]
    subjects[`PostgreSQL, ${size} ${size === 1 ? 'node' : 'nodes'}`] = await teams.start(size, words)
  }
  for (const team of Object.values(subjects)) {
    for (const call of [teams.place, teams.sendBeacon]) await sendMany(team, call, warmUp * team.nodes.length)
  }
  if (nodeShare > 0) teams.limit(nodeShare)
  const found = new Map<string, Round[]>(Object.keys(subjects).map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [name, team] of Object.entries(subjects)) found.get(name)!.push(await measureRound(team, serverPid))
  }
  for (const [name, measured] of found) print(name, measured, found.get('SQLite')!)
} finally {
  await teams.stop()
  await admin.end()
  await server.stop()
  rmSync(home, { recursive: true, force: true })
}

async function measureRound(team: Team, serverPid: number): Promise<Round> {
  const waits = sampleWaits()
  const placements = await measure(team, teams.place, serverPid)
  const beacons = await measure(team, teams.sendBeacon, serverPid)
  return { placements, beacons, waits: await waits.stop() }
}

type Call = (client: Client) => Promise<{ status: number }>

async function sendMany({ clients }: Team, call: Call, count: number): Promise<void> {
  let left = count
  await Promise.all(
    clients.map(async (client) => {
      while (left-- > 0) await call(client)
    }),
  )
}

/** Sends requests for a round, and counts the successful ones. */
async function measure({ nodes, clients }: Team, call: Call, serverPid: number): Promise<Cost> {
  const readUsed = () => ({
    nodes: nodes.reduce((sum, { child }) => sum + readProcessorMs(child.pid!), 0),
    database: readProcessorMs(serverPid),
  })
  let succeeded = 0
  const before = readUsed()
  const started = performance.now()
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() - started < roundMs) if ((await call(client)).status === 200) succeeded++
    }),
  )
  const rate = (succeeded * 1_000) / (performance.now() - started)
  const after = readUsed()
  return {
    rate,
    nodes_ms: (after.nodes - before.nodes) / succeeded,
    database_ms: (after.database - before.database) / succeeded,
  }
}

/** Counts the transactions that wait for another one's lock, some times per second; resolves to the mean. */
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
      // Each costs the database as much as some writes.
      await new Promise((resolve) => setTimeout(resolve, 50))
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

function print(name: string, measured: readonly Round[], base: readonly Round[]): void {
  console.log(name)
  for (const kind of ['placements', 'beacons'] as const) {
    const pick = (of: readonly Round[], figure: keyof Cost) => median(of.map((round) => round[kind][figure]))
    const [rate, nodes_ms] = [pick(measured, 'rate'), pick(measured, 'nodes_ms')]
    const share = Math.round((100 * rate) / pick(base, 'rate'))
    const times = (nodes_ms / pick(base, 'nodes_ms')).toFixed(1)
    const database = pick(measured, 'database_ms').toFixed(2)
    console.log(
      `  ${Math.round(rate)} ${kind}/s (${share} %), processors for each: nodes ${nodes_ms.toFixed(2)} ms (${times} x), database ${database} ms`,
    )
  }
  console.log(`  ${median(measured.map(({ waits }) => waits)).toFixed(2)} transactions wait for a lock`)
}

function readNumber(name: string, standard: number): number {
  return Number(process.env[name] ?? standard)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
