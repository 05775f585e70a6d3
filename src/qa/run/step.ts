/** Runs one step: variables, its kind, how often, and what is expected of it. */
/** Expectations that the answer itself does not show: events, billing, evidence. They need the control plane. */
import { contract, type EndpointId } from '../../contract/index.ts'
import { isObject, type Json } from '../../foundation/json.ts'
import { valueAt } from '../../foundation/json-path.ts'
import { redactSecrets } from '../../foundation/redaction.ts'
import { check, type Expect, type ExpectedEvent, judge, type PlaceOf } from '../expect/expectations.ts'
import { matches } from '../expect/matchers.ts'
import type { Answer, Check, StepResult } from '../result.ts'
import { pause, type RequestMembers, type StepKind } from '../steps/step-kind.ts'
import { type LoadedStep, stepSchema } from '../suite/schema.ts'
import { durationMs, type Lookup, substitute, VariableError } from '../suite/variables.ts'
import { MissingError } from './case-state.ts'
import { EventsMissing } from './events.ts'
import { createTurn, type Recording, type RunContext, redactValue, type StepContext } from './exchange.ts'
import { NoAnswer } from './http.ts'
import { ControlError } from './target.ts'

interface StepMembers extends RequestMembers {
  name?: string
  as?: string
  timeout?: number | string
  contract?: false
  expect?: Expect
  repeat?: number | { times: number; until?: Expect; pause?: number | string; at_once?: true }
}

/** Of a step that was repeated, only so many exchanges are kept: the first ones and the last. */
const keptExchanges = 12

/** Runs a step to its end. What goes wrong is in the result; nothing is thrown. */
export async function runStep(step: LoadedStep, context: RunContext, interrupt: AbortSignal): Promise<StepResult> {
  const started = performance.now()
  const limit_ms = timeoutOf(step, context.step_timeout_ms)
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(new Error(`It took longer than ${limit_ms} ms`)), limit_ms)
  const signal = AbortSignal.any([timeout.signal, interrupt])
  const recording: Recording = { exchanges: [], checks: [], screenshots: [] }
  let title = titleOf(step, step.data)
  let reason: string | null = null
  try {
    title = await Promise.race([
      attempt(step, { ...context, ends_at_ms: started + limit_ms }, recording, signal, title),
      lateEnd(signal),
    ])
  } catch (error) {
    reason = reasonOf(error, signal)
  } finally {
    clearTimeout(timer)
  }
  const isFailed = reason !== null || recording.checks.some((check) => !check.passed)
  return {
    title,
    place: step.place,
    outcome: isFailed ? 'failed' : 'passed',
    reason: reason === null ? null : redactSecrets(reason),
    duration_ms: Math.round((performance.now() - started) * 10) / 10,
    exchanges: trimmed(recording.exchanges),
    checks: recording.checks.map(redacted),
    screenshots: recording.screenshots,
  }
}

/** Rejects a while after the signal: what does not heed it is left alone then. */
function lateEnd(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => setTimeout(() => reject(signal.reason), grace_ms)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}

const grace_ms = 500

/** Answers the title with its variables filled in. */
async function attempt(
  step: LoadedStep,
  context: StepContext,
  recording: Recording,
  signal: AbortSignal,
  title: string,
): Promise<string> {
  const { state } = context
  const { repeat } = step.data
  const times = await timesOf(repeat, context)
  const plan = isObject(repeat) ? (repeat as Exclude<StepMembers['repeat'], number | undefined>) : null
  let shown = title
  let isUntilMet = false
  const once = async (index: number): Promise<void> => {
    // Of this time alone: others may be under way beside it.
    const lookup: Lookup = async (name) => (name === 'index' ? index : state.lookup(name))
    const { expect, ...unjudged } = step.data
    const { until: _, ...repeating } = (plan ?? {}) as Record<string, Json>
    const data = (await substitute(
      (plan === null ? unjudged : { ...unjudged, repeat: repeating }) as Json,
      lookup,
    )) as unknown as StepMembers
    const members = parse(step.kind, data)
    shown = titleOf(step, data as unknown as Record<string, Json>)
    const answer = await answerOf(
      step,
      members,
      expect as Json | undefined,
      context,
      recording,
      signal,
      lookup,
      index === 1,
    )
    if (plan?.until !== undefined && answer !== null) {
      const until = (await substitute(plan.until as unknown as Json, lookup)) as unknown as Expect
      const checks = judge(until, answer, (name) => state.answer(name), noPlace)
      isUntilMet = checks.every((check) => check.passed)
      if (isUntilMet || index === times) {
        recording.checks.push(...checks.map((check) => ({ ...check, place: step.at(['repeat', 'until']) })))
      }
    }
  }
  if (plan?.at_once === true) {
    await Promise.all(Array.from({ length: times }, (_, index) => once(index + 1)))
    return shown
  }
  for (let index = 1; index <= times && !isUntilMet; index++) {
    if (index > 1 && plan?.pause !== undefined) await pause(durationMs(plan.pause), { signal })
    await once(index)
    if (recording.checks.some((check) => !check.passed)) break
  }
  return shown
}

async function answerOf(
  step: LoadedStep,
  members: StepMembers,
  wanted: Json | undefined,
  context: StepContext,
  recording: Recording,
  signal: AbortSignal,
  lookup: Lookup,
  isFirst: boolean,
): Promise<Answer | null> {
  const { state } = context
  const checks: Check[] = []
  const placeOf: PlaceOf = (path) => ({ place: step.at(path) })
  const turn = createTurn(context, recording, checks, signal, {
    checksContract: members.contract !== false,
    mayWaitForRate: !expects(wanted, 429),
    placeOf,
  })
  const repeatsAtOnce = isObject(step.data.repeat) && step.data.repeat.at_once === true
  try {
    const answer = await step.kind.run(members as never, turn)
    if (answer !== null) state.remember(answer, members.as ?? null)
    const expect = (wanted === undefined ? {} : await substitute(wanted, lookup)) as unknown as Expect
    if (expect.answer === 'none') {
      checks.push({
        subject: 'answer',
        passed: false,
        expected: 'none',
        actual: answer?.status ?? null,
        ...placeOf(['expect', 'answer']),
      })
    }
    if (answer !== null) {
      const judged = judge(
        withDefault(expect, step, members),
        answer,
        (name) => state.answer(name),
        placeOf,
        pagesOf(step, members),
      )
      checks.push(...judged)
      if (judged.every((check) => check.passed) && checks.every((check) => check.passed)) {
        checks.push(...(await hiddenChecks(expect, answer, context, signal, placeOf)))
      }
    }
    return answer
  } catch (error) {
    if (!(error instanceof NoAnswer) || !isObject(wanted) || wanted.answer !== 'none' || signal.aborted) throw error
    checks.push({
      subject: 'answer',
      passed: true,
      expected: 'none',
      actual: error.message,
      ...placeOf(['expect', 'answer']),
    })
    return null
  } finally {
    // Of a repetition the last counts; every failure stays.
    if (repeatsAtOnce || isFirst) recording.checks.push(...checks)
    else recording.checks = [...recording.checks.filter((check) => !check.passed), ...checks]
  }
}

/** A success is expected where nothing else is said. */
function withDefault(expect: Expect, { kind, data }: LoadedStep, members: StepMembers): Expect {
  const until = isObject(data.repeat) && 'until' in data.repeat
  if (expect.status !== undefined || expect.reason !== undefined || expect.answer !== undefined || until) return expect
  if (kind.name === 'request') return expect
  const id = (members as unknown as Record<string, unknown>).call as EndpointId | undefined
  return { ...expect, status: id === undefined ? '2xx' : contract[id].status }
}

function pagesOf({ kind }: LoadedStep, members: StepMembers) {
  const isFrame = kind.name === 'frame' || (members as unknown as Record<string, unknown>).call === 'render.frame'
  return isFrame ? contract['render.frame'].pages : {}
}

function parse(kind: StepKind, data: StepMembers): StepMembers {
  const parsed = stepSchema(kind.name).safeParse(data)
  if (parsed.success) return parsed.data as unknown as StepMembers
  const [issue] = parsed.error.issues
  throw new VariableError(`With its variables filled in, ${issue?.path.join('.')} is wrong: ${issue?.message}.`)
}

async function timesOf(repeat: Json | undefined, { state }: RunContext): Promise<number> {
  const times = isObject(repeat) ? repeat.times : repeat
  return times === undefined ? 1 : Number(await substitute(times, state.lookup))
}

function timeoutOf({ data }: LoadedStep, fallback_ms: number): number {
  const { timeout } = data
  return typeof timeout === 'number' || (typeof timeout === 'string' && !timeout.includes('{{'))
    ? durationMs(timeout)
    : fallback_ms
}

function titleOf({ kind }: LoadedStep, data: Readonly<Record<string, Json>>): string {
  return typeof data.name === 'string' ? data.name : kind.title(data)
}

function expects(wanted: Json | undefined, status: number): boolean {
  const text = JSON.stringify([valueAt(wanted, 'status'), valueAt(wanted, 'reason')])
  return text.includes(String(status)) || text.includes('4xx') || text.includes('rate_limited')
}

function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted && error === signal.reason) return sentence(endOf(signal))
  const isKnown = [NoAnswer, VariableError, MissingError, EventsMissing, ControlError].some(
    (kind) => error instanceof kind,
  )
  if (isKnown || error instanceof Error) return sentence((error as Error).message)
  return String(error)
}

/** Why a step ended early: its time was up, or a signal came. */
function endOf({ reason }: AbortSignal): string {
  return reason instanceof Error ? reason.message : `The run was ended by ${String(reason)}`
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(first) ? first : `${first}.`
}

function redacted(check: Check): Check {
  return { ...check, expected: redactValue(check.expected), actual: redactValue(check.actual) }
}

function trimmed<T>(exchanges: readonly T[]): T[] {
  if (exchanges.length <= keptExchanges) return [...exchanges]
  return [...exchanges.slice(0, keptExchanges / 2), ...exchanges.slice(-keptExchanges / 2)]
}

const noPlace: PlaceOf = () => ({})

export async function hiddenChecks(
  { events, billing, evidence }: Expect,
  answer: Answer,
  { state, target }: RunContext,
  signal: AbortSignal,
  placeOf: PlaceOf,
): Promise<Check[]> {
  const checks: Check[] = []
  if (events !== undefined) checks.push(await eventsCheck(events))
  if (billing === undefined && evidence === undefined) return checks
  const slot = valueAt(answer.body, 'slot_id')
  const slot_id = typeof slot === 'string' ? slot : state.slotOf(undefined)
  const ledger = await target.control('placements.explain', { slot_id }, undefined, signal)
  if (billing !== undefined) {
    const wanted = typeof billing === 'boolean' ? { would_bill: billing } : billing
    for (const [path, expected] of Object.entries(wanted)) {
      const actual = valueAt(ledger, `billing.${path}`)
      checks.push(check(`billing.${path}`, expected, actual, placeOf(['expect', 'billing'])))
    }
  }
  if (Array.isArray(evidence)) {
    const kinds = (valueAt(ledger, 'evidence') as { kind: string }[]).map(({ kind }) => kind)
    checks.push(check('evidence', evidence, kinds, placeOf(['expect', 'evidence'])))
  }
  if (evidence === true) {
    const verified = (await target.control('evidence.verify', {}, undefined, signal)) as { ok: boolean }
    checks.push(check('evidence', true, matches(true, verified.ok), placeOf(['expect', 'evidence'])))
  }
  return checks

  async function eventsCheck(wanted: readonly ExpectedEvent[]): Promise<Check> {
    const expected = wanted.map((event) => (typeof event === 'string' ? event : event.type))
    const place = placeOf(['expect', 'events'])
    // Events come within moments of the answer; those of a step that fails should not take its whole time.
    const soon = AbortSignal.any([signal, AbortSignal.timeout(eventsWithin_ms)])
    try {
      const seen = await state.waitForEvents(wanted as never, soon)
      return { subject: 'events', passed: true, expected, actual: seen.map(({ type }) => type), ...place }
    } catch (error) {
      if (!(error instanceof EventsMissing)) throw error
      return {
        subject: 'events',
        passed: false,
        expected,
        actual: [...error.seen] as Json,
        hint: error.message,
        ...place,
      }
    }
  }
}

const eventsWithin_ms = 2_000
