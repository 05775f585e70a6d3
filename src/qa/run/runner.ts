/**
 * Runs a plan: cases side by side, spread over the targets. A case that changes shared state waits until it has a target
 * to itself.
 */
import type { CaseResult, Reporter, RunResult } from '../result.ts'
import { notRun, runCase } from './case.ts'
import type { Environment } from './exchange.ts'
import type { PlannedCase } from './plan.ts'
import type { Target } from './target.ts'

interface RunOptions {
  /** At least one; workers share them. */
  targets: readonly Target[]
  /** Cases that run at a time. */
  workers: number
  /** Determines sessions and identifiers. */
  seed: string
  reporter: Reporter
  environment: Environment
  svc_version: string
  /** Aborted by an interrupt, with the name of the signal as its reason. */
  interrupt: AbortSignal
  /** Number of failed cases after which the run ends; null for never. */
  bail: number | null
  step_timeout_ms: number
  update_snapshots: boolean
}

export async function runPlan(cases: readonly PlannedCase[], options: RunOptions): Promise<RunResult> {
  const { targets, environment, reporter, interrupt, svc_version } = options
  const started = performance.now()
  const started_at_ms = environment.now()
  const target = targets[0]!.summary
  const results = new Map<PlannedCase, CaseResult>()
  const report = oneAfterAnother()
  let failures = 0
  const isOver = () => interrupt.aborted || (options.bail !== null && failures >= options.bail)

  const suites = [...Map.groupBy(cases, ({ suite }) => suite.name)].map(([name, { length }]) => ({
    name,
    cases: length,
  }))
  await report(() => reporter.start?.({ target, cases: cases.length, suites, svc_version, started_at_ms }))

  async function runOne(planned: PlannedCase, target: Target): Promise<void> {
    const { id, suite, name, attempt } = planned
    await report(() => reporter.begin?.({ id, suite: suite.name, name, attempt }))
    const result = await runCase(planned, { ...options, target })
    results.set(planned, result)
    if (result.outcome === 'failed') failures++
    await report(() => reporter.case?.(result))
  }

  /** Runs a queue with one worker for each of `lanes`. */
  async function runAll(queue: PlannedCase[], lanes: readonly Target[]): Promise<void> {
    const work = async (target: Target) => {
      for (let next = queue.shift(); next !== undefined && !isOver(); next = queue.shift()) await runOne(next, target)
    }
    await Promise.all(lanes.map(work))
  }

  const lanes = Math.max(options.workers, targets.length)
  await runAll(
    cases.filter(({ exclusive }) => !exclusive),
    Array.from({ length: lanes }, (_, index) => targets[index % targets.length]!),
  )
  await runAll(
    cases.filter(({ exclusive }) => exclusive),
    targets,
  )
  const reason = interrupt.aborted
    ? `The run was ended by ${String(interrupt.reason)}.`
    : `The run ended after ${failures} failed (--bail).`
  for (const planned of cases) {
    if (results.has(planned)) continue
    const result = notRun(planned, reason, environment.now())
    results.set(planned, result)
    await report(() => reporter.case?.(result))
  }
  const result: RunResult = {
    target,
    svc_version,
    started_at_ms,
    duration_ms: Math.round(performance.now() - started),
    cases: cases.map((planned) => results.get(planned)!),
    interrupted: interrupt.aborted ? String(interrupt.reason) : null,
  }
  await report(() => reporter.end?.(result))
  return result
}

/** Returns a function that calls one callback after the other. */
function oneAfterAnother(): (call: () => Promise<void> | void) => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return (call) => {
    last = last.then(call)
    return last
  }
}
