/** One history: the steps of a seed, taken in a simulated process, and checked against every model. */
import { createHash } from 'node:crypto'
import { createDice } from '#tests/reliability/dice.ts'
import { type Acknowledged, nothingAcknowledged } from './acknowledged.ts'
import { type Client, createClient, NoResponse, type RequestStep } from './client.ts'
import { type Facts, readFacts } from './facts.ts'
import { createLearner, type Learner } from './learner.ts'
import { checkBilling } from './models/billing.ts'
import { createReceiver, type Receiver } from './models/callbacks.ts'
import { checkConsent } from './models/consent.ts'
import { createFollower, type Follower } from './models/events.ts'
import { checkEvidence } from './models/evidence.ts'
import { createRateModel } from './models/rates.ts'
import { checkTokens } from './models/tokens.ts'
import { checkWrites } from './models/writes.ts'
import type { Problem } from './problem.ts'
import type { Step } from './steps.ts'
import { createDisk, type Disk } from './virtual/disk.ts'
import { createNetwork, type Network } from './virtual/network.ts'
import { type Computer, createComputer, switchComputer } from './virtual/platform.ts'
import { createProcess, type SimulatedProcess, type Start } from './virtual/process.ts'
import type { Scheduler } from './virtual/scheduler.ts'

export interface HistoryResult {
  /** What happened, line by line: the same for the same seed and steps. */
  text: string
  /** The first problem; null when every model holds. */
  problem: Problem | null
  /** Steps until then. */
  steps: number
  /** Events of each kind: `crash`, `full disk`, `lost response`. */
  counts: Record<string, number>
  virtual_ms: number
  tasks: number
  requests: number
}

export interface HistoryOptions {
  seed: number
  steps: readonly Step[]
  start: Start
}

/** Longer than any response may take, milliseconds: the longest poll is 5 s, and a drain 10 s. */
const longestMs = 40_000

/** Ends a history: a model does not hold. */
class Found extends Error {
  readonly problem: Problem
  constructor(problem: Problem) {
    super(problem.text)
    this.problem = problem
  }
}

interface Run {
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
  count(kind: string): void
  add(model: Problem['model'], texts: readonly string[]): void
}

export async function runHistory({ seed, steps, start }: HistoryOptions): Promise<HistoryResult> {
  const run = prepare(seed, start)
  const { lines, problems, scheduler, counts } = run
  const stray = (error: unknown) => run.add('reports', [`an error reaches nobody: ${describeError(error)}`])
  process.on('unhandledRejection', stray).on('uncaughtException', stray)
  let done = 0
  try {
    await begin(run)
    for (const [index, step] of steps.entries()) {
      done = index + 1
      await take(run, step, index)
    }
    await end(run)
  } catch (error) {
    if (!(error instanceof Found)) problems.push({ model: 'responses', text: describeError(error) })
  } finally {
    run.process.die()
    await run.process.bury()
    run.disk.remove()
    process.off('unhandledRejection', stray).off('uncaughtException', stray)
  }
  const problem = problems[0] ?? null
  if (problem !== null) lines.push(`FOUND by the model of ${problem.model}: ${problem.text}`)
  const requests = lines.filter((line) => /^ {2}\d+ [A-Z]+ \//.test(line)).length
  const { now_ms, count: tasks } = scheduler
  return { text: `${lines.join('\n')}\n`, problem, steps: done, counts, virtual_ms: now_ms, tasks, requests }
}

function prepare(seed: number, start: Start): Run {
  const computer = createComputer(seed)
  const { scheduler } = computer
  switchComputer(computer)
  const acknowledged = nothingAcknowledged()
  const network = createNetwork(scheduler)
  const disk = createDisk(() => simulated.die())
  const simulated = createProcess({ start, options: {}, scheduler, network, disk })
  const [problems, lines]: [Problem[], string[]] = [[], []]
  const learner = createLearner(acknowledged, createRateModel(), (problem) => void problems.push(problem))
  const client = createClient({ acknowledged, network, scheduler, learner, log: (line) => void lines.push(line) })
  const counts: Record<string, number> = {}
  const receiver = createReceiver(createDice(seed + 2))
  let state = acknowledged.generation
  network.onOutgoing = ({ body }) => {
    if (state !== acknowledged.generation || acknowledged.replacing > 0 || learner.mayFail) receiver.forget()
    state = acknowledged.generation
    const { status, problem } = receiver.take(String(body))
    lines.push(`  a callback is answered with ${status ?? 'nothing'}`)
    counts.callback = (counts.callback ?? 0) + 1
    if (problem !== null) problems.push({ model: 'writes', text: problem })
    return status === null ? 'refused' : { status }
  }
  return {
    ...{
      receiver,
      acknowledged,
      computer,
      scheduler,
      network,
      disk,
      process: simulated,
      learner,
      client,
      problems,
      counts,
      lines,
    },
    follower: createFollower(),
    open: new Set(),
    count(kind) {
      counts[kind] = (counts[kind] ?? 0) + 1
    },
    add: (model, texts) => void problems.push(...texts.map((text) => ({ model, text }))),
  }
}

async function begin(run: Run): Promise<void> {
  await run.process.start()
  follow(run)
  await audit(run)
}

/** Opens the stream of events, where the last one ended. */
function follow({ network, follower, add }: Run): void {
  follower.connect()
  const path = `/_sandbox/events?since_seq=${follower.seq}`
  network.open(
    { method: 'GET', path, headers: {}, body: '' },
    (text) => add('events', follower.read(text)),
    () => {},
  )
}

async function take(run: Run, step: Step, index: number): Promise<void> {
  const { scheduler, process: simulated, open } = run
  const { kind, seed: _, travel, turns, ...rest } = step
  run.lines.push(`#${index + 1} at ${scheduler.now_ms} ms: ${kind} ${JSON.stringify(rest)}`)
  scheduler.dice = createDice(step.seed)
  if (travel.loses !== null) run.count(`lost ${travel.loses}`)
  if (travel.again_ms !== null) run.count('repeated request')
  if (travel.leaves_ms !== null) run.count('client left')
  if (kind === 'crash') {
    run.count('crash')
    simulated.die()
  } else if (kind === 'restart') await restart(run)
  else if (kind === 'commit_fault') armFault(run, step)
  else if (kind === 'idle') await scheduler.pass(step.ms)
  else if (kind === 'computer_clock') moveComputerClock(run, step.by_ms)
  else await request(run, step as RequestStep)
  if (simulated.isDead) await recover(run)
  if (open.size === 0) await audit(run)
  else checkNow(run)
}

async function request(run: Run, step: RequestStep): Promise<void> {
  const { scheduler, process: simulated, open, client } = run
  const work = client.perform(step).finally(() => open.delete(work))
  open.add(work)
  if (step.turns === null) await untilDone(run, work)
  else for (let turn = 0; turn < step.turns && !simulated.isDead; turn++) await scheduler.next()
  if (step.kind === 'fault') run.count(`fault ${step.effect}`)
}

/** Runs until work has ended, or the process has. */
async function untilDone({ scheduler, process: simulated }: Run, work: Promise<unknown>): Promise<void> {
  let isDone = false
  const done = () => {
    isDone = true
  }
  work.then(done, done)
  await scheduler.rest()
  for (const limit = scheduler.now_ms + longestMs; !isDone && !simulated.isDead; ) {
    if (scheduler.now_ms > limit) throw new Error(`a request has no response after ${longestMs} ms`)
    await scheduler.next()
  }
  if (isDone) await work
}

function armFault({ disk, learner, count }: Run, step: Extract<Step, { kind: 'commit_fault' }>): void {
  disk.fault = { ...step.fault }
  learner.mayFail = true
  count(step.fault.kind.replace('_', ' '))
}

/** A process that has died in the middle of something, or between two things: what was durable is there again. */
async function recover(run: Run): Promise<void> {
  const { process: simulated, learner, open, scheduler } = run
  run.disk.fault = null
  await simulated.bury()
  await Promise.all([...open].map((work) => scheduler.until(work, longestMs, 'a request of a dead process')))
  run.lines.push(`  starts again at ${scheduler.now_ms} ms`)
  await simulated.start()
  learner.forgetBuckets()
  run.receiver.forget()
  follow(run)
}

async function restart(run: Run): Promise<void> {
  const { process: simulated, learner, disk } = run
  run.count('restart')
  learner.mayFail = true
  // A sandbox that cannot write its file does not start, and says so; its user has made room.
  if (disk.fault?.kind === 'full') disk.fault = null
  await simulated.stop()
  if (simulated.isDead) return
  disk.fault = null
  await simulated.start()
  learner.forgetBuckets()
  run.receiver.forget()
  follow(run)
}

/** Reads the whole state, and checks it against every model. */
async function audit(run: Run): Promise<void> {
  const { scheduler, client, acknowledged, follower, lines, process: simulated, learner, disk, add } = run
  while (run.network.busy > 0 && !simulated.isDead) await scheduler.next()
  await scheduler.pass(2)
  const read = await readUnchanged(run, client).catch((error: unknown) => {
    if (error instanceof NoResponse && simulated.isDead) return null
    throw error
  })
  if (read === null || simulated.isDead) {
    // A decision that was due has met the crash of a commit.
    await recover(run)
    return audit(run)
  }
  const { facts, text } = read
  lines.push(`  state ${createHash('sha256').update(text).digest('hex').slice(0, 12)}, ${follower.count} events`)
  add('writes', checkWrites(facts, acknowledged))
  add('evidence', checkEvidence(facts, acknowledged))
  add('consent', checkConsent(facts, acknowledged))
  add('billing', checkBilling(facts, acknowledged))
  add('tokens', checkTokens(facts, follower.frames))
  add('events', follower.check(facts, acknowledged))
  checkNow(run)
  learner.mayFail = disk.fault !== null
}

/** Reads until nothing has changed in between: decisions are made by themselves. */
async function readUnchanged({ scheduler, follower }: Run, client: Client): Promise<{ facts: Facts; text: string }> {
  let before = await readFacts(client)
  for (let tries = 0; tries < 20; tries++) {
    const { count } = follower
    const after = await readFacts(client)
    if (after.text === before.text && follower.count === count) return after
    before = after
    await scheduler.pass(50)
  }
  throw new Error('the state does not come to rest')
}

function checkNow({ problems, process: simulated, learner, add }: Run): void {
  for (const report of simulated.takeReports()) {
    if (!learner.mayFail) add('reports', [`the process reports: ${describeError(report)}`])
  }
  if (problems.length > 0) throw new Found(problems[0]!)
}

/** Waits for what is under way; then a last crash, which loses nothing that was acknowledged. */
async function end(run: Run): Promise<void> {
  const { scheduler, open, process: simulated } = run
  run.lines.push(`end at ${scheduler.now_ms} ms`)
  for (const work of [...open]) {
    await untilDone(run, work)
    if (simulated.isDead) await recover(run)
  }
  await audit(run)
  simulated.die()
  await recover(run)
  await scheduler.pass(longestLatencyMs + 2_000)
  await audit(run)
  await checkDecided(run)
}

/** The longest latency of decisions that a step sets, milliseconds. */
const longestLatencyMs = 3_000

/** A decision whose latency has passed on the sandbox clock has been made, whatever happened in between. */
async function checkDecided(run: Run): Promise<void> {
  const { body } = await run.client.read('/_sandbox/clock')
  const { now_ms } = JSON.parse(body.toString('utf8')) as { now_ms: number }
  const { facts } = await readFacts(run.client)
  const late = facts.placements.filter(
    ({ fill, created_at_ms }) => fill === null && created_at_ms + longestLatencyMs + 1_000 < now_ms,
  )
  run.add(
    'writes',
    late.map(({ slot_id }) => `${slot_id} is pending, and is never decided`),
  )
  checkNow(run)
}

function moveComputerClock({ learner, count, computer }: Run, by_ms: number): void {
  count('clock jump')
  learner.forgetBuckets()
  computer.clock_ms += by_ms
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause === undefined ? '' : ` (${describeError(error.cause)})`
  const place = error.stack
    ?.split('\n')
    .find((line) => line.includes('/sandbox/'))
    ?.trim()
    .replace(/file:\S*\/sandbox\//, 'sandbox/')
  const text = `${error.name}: ${error.message}${cause} ${place ?? ''}`.trim()
  // Another one in each process.
  return text.replaceAll(/\S*\/disk-\w+\/files\//g, '')
}
