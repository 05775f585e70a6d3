/**
 * `npm run bench:check`: a short form of the benchmark for CI. It fails when the sandbox reaches less than 0.8 of a
 * share recorded in figures.json. Shares compare the processor time of main threads, measured in turn, as medians of
 * rounds, so other work on the machine cancels out. `--write` records the shares of this run.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { measureRound, medianBy, perCpuSecond, type Round, shares, startServers } from './rounds.ts'

const file = join(import.meta.dirname, 'figures.json')
const tolerance = 0.8
const amounts = { placements: 1_200, slots: 300 }
const warmUp = 2
const rounds = 5

const kept = JSON.parse(readFileSync(file, 'utf8')) as Record<string, number>
const measured: Record<string, number> = {}
const servers = await startServers()
try {
  const all: Round[] = []
  for (let round = -warmUp; round < rounds; round++) {
    const figures = await measureRound(servers, amounts)
    if (round >= 0) all.push(figures)
  }
  for (const { name, of } of shares) measured[name] = medianBy(all, (round) => of(round, perCpuSecond))
} finally {
  await servers.stop()
}

let slower = 0
for (const [name, share] of Object.entries(measured)) {
  // A share that none is recorded for cannot be met.
  const min = (kept[name] ?? Number.POSITIVE_INFINITY) * tolerance
  const isMet = share >= min
  if (!isMet) slower++
  console.log(`${name.padEnd(38)}${share.toFixed(2)}   ${isMet ? 'ok    ' : 'SLOWER'}  (at least ${min.toFixed(2)})`)
}
if (process.argv.includes('--write')) {
  const rounded = Object.entries(measured).map(([name, share]) => [name, Number(share.toFixed(2))])
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(rounded), null, 2)}\n`)
} else if (slower > 0) {
  console.log('Slower than the figures in bench/figures.json allow. See where the time goes: npm run bench:profile')
  process.exitCode = 1
}
