/** What a task is, and what a grader says. */
import type { JournalRuleId, PageRuleId } from '#diagnosis/rules/index.ts'
import type { SandboxOptions } from '#sandbox/index.ts'
import type { Trial } from './trial.ts'

export interface Task {
  /** The name of its folder, which has `project/` and `solutions/`. */
  name: string
  /** As a user writes it. */
  prompt: string
  /** Folders of `bases/` that the project is laid over, first to last. */
  bases?: readonly string[]
  /** Rules of `svc observe` that do not fit: of the rest, an error fails the task. */
  ignored?: readonly (PageRuleId | JournalRuleId)[]
  /** Rules of which a warning fails the task too. */
  strict?: readonly (PageRuleId | JournalRuleId)[]
  sandbox?: SandboxOptions
  /** Whether the project itself shows ads and reports that: its beacons come from no browser. */
  sends_beacons?: true
  /** Prepares the sandbox and the folder, for an agent and for its grading alike. */
  prepare?(prepared: Pick<Trial, 'client' | 'directory'>): Promise<void>
  /**
   * The reason for which each patch fails beside `right`. One that begins with `wrong-` is applied after `right`, and has one mistake;
   * an attack is applied to the project alone, or after `right` as its name says.
   */
  solutions: Readonly<Partial<Record<`wrong-${string}` | 'attack' | 'attack-after-right', ReasonCode>>>
  grade(trial: Trial): Promise<void>
}

/** A code of a task, of `grade.ts`, or `observe:` and the id of a rule. */
export type ReasonCode = string

export interface Reason {
  code: ReasonCode
  message: string
}

export interface Verdict {
  task: string
  passed: boolean
  /** Why it failed, the first cause first. */
  reasons: readonly Reason[]
  /** What production would have billed: `metric count`. */
  billed: Readonly<Record<string, number>>
  /** Warnings of `svc observe`, which fail nothing. */
  warnings: readonly string[]
}
