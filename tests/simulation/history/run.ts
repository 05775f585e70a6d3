/** A history while it runs: the simulated process, its computer and its clients, and what was found. */
import { createDice } from '#tests/reliability/dice.ts'
import { type Acknowledged, freshKnown, type Known, nothingAcknowledged } from '../acknowledged.ts'
import { type Client, createClient } from '../clients/client.ts'
import { createFollower, type Follower } from '../clients/follower.ts'
import { createReceiver, type Receiver } from '../clients/receiver.ts'
import { createLearner, type Learner } from '../learning/learner.ts'
import { createRateModel } from '../learning/rates.ts'
import type { Problem } from '../problem.ts'
import { createDisk, type Disk } from '../virtual/disk.ts'
import { createNetwork, type Network } from '../virtual/network.ts'
import { type Computer, createComputer, switchComputer } from '../virtual/platform.ts'
import { createProcess, type SimulatedProcess, type Start } from '../virtual/process.ts'
import type { Scheduler } from '../virtual/scheduler.ts'

export interface Run {
  isInMemory: boolean
  receiver: Receiver
  acknowledged: Acknowledged
  computer: Computer
  scheduler: Scheduler
  network: Network
  disk: Disk
  process: SimulatedProcess
  learner: Learner
  client: Client
  follower: Follower
  problems: Problem[]
  open: Set<Promise<void>>
  counts: Record<string, number>
  lines: string[]
  /** What was known when everything that was committed was last flushed: a power loss leaves that, or more. */
  flushed: { known: Known; generation: number; isMixed: boolean }
  /** A number that a follower had before a power loss, and whether the next stream has said that it is gone. */
  gone: { seq: number; isTold: boolean } | null
  audits: number
  count(kind: string): void
  add(check: Problem['check'], texts: readonly string[]): void
}

interface RunOptions {
  seed: number
  start: Start
  isInMemory: boolean
}

export function createRun({ seed, start, isInMemory }: RunOptions): Run {
  const computer = createComputer(seed)
  const { scheduler } = computer
  switchComputer(computer)
  const acknowledged = nothingAcknowledged()
  const network = createNetwork(scheduler)
  const disk = createDisk(
    (end) => simulated.die(end),
    () => {
      const { known, generation, replacing } = acknowledged
      run.flushed = { known, generation, isMixed: replacing > 0 }
    },
  )
  const options = isInMemory ? { database: ':memory:' } : {}
  const simulated = createProcess({ start, options, scheduler, network, disk })
  const [problems, lines]: [Problem[], string[]] = [[], []]
  const report = (problem: Problem) => void problems.push(problem)
  const learner = createLearner(acknowledged, createRateModel(), report)
  const log = (line: string) => void lines.push(line)
  const follower = createFollower()
  const client = createClient({ acknowledged, network, scheduler, learner, follower, log, report })
  const counts: Record<string, number> = {}
  const receiver = createReceiver(createDice(seed + 2))
  const run: Run = {
    ...{ isInMemory, receiver, acknowledged, computer, scheduler, network, disk, process: simulated, learner, client },
    ...{ problems, counts, lines, follower, open: new Set<Promise<void>>() },
    ...{ flushed: { known: freshKnown(), generation: 0, isMixed: false }, gone: null, audits: 0 },
    count(kind) {
      counts[kind] = (counts[kind] ?? 0) + 1
    },
    add: (check, texts) => void problems.push(...texts.map((text) => ({ check, text }))),
  }
  receiveCallbacks(run)
  return run
}

/** Answers the callbacks that the process sends. */
function receiveCallbacks({ network, receiver, acknowledged, learner, lines, problems, count }: Run): void {
  let state = acknowledged.generation
  network.onOutgoing = ({ body }) => {
    if (state !== acknowledged.generation || acknowledged.replacing > 0 || learner.mayFail) receiver.forget()
    state = acknowledged.generation
    const { status, problem } = receiver.take(String(body))
    lines.push(`  a callback is answered with ${status ?? 'nothing'}`)
    count('callback')
    if (problem !== null) problems.push({ check: 'callbacks', text: problem })
    return status === null ? 'refused' : { status }
  }
}
