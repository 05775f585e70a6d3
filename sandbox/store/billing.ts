/**
 * Counts what production would bill, slot by slot. Counts are plain data: a thread gets them and sends them back, and a
 * later report continues from them. A slot with new beacons is subtracted with its old ones, and counted again with
 * all.
 */
import { type AcceptedBeacon, type BillingModel, judgeBeacons, maxJudged } from '#contract/beacon-verdict.ts'
import type { Format } from '#contract/fields.ts'
import type { Measurements, Metric } from '#contract/resources/beacons.ts'
import type { ProjectSettings } from '#contract/resources/projects.ts'
import { groupName } from './billing-groups.ts'
import { cacheRow, parseRow } from './rows.ts'
import type { BillingCounts, BillingScope, BillingStore, ProjectRow } from './store.ts'

/** The settings of each project that a verdict depends on, by its id. */
type BillingRules = Readonly<
  Record<number, { billing_model: BillingModel; viewability: ProjectSettings['viewability'] }>
>

/** A filled slot, with the fields that its price and its verdicts depend on. */
export interface BilledSlot {
  id: number
  project_id: number
  format: Format
  width: number
  height: number
  duration_ms: number | null
  gross_cpm: number
  currency: string
  /** The column of `groupColumn`. */
  grouping: string | null
}

/** A beacon as it is read for a report, with its measurements where a verdict depends on them. */
export type StoredAcceptedBeacon = Omit<AcceptedBeacon, 'measurements'> & { measurements: string | null }

/** The columns of a `StoredBeacon`, and which beacons may count: a view alone is judged by what was measured. */
export const judgedColumns =
  "id, event, occurred_at_ms, received_at_ms, CASE WHEN event = 'visible' THEN measurements END AS measurements"

function createBillingRules(projects: readonly ProjectRow[]): BillingRules {
  return Object.fromEntries(
    projects.map(({ id, settings: { billing_model, viewability } }) => [id, { billing_model, viewability }]),
  )
}

type Missed = BillingCounts['missed'][number]['reason_code']
type Missing = BillingCounts['newest'][number] & { received_at_ms: number }

interface Counts {
  counted: Map<string, BillingCounts['counted'][number]>
  missed: Map<Missed, number>
  /** Rejected and duplicate beacons. */
  unaccepted: Map<Missed, number>
  /** The latest accepted beacons that do not count, by id: at least all those later than `forgotten`. */
  latest: Map<number, Missing>
  /** The latest beacon that was left out of `latest`. */
  forgotten: Missing | null
  /** How many of them are kept: more than a report names, since later beacons make some of them count. */
  most_latest: number
  changes: number
  /** Whether a slot was left out, since its project is newer than the rules. */
  is_partial: boolean
}

function noCounts(most_latest: number): Counts {
  return {
    counted: new Map(),
    missed: new Map(),
    unaccepted: new Map(),
    latest: new Map(),
    forgotten: null,
    most_latest,
    changes: 0,
    is_partial: false,
  }
}

/** A report under way. */
export interface BillingReport {
  scope: BillingScope
  rules: BillingRules
  progress: BillingProgress
}

/** Judges the beacons of a slot and counts those in scope; subtracts them with `times` -1. */
export function countSlot(
  { scope, rules, progress: { counts } }: BillingReport,
  slot: BilledSlot,
  stored: readonly StoredAcceptedBeacon[],
  times: 1 | -1 = 1,
): void {
  const { since_ms = 0, until_ms = Number.MAX_SAFE_INTEGER } = scope
  const rule = rules[slot.project_id]
  if (rule === undefined) {
    counts.is_partial = true
    return
  }
  const beacons = stored.slice(0, maxJudged).map(toAccepted)
  if (beacons.length > 0) counts.changes++
  const verdicts = judgeBeacons(rule.billing_model, slot, rule.viewability, beacons)
  for (const { id, received_at_ms } of beacons) {
    const { metric, reason_code } = verdicts.get(id)!
    if (received_at_ms < since_ms || received_at_ms >= until_ms) continue
    if (metric !== null && slot.gross_cpm !== 0) {
      const group = scope.by === undefined ? undefined : groupName(scope, slot.grouping, received_at_ms)
      countMetric(counts, slot, { metric, group }, times)
    } else if (reason_code !== 'OK') {
      add(counts.missed, reason_code, times)
      if (times === -1) counts.latest.delete(id)
      else addLatest(counts, { slot_id: slot.id, id, received_at_ms })
    }
  }
}

function toAccepted({ measurements, ...beacon }: StoredAcceptedBeacon): AcceptedBeacon {
  return {
    ...beacon,
    measurements: measurements === null ? null : parseRow<Measurements>(measurements),
  }
}

function countMetric(
  { counted }: Counts,
  { project_id, format, gross_cpm, currency }: BilledSlot,
  { metric, group }: { metric: Metric; group: string | null | undefined },
  times: number,
): void {
  const name = `${project_id} ${format} ${gross_cpm} ${currency} ${metric} ${group === null ? '' : `=${group}`}`
  const known = counted.get(name)
  if (known === undefined) {
    const line = { project_id, format, gross_cpm, currency, metric, count: times }
    counted.set(name, group === undefined ? line : { ...line, group })
  } else if (known.count + times === 0) counted.delete(name)
  else known.count += times
}

function add(counts: Map<Missed, number>, reason: Missed, times: number): void {
  const count = (counts.get(reason) ?? 0) + times
  if (count === 0) counts.delete(reason)
  else counts.set(reason, count)
}

/** Counts beacons that were rejected, or duplicates. */
export function countUnaccepted(counts: Counts, reason: Missed, count: number): void {
  counts.changes++
  add(counts.unaccepted, reason, count)
}

function addLatest(counts: Counts, missing: Missing): void {
  const { latest, most_latest, forgotten } = counts
  if (forgotten !== null && byLateness(missing, forgotten) > 0) return
  latest.set(missing.id, missing)
  if (latest.size < 2 * most_latest) return
  const sorted = [...latest.values()].sort(byLateness)
  counts.forgotten = sorted[most_latest]!
  for (const { id } of sorted.slice(most_latest)) latest.delete(id)
}

/** Later ones first. */
function byLateness(a: Missing, b: Missing): number {
  return b.received_at_ms - a.received_at_ms || b.id - a.id
}

/** Whether too few are left of the latest beacons that do not count to name the newest of them. */
function isShort({ latest, forgotten }: Counts, newest: number): boolean {
  return forgotten !== null && latest.size < newest
}

/** @param newest how many of the latest beacons that do not count are named */
function toBillingCounts({ counted, missed, unaccepted, latest }: Counts, newest: number): BillingCounts {
  const reasons = new Map(missed)
  for (const [reason, count] of unaccepted) add(reasons, reason, count)
  return {
    counted: [...counted.values()].map((row) => ({ ...row })),
    missed: [...reasons].map(([reason_code, count]) => ({ reason_code, count })),
    newest: [...latest.values()]
      .sort(byLateness)
      .slice(0, newest)
      .map(({ slot_id, id }) => ({ slot_id, id })),
  }
}

/**
 * How far a report of all time got. Every slot up to `slot_id` is counted, including its beacons with an evidence entry
 * up to `evidence_id`: entries are numbered in the order of commits, identifiers of beacons are not.
 */
export interface BillingProgress {
  slot_id: number
  evidence_id: number
  /** How far rejected and duplicate beacons are counted; each adapter decides what this is. */
  unaccepted_at: number
  counts: Counts
}

/** A beacon of a slot that has new ones, with the number of its evidence where that is newer than the progress. */
export type NumberedBeacon = StoredAcceptedBeacon & { evidence_id: number | null }

/** Counts a slot again, with its beacons up to `evidence_id`. Later beacons are left out. */
export function countAgain(
  report: BillingReport,
  slot: BilledSlot,
  beacons: readonly NumberedBeacon[],
  evidence_id: number,
): void {
  const before = beacons.filter((beacon) => beacon.evidence_id === null)
  const now = beacons.filter((beacon) => beacon.evidence_id === null || beacon.evidence_id <= evidence_id)
  if (now.length === before.length) return
  countSlot(report, slot, before, -1)
  countSlot(report, slot, now)
}

/*
 * Reports that continue from earlier ones. Only new beacons and new rules change earlier counts, so a report of all
 * time, of everything or of one project, counts again only the slots that have new beacons. Its counts are kept in
 * memory, in a size that does not depend on the number of beacons, and are valid for one generation of the state and
 * the rules it was counted with. Reports of sessions or a span of time are counted from scratch each time.
 */

/** Reports that are kept, one per project. */
const maxKeptReports = 64
/** For each beacon that is named, so many are kept. */
const spare = 10

interface Kept {
  generation: number
  rules: BillingRules
  progress: BillingProgress
  /** The fields of the report apart from its counts. */
  projects: string
  counts: BillingCounts
}

interface ReportSource extends Pick<BillingStore, 'listSessions'> {
  listProjects(): Promise<ProjectRow[]>
  /** Resolves to how many times the whole state was replaced, according to the database. */
  generation(): Promise<number>
  /** Resolves to the progress including everything new since; it may be the same object. */
  goOn(report: BillingReport): Promise<BillingProgress>
}

/** Whether reports of a scope continue from each other. */
export function isOfAllTime({ session_id, sessions, since_ms, until_ms }: BillingScope): boolean {
  return sessions === undefined && session_id === undefined && since_ms === undefined && until_ms === undefined
}

export function billingReports({ listProjects, listSessions, generation, goOn }: ReportSource): BillingStore {
  const running = new Map<string, Promise<unknown>>()
  const waiting = new Map<string, Promise<BillingCounts>>()
  const keptReports = new Map<string, Kept>()

  const report = async (name: string, scope: BillingScope, newest: number): Promise<BillingCounts> => {
    for (let most_latest = spare * newest; ; ) {
      const before = await generation()
      const rows = await listProjects()
      const [rules, projects] = [createBillingRules(rows), JSON.stringify(rows)]
      const kept = keptReports.get(name)
      keptReports.delete(name)
      const isUsable = kept !== undefined && kept.generation === before && areStill(kept.rules, rules)
      const progress = await goOn({ scope, rules, progress: isUsable ? kept.progress : noProgress(most_latest) })
      if ((await generation()) !== before) continue
      if (isShort(progress.counts, newest)) {
        most_latest *= spare
        continue
      }
      const isSame = isUsable && progress.counts.changes === 0 && kept.projects === projects
      progress.counts.changes = 0
      const counts = isSame ? kept.counts : toBillingCounts(progress.counts, newest)
      if (isOfAllTime(scope) && !progress.counts.is_partial) {
        cacheRow(keptReports, maxKeptReports, name, { generation: before, rules, progress, projects, counts })
      }
      return counts
    }
  }

  return {
    listSessions,
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
