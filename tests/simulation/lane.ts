/**
 * A process that runs one history after the other: `node lane.ts JSON`, see `LaneOptions`. Nothing else may run in it, since
 * its clocks, timers and sockets are replaced. Prints a line of JSON for each history, and one for each reduced problem.
 */
import { findEdit } from '#tests/mutations/edits.ts'
import { runHistory } from './history/history.ts'
import { reduce } from './history/reduce.ts'
import { loadProduct } from './product.ts'
import { drawHistory } from './steps/draw.ts'
import { readKept } from './steps/kept.ts'
import type { History } from './steps/steps.ts'
import { tours } from './steps/tours.ts'
import { removeDisks } from './virtual/disk.ts'

export interface LaneOptions {
  /** The first seed, and how far it is to the next one. */
  seed: number
  stride: number
  /** Histories at most. */
  histories: number
  /** Milliseconds at most. */
  limit_ms: number
  /** Positions of the steps to take, from 1; null: all. */
  positions: number[] | null
  /** A history that has failed, by its place in seeds.jsonl, instead of that of the seed; null: none. */
  kept: number | null
  /** The first tour, by its place in steps/tours.ts: the histories are the tours from there on, then those of the seeds; null: no tours. */
  tour: number | null
  /** The name of an edit of the product; null: none. */
  mutation: string | null
  isReduced: boolean
}

export type LaneLine =
  | {
      kind: 'history'
      seed: number
      steps: number
      requests: number
      tasks: number
      virtual_ms: number
      counts: Record<string, number>
      problem: string | null
      text: string
    }
  | {
      kind: 'reduced' /** The flag that names the history: `--seed 7`. */
      flag: string
      positions: number[]
      problem: string
      text: string
    }

const now = performance.now.bind(performance)
const started = now()
const options = JSON.parse(process.argv[2]!) as LaneOptions
const edit = options.mutation === null ? null : findEdit(options.mutation)
const start = await loadProduct(edit)

for (let index = 0; index < options.histories && now() - started < options.limit_ms; index++) {
  const { flag, seed, steps: all, isInMemory } = findHistory(index)
  const steps = options.positions === null ? all : options.positions.flatMap((position) => all[position - 1] ?? [])
  const result = await runHistory({ seed, steps, start, isInMemory })
  const { problem, text, ...figures } = result
  const isShown = problem !== null || options.histories === 1
  print({ kind: 'history', seed, ...figures, problem: describe(problem), text: isShown ? text : '' })
  if (problem === null) continue
  if (options.isReduced && options.positions === null) {
    const { positions, result: shortest } = await reduce({ seed, steps, start, isInMemory }, result)
    print({ kind: 'reduced', flag, positions, problem: describe(shortest.problem)!, text: shortest.text })
  }
  break
}
removeDisks()
process.exit()

function findHistory(index: number): History & { flag: string; seed: number } {
  const { kept, tour, stride } = options
  if (kept !== null) return { flag: `--kept ${kept + 1}`, ...readKept()[kept]! }
  const place = tour === null ? tours.length : tour + index * stride
  const found = tours[place]
  if (found !== undefined) return { flag: `--tour ${place + 1}`, ...found }
  const seed = options.seed + index * stride
  return { flag: `--seed ${seed}`, seed, ...drawHistory(seed) }
}

function describe(problem: { check: string; text: string } | null): string | null {
  return problem === null ? null : `${problem.check}: ${problem.text}`
}

function print(line: LaneLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
