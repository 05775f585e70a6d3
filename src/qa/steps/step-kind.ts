/**
 * What a kind of step is: its members in a suite, what it needs of a target, what it moves, and what it does. The list of
 * kinds is `steps/index.ts`; the schema of suites, the plan and the runner read it there.
 */
/** A step under way: what its kind may use. */
/** Members that steps have beside their action. */
/** What endpoints need of a target, and what they change for everyone. */
import { z } from 'zod'
import { contract, type EndpointId } from '../../contract/index.ts'
import type { Json } from '../../foundation/json.ts'
import { Expect } from '../expect/expectations.ts'
import type { Answer, Check, Screenshot } from '../result.ts'
import type { CaseState, KeyChoice } from '../run/case-state.ts'
import type { Need, Target } from '../run/target.ts'
import { AnyJson, Duration, Name, orVariable } from '../suite/variables.ts'

/** What a step changes for everyone: such a case runs alone, and the runner puts it back. */
export type Move = 'clock' | 'faults' | 'scenario' | 'project' | 'everything'

export interface StepKind<Shape extends z.ZodRawShape = z.ZodRawShape> {
  /** The member that names it: `placement`. */
  readonly name: string
  /** What it does, in a few words. */
  readonly summary: string
  /** Its own members, the one that names it among them. */
  readonly shape: Shape
  /** Whether it is a request of the v1 API: it takes `key`, `origin`, `headers`, `query`, `set` and `unset` then. */
  readonly isRequest: boolean
  /** Of a step as it is written, variables and all. */
  needs(step: StepData): readonly Need[]
  moves(step: StepData): readonly Move[]
  /** A few words for reports: `beacon visible`. */
  title(step: StepData): string
  /** Does it. The answer is what `expect` looks at; null where there is none. */
  run(step: z.output<z.ZodObject<Shape>> & RequestMembers, turn: Turn): Promise<Answer | null>
}

/** A step as data. */
export type StepData = Readonly<Record<string, Json>>

/** Members of every request step. */
export interface RequestMembers {
  key?: KeyChoice | undefined
  origin?: string | null | undefined
  headers?: Record<string, string | null> | undefined
  query?: Record<string, Json> | undefined
  set?: Record<string, Json> | undefined
  unset?: string[] | undefined
}

/** A kind, with its types forgotten for the list. */
export function stepKind<const Shape extends z.ZodRawShape>(kind: StepKind<Shape>): StepKind {
  return kind as unknown as StepKind
}

/** What a request step sends; `set`, `unset` and the like of the step are applied to it. */
export interface Call {
  params?: Readonly<Record<string, string>> | undefined
  query?: Readonly<Record<string, Json>> | undefined
  body?: Json | undefined
  members?: RequestMembers
}

/** A request that need not be one of the contract. */
export interface RawCall {
  method: string
  /** Path and query, relative to the base URL. */
  path: string
  /** Sent as it is; null for none. */
  body: string | null
  headers?: Readonly<Record<string, string>>
  members?: RequestMembers
}

export interface Turn {
  readonly target: Target
  readonly state: CaseState
  /** Aborted when the time of the step is up, or the run ends. */
  readonly signal: AbortSignal
  /** When the time of the step is up, as performance.now() counts. */
  readonly ends_at_ms: number
  /** Stored pictures are to be replaced by what is seen. */
  readonly update_snapshots: boolean
  /** Folder of the suite file, for files that it names. */
  readonly folder: string
  /** Calls an endpoint of the contract as the step says. Throws NoAnswer. */
  call(id: EndpointId, call: Call): Promise<Answer>
  /** Sends any request. Throws NoAnswer. */
  request(call: RawCall): Promise<Answer>
  /** Where a member of the step is written: `['do', 2, 'click']`. */
  placeOf(path: readonly (string | number)[]): Pick<Check, 'place'>
  /** Adds one expectation, met or not. */
  check(check: Check): void
  screenshot(picture: Screenshot): void
}

/** Names of credentials; any other text is sent as it is. */
export const keyNames = ['secret', 'publishable', 'live', 'other', 'activation', 'beacon', 'none'] as const

const Key = z.union([
  z.string(),
  z.strictObject({
    project: z.string().optional(),
    class: z.enum(['secret', 'publishable']).optional(),
    mode: z.enum(['test', 'live']).optional(),
  }),
])

const Repeat = z.union([
  orVariable(z.int().min(1).max(10_000), 'a whole number from 1 on'),
  z.strictObject({
    times: orVariable(z.int().min(1).max(10_000), 'a whole number from 1 on').describe('How often, at most.'),
    until: Expect.optional().describe('Stop as soon as this holds; it must hold in the end.'),
    pause: Duration.optional().describe('Between two of them.'),
    at_once: z.literal(true).optional().describe('All at the same time.'),
  }),
])

/** Of every step. */
export const commonMembers = {
  name: z.string().min(1).optional().describe('What reports call it.'),
  as: Name.optional().describe('Name of its answer: {{name.status}}, {{name.headers.etag}}, {{name.body...}}.'),
  repeat: Repeat.optional().describe('Do it several times; {{index}} counts from 1.'),
  timeout: Duration.optional().describe('How long it may take; default 10s.'),
  expect: Expect.optional().describe('What its answer must be.'),
}

/** Of steps that send a request of the API. */
export const requestMembers = {
  key: Key.optional().describe(
    'Credential: secret (default), publishable, live, other (of another project), activation, beacon (what the last frame handed out), none, { project, class, mode }, or text.',
  ),
  origin: z.string().nullable().optional().describe('Origin header; null for none.'),
  headers: z.record(z.string(), z.string().nullable()).optional().describe('Headers; null takes one away.'),
  query: z.record(z.string(), AnyJson).optional().describe('Parameters of the query string.'),
  set: z.record(z.string(), AnyJson).optional().describe('Members of the body by dotted path.'),
  unset: z.array(z.string()).optional().describe('Members to take out of the body, by dotted path.'),
  contract: z.literal(false).optional().describe('false: the answer is not checked against the contract.'),
}

const moves: Readonly<Partial<Record<EndpointId, Move>>> = {
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

export function movesOf(id: EndpointId): readonly Move[] {
  const move = moves[id]
  return move === undefined ? [] : [move]
}

export function needsOf(id: EndpointId, step: StepData): readonly Need[] {
  return [
    ...(contract[id]?.stability === 'sandbox' ? (['control'] as const) : []),
    ...(moves[id] === 'everything' ? (['erasable'] as const) : []),
    ...needsOfMembers(step),
  ]
}

/** What the credential and the body of a request step need. */
export function needsOfMembers(step: StepData): readonly Need[] {
  const { key } = step
  const needs: Need[] = []
  const wants = typeof key === 'object' && key !== null ? (key as Record<string, unknown>) : {}
  if (key === 'other' || Object.keys(wants).length > 0) needs.push('control')
  if (key === 'live') needs.push('live_key')
  if (key === 'publishable') needs.push('publishable_key')
  if (JSON.stringify(step).includes('test_outcome')) needs.push('test_key')
  return needs
}

/** Waits, unless the step ends first. */
export function pause(duration_ms: number, { signal }: Pick<Turn, 'signal'>): Promise<void> {
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
