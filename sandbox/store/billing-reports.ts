/**
 * Reports that go on from earlier ones. Nothing that was counted changes but by new beacons and new rules, so a report of
 * all time, of everything or of one project, counts again only the slots that have new beacons. What it has counted is kept
 * in memory, in a size that does not depend on how much that was, and holds for one generation of the state and the rules
 * it was counted with. Reports of a session or a span of time are counted from nothing each time.
 */
import {
  type BillingProgress,
  type BillingRules,
  billingRulesOf,
  isShort,
  noCounts,
  toBillingCounts,
} from './billing-counts.ts'
import { cacheRow } from './rows.ts'
import type { BeaconScope, BillingCounts, BillingStore, ProjectRow } from './store.ts'

/** Reports that are kept, one a project. */
const mostKept = 64
/** For each beacon that is named, so many are kept. */
const spare = 10

interface Kept {
  generation: number
  rules: BillingRules
  progress: BillingProgress
  /** What the report shows beside its counts. */
  projects: string
  counts: BillingCounts
}

interface ReportSource {
  listProjects(): Promise<ProjectRow[]>
  /** Resolves to how many times the whole state was replaced, as the database has it. */
  generation(): Promise<number>
  /** Resolves to the progress with what is new since; it may be the same object. */
  goOn(scope: BeaconScope, rules: BillingRules, progress: BillingProgress): Promise<BillingProgress>
}

/** Whether reports of a scope go on from each other. */
export function isOfAllTime({ session_id, since_ms, until_ms }: BeaconScope): boolean {
  return session_id === undefined && since_ms === undefined && until_ms === undefined
}

export function billingReports({ listProjects, generation, goOn }: ReportSource): BillingStore {
  const running = new Map<string, Promise<unknown>>()
  const waiting = new Map<string, Promise<BillingCounts>>()
  const keptReports = new Map<string, Kept>()

  const report = async (name: string, scope: BeaconScope, newest: number): Promise<BillingCounts> => {
    for (let most_latest = spare * newest; ; ) {
      const before = await generation()
      const rows = await listProjects()
      const [rules, projects] = [billingRulesOf(rows), JSON.stringify(rows)]
      const kept = keptReports.get(name)
      keptReports.delete(name)
      const isUsable = kept !== undefined && kept.generation === before && areStill(kept.rules, rules)
      const progress = await goOn(scope, rules, isUsable ? kept.progress : noProgress(most_latest))
      if ((await generation()) !== before) continue
      if (isShort(progress.counts, newest)) {
        most_latest *= spare
        continue
      }
      const isSame = isUsable && progress.counts.changes === 0 && kept.projects === projects
      progress.counts.changes = 0
      const counts = isSame ? kept.counts : toBillingCounts(progress.counts, newest)
      if (isOfAllTime(scope) && !progress.counts.is_partial) {
        cacheRow(keptReports, mostKept, name, { generation: before, rules, progress, projects, counts })
      }
      return counts
    }
  }

  return {
    countBilling(scope, newest) {
      const name = JSON.stringify([scope, newest])
      const shared = waiting.get(name)
      if (shared !== undefined) return shared
      const next = (running.get(name) ?? Promise.resolve()).then(() => {
        waiting.delete(name)
        return report(name, scope, newest)
      })
      const ended = next
        .catch(() => {})
        .then(() => {
          if (running.get(name) === ended) running.delete(name)
        })
      waiting.set(name, next)
      running.set(name, ended)
      return next
    },
  }
}

/** The progress of a report that has counted nothing. */
export function noProgress(most_latest: number): BillingProgress {
  return { slot_id: 0, evidence_id: 0, unaccepted_at: 0, counts: noCounts(most_latest) }
}

/** Whether all rules of a report still lead to the same counts; projects may have been added. */
function areStill(rules: BillingRules, now: BillingRules): boolean {
  return Object.entries(rules).every(
    ([id, { viewability }]) => JSON.stringify(viewability) === JSON.stringify(now[Number(id)]?.viewability),
  )
}
