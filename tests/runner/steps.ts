/** The steps of `.ci/run`, in the order of their lanes. */
import { type SuiteName, suites } from './suites.ts'

export interface Step {
  /** As the last lines name it; unique. */
  name: string
  command: readonly string[]
  /** The suite whose report it writes, when it is one. */
  suite?: SuiteName
  /** What is left out when it fails: it installs what a computer may lack, and no test counts for what is missing. */
  leavesOut?: string
  /** The step that installs what all of its tests need: where that failed, it may have none. */
  needs?: string
}

/** One after the other: before the two lanes, in each of them, and after both. */
export interface Plan {
  first: readonly Step[]
  lanes: readonly (readonly Step[])[]
  last: readonly Step[]
  /** Steps that a run without `CI_ALL=1` leaves out, and names. */
  leftOut?: readonly Step[]
}

const suite = (name: SuiteName): Step => ({
  name: `npm run ${name}`,
  command: ['npm', 'run', name],
  suite: name,
})

const plain = (...command: string[]): Step => ({ name: command.join(' '), command })

const install = (script: string, leavesOut: string): Step => ({
  name: `.ci/${script}`,
  command: [`.ci/${script}`],
  leavesOut,
})

/** Every step there is: what a run with `CI_ALL=1` goes through. */
export const wholePlan: Plan = {
  // Pages, and agents' projects with theirs, starve each other beside anything else.
  first: [{ ...suite('test'), name: 'npm test', command: ['npm', 'test'] }, suite('test:evals'), suite('test:pages')],
  // One of what computes and one of what mostly waits: for pages, for a screen, for the registry.
  lanes: [
    [
      suite('test:processes'),
      suite('test:mutations'),
      suite('test:pauses'),
      suite('test:simulation'),
      install('install-compiler', 'the tests below the database'),
      { ...suite('test:disk'), needs: '.ci/install-compiler' },
      suite('test:fuzz'),
      suite('test:soak'),
    ],
    [
      install('install-browsers', 'the tests in those of Firefox and WebKit that are missing'),
      suite('test:engines'),
      // `npm run check` without its tests of imports, which are in `npm test`.
      plain('biome', 'ci', '.'),
      plain('tsc', '--noEmit'),
      plain('node', 'build/docs/generate.ts', '--check'),
      install('install-pooler', 'the tests behind a pooler'),
      suite('test:postgres'),
      suite('test:shared'),
      install('install-monitoring', 'the readers of metrics that are missing'),
      install('install-containers', 'the tests with containers'),
      suite('test:interop'),
      install('install-toolchains', 'the tests of templates whose language is missing, named above'),
      suite('test:templates'),
      install('other-computers', 'the tests on computers that cannot be imitated'),
      { ...suite('test:computers'), needs: '.ci/other-computers' },
    ],
  ],
  last: [plain('npm', 'run', 'bench:check')],
}

/** Left out for each change: they install what a computer may lack, wait for a network or a database, or load a computer for long. */
const rareSuites: ReadonlySet<string> = new Set<SuiteName>([
  ...(['test:engines', 'test:interop', 'test:templates', 'test:computers'] as const),
  ...(['test:mutations', 'test:postgres', 'test:shared', 'test:pauses', 'test:fuzz', 'test:soak'] as const),
])

function isUsual({ suite, leavesOut }: Step): boolean {
  return leavesOut === undefined && (suite === undefined || !rareSuites.has(suite))
}

/**
 * What a run goes through for each change: `npm test`, the suites in depth that fit beside it, and the checks. The
 * figures of the bench need a computer that does nothing else. What is left out runs with `CI_ALL=1`, and a run without it names each.
 */
export const everyChange: Plan = {
  first: wholePlan.first.filter(isUsual),
  lanes: wholePlan.lanes.map((lane) => lane.filter(isUsual)),
  last: [],
  leftOut: [
    ...[...wholePlan.first, ...wholePlan.lanes.flat()].filter((step) => step.suite !== undefined && !isUsual(step)),
    ...wholePlan.last,
  ],
}

/** Processors of a whole run, seconds, on a computer as fast as that of the budgets. */
export const maxRunProcessors_s = 3_000

/** Returns the steps of a plan, in the order in which their results are printed. */
export function listSteps({ first, lanes, last }: Plan): Step[] {
  return [...first, ...lanes.flat(), ...last]
}

/** Returns the fewest tests of a step: none for one that is no suite. */
export function minimumTests({ suite }: Step): number {
  return suite === undefined ? 0 : suites[suite].minimumTests
}
