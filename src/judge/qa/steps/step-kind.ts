/**
 * A kind of step: its fields in a suite, what it needs of a target, which shared state it changes, and what it
 * does. The list of kinds is in `suite/schema.ts`; the loader, the plan and the runner read it there.
 */
import { z } from 'zod'
import { contract, type EndpointId } from '#contract/index.ts'
import { isObject, type Json, type JsonObject } from '#foundation/json.ts'
import { Expect } from '../expect/expectations.ts'
import type { Check, Screenshot, StepResponse } from '../result.ts'
import type { CaseState } from '../run/case-state.ts'
import type { Need, Target } from '../run/target.ts'
import { AnyJson, Duration, Name, orVariable } from '../suite/variables.ts'

/** State of a target that all cases share: a case that changes it runs exclusively, and the runner restores it. */
export type SharedState = 'clock' | 'faults' | 'scenario' | 'project' | 'everything'

/** A step as written in the suite, variables included. */
export type StepData = JsonObject

export interface StepKind<Shape extends z.ZodRawShape = z.ZodRawShape> {
  /** The field that names the kind: `placement`. */
  readonly name: string
  /** A summary in a few words. */
  readonly summary: string
  /** Its own fields, with the one that names it. */
  readonly shape: Shape
  /** Whether it sends a request of the v1 API, and so takes `key`, `origin`, `headers`, `query`, `set` and `unset`. */
  readonly isRequest: boolean
  needs(step: StepData): readonly Need[]
  changes(step: StepData): readonly SharedState[]
  /** A few words for reports: `beacon visible`. */
  title(step: StepData): string
  /** Runs a step whose variables are filled in. Returns what `expect` looks at, or null when there is nothing. */
  run(step: z.output<z.ZodObject<Shape>> & RequestFields, context: StepContext): Promise<StepResponse | null>
}

/** Kinds without `needs` need what their credential and body ask for; kinds without `changes` change nothing shared. */
type StepKindDraft<Shape extends z.ZodRawShape> = Omit<StepKind<Shape>, 'needs' | 'changes'> &
  Partial<Pick<StepKind<Shape>, 'needs' | 'changes'>>

/** Returns a kind for the list of kinds, which knows nothing of the types of its fields. */
export function stepKind<const Shape extends z.ZodRawShape>(draft: StepKindDraft<Shape>): StepKind {
  const needs = draft.isRequest ? needsOfRequest : () => []
  return { needs, changes: () => [], ...draft } as unknown as StepKind
}

/** The context of a running step. */
export interface StepContext {
  readonly target: Target
  readonly state: CaseState
  /** Aborted when the time of the step is up, or the run ends. */
  readonly signal: AbortSignal
  /** When the time of the step is up, on the clock of performance.now(). */
  readonly ends_at_ms: number
  /** Does svc's own work, which has a separate limit: the time of the step begins after it. */
  beforeTime<Value>(work: () => Promise<Value>): Promise<Value>
  /** Whether stored screenshots are replaced by the new ones. */
  readonly update_snapshots: boolean
  /** Folder of the suite file, for files that it names. */
  readonly folder: string
  /** Calls an endpoint of the contract. Throws NoResponseError. */
  call(id: EndpointId, call: Call): Promise<StepResponse>
  /** Sends any request. Throws NoResponseError. */
  request(request: AnyRequest): Promise<StepResponse>
  /** Returns the place of a field of the step: `['do', 2, 'click']`. */
  locate(path: readonly (string | number)[]): Pick<Check, 'place'>
  /** Records one expectation, met or not. */
  check(check: Check): void
  screenshot(picture: Screenshot): void
}

/** A call of an endpoint of the contract. */
export interface Call {
  params?: Readonly<Record<string, string>> | undefined
  query?: Readonly<Record<string, Json>> | undefined
  body?: Json | undefined
  /** `set`, `unset` and the like of the step, which are applied to the request. */
  fields?: RequestFields
}

/** A request that need not be one of the contract. */
export interface AnyRequest {
  method: string
  /** Path and query relative to the base URL, or a whole URL. */
  path: string
  /** Sent unchanged; null for none. */
  body: string | null
  headers?: Readonly<Record<string, string>>
  fields?: RequestFields
}

/** Fields of every request step. */
export type RequestFields = z.infer<z.ZodObject<typeof requestFields>>

const Key = z.union([
  z.string(),
  z.strictObject({
    project: z.string().optional(),
    class: z.enum(['secret', 'publishable']).optional(),
    mode: z.enum(['test', 'live']).optional(),
  }),
])

const Times = orVariable(z.int().min(1).max(10_000), 'a whole number from 1 on')
const Repeat = z.union([
  Times,
  z.strictObject({
    times: Times.describe('How many times, at most.'),
    until: Expect.optional().describe('Stop as soon as this holds; it must hold in the end.'),
    pause: Duration.optional().describe('Time between two repetitions.'),
    at_once: z.literal(true).optional().describe('All at the same time.'),
  }),
])

/** Fields of every step. */
export type CommonFields = z.infer<z.ZodObject<typeof commonFields>>

/** Schemas of the fields that every step has. */
export const commonFields = {
  name: z.string().min(1).optional().describe('Its name in reports.'),
  as: Name.optional().describe('Name of its response: {{name.status}}, {{name.headers.etag}}, {{name.body...}}.'),
  repeat: Repeat.optional().describe('Repeats the step; {{index}} counts from 1.'),
  timeout: Duration.optional().describe('How long it may take; default 10s.'),
  expect: Expect.optional().describe('What its response must be.'),
}

/** Schemas of the fields that steps have which send a request of the API. */
export const requestFields = {
  key: Key.optional().describe(
    'Credential: secret (default), publishable, live, other (of another project), activation, beacon (the token of the last frame), none, { project, class, mode }, or text.',
  ),
  origin: z.string().nullable().optional().describe('Origin header; null for none.'),
  headers: z.record(z.string(), z.string().nullable()).optional().describe('Headers; null removes one.'),
  query: z.record(z.string(), AnyJson).optional().describe('Parameters of the query string.'),
  set: z.record(z.string(), AnyJson).optional().describe('Fields of the body to set, by dotted path.'),
  unset: z.array(z.string()).optional().describe('Fields of the body to remove, by dotted path.'),
  contract: z.literal(false).optional().describe('false: the response is not compared with the contract.'),
}

const changedBy: Readonly<Partial<Record<EndpointId, SharedState>>> = {
  'clock.advance': 'clock',
  'clock.set': 'clock',
  'clock.freeze': 'clock',
  'clock.resume': 'clock',
  'faults.add': 'faults',
  'faults.clear': 'faults',
  'faults.remove': 'faults',
  'scenario.use': 'scenario',
  'scenario.clear': 'scenario',
  'projects.update': 'project',
  'sandbox.reset': 'everything',
  'sandbox.import': 'everything',
  'snapshots.restore': 'everything',
}

/** Returns the shared state that a call of an endpoint changes. */
export function changesOfCall(id: EndpointId): readonly SharedState[] {
  const state = changedBy[id]
  return state === undefined ? [] : [state]
}

/** Returns what a call of an endpoint needs. */
export function needsOfCall(id: EndpointId, step: StepData): readonly Need[] {
  return [
    ...(contract[id]?.stability === 'sandbox' ? (['control'] as const) : []),
    ...(changedBy[id] === 'everything' ? (['erasable'] as const) : []),
    ...needsOfRequest(step),
  ]
}

/** Returns what the credential and the body of a request step need. */
export function needsOfRequest(step: StepData): readonly Need[] {
  const { key } = step
  const needs: Need[] = []
  if (key === 'other' || (isObject(key) && Object.keys(key).length > 0)) needs.push('control')
  if (key === 'live') needs.push('live_key')
  if (key === 'publishable') needs.push('publishable_key')
  if (JSON.stringify(step).includes('test_outcome')) needs.push('test_key')
  return needs
}

/** Resolves after a time. Rejects with the reason of the signal when that is aborted first. */
export function pause(duration_ms: number, { signal }: Pick<StepContext, 'signal'>): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, duration_ms)
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    signal.addEventListener('abort', stop, { once: true })
  })
}

/** Returns an object without its undefined fields. */
export function definedFields(fields: Readonly<Record<string, Json | undefined>>): Record<string, Json> {
  return Object.fromEntries(Object.entries(fields).filter((field): field is [string, Json] => field[1] !== undefined))
}
