/**
 * Runs one step: fills in its variables, runs its kind once or several times, and checks what is expected of it. What the
 * response itself does not show (events, billing, evidence) is read from the control plane.
 */
import { contract, type EndpointId } from '#contract/index.ts'
import { isObject, type Json, valueAt } from '#foundation/json.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { readMessage } from '#foundation/system-error.ts'
import { matches } from '#qa/expect/operators.ts'
import {
  check,
  type Expect,
  findExpectedSilence,
  judge,
  type Locate,
  readResponseReason,
} from '../expect/expectations.ts'
import { type Check, NotSupported, QaError, type StepResponse, type StepResult } from '../result.ts'
import { type CommonFields, pause, type RequestFields, type StepData, type StepKind } from '../steps/step-kind.ts'
import { type LoadedStep, stepSchema } from '../suite/schema.ts'
import { durationMs, type Lookup, substitute, VariableError } from '../suite/variables.ts'
import { MissingEventsError } from './events.ts'
import { type CaseContext, createStepContext, type Recording, redactValue } from './exchange.ts'
import { NoResponseError } from './http-client.ts'
import { StepTime } from './step-time.ts'

/** The fields of a step with its variables filled in. */
type StepFields = Pick<CommonFields, 'name' | 'as'> & RequestFields

/** A step that runs. */
interface StepRun {
  step: LoadedStep
  context: CaseContext
  recording: Recording
  signal: AbortSignal
  time: StepTime
}

/** Exchanges that are kept of a repeated step: the first ones and the last. */
const keptExchanges = 12
/** How long a step that ignores its abort signal is waited for. */
const graceMs = 500
/** Events come within moments of the response; a missing one should not take the whole time of the step. */
const eventsWithinMs = 2_000

/** Runs a step to its end. What goes wrong is in the result; nothing is thrown. */
export async function runStep(step: LoadedStep, context: CaseContext, interrupt: AbortSignal): Promise<StepResult> {
  const started = performance.now()
  const time = new StepTime(readTimeout(step, context.step_timeout_ms))
  const signal = AbortSignal.any([time.signal, interrupt])
  const recording: Recording = { exchanges: [], checks: [], screenshots: [] }
  let title = stepTitle(step, step.data)
  let reason: string | null = null
  let isSupported = true
  try {
    const run = { step, context, recording, signal, time }
    title = await Promise.race([runRepeated(run, title), rejectAfterAbort(signal)])
  } catch (error) {
    isSupported = !(error instanceof NotSupported)
    reason = isSupported ? explainFailure(error, signal) : readMessage(error)
  } finally {
    time.end()
  }
  const isFailed = (isSupported && reason !== null) || recording.checks.some(({ passed }) => !passed)
  return {
    title,
    place: step.place,
    outcome: isFailed ? 'failed' : isSupported ? 'passed' : 'not_applicable',
    reason: reason === null ? null : redactSecrets(reason),
    duration_ms: Math.round((performance.now() - started) * 10) / 10,
    exchanges: firstAndLast(recording.exchanges),
    checks: recording.checks.map((check) => ({
      ...check,
      expected: redactValue(check.expected),
      actual: redactValue(check.actual),
    })),
    screenshots: recording.screenshots,
  }
}

/** Rejects a while after the signal: a step that does not heed it is abandoned then. */
function rejectAfterAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => setTimeout(() => reject(signal.reason), graceMs)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}

/** Runs a step as many times as it asks for. Resolves with its title, variables filled in. */
async function runRepeated(run: StepRun, title: string): Promise<string> {
  const { step, context, recording, signal } = run
  const { state } = context
  const { repeat } = step.data
  const times = Number(await substitute((isObject(repeat) ? repeat.times : repeat) ?? 1, state.lookup))
  const plan = isObject(repeat) ? repeat : null
  let shown = title
  let isUntilMet = false
  const once = async (index: number): Promise<void> => {
    // The index of this repetition: others may run at the same time.
    const lookup: Lookup = async (name) => (name === 'index' ? index : state.lookup(name))
    const { expect, ...written } = step.data
    // The condition may name the response of this repetition: its variables are filled in after it.
    const { until, ...repeating }: { until?: Json } = plan ?? {}
    const given = plan === null ? written : { ...written, repeat: repeating }
    const fields = parseFields(step.kind, await substitute(given, lookup))
    shown = stepTitle(step, fields as unknown as StepData)
    const keepsChecks = index === 1 || plan?.at_once === true
    const response = await runOnce(run, { fields, expect, lookup, keepsChecks })
    if (until === undefined || response === null) return
    const condition = await fillExpectation(until, lookup)
    const checks = judge(condition, response, { findResponse: (name) => state.findResponse(name), locate: () => ({}) })
    isUntilMet = checks.every(({ passed }) => passed)
    if (isUntilMet || index === times) {
      const place = step.at(['repeat', 'until'])
      recording.checks.push(...checks.map((check) => ({ ...check, place })))
    }
  }
  if (plan?.at_once === true) {
    await Promise.all(Array.from({ length: times }, (_, index) => once(index + 1)))
    return shown
  }
  for (let index = 1; index <= times && !isUntilMet; index++) {
    if (index > 1 && isDuration(plan?.pause)) await pause(durationMs(plan.pause), { signal })
    await once(index)
    if (recording.checks.some(({ passed }) => !passed)) break
  }
  return shown
}

/** One of the times that a step runs. */
interface Repetition {
  fields: StepFields
  expect: Json | undefined
  lookup: Lookup
  /** The checks of repetitions before it; otherwise only failures and the checks of the last are kept. */
  keepsChecks: boolean
}

async function runOnce(
  { step, context, recording, signal, time }: StepRun,
  { fields, expect, lookup, keepsChecks }: Repetition,
): Promise<StepResponse | null> {
  const { state } = context
  const checks: Check[] = []
  const locate: Locate = (path) => ({ place: step.at(path) })
  const silence = findExpectedSilence(expect)
  const checkSilence = (passed: boolean, actual: Json) => {
    if (silence === undefined) return
    checks.push({ subject: silence, passed, expected: 'none', actual, ...locate(['expect', silence]) })
  }
  const stepContext = createStepContext(context, recording, checks, {
    signal,
    time,
    checksContract: fields.contract !== false,
    waitsForRate: !expectsRateLimit(expect),
    locate,
  })
  try {
    const response = await step.kind.run(fields as never, stepContext)
    if (response !== null) state.recordResponse(response, fields.as ?? null)
    const expected = await fillExpectation(expect ?? {}, lookup)
    checkSilence(false, response?.status ?? null)
    if (response === null) return null
    const pages = isFrame(step.kind, fields) ? contract['render.frame'].pages : {}
    const findResponse = (name: string) => state.findResponse(name)
    checks.push(...judge(withDefault(expected, step, fields), response, { findResponse, locate, pages }))
    if (checks.every(({ passed }) => passed)) {
      checks.push(...(await sandboxChecks(expected, response, context, { signal, locate })))
    }
    noteReason(checks, response)
    return response
  } catch (error) {
    if (!(error instanceof NoResponseError) || silence === undefined || signal.aborted) throw error
    checkSilence(true, error.message)
    return null
  } finally {
    if (!keepsChecks) recording.checks = recording.checks.filter(({ passed }) => !passed)
    recording.checks.push(...checks)
  }
}

/** Notes at the first failed check what the response itself gives as its reason. */
function noteReason(checks: readonly Check[], response: StepResponse): void {
  const failed = checks.find(({ passed }) => !passed)
  const reason = failed === undefined ? null : readResponseReason(response.body)
  if (failed !== undefined && reason !== null) failed.response_reason = reason
}

/** The loader has compared it with its schema. */
async function fillExpectation(written: Json, lookup: Lookup): Promise<Expect> {
  return (await substitute(written, lookup)) as Expect
}

/** Returns the checks that need the control plane: events, billing, evidence. */
async function sandboxChecks(
  { events, billing, evidence }: Expect,
  response: StepResponse,
  { state, target }: CaseContext,
  { signal, locate }: { signal: AbortSignal; locate: Locate },
): Promise<Check[]> {
  const checks: Check[] = []
  if (events !== undefined) checks.push(await eventsCheck(events, state, signal, locate(['expect', 'events'])))
  if (billing === undefined && evidence === undefined) return checks
  const slot = valueAt(response.body, 'slot_id')
  const slot_id = typeof slot === 'string' ? slot : state.findSlot(undefined)
  const ledger = await target.control('placements.explain', { slot_id }, undefined, signal)
  if (billing !== undefined) {
    const wanted = typeof billing === 'boolean' ? { would_bill: billing } : billing
    for (const [path, expected] of Object.entries(wanted)) {
      const actual = valueAt(ledger, `billing.${path}`)
      const judged = check(`billing.${path}`, expected, actual, locate(['expect', 'billing']))
      const why = [valueAt(ledger, 'billing.explanation'), valueAt(ledger, 'billing.missing')]
      checks.push({
        ...(judged.passed ? {} : { hint: why.filter((text) => typeof text === 'string').join(' ') }),
        ...judged,
      })
    }
  }
  if (Array.isArray(evidence)) {
    const entries = valueAt(ledger, 'evidence')
    const kinds = Array.isArray(entries) ? entries.map((entry) => valueAt(entry, 'kind') ?? null) : []
    checks.push(check('evidence', evidence, kinds, locate(['expect', 'evidence'])))
  }
  if (evidence === true) {
    const verified = await target.control<{ ok: boolean }>('evidence.verify', {}, undefined, signal)
    checks.push(check('evidence', true, matches(true, verified.ok), locate(['expect', 'evidence'])))
  }
  return checks
}

async function eventsCheck(
  wanted: NonNullable<Expect['events']>,
  state: CaseContext['state'],
  signal: AbortSignal,
  place: Pick<Check, 'place'>,
): Promise<Check> {
  const expected = wanted.map((event) => (typeof event === 'string' ? event : event.type))
  try {
    const soon = AbortSignal.any([signal, AbortSignal.timeout(eventsWithinMs)])
    const seen = await state.waitForEvents(wanted as never, soon)
    return { subject: 'events', passed: true, expected, actual: seen.map(({ type }) => type), ...place }
  } catch (error) {
    if (!(error instanceof MissingEventsError)) throw error
    return { subject: 'events', passed: false, expected, actual: [...error.seen], hint: error.message, ...place }
  }
}

/** A success is expected when nothing else is. */
function withDefault(expect: Expect, { kind, data }: LoadedStep, fields: StepFields): Expect {
  const hasUntil = isObject(data.repeat) && 'until' in data.repeat
  if (expect.status !== undefined || expect.reason !== undefined) return expect
  if (expect.response !== undefined || expect.answer !== undefined) return expect
  if (hasUntil || kind.name === 'request') return expect
  const id = calledEndpoint(fields)
  return { ...expect, status: id === undefined ? '2xx' : contract[id].status }
}

function isFrame({ name }: StepKind, fields: StepFields): boolean {
  return name === 'frame' || calledEndpoint(fields) === 'render.frame'
}

function calledEndpoint(fields: StepFields): EndpointId | undefined {
  return (fields as { call?: EndpointId }).call
}

function parseFields(kind: StepKind, data: Json): StepFields {
  const parsed = stepSchema(kind.name).safeParse(data)
  if (parsed.success) return parsed.data as StepFields
  const [issue] = parsed.error.issues
  throw new VariableError(`With its variables filled in, ${issue?.path.join('.')} is wrong: ${issue?.message}.`)
}

function readTimeout({ data }: LoadedStep, fallback_ms: number): number {
  const { timeout } = data
  const isKnown = isDuration(timeout) && !String(timeout).includes('{{')
  return isKnown ? durationMs(timeout) : fallback_ms
}

function isDuration(value: Json | undefined): value is string | number {
  return typeof value === 'number' || typeof value === 'string'
}

/** Returns the title of a step for reports; `data` may have its variables filled in. */
export function stepTitle({ kind }: LoadedStep, data: StepData): string {
  return typeof data.name === 'string' ? data.name : kind.title(data)
}

function expectsRateLimit(expect: Json | undefined): boolean {
  const text = JSON.stringify([valueAt(expect, 'status'), valueAt(expect, 'reason')])
  return ['429', '4xx', 'rate_limited'].some((wanted) => text.includes(wanted))
}

function explainFailure(error: unknown, signal: AbortSignal): string {
  const cause = signal.aborted && error === signal.reason && !(error instanceof Error) ? null : error
  if (cause === null) return sentence(`The run was interrupted by ${String(error)}`)
  if (cause instanceof QaError) return `${sentence(cause.message)} ${cause.hint}`
  return cause instanceof Error ? sentence(cause.message) : String(cause)
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(first) ? first : `${first}.`
}

function firstAndLast<T>(exchanges: readonly T[]): T[] {
  if (exchanges.length <= keptExchanges) return [...exchanges]
  return [...exchanges.slice(0, keptExchanges / 2), ...exchanges.slice(-keptExchanges / 2)]
}
