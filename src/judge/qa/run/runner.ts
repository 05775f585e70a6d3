/**
 * Runs a plan: cases side by side, spread over the targets, and the steps of each. A case that changes shared state waits
 * until it has a target to itself.
 */
import { contract, type EndpointId } from '#contract/index.ts'
import { pageOrigin } from '#contract/origins.ts'
import { fillPath } from '#foundation/http.ts'
import type { Json } from '#foundation/json.ts'
import { readMessage } from '#foundation/system-error.ts'
import { type KeySource, makeRepeatable } from '#qa/report/repeat-script.ts'
import type { CaseResult, Reporter, RunResult, StepResult } from '../result.ts'
import type { LoadedStep } from '../suite/schema.ts'
import { CaseState, type ProjectKeys } from './case-state.ts'
import { openEventStream } from './events.ts'
import { type CaseContext, curlCommand, type Environment } from './exchange.ts'
import type { PlannedCase } from './plan.ts'
import { type Project, saveShared } from './shared-state.ts'
import { runStep, stepTitle } from './step.ts'
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
  const reason = interrupt.aborted ? explainInterrupt(interrupt) : `The run ended after ${failures} failed (--bail).`
  for (const planned of cases) {
    if (results.has(planned)) continue
    const result = notRun(planned, reason, environment.now())
    results.set(planned, result)
    await report(() => reporter.case?.(result))
  }
  const result: RunResult = {
    command: 'qa run',
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

interface CaseOptions extends Omit<CaseContext, 'state' | 'folder'> {
  /** Of the whole run. */
  seed: string
  /** Aborted by an interrupt: the step that runs ends, teardown still runs. */
  interrupt: AbortSignal
}

const caseTimeoutMs = 60_000
const teardownTimeoutMs = 10_000

/** Runs a case to its end. What goes wrong is in the result; nothing is thrown. */
async function runCase(planned: PlannedCase, options: CaseOptions): Promise<CaseResult> {
  const started_at_ms = options.environment.now()
  const started = performance.now()
  const missing = missingNeed(planned, options.target)
  const { reason, steps, key, isCut } =
    missing === null ? await runSteps(planned, options) : { reason: missing, steps: [], key: null, isCut: false }
  const duration_ms = Math.round((performance.now() - started) * 10) / 10
  if (isCut) return { ...resultHead(planned), outcome: 'not_run', reason, started_at_ms, duration_ms, steps }
  const isFailed = (missing === null && reason !== null) || steps.some(({ outcome }) => outcome === 'failed')
  const unsupported = missing ?? steps.find(({ outcome }) => outcome === 'not_applicable')?.reason ?? null
  const result: CaseResult = {
    ...resultHead(planned),
    outcome: isFailed ? 'failed' : unsupported !== null ? 'not_applicable' : 'passed',
    reason: reason ?? unsupported,
    started_at_ms,
    duration_ms,
    steps,
  }
  if (options.target.summary.kind === 'fresh') {
    makeRepeatable(result, { key, command_name: options.environment.command_name })
  }
  return result
}

/** Returns the result of a case that was never started. */
function notRun(planned: PlannedCase, reason: string, started_at_ms: number): CaseResult {
  return { ...resultHead(planned), outcome: 'not_run', reason, started_at_ms, duration_ms: 0, steps: [] }
}

function resultHead({ id, suite, name, loaded, matrix, attempt }: PlannedCase) {
  return { id, suite: suite.name, name, place: loaded.place, tags: loaded.tags, matrix, attempt }
}

function missingNeed({ needs }: PlannedCase, target: Target): string | null {
  for (const { need, step } of needs) {
    const missing = target.missing(need)
    if (missing !== null) return `Line ${step.place.line} (${step.kind.name}) needs ${missing}.`
  }
  return null
}

async function runSteps(
  planned: PlannedCase,
  options: CaseOptions,
): Promise<{ reason: string | null; steps: StepResult[]; key: KeySource | null; isCut: boolean }> {
  const { loaded, suite } = planned
  const state = new CaseState({
    target: options.target,
    seed: `${options.seed} ${planned.id} ${planned.attempt}`,
    case_name: planned.name,
    variables: { ...loaded.variables, ...planned.matrix },
    hostNow: options.environment.now,
  })
  const context: CaseContext = { ...options, state, folder: suite.folder }
  const timeout = new AbortController()
  const limit_ms = loaded.timeout_ms ?? caseTimeoutMs
  const timer = setTimeout(() => timeout.abort(new Error(`The case took longer than ${limit_ms} ms`)), limit_ms)
  const signal = AbortSignal.any([options.interrupt, timeout.signal])
  const steps: StepResult[] = []
  const hasFailed = () => steps.some(({ outcome }) => outcome === 'failed' || outcome === 'not_applicable')
  /** Whether an interrupt kept it from its end: nobody knows how it would have ended. */
  let isCut = false
  let restore = async () => {}
  let reason: string | null = null
  try {
    restore = await prepare(planned, context, signal)
    for (const step of [...loaded.setup, ...loaded.steps]) {
      const isSkipped = hasFailed() || signal.aborted
      const result = isSkipped ? skipped(step, signal) : await runStep(step, context, signal)
      isCut ||= options.interrupt.aborted && !hasFailed() && result.outcome !== 'passed'
      steps.push(isCut ? { ...skipped(step, signal), exchanges: result.exchanges } : result)
    }
    if (timeout.signal.aborted && !hasFailed()) reason = readMessage(timeout.signal.reason)
  } catch (error) {
    isCut = options.interrupt.aborted
    reason = `The case could not start: ${readMessage(error)}`
  } finally {
    clearTimeout(timer)
  }
  for (const step of loaded.teardown) {
    steps.push(await runStep(step, context, AbortSignal.timeout(teardownTimeoutMs)))
  }
  if (isCut) reason = explainInterrupt(options.interrupt)
  try {
    await state.end()
    await restore()
  } catch (error) {
    isCut = false
    reason = `The shared state could not be restored: ${readMessage(error)}`
  }
  return { reason, steps, key: state.key_source, isCut }
}

function explainInterrupt({ reason }: AbortSignal): string {
  return `The run was interrupted by ${String(reason)}.`
}

/** Prepares the project and the event stream of a case. Resolves with what restores the shared state. */
async function prepare(
  { loaded: { project }, listens, changes }: PlannedCase,
  { state, target, environment }: CaseContext,
  signal: AbortSignal,
): Promise<() => Promise<void>> {
  const keySource = (
    id: EndpointId,
    params: Readonly<Record<string, string>>,
    body: Json,
    field: KeySource['field'],
  ) => {
    const { method, path } = contract[id]
    const url = target.base_url + fillPath(path, params)
    const headers = { 'content-type': 'application/json' }
    const curl = curlCommand({ method, url, headers, body: JSON.stringify(body) }, target, environment)
    return { curl, field }
  }
  if (typeof project === 'string') {
    const { settings } = await target.control<Project>('projects.show', { client_id: project }, undefined, signal)
    state.client_id = project
    state.key_source = keySource('keys.create', { client_id: project }, { class: 'secret', mode: 'test' }, 'key')
    state.origin = pageOrigin(settings.allowed_origins) ?? state.origin
  } else if (project !== null) {
    const client_id = `proj_${state.session}`
    const settings = { allowed_origins: [state.origin], ...(project as Record<string, Json>) }
    const created = { client_id, ...settings }
    const { keys } = await target.control<{ keys: ProjectKeys }>('projects.create', {}, created, signal)
    state.client_id = client_id
    state.own_keys = keys
    state.key_source = keySource('projects.create', {}, created, 'secret_key')
    state.origin = pageOrigin(settings.allowed_origins) ?? state.origin
  }
  const restore = await saveShared(target, changes, state.client_id)
  if (listens) state.events = await openEventStream(target, signal)
  return restore
}

function skipped(step: LoadedStep, signal: AbortSignal): StepResult {
  const reason = signal.aborted ? 'The run was interrupted.' : 'An earlier step failed.'
  return {
    title: stepTitle(step, step.data),
    place: step.place,
    outcome: 'not_run',
    reason,
    duration_ms: 0,
    exchanges: [],
    checks: [],
    screenshots: [],
  }
}
