/** What changed against an earlier run: reads a report that `ctrf` or `json` wrote, and compares outcomes case by case. */
import { z } from 'zod'
import { type CaseResult, type Changes, QaError } from '../result.ts'

/** How a case ended, over all its attempts. `skipped`: it was not judged. */
type Ending = 'passed' | 'failed' | 'skipped'

export interface EarlierRun {
  /** The name of the file, for reports. */
  file: string
  /** By the id of the case. */
  endings: ReadonlyMap<string, Ending>
}

const Ctrf = z.object({
  results: z.object({
    tests: z.array(
      z.object({
        name: z.string(),
        status: z.string(),
        testId: z.string().optional(),
        suite: z.array(z.string()).optional(),
      }),
    ),
  }),
})
const OwnJson = z.object({ cases: z.array(z.object({ id: z.string(), outcome: z.string() })) })
const Report = z.union([Ctrf, OwnJson])

/** Returns the endings of a report. Throws QaError when it is none. */
export function readEarlierRun(document: unknown, file: string): EarlierRun {
  const { data } = Report.safeParse(document)
  if (data === undefined) {
    throw new QaError(
      'report_unreadable',
      `${file} is not a report of an earlier run.`,
      'Give a file that --reporter ctrf=FILE or json=FILE wrote.',
    )
  }
  const cases =
    'cases' in data
      ? data.cases.map(({ id, outcome }) => [id, outcome] as const)
      : data.results.tests.map(
          ({ testId, suite = [], name, status }) => [testId ?? [...suite, name].join('/'), status] as const,
        )
  return { file, endings: mergeEndings(cases) }
}

/** Returns what changed since the earlier run, in the order of this one. */
export function compareRuns({ file, endings }: EarlierRun, cases: readonly CaseResult[]): Changes {
  const current = mergeEndings(cases.map(({ id, outcome }) => [id, outcome]))
  const ids = [...current]
  const failing = ids.filter(([, ending]) => ending === 'failed').map(([id]) => id)
  const failedEarlier = (id: string) => endings.get(id) === 'failed'
  return {
    earlier: file,
    newly_failing: failing.filter((id) => endings.has(id) && !failedEarlier(id)),
    added_failing: failing.filter((id) => !endings.has(id)),
    still_failing: failing.filter(failedEarlier),
    newly_passing: ids.filter(([id, ending]) => ending === 'passed' && failedEarlier(id)).map(([id]) => id),
    not_judged: [...endings.keys()].filter((id) => failedEarlier(id) && (current.get(id) ?? 'skipped') === 'skipped'),
  }
}

/** The lists of changes, the worst first, with the words for each. */
export const changeKinds = [
  ['newly_failing', 'newly failing'],
  ['added_failing', 'failing and not in the last run'],
  ['still_failing', 'still failing'],
  ['newly_passing', 'newly passing'],
  ['not_judged', 'failed last time and not judged now'],
] as const satisfies readonly (readonly [keyof Changes, string])[]

/** Returns the counts that are not zero: `2 newly failing, 1 still failing`. */
export function changesText(changes: Changes): string {
  const parts = changeKinds.flatMap(([name, words]) => {
    const { length } = changes[name]
    return length === 0 ? [] : [`${length} ${words}`]
  })
  return parts.join(', ') || 'no change, and nothing fails'
}

/** Joins the attempts of a case: one that failed in any of them failed. */
function mergeEndings(cases: readonly (readonly [id: string, outcome: string])[]): Map<string, Ending> {
  const endings = new Map<string, Ending>()
  for (const [id, outcome] of cases) {
    const ending = outcome === 'failed' || outcome === 'passed' ? outcome : 'skipped'
    const before = endings.get(id)
    if (before === undefined || ending === 'failed' || before === 'skipped') endings.set(id, ending)
  }
  return endings
}
