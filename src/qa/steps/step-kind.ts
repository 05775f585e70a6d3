/**
 * What a kind of step is: its members in a suite, what it needs of a target, what it moves, and what it does. The list of
 * kinds is `steps/index.ts`; the schema of suites, the plan and the runner read it there.
 */
import type { z } from 'zod'
import type { JsonValue } from '../json.ts'
import type { Turn } from '../run/turn.ts'

/** What a target must have. */
export type Need = 'control' | 'browser' | 'publishable_key' | 'test_key' | 'live_key' | 'erasable'

/** What a step changes for everyone: such a case runs alone, and the runner puts it back. */
export type Move = 'clock' | 'faults' | 'scenario' | 'project' | 'everything'

/** An answer, as later steps refer to it: `{{name.body.slot_id}}`. */
export interface Answer {
  status: number
  headers: Record<string, string>
  /** Parsed JSON, or the text where it is not JSON. */
  body: JsonValue
  duration_ms: number
}

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
export type StepData = Readonly<Record<string, JsonValue>>

/** Members of every request step. */
export interface RequestMembers {
  key?: KeyChoice | undefined
  origin?: string | null | undefined
  headers?: Record<string, string | null> | undefined
  query?: Record<string, JsonValue> | undefined
  set?: Record<string, JsonValue> | undefined
  unset?: string[] | undefined
}

export type KeyChoice =
  | string
  | { project?: string | undefined; class?: 'secret' | 'publishable' | undefined; mode?: 'test' | 'live' | undefined }

/** A kind, with its types forgotten for the list. */
export function stepKind<const Shape extends z.ZodRawShape>(kind: StepKind<Shape>): StepKind {
  return kind as unknown as StepKind
}
