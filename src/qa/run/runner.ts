/**
 * Runs a plan: cases side by side, spread over the targets. A case that moves what all share waits until it has a target
 * to itself.
 */
import type { CaseResult, Reporter, RunResult } from '../result.ts'
import { notRun, runCase } from './case.ts'
import type { Environment } from './exchange.ts'
import type { PlannedCase } from './plan.ts'
import type { Target } from './target.ts'

export interface RunOptions {
  /** At least one; workers share them. */
  targets: readonly Target[]
  /** How many cases at a time. */
  workers: number
  /** Makes sessions and identifiers. */
  seed: string
  reporter: Reporter
  environment: Environment
  svc_version: string
  /** Aborted by an interrupt, with the name of the signal as its reason. */
  interrupt: AbortSignal
  /** Stop after so many failed cases; null never. */
  bail: number | null
  step_timeout_ms: number
  update_snapshots: boolean
}

export async function runPlan(cases: readonly PlannedCase[], options: RunOptions): Promise<RunResult> {
  const { targets, environment, reporter, interrupt } = options
  const started = performance.now()
  const started_at_ms = environment.now()
  const { summary } = targets[0]!
  const results = new Map<PlannedCase, CaseResult>()
  const tell = inTurn()
  let failures = 0
  const isOver = () => interrupt.aborted || (options.bail !== null && failures >= options.bail)

  const suites = [...Map.groupBy(cases, ({ suite }) => suite.name)].map(([name, { length }]) => ({
    name,
    cases: length,
  }))
  await tell(() =>
    reporter.start?.({ target: summary, cases: cases.length, suites, svc_version: options.svc_version, started_at_ms }),
  )

  async function one(planned: PlannedCase, target: Target): Promise<void> {
    const { id, suite, name, attempt } = planned
    await tell(() => reporter.begin?.({ id, suite: suite.name, name, attempt }))
    const result = await runCase(planned, { ...options, target })
    results.set(planned, result)
    if (result.outcome === 'failed') failures++
    await tell(() => reporter.case?.(result))
  }

  async function all(queue: PlannedCase[], chosen: readonly Target[]): Promise<void> {
    await Promise.all(
      chosen.map(async (target) => {
        for (;;) {
          const planned = isOver() ? undefined : queue.shift()
          if (planned === undefined) return
          await one(planned, target)
        }
      }),
    )
  }

  const lanes = Array.from(
    { length: Math.max(options.workers, targets.length) },
    (_, index) => targets[index % targets.length]!,
  )
  await all(
    cases.filter(({ alone }) => !alone),
    lanes,
  )
  await all(
    cases.filter(({ alone }) => alone),
    targets,
  )
  const why = interrupt.aborted
    ? `The run was ended by ${String(interrupt.reason)}.`
    : `The run ended after ${failures} failed (--bail).`
  for (const planned of cases) {
    if (results.has(planned)) continue
    const result = notRun(planned, why, environment.now())
    results.set(planned, result)
    await tell(() => reporter.case?.(result))
  }
  const result: RunResult = {
    target: summary,
    svc_version: options.svc_version,
    started_at_ms,
    duration_ms: Math.round(performance.now() - started),
    cases: cases.map((planned) => results.get(planned)!),
    interrupted: interrupt.aborted ? String(interrupt.reason) : null,
  }
  await tell(() => reporter.end?.(result))
  return result
}

/** Calls one after the other, whoever asks. */
function inTurn(): (call: () => Promise<void> | void) => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return (call) => {
    last = last.then(call)
    return last
  }
}
