/** A suite that was read: what the plan is made of. */
import type { JsonValue } from '../json.ts'
import type { Place } from '../result.ts'
import type { StepData, StepKind } from '../steps/step-kind.ts'
import type { Path } from './places.ts'
import type { ProjectChoice } from './schema.ts'

export interface LoadedStep {
  kind: StepKind
  /** As it is written, variables and all. */
  data: StepData
  place: Place
  /** The place of a member of it. */
  at(path: Path): Place
}

export type Axes = Readonly<Record<string, readonly JsonValue[]>>

export interface LoadedCase {
  name: string
  tags: readonly string[]
  axes: Axes
  except: readonly Readonly<Record<string, JsonValue>>[]
  project: ProjectChoice | null
  variables: Readonly<Record<string, JsonValue>>
  timeout_ms: number | null
  setup: readonly LoadedStep[]
  steps: readonly LoadedStep[]
  teardown: readonly LoadedStep[]
  place: Place
}

export interface LoadedSuite {
  name: string
  title: string
  file: string
  /** Where files that it names are looked for. */
  folder: string
  cases: readonly LoadedCase[]
}

/** Something wrong in a suite file. */
export interface SuiteProblem {
  place: Place
  /** What is wrong, as a sentence. */
  message: string
  /** What to do. */
  hint: string
}

/** A suite file, or several, with everything that is wrong in them. */
export class SuiteError extends Error {
  override readonly name = 'SuiteError'
  readonly problems: readonly SuiteProblem[]

  constructor(problems: readonly SuiteProblem[]) {
    super(problems.map(problemText).join('\n'))
    this.problems = problems
  }
}

/** `shop.yaml:12:5: Unknown member expct. Did you mean expect?` */
export function problemText({ place: { file, line, column }, message, hint }: SuiteProblem): string {
  return `${file}:${line}:${column}: ${message}${hint === '' ? '' : ` ${hint}`}`
}
