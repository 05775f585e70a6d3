/** What a check finds. A check is a pure function from gathered facts to outcomes; it never looks by itself. */

export const levels = ['ok', 'warning', 'problem', 'unknown'] as const
/** `problem`: something does not work. `warning`: it will surprise. `unknown`: it could not be looked at. */
export type Level = (typeof levels)[number]

export interface Outcome {
  level: Level
  /** What is the case, one sentence. */
  message: string
  /** What to do; null where there is nothing to do. */
  fix: string | null
}

export interface Finding extends Outcome {
  group: string
  check: string
}

/** A check by name, over the facts it needs. */
export interface Check<Facts> {
  name: string
  find(facts: Facts): Outcome[]
}

export const ok = (message: string): Outcome => ({ level: 'ok', message, fix: null })
export const warning = (message: string, fix: string): Outcome => ({ level: 'warning', message, fix })
export const problem = (message: string, fix: string): Outcome => ({ level: 'problem', message, fix })
export const unknown = (message: string, fix: string): Outcome => ({ level: 'unknown', message, fix })

/** What was found, or that all is well. */
export function orOk(found: readonly Outcome[], message: string): Outcome[] {
  return found.length === 0 ? [ok(message)] : [...found]
}

/** Runs checks over their facts. */
export function runChecks<Facts>(group: string, checks: readonly Check<Facts>[], facts: Facts): Finding[] {
  return checks.flatMap(({ name, find }) => find(facts).map((outcome) => ({ group, check: name, ...outcome })))
}
