/**
 * Lists and reports at 2.6 million beacons: how long each takes over HTTP, median and slowest of several calls, and how
 * many placements per second remain during the first billing report and while it is polled; and what it costs to compare a
 * file of own counts with them. Then the cost that these lists add to an insert: rounds with and without it, in turn.
 * `node bench/lists.ts`; with BASELINE=DIST/bin/svc.js the command of another build compares the same files, in turn.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { addTraffic } from '#tests/reliability/large-state.ts'
import { connections, loadPlacements } from './load.ts'
import { median } from './processes.ts'
import { type MeasuredServer, sandboxCommand, startServer } from './server.ts'

const beacons = 2_600_000
const calls = 9
const limitMs = 20
const lists: Record<string, { query: string; limit_ms: number | null }> = {
  'beacons, no filter': { query: 'beacons', limit_ms: limitMs },
  'beacons, a session': { query: 'beacons?session_id=s100000', limit_ms: limitMs },
  'beacons, a busy session': { query: 'beacons?session_id=hot', limit_ms: limitMs },
  'beacons, a session that is nowhere': { query: 'beacons?session_id=nowhere', limit_ms: limitMs },
  'beacons, an old session of 520,000': { query: 'beacons?session_id=old', limit_ms: limitMs },
  'beacons, a busy session since 1 hour': { query: 'beacons?session_id=hot&since=1h', limit_ms: limitMs },
  'beacons, an old session since 1 hour': { query: 'beacons?session_id=old&since=1h', limit_ms: limitMs },
  'beacons, since 1 minute': { query: 'beacons?since=1m', limit_ms: limitMs },
  'beacons, since 1 hour': { query: 'beacons?since=1h', limit_ms: limitMs },
  'beacons, since 100 days': { query: 'beacons?since=100d', limit_ms: limitMs },
  'beacons, an event that is nowhere': { query: 'beacons?event=play_completed', limit_ms: null },
  'placements, a session': { query: 'placements?session_id=s100000', limit_ms: limitMs },
  'placements, a busy session': { query: 'placements?session_id=hot', limit_ms: limitMs },
  'placements, an old session of 52,000': { query: 'placements?session_id=old', limit_ms: limitMs },
  'placements, since 1 hour': { query: 'placements?since=1h', limit_ms: null },
  'billing, a session': { query: 'billing?session_id=s100000', limit_ms: null },
  'billing, since 1 minute': { query: 'billing?since=1m', limit_ms: null },
}

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-lists-'))
try {
  await measureLists(join(folder, 'sandbox.db'))
  measureInserts()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function measureLists(database: string): Promise<void> {
  const command = sandboxCommand.map((word) => (word === '{db}' ? database : word))
  const first = await startServer(command)
  try {
    await loadPlacements(first.url, connections)
  } finally {
    await first.stop()
  }
  addTraffic(database, { beacons, unaccepted: beacons / 10, exchanges: 0, events: 0 })
  const server = await startServer(command)
  try {
    console.log(`${beacons.toLocaleString('en')} beacons`)
    for (const [name, { query, limit_ms: limit }] of Object.entries(lists)) {
      const times = await measureTimes(`${server.url}/_sandbox/${query}`)
      const verdict = limit === null ? '' : median(times) <= limit ? 'met' : `misses ${limit} ms`
      print(name, times, verdict)
    }
    const billing = `${server.url}/_sandbox/billing`
    const alone = await loadPlacements(server.url, 3_000)
    const first = timed(billing)
    const beside = await loadPlacements(server.url, 3_000)
    print('billing, everything, first report', [await first], '')
    print('billing, everything, nothing is new', await measureTimes(billing), '')
    const share = (100 * beside.per_second) / alone.per_second
    console.log(`placements beside the first report: ${share.toFixed(0)} % of those without`)
    await measurePolling(server.url)
    await measureReconciliation(server)
  } finally {
    await server.stop()
  }
}

async function measureTimes(url: string): Promise<number[]> {
  const times: number[] = []
  for (let call = 0; call < calls; call++) times.push(await timed(url))
  return times
}

/** Placements per second, alone and while the whole report is requested over and over. */
async function measurePolling(url: string): Promise<void> {
  const shares: number[] = []
  for (let round = 0; round < 3; round++) {
    const alone = await loadPlacements(url, 1_500)
    let isPolling = true
    const polling = (async () => {
      while (isPolling) await timed(`${url}/_sandbox/billing`)
    })()
    const polled = await loadPlacements(url, 1_500)
    isPolling = false
    await polling
    shares.push(polled.per_second / alone.per_second)
  }
  console.log(`placements while billing is polled: ${(100 * median(shares)).toFixed(0)} % of those without`)
}

/** Rows of the files that are compared: far fewer than the sandbox has turns, and as many as it has. */
const ownRows = [10_000, 200_000]
/** Writes what a process used when it ends, by an option of Node. */
const usageHook = `data:text/javascript,${encodeURIComponent(
  'import { writeFileSync } from "node:fs"; process.on("exit", () => writeFileSync(process.env.BENCH_USAGE, JSON.stringify(process.resourceUsage())))',
)}`

/** Processor seconds of `svc beacons reconcile` and of the sandbox, and the memory of the command. */
async function measureReconciliation(server: MeasuredServer): Promise<void> {
  const slots: string[] = []
  for (let cursor: string | null = null; slots.length < Math.max(...ownRows); ) {
    const query = new URLSearchParams({ limit: '1000', ...(cursor !== null && { cursor }) })
    const response = await fetch(`${server.url}/_sandbox/placements?${query}`)
    const page = (await response.json()) as { items: { slot_id: string }[]; next_cursor: string | null }
    slots.push(...page.items.map(({ slot_id }) => slot_id))
    cursor = page.next_cursor
    if (cursor === null) break
  }
  for (const rows of ownRows) {
    const file = join(folder, 'own.csv')
    writeFileSync(file, `slot_id,impressions\n${slots.slice(0, rows).join(',1\n')},1\n`)
    for (const program of ['bin/svc.js', ...(process.env.BASELINE === undefined ? [] : [process.env.BASELINE])]) {
      const usage = join(folder, 'usage.json')
      const before = server.cpu()
      const child = spawn(process.execPath, [program, 'beacons', 'reconcile', file, '-q'], {
        stdio: 'ignore',
        env: { ...process.env, SVC_HOME: server.home, BENCH_USAGE: usage, NODE_OPTIONS: `--import=${usageHook}` },
      })
      await new Promise((resolve) => child.once('exit', resolve))
      const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(readFileSync(usage, 'utf8')) as NodeJS.ResourceUsage
      const seconds = [(userCPUTime + systemCPUTime) / 1e6, (server.cpu() - before) / 1e3].map((each) =>
        each.toFixed(1),
      )
      const figures = `command ${seconds[0]} s, sandbox ${seconds[1]} s, ${Math.round(maxRSS / 1_024)} MB`
      console.log(`${`reconcile ${rows.toLocaleString('en')} rows, ${program}`.padEnd(40)} ${figures}`)
    }
  }
}

/**
 * Only the rows of the tables: a request costs some hundred microseconds more. Beacons of 5,000 sessions take turns, so
 * each of their entries is on another page.
 */
function measureInserts(): void {
  const open = (name: string, index: string | null, ofSession: boolean) => {
    const db = new Database(join(folder, `inserts-${name}.db`))
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = NORMAL')
    db.exec(`CREATE TABLE beacon (id INTEGER PRIMARY KEY, slot_id INTEGER, beacon_id TEXT, event TEXT, occurred_at_ms INTEGER,
      received_at_ms INTEGER, body_sha256 TEXT, measurements TEXT, extras TEXT, UNIQUE (slot_id, beacon_id));
      CREATE TABLE session_beacon (session INTEGER, is_accepted INTEGER, id INTEGER, received_at_ms INTEGER,
      latest_at_ms INTEGER, PRIMARY KEY (session, is_accepted, id)) WITHOUT ROWID`)
    if (index !== null) db.exec(index)
    const insert = db.prepare("INSERT INTO beacon VALUES (?, ?, ?, 'visible', ?, ?, ?, ?, '{}')")
    const insertOfSession = db.prepare('INSERT INTO session_beacon VALUES (?, 1, ?, ?, ?)')
    let id = 0
    return {
      close: () => db.close(),
      round(): number {
        const started = process.cpuUsage()
        for (let turn = 0; turn < 500; turn++) {
          db.transaction(() => {
            for (let row = 0; row < 20; row++) {
              id++
              insert.run(id * 4_096, Math.floor(id / 10), `beacon-${id}`, id, id, 'x'.repeat(43), `{"visible_ratio":1}`)
              if (ofSession) insertOfSession.run(id % 5_000, id * 4_096, id, id)
            }
          })()
        }
        const { user, system } = process.cpuUsage(started)
        return (user + system) / 10_000
      },
    }
  }
  const tables = {
    alone: open('alone', null, false),
    'with the index of times': open('times', 'CREATE INDEX beacon_by_time ON beacon (received_at_ms)', false),
    'with the beacons of sessions': open('sessions', null, true),
  }
  const costs = Object.entries(tables).map(([name, table]) => ({ name, table, rounds: [] as number[] }))
  for (let round = 0; round < 30; round++) for (const { table, rounds } of costs) rounds.push(table.round())
  for (const { name, table, rounds } of costs) {
    table.close()
    console.log(`insert of a beacon, ${name}: ${median(rounds).toFixed(1)} µs`)
  }
}

async function timed(url: string): Promise<number> {
  const started = performance.now()
  const response = await fetch(url)
  const text = await response.text()
  if (!response.ok) throw new Error(`${url}: ${text}`)
  return performance.now() - started
}

function print(name: string, times: readonly number[], verdict: string): void {
  const text = `${median(times).toFixed(1).padStart(8)} ms  slowest ${Math.max(...times).toFixed(1)} ms`
  console.log(`${name.padEnd(40)} ${text}  ${verdict}`)
}
