/**
 * `npm run bench:growth`: what each list, report and whole-state operation costs at ten thousand, a hundred thousand and a
 * million beacons, and by how much it grows. Figures are processor time of the server for one call, its threads included,
 * and the longest pause of its event loop, as processor time of the main thread between two turns: other work on the
 * machine affects both little. `BENCH_SIZES=10000,100000` measures other sizes, `BENCH_ONLY=verify` lines with that text.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addTraffic } from '#tests/reliability/large-state.ts'
import { loadPlacements, makeTokens } from './load.ts'
import { type MeasuredServer, sandboxCommand, startServer } from './server.ts'

const sizes = (process.env.BENCH_SIZES ?? '10000,100000,1000000').split(',').map(Number)
const only = process.env.BENCH_ONLY ?? ''
/** A line may cost so many times more at a hundred times the size, unless it reads the whole. */
const maxGrowth = 2
/** Lines are called until they used so much processor time, at most `maxCalls` times: a tick of it is 10 ms. */
const enough_ms = 150
const maxCalls = 100
/** What costs less is flat: ticks of the clock are seen in it, not growth. */
const negligible_ms = 1

type Call = (server: MeasuredServer) => Promise<unknown>

interface Line {
  name: string
  call: Call
  /** Whether it reads or writes the whole state, so that its cost is in proportion to the size. */
  isWhole?: boolean
  /** Whether only the first call counts. */
  once?: boolean
}

const get =
  (path: string): Call =>
  (server) =>
    request(`${server.url}/_sandbox/${path}`)
const reading = (path: string): Line => ({ name: path, call: get(path) })
const whole = (name: string, call: Call): Line => ({ name, call, isWhole: true, once: true })
let exported = new Blob()

const lines: readonly Line[] = [
  { name: '100 placements', call: ({ url }) => loadPlacements(url, 100) },
  whole('billing, first', get('billing')),
  reading('beacons'),
  reading('beacons?session_id=hot'),
  reading('beacons?billed=true'),
  reading('beacons?billed=true&metric=completed_view'),
  reading('beacons?billed=true&metric=click'),
  reading('beacons?event=play_completed'),
  reading('beacons?event=click'),
  reading('placements'),
  reading('requests'),
  reading('evidence'),
  reading('evidence?kind=consent'),
  { name: 'billing', call: get('billing') },
  whole('billing?by=campaign, first', get('billing?by=campaign')),
  { name: 'billing?by=campaign', call: get('billing?by=campaign') },
  { name: 'billing?by=session', call: get('billing?by=session') },
  whole('evidence/verify, first', get('evidence/verify')),
  { name: 'evidence/verify', call: get('evidence/verify') },
  { name: 'evidence/manifest', call: get('evidence/manifest') },
  { name: 'an export of evidence', call: get('projects/proj_demo/evidence?after_seq=9000') },
  whole('integrity', get('integrity')),
  whole('export', async ({ url }) => {
    exported = await (await fetch(`${url}/_sandbox/export`)).blob()
  }),
  whole('import', ({ url }) =>
    request(`${url}/_sandbox/import`, {
      method: 'POST',
      headers: { 'content-type': 'application/gzip' },
      body: exported,
    }),
  ),
]

interface Figure {
  cpu_ms: number
  pause_ms: number
}

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-growth-'))
process.env.BENCH_PAUSES = join(folder, 'pauses')
process.env.NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(`(${watchPauses})()`)}`
const figures = new Map<string, Figure[]>()
try {
  for (const size of sizes) await measureSize(size)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = printTable() ? 0 : 1

async function measureSize(size: number): Promise<void> {
  const database = join(folder, `${size}.db`)
  const command = sandboxCommand.map((word) => (word === '{db}' ? database : word))
  const empty = await startServer(command)
  await makeTokens(empty.url, 16)
  await empty.stop()
  addTraffic(database, { beacons: size, unaccepted: size / 10, exchanges: size / 20, events: size / 10 })
  const server = await startServer(command)
  try {
    await get('livez')(server)
    for (const line of lines) {
      if (!line.name.includes(only)) continue
      const figure = await measure(server, line)
      figures.set(line.name, [...(figures.get(line.name) ?? []), figure])
      console.log(`${size} ${line.name}: ${describe(figure)}`)
    }
  } finally {
    await server.stop()
    rmSync(database)
  }
}

async function measure(server: MeasuredServer, { call, once = false }: Line): Promise<Figure> {
  if (!once) await call(server)
  await longestPause(server)
  const before = server.cpu()
  let calls = 0
  do {
    await call(server)
    calls++
  } while (!once && calls < maxCalls && server.cpu() - before < enough_ms)
  return { cpu_ms: (server.cpu() - before) / calls, pause_ms: await longestPause(server) }
}

async function request(url: string, options?: RequestInit): Promise<void> {
  const response = await fetch(url, options)
  const text = await response.text()
  if (!response.ok) throw new Error(`${url}: ${text}`)
}

/** Runs in the server: at a signal, writes the longest pause since the last signal, milliseconds of the main thread. */
function watchPauses(): void {
  const { isMainThread } = process.getBuiltinModule('node:worker_threads')
  const { writeFileSync } = process.getBuiltinModule('node:fs')
  if (!isMainThread) return
  const used = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  let last = used()
  let longest = 0
  setInterval(() => {
    const now = used()
    longest = Math.max(longest, now - last)
    last = now
  }, 1).unref()
  process.on('SIGUSR2', () => {
    writeFileSync(process.env.BENCH_PAUSES!, `${longest}\n`)
    longest = 0
  })
}

async function longestPause(server: MeasuredServer): Promise<number> {
  writeFileSync(process.env.BENCH_PAUSES!, '')
  process.kill(server.pid, 'SIGUSR2')
  for (;;) {
    const text = readFileSync(process.env.BENCH_PAUSES!, 'utf8')
    if (text.endsWith('\n')) return Number(text)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

function describe({ cpu_ms, pause_ms }: Figure): string {
  return `${cpu_ms < 10 ? cpu_ms.toFixed(1) : cpu_ms.toFixed(0)} ms (${pause_ms.toFixed(0)})`
}

/** Prints the table of docs/scaling.md, and returns whether every line stays flat that may. */
function printTable(): boolean {
  const growing: string[] = []
  console.log(`\n| | ${sizes.map((size) => size.toLocaleString('en')).join(' | ')} | Growth |`)
  console.log(`|---|${'---|'.repeat(sizes.length + 1)}`)
  for (const { name, isWhole } of lines) {
    const row = figures.get(name)
    if (row === undefined) continue
    const growth = row.at(-1)!.cpu_ms / Math.max(row[0]!.cpu_ms, negligible_ms)
    if (isWhole !== true && growth > maxGrowth) growing.push(name)
    console.log(`| \`${name}\` | ${row.map(describe).join(' | ')} | ${growth.toFixed(1)}${isWhole ? ', whole' : ''} |`)
  }
  if (growing.length > 0) console.log(`Grows more than ${maxGrowth} times: ${growing.join(', ')}`)
  return growing.length === 0
}
