/**
 * The benchmark: the emulator as shipped and a bare server that writes the same rows, in turn, in one run. Single
 * figures depend on the host; compare the ratios.
 */
import { cpus } from 'node:os'
import { loadPlacements } from './load.ts'
import { commandTimes, median, readyTimes } from './processes.ts'
import { printProfile } from './profile.ts'
import {
  kinds,
  type Measured,
  measureRound,
  medianBy,
  perCpuSecond,
  perSecond,
  type Round,
  shares,
  startServers,
} from './rounds.ts'
import { sandboxCommand, startServer } from './server.ts'

const rounds = 5
const amounts = { placements: 10_000, slots: 1_000 }
const memoryPlacements = 200_000

let unmet = 0

console.log(`node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown processor'}\n`)
await processTimes()
await throughput()
await printProfile()
console.log(unmet === 0 ? 'Every target is met.' : `${unmet} targets are missed.`)

async function throughput(): Promise<void> {
  const servers = await startServers()
  const { sandbox } = servers
  try {
    target('idle memory', sandbox.memory(), 'MB', 110)
    const all: Round[] = []
    // One uncounted round warms up all of them.
    for (let round = -1; round < rounds; round++) {
      const figures = await measureRound(servers, amounts)
      if (round >= 0) all.push(figures)
    }
    report(all)
    const placed = (rounds + 1) * (3 * amounts.placements + amounts.slots)
    await loadPlacements(sandbox.url, Math.max(0, memoryPlacements - placed))
    target(`memory after ${memoryPlacements.toLocaleString('en')} placements`, sandbox.memory(), 'MB', 140)
  } finally {
    await servers.stop()
  }
}

function report(all: readonly Round[]): void {
  console.log('\n                        per second     p50        p99    processor time of the main thread')
  row('limit, placements', all, ({ limit }) => limit.placements)
  row('limit, beacons', all, ({ limit }) => limit.beacons)
  row('lean', all, ({ lean }) => lean)
  for (const kind of kinds) row(`sandbox, ${kind}`, all, ({ sandbox }) => sandbox[kind])
  console.log('')
  for (const { name, minRatio, of } of shares) {
    const share = medianBy(all, (round) => of(round, perSecond))
    const ofProcessor = medianBy(all, (round) => of(round, perCpuSecond)).toFixed(2)
    line(name, `${share.toFixed(2)} (cpu ${ofProcessor})`, share >= minRatio, `at least ${minRatio}`)
  }
  for (const kind of ['placements', 'beacons'] as const) {
    const tail = medianBy(all, ({ sandbox }) => sandbox[kind].p99_ms / sandbox[kind].p50_ms)
    line(`p99 of ${kind}`, `${tail.toFixed(1)} x p50`, tail < 6, 'under 6 x p50')
  }
  console.log('')
}

function row(name: string, all: readonly Round[], pick: (round: Round) => Measured): void {
  const of = (figure: (measured: Measured) => number) => medianBy(all, (round) => figure(pick(round)))
  const [rate, p50, p99] = [of(perSecond).toFixed(0), of((one) => one.p50_ms).toFixed(2), of((one) => one.p99_ms)]
  const cpu = `${of((one) => one.cpu_us).toFixed(0)} us`
  console.log(
    `${name.padEnd(24)}${rate.padStart(10)}${p50.padStart(8)} ms${p99.toFixed(2).padStart(8)} ms${cpu.padStart(10)}`,
  )
}

async function processTimes(): Promise<void> {
  const sandbox = await startServer(sandboxCommand)
  const svc = (...words: string[]) => ['bin/svc.js', ...words]
  const times = await commandTimes(
    {
      node: ['-e', '0'],
      fetch: ['bench/bare-fetch.mjs'],
      version: svc('--version'),
      help: svc('--help'),
      command_help: svc('placements', 'create', '--help'),
      create: svc('placements', 'create', '-o', 'none'),
      health: svc('sandbox', 'status'),
    },
    {
      SVC_HOME: sandbox.home,
      SVC_BASE_URL: sandbox.url,
      SVC_CLIENT_ID: 'proj_demo',
      SVC_SECRET_KEY: 'sk_test_sandbox_demo',
    },
  )
  await sandbox.stop()
  type Timed = keyof typeof times
  const ratio = (name: Timed, base: Timed, wanted: number, words: string) => {
    const value = median(times[name]) / median(times[base])
    line(
      words,
      `${value.toFixed(2)} x ${base === 'node' ? 'node -e 0' : 'a bare fetch'}`,
      value <= wanted,
      `at most ${wanted} x`,
    )
  }
  const node_ms = median(times.node)
  console.log(`node -e 0                      ${node_ms.toFixed(1)} ms`)
  console.log(`a bare fetch                   ${median(times.fetch).toFixed(1)} ms`)
  ratio('version', 'node', 1.6, 'svc --version')
  ratio('help', 'node', 2, 'svc --help')
  ratio('command_help', 'node', 2, 'svc placements create --help')
  ratio('create', 'fetch', 1.5, 'svc placements create')
  ratio('health', 'fetch', 1.2, 'svc sandbox status')
  const ready_ms = median(await readyTimes(sandboxCommand))
  const max_ms = 2 * node_ms + 100
  line(
    'start to ready',
    `${ready_ms.toFixed(0)} ms`,
    ready_ms <= max_ms,
    `at most 2 x node -e 0 + 100 ms = ${max_ms.toFixed(0)} ms`,
  )
  console.log('')
}

function target(name: string, value: number, unit: string, max: number): void {
  line(name, `${value.toFixed(0)} ${unit}`, value <= max, `at most ${max} ${unit}`)
}

function line(name: string, value: string, isMet: boolean, wanted: string): void {
  if (!isMet) unmet++
  const verdict = wanted === '' ? '' : `${isMet ? 'met   ' : 'MISSED'}  (${wanted})`
  console.log(`${name.padEnd(36)} ${value.padEnd(20)} ${verdict}`.trimEnd())
}
