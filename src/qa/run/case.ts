/** Runs one case: its project, setup, steps, teardown; and puts back what it moved for everyone. */
/** What a case moves for everyone is put back after it: the clock, fault rules, the scenario, settings of the project. */
import type { Json } from '../../foundation/json.ts'
import type { CaseResult, StepResult } from '../result.ts'
import type { Move } from '../steps/step-kind.ts'
import type { LoadedStep } from '../suite/schema.ts'
import { CaseState } from './case-state.ts'
import { openEventTap } from './events.ts'
import type { RunContext } from './exchange.ts'
import type { PlannedCase } from './plan.ts'
import { runStep } from './step.ts'
import type { Target } from './target.ts'

export interface CaseOptions extends Omit<RunContext, 'state' | 'folder'> {
  /** Of the whole run. */
  seed: string
  /** Aborted by an interrupt: what is under way ends, teardown still runs. */
  interrupt: AbortSignal
}

const caseTimeout_ms = 60_000
const teardownTimeout_ms = 10_000

export async function runCase(planned: PlannedCase, options: CaseOptions): Promise<CaseResult> {
  const started_at_ms = options.environment.now()
  const started = performance.now()
  const lacking = whatIsLacking(planned, options.target)
  const judged = lacking === null ? await runSteps(planned, options) : { reason: lacking, steps: [] }
  const isFailed =
    lacking === null && (judged.reason !== null || judged.steps.some(({ outcome }) => outcome === 'failed'))
  return {
    ...headOf(planned),
    outcome: lacking !== null ? 'not_applicable' : isFailed ? 'failed' : 'passed',
    reason: judged.reason,
    started_at_ms,
    duration_ms: Math.round((performance.now() - started) * 10) / 10,
    steps: judged.steps,
  }
}

/** A case that never began. */
export function notRun(planned: PlannedCase, reason: string, started_at_ms: number): CaseResult {
  return { ...headOf(planned), outcome: 'not_run', reason, started_at_ms, duration_ms: 0, steps: [] }
}

function headOf({ id, suite, name, loaded, matrix, attempt }: PlannedCase) {
  return { id, suite: suite.name, name, place: loaded.place, tags: loaded.tags, matrix, attempt }
}

function whatIsLacking({ needs }: PlannedCase, target: Target): string | null {
  for (const { need, step } of needs) {
    const lack = target.lacks(need)
    if (lack !== null) return `Line ${step.place.line} (${step.kind.name}) needs ${lack}.`
  }
  return null
}

async function runSteps(
  planned: PlannedCase,
  options: CaseOptions,
): Promise<{ reason: string | null; steps: StepResult[] }> {
  const { loaded, suite } = planned
  const state = new CaseState({
    target: options.target,
    seed: `${options.seed} ${planned.id} ${planned.attempt}`,
    case_name: planned.name,
    variables: { ...loaded.variables, ...planned.matrix },
    machineNow: options.environment.now,
  })
  const context: RunContext = { ...options, state, folder: suite.folder }
  const timeout = new AbortController()
  const limit_ms = loaded.timeout_ms ?? caseTimeout_ms
  const timer = setTimeout(() => timeout.abort(new Error(`The case took longer than ${limit_ms} ms`)), limit_ms)
  const signal = AbortSignal.any([options.interrupt, timeout.signal])
  const steps: StepResult[] = []
  let putBack = async () => {}
  let reason: string | null = null
  try {
    putBack = await prepare(planned, context, signal)
    const before = [...loaded.setup, ...loaded.steps]
    for (const step of before) {
      const isOver = steps.some(({ outcome }) => outcome === 'failed') || signal.aborted
      steps.push(isOver ? skipped(step, signal) : await runStep(step, context, signal))
    }
    if (timeout.signal.aborted && !steps.some(({ outcome }) => outcome === 'failed'))
      reason = (timeout.signal.reason as Error).message
  } catch (error) {
    reason = `The case could not begin: ${(error as Error).message}`
  } finally {
    clearTimeout(timer)
  }
  for (const step of loaded.teardown) {
    steps.push(await runStep(step, context, AbortSignal.timeout(teardownTimeout_ms)))
  }
  try {
    await state.end()
    await putBack()
  } catch (error) {
    reason = `What it changed could not be put back: ${(error as Error).message}`
  }
  return { reason, steps }
}

/** Answers what puts back what the case will move. */
async function prepare(
  { loaded, listens, moves }: PlannedCase,
  { state, target }: RunContext,
  signal: AbortSignal,
): Promise<() => Promise<void>> {
  const { project } = loaded
  if (typeof project === 'string') {
    const detail = (await target.control('projects.show', { client_id: project }, undefined, signal)) as {
      settings: { allowed_origins: string[] }
    }
    state.client_id = project
    state.origin = detail.settings.allowed_origins[0]?.replace(/:\*$/, ':3000') ?? state.origin
  } else if (project !== null) {
    const client_id = `proj_${state.session}`
    const settings = { allowed_origins: [state.origin], ...(project as Record<string, Json>) }
    const created = (await target.control('projects.create', {}, { client_id, ...settings }, signal)) as {
      keys: NonNullable<CaseState['own_keys']>
    }
    state.client_id = client_id
    state.own_keys = created.keys
    state.origin = settings.allowed_origins[0] ?? state.origin
  }
  const putBack = moves.size === 0 ? async () => {} : await rememberShared(target, moves, state.client_id)
  if (listens) state.tap = await openEventTap(target, signal)
  return putBack
}

function skipped({ place, kind, data }: LoadedStep, signal: AbortSignal): StepResult {
  const reason = signal.aborted ? 'The run was ended.' : 'A step before it failed.'
  const title = typeof data.name === 'string' ? data.name : kind.title(data)
  return { title, place, outcome: 'not_run', reason, duration_ms: 0, exchanges: [], checks: [], screenshots: [] }
}

interface Clock {
  now_ms: number
  offset_ms: number
  frozen: boolean
}

/** Looks at how things are. What it answers puts them back. */
export async function rememberShared(
  target: Target,
  moves: ReadonlySet<Move>,
  client_id: string,
): Promise<() => Promise<void>> {
  const undo: (() => Promise<unknown>)[] = []
  const everything = moves.has('everything')
  if (moves.has('project') || everything) {
    const before = (await target.control('projects.show', { client_id })) as { settings: Json }
    undo.push(() => target.control('projects.update', { client_id }, before.settings))
  }
  if (moves.has('scenario') || everything) {
    const active = await activeScenario(target)
    undo.push(async () => {
      if ((await activeScenario(target)) === active) return
      await (active === null ? target.control('scenario.clear') : target.control('scenario.use', { name: active }, {}))
    })
  }
  if (moves.has('faults') || everything) {
    const before = await faultsOf(target)
    undo.push(async () => {
      const ids = new Set(before.map(({ fault_id }) => fault_id))
      const now = await faultsOf(target)
      for (const { fault_id } of now) if (!ids.has(fault_id)) await target.control('faults.remove', { fault_id })
    })
  }
  if (moves.has('clock') || everything) {
    const before = (await target.control('clock.show')) as unknown as Clock
    undo.push(() => restoreClock(target, before))
  }
  return async () => {
    for (const each of undo) await each()
  }
}

async function restoreClock(target: Target, { now_ms, offset_ms, frozen }: Clock): Promise<void> {
  const now = (await target.control('clock.show')) as unknown as Clock
  if (now.offset_ms === offset_ms && now.frozen === frozen && !frozen) return
  if (frozen) {
    await target.control('clock.freeze', {}, {})
    await target.control('clock.set', {}, { to_ms: now_ms })
    return
  }
  // In this order: a clock that runs on keeps the distance that it had while it stood still.
  await target.control('clock.resume', {}, {})
  await target.control('clock.set', {}, { to_ms: null })
  if (offset_ms === 0) return
  const real = (await target.control('clock.show')) as unknown as Clock
  await target.control('clock.set', {}, { to_ms: real.now_ms + offset_ms })
}

async function faultsOf(target: Target): Promise<{ fault_id: string; scenario: string | null }[]> {
  const { items } = (await target.control('faults.list')) as { items: { fault_id: string; scenario: string | null }[] }
  return items.filter(({ scenario }) => scenario === null)
}

async function activeScenario(target: Target): Promise<string | null> {
  const { items } = (await target.control('scenario.list')) as { items: { name: string; active: boolean }[] }
  return items.find(({ active }) => active)?.name ?? null
}
