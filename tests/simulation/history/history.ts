/** One history: the steps of a seed, taken in a simulated process, and checked. */
import { createDice } from '#tests/reliability/dice.ts'
import type { Problem } from '../problem.ts'
import type { History, RequestAction, Step } from '../steps/steps.ts'
import type { Start } from '../virtual/process.ts'
import { audit, checkDecided, checkNow, describeError, Found, longestLatencyMs } from './audit.ts'
import { follow, longestMs, losePowerNow, recover, restart } from './recovery.ts'
import { createRun, type Run } from './run.ts'

export interface HistoryResult {
  /** What happened, line by line: the same for the same seed and steps. */
  text: string
  /** The first problem; null without one. */
  problem: Problem | null
  /** Steps until then. */
  steps: number
  /** Events of each kind: `crash`, `full disk`, `lost response`. */
  counts: Record<string, number>
  virtual_ms: number
  tasks: number
  requests: number
}

export interface HistoryOptions extends History {
  seed: number
  start: Start
}

export async function runHistory({ steps, ...options }: HistoryOptions): Promise<HistoryResult> {
  const run = createRun(options)
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
    if (!(error instanceof Found)) problems.push({ check: 'responses', text: describeError(error) })
  } finally {
    run.process.die('crash')
    await run.process.bury()
    run.disk.remove()
    process.off('unhandledRejection', stray).off('uncaughtException', stray)
  }
  const problem = problems[0] ?? null
  if (problem !== null) lines.push(`FOUND by the check of ${problem.check}: ${problem.text}`)
  const requests = lines.filter((line) => /^ {2}\d+ [A-Z]+ \//.test(line)).length
  const { now_ms, count: tasks } = scheduler
  return { text: `${lines.join('\n')}\n`, problem, steps: done, counts, virtual_ms: now_ms, tasks, requests }
}

async function begin(run: Run): Promise<void> {
  run.count(run.isInMemory ? 'history in memory' : 'history in a file')
  await run.process.start()
  follow(run)
  await audit(run)
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
    simulated.die('crash')
  } else if (kind === 'power_loss') losePowerNow(run, step.isInCheckpoint)
  else if (kind === 'checkpoint') checkpoint(run)
  else if (kind === 'restart') await restart(run)
  else if (kind === 'commit_fault') armFault(run, step)
  else if (kind === 'idle') await scheduler.pass(step.ms)
  else if (kind === 'computer_clock') moveComputerClock(run, step.by_ms)
  else await request(run, step)
  if (simulated.isDead) await recover(run)
  if (open.size === 0) await audit(run)
  else checkNow(run)
}

async function request(run: Run, step: Step & RequestAction): Promise<void> {
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

function armFault({ disk, learner, count, isInMemory }: Run, step: Extract<Step, { kind: 'commit_fault' }>): void {
  // There is no disk that could be full.
  if (isInMemory && step.fault.kind === 'full') return
  disk.fault = { ...step.fault }
  learner.mayFail = true
  count(step.fault.kind.replace('_', ' '))
}

function checkpoint({ disk, count, isInMemory }: Run): void {
  if (isInMemory) return
  count('checkpoint')
  disk.checkpoint(true)
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
  simulated.die('crash')
  await recover(run)
  await scheduler.pass(longestLatencyMs + 2_000)
  await audit(run)
  await checkDecided(run)
}

function moveComputerClock({ learner, count, computer, acknowledged }: Run, by_ms: number): void {
  count('clock jump')
  learner.forgetBuckets()
  acknowledged.clocks++
  computer.clock_ms += by_ms
}
