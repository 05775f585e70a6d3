/**
 * `npm run simulate -- [--seed N] [--histories K] [--minutes M] [--only 3,7,9] [--kept 1] [--tour 1]`: takes the whole sandbox through histories
 * of requests, faults, crashes and clock jumps, each of which follows from its seed. One history is printed as a whole.
 * Exits 1 when a check finds something, after it has printed the shortest history that shows it.
 */
import { parseArgs } from 'node:util'
import { edits } from '#tests/mutations/edits.ts'
import { type Simulation, simulate } from './lanes.ts'
import { readKept } from './steps/kept.ts'
import { tours } from './steps/tours.ts'

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

const seed = readNumber('seed', 0) ?? Math.floor(Math.random() * 1e9)
const minutes = values.minutes === undefined ? null : Number(values.minutes)
if (minutes !== null && !(minutes > 0)) refuse(`--minutes ${values.minutes} is no time. Example: --minutes 10`)
const simulation = await simulate({
  seed,
  histories: readNumber('histories', 1) ?? (minutes === null ? 1 : Number.MAX_SAFE_INTEGER),
  limit_ms: minutes === null ? Number.MAX_SAFE_INTEGER : minutes * 60_000,
  positions: readPositions(),
  kept: readPlace('kept', readKept().length),
  tour: readPlace('tour', tours.length),
  mutation: readMutation(),
})
for (const text of simulation.texts) process.stdout.write(text)
for (const problem of simulation.problems) {
  const { flag, positions, text } = problem
  process.stdout.write(`\nThe shortest history of ${flag} that shows it, ${positions.length} steps:\n${text}`)
  process.stdout.write(`Repeat it: npm run simulate -- ${flag} --only ${positions.join(',')}\n\n`)
}
process.stdout.write(`${describeFigures(seed, simulation)}\n`)
process.exitCode = simulation.texts.some((text) => text.includes('\nFOUND by the check of ')) ? 1 : 0

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

/** Returns the whole number of a flag; null when it was not given. */
function readNumber(flag: 'seed' | 'histories' | 'kept' | 'tour', least: number, most = Number.MAX_SAFE_INTEGER) {
  const text = values[flag]
  if (text === undefined) return null
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= least && number <= most) return number
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`
  return refuse(`--${flag} ${text} is not a whole number ${range}.`)
}

function readPlace(flag: 'kept' | 'tour', most: number): number | null {
  const number = readNumber(flag, 1, most)
  return number === null ? null : number - 1
}

function readPositions(): number[] | null {
  if (values.only === undefined) return null
  if (!/^\d+(,\d+)*$/.test(values.only)) refuse(`--only ${values.only} is no list of steps. Example: --only 3,7,9`)
  return values.only.split(',').map(Number)
}

function readMutation(): string | null {
  const { mutation } = values
  if (mutation === undefined || edits.some(({ name }) => name === mutation)) return mutation ?? null
  return refuse(`There is no edit ${mutation}. tests/mutations/edits has them.`)
}

function refuse(message: string): never {
  console.error(message)
  process.exit(2)
}
