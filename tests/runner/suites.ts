/** The suites by the name of their script, with what each may use and how many tests it has at least. */

export interface SuiteLimits {
  /** User and system time of a run, seconds, on a computer as fast as that of the budgets: see machine.ts. */
  processors_s: number
  /**
   * The fewest tests of a complete run, without those that need what a computer may lack (an engine, a language, Wine): a run
   * that lost a folder has fewer. A little below what there are, so that a test can go without a change here.
   */
  minimumTests: number
}

export const suites = {
  test: { processors_s: 300, minimumTests: 5_000 },
  'test:mutations': { processors_s: 450, minimumTests: 200 },
  'test:processes': { processors_s: 280, minimumTests: 100 },
  'test:pauses': { processors_s: 170, minimumTests: 15 },
  'test:pages': { processors_s: 360, minimumTests: 250 },
  'test:engines': { processors_s: 240, minimumTests: 15 },
  'test:postgres': { processors_s: 400, minimumTests: 400 },
  'test:interop': { processors_s: 120, minimumTests: 8 },
  'test:templates': { processors_s: 300, minimumTests: 40 },
  'test:evals': { processors_s: 300, minimumTests: 90 },
  'test:computers': { processors_s: 150, minimumTests: 0 },
  'test:simulation': { processors_s: 150, minimumTests: 11 },
  'test:disk': { processors_s: 120, minimumTests: 0 },
  'test:shared': { processors_s: 90, minimumTests: 5 },
  'test:fuzz': { processors_s: 150, minimumTests: 3 },
  'test:soak': { processors_s: 120, minimumTests: 3 },
} as const satisfies Record<string, SuiteLimits>

export type SuiteName = keyof typeof suites

export function isSuite(name: string): name is SuiteName {
  return Object.hasOwn(suites, name)
}
