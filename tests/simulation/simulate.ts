/**
 * `npm run simulate -- [--seed N] [--histories K] [--minutes M] [--only 3,7,9] [--kept 1] [--tour 1]`: takes the whole sandbox through histories
 * of requests, faults, crashes and clock jumps, each of which follows from its seed. One history is printed as a whole.
 * Exits 1 when a model does not hold, after it has printed the shortest history that shows it.
 */
import { parseArgs } from 'node:util'
import { type Simulation, simulate } from './lanes.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    histories: { type: 'string' },
    minutes: { type: 'string' },
    only: { type: 'string' },
    kept: { type: 'string' },
    tour: { type: 'string' },
    mutation: { type: 'string' },
  },
})

const seed = values.seed === undefined ? Math.floor(Math.random() * 1e9) : Number(values.seed)
const minutes = values.minutes === undefined ? null : Number(values.minutes)
const simulation = await simulate({
  seed,
  histories: Number(values.histories ?? (minutes === null ? 1 : Number.MAX_SAFE_INTEGER)),
  limit_ms: minutes === null ? Number.MAX_SAFE_INTEGER : minutes * 60_000,
  positions: values.only?.split(',').map(Number) ?? null,
  kept: values.kept === undefined ? null : Number(values.kept) - 1,
  tour: values.tour === undefined ? null : Number(values.tour) - 1,
  mutation: values.mutation ?? null,
})
for (const text of simulation.texts) process.stdout.write(text)
for (const problem of simulation.problems) {
  const { flag, positions, text } = problem
  process.stdout.write(`\nThe shortest history of ${flag} that shows it, ${positions.length} steps:\n${text}`)
  process.stdout.write(`Repeat it: npm run simulate -- ${flag} --only ${positions.join(',')}\n\n`)
}
process.stdout.write(`${describeFigures(seed, simulation)}\n`)
process.exitCode = simulation.texts.some((text) => text.includes('\nFOUND by the model of ')) ? 1 : 0

function describeFigures(
  from: number,
  { histories, steps, requests, virtual_ms, took_ms, counts }: Simulation,
): string {
  const number = (value: number) => value.toLocaleString('en-US')
  const faults = Object.entries(counts)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([kind, count]) => `${kind} ${number(count)}`)
  const an_hour = Math.round((histories / took_ms) * 3_600_000)
  return [
    `seed ${from}: ${number(histories)} histories, ${number(steps)} steps, ${number(requests)} requests`,
    `${number(Math.round(virtual_ms / 1_000))} s of virtual time in ${number(Math.round(took_ms / 1_000))} s`,
    `${number(an_hour)} histories an hour`,
    ...(faults.length === 0 ? [] : [faults.join(', ')]),
  ].join('; ')
}
