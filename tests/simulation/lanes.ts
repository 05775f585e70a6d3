/** Runs histories in as many processes as there are processors, and adds up what they did. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { LaneLine, LaneOptions } from './lane.ts'

export interface Simulation {
  histories: number
  steps: number
  requests: number
  virtual_ms: number
  took_ms: number
  /** Faults by kind. */
  counts: Record<string, number>
  /** The histories that were wanted as text: the only one, or those with a problem. */
  texts: string[]
  problems: Extract<LaneLine, { kind: 'reduced' }>[]
}

export type SimulationOptions = Pick<LaneOptions, 'seed' | 'histories'> &
  Partial<Pick<LaneOptions, 'limit_ms' | 'positions' | 'kept' | 'tour' | 'mutation' | 'isReduced'>> & {
    /** Processes; default: one for each processor. */
    lanes?: number
  }

/** Resolves when all have ended. @throws Error when a process fails by itself */
export async function simulate(options: SimulationOptions): Promise<Simulation> {
  const { seed, histories, limit_ms = Number.MAX_SAFE_INTEGER, positions = null } = options
  const { kept = null, tour = null, mutation = null } = options
  const lanes = Math.min(options.lanes ?? availableParallelism(), histories)
  const started = performance.now()
  const total: Simulation = {
    ...{ histories: 0, steps: 0, requests: 0, virtual_ms: 0, took_ms: 0, counts: {}, texts: [], problems: [] },
  }
  const { isReduced = true } = options
  const run = (lane: number) =>
    runLane(
      {
        ...{ seed: seed + lane, stride: lanes, limit_ms, positions, kept, mutation, isReduced },
        tour: tour === null ? null : tour + lane,
        histories: Math.ceil((histories - lane) / lanes),
      },
      (line) => add(total, line),
    )
  const running = Array.from({ length: lanes }, (_, lane) => run(lane))
  await Promise.all(running)
  total.took_ms = performance.now() - started
  return total
}

async function runLane(options: LaneOptions, onLine: (line: LaneLine) => void): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'lane.ts'), JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  for await (const line of createInterface(child.stdout)) onLine(JSON.parse(line) as LaneLine)
  const [code] = await ended
  if (code !== 0) throw new Error(`the histories from seed ${options.seed} ended with ${code}`)
}

function add(total: Simulation, line: LaneLine): void {
  if (line.kind === 'reduced') {
    total.problems.push(line)
    return
  }
  total.histories++
  total.steps += line.steps
  total.requests += line.requests
  total.virtual_ms += line.virtual_ms
  for (const [kind, count] of Object.entries(line.counts)) total.counts[kind] = (total.counts[kind] ?? 0) + count
  if (line.text !== '') total.texts.push(line.text)
}
