/**
 * The benchmark: the emulator as it is shipped beside a bare server that writes the same rows, in turn, in one run.
 * Single figures depend on the machine; the ratios are what to compare.
 */
import { cpus } from 'node:os'
import { type Load, loadBeacons, loadPlacements, makeTokens } from './load.ts'
import { commandTimes, median, readyTimes } from './processes.ts'
import { type MeasuredServer, startServer } from './server.ts'

const rounds = 4
const placementsARound = 15_000
const slotsARound = 1_000
const memoryPlacements = 200_000

const sandboxCommand = ['bin/svc.js', 'start', '-o', 'json', '-q', '--port', '0', '--db', '{db}', '--rate-limit', 'off']
const limitCommand = ['bench/limit-server.ts', '{db}']

let unmet = 0

console.log(`node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown processor'}\n`)
await processTimes()
await throughput()
console.log(unmet === 0 ? 'Every target is met.' : `${unmet} targets are missed.`)

async function throughput(): Promise<void> {
  const limit = await startServer(limitCommand)
  const sandbox = await startServer(sandboxCommand)
  try {
    target('idle memory', sandbox.memory(), 'MB', 110)
    let answered = 0
    const placements = await inTurn(limit, sandbox, async (server) => {
      if (server === sandbox) answered += placementsARound
      return loadPlacements(server.url, placementsARound)
    })
    report('placements/s', placements)
    const beacons: Pair[] = []
    for (let round = 0; round < rounds; round++) {
      const tokens = await makeTokens(sandbox.url, slotsARound)
      answered += slotsARound
      beacons.push(...(await inTurn(limit, sandbox, (server) => loadBeacons(server.url, tokens), 1)))
    }
    report('beacons/s', beacons)
    await loadPlacements(sandbox.url, memoryPlacements - answered)
    target(`memory after ${memoryPlacements.toLocaleString('en')} placements`, sandbox.memory(), 'MB', 160)
  } finally {
    await limit.stop()
    await sandbox.stop()
  }
}

interface Pair {
  limit: Load
  sandbox: Load
}

/** One round uncounted, so that both are warm; then each in turn, pair by pair. */
async function inTurn(
  limit: MeasuredServer,
  sandbox: MeasuredServer,
  load: (server: MeasuredServer) => Promise<Load>,
  times = rounds,
): Promise<Pair[]> {
  const pairs: Pair[] = []
  for (let round = times > 1 ? -1 : 0; round < times; round++) {
    const pair = { limit: await load(limit), sandbox: await load(sandbox) }
    if (pair.limit.failures + pair.sandbox.failures > 0) throw new Error('a request failed under load')
    if (round >= 0) pairs.push(pair)
  }
  return pairs
}

function report(name: string, pairs: readonly Pair[]): void {
  const of = (pick: (pair: Pair) => number) => median(pairs.map(pick))
  console.log(name)
  for (const server of ['limit', 'sandbox'] as const) {
    const [rate, p50, p99] = [
      of((pair) => pair[server].per_second),
      of((pair) => pair[server].p50_ms),
      of((pair) => pair[server].p99_ms),
    ]
    console.log(
      `  ${server.padEnd(8)} ${rate.toFixed(0).padStart(6)}/s   p50 ${p50.toFixed(2)} ms   p99 ${p99.toFixed(2)} ms`,
    )
  }
  const share = of((pair) => pair.sandbox.per_second / pair.limit.per_second)
  line('  share of the limit', share.toFixed(2), share >= 0.6, 'at least 0.6')
  const tail = of((pair) => pair.sandbox.p99_ms / pair.sandbox.p50_ms)
  line('  p99 of the sandbox', `${tail.toFixed(1)} x p50`, tail < 8, 'under 8 x p50')
  console.log('')
}

async function processTimes(): Promise<void> {
  const bare = await commandTimes(['-e', '0'])
  const node_ms = median(bare)
  console.log(`node -e 0                      ${node_ms.toFixed(1)} ms`)
  for (const [name, args, most] of [
    ['svc --version', ['bin/svc.js', '--version'], 1.6],
    ['svc --help', ['bin/svc.js', '--help'], null],
  ] as const) {
    const ratio = median(await commandTimes(args)) / node_ms
    line(
      name,
      `${ratio.toFixed(2)} x node -e 0`,
      most === null || ratio <= most,
      most === null ? '' : `at most ${most} x`,
    )
  }
  const ready_ms = median(await readyTimes(sandboxCommand))
  const most_ms = 2.5 * node_ms + 150
  line(
    'start to ready',
    `${ready_ms.toFixed(0)} ms`,
    ready_ms <= most_ms,
    `at most 2.5 x node -e 0 + 150 ms = ${most_ms.toFixed(0)} ms`,
  )
  const sandbox = await startServer(sandboxCommand)
  const create = ['bin/svc.js', 'placements', 'create', '-o', 'none', '--base-url', sandbox.url]
  const times = await commandTimes(create, {
    SVC_HOME: sandbox.home,
    SVC_CLIENT_ID: 'proj_demo',
    SVC_SECRET_KEY: 'sk_test_sandbox_demo',
  })
  await sandbox.stop()
  line('svc placements create', `${(median(times) / node_ms).toFixed(2)} x node -e 0`, true, '')
  console.log('')
}

function target(name: string, value: number, unit: string, most: number): void {
  line(name, `${value.toFixed(0)} ${unit}`, value <= most, `at most ${most} ${unit}`)
}

function line(name: string, value: string, isMet: boolean, wanted: string): void {
  if (!isMet) unmet++
  const verdict = wanted === '' ? '' : `${isMet ? 'met   ' : 'MISSED'}  (${wanted})`
  console.log(`${name.padEnd(30)} ${value.padEnd(20)} ${verdict}`.trimEnd())
}
