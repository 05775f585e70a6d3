/**
 * Counts what production would bill, slot by slot, in pieces: each is a few statements, and no transaction spans the
 * whole report. One at a time on a node. Other nodes write in the meantime: the evidence number of each beacon,
 * assigned in the order of commits, decides whether a statement may see it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { maxJudged } from '#contract/beacon-verdict.ts'
import {
  type BilledSlot,
  type BillingProgress,
  type BillingReport,
  billingReports,
  countAgain,
  countSlot,
  countUnaccepted,
  isOfAllTime,
  judgedColumns,
  type NumberedBeacon,
} from '../billing.ts'
import { groupColumn } from '../billing-groups.ts'
import type { BillingCounts, BillingScope, BillingStore } from '../store.ts'
import type { Connection } from './group-commit.ts'
import type { ProjectTable } from './projects.ts'
import { createFilter, listPart, sessionsNamed } from './rows.ts'
import { byId } from './servers/open.ts'

/** Slots, with their beacons, and unaccepted beacons of one piece. */
const slotsAtOnce = 300
const unacceptedAtOnce = 20_000
/** Evidence entries that are examined in one piece, and how many of them may be about beacons. */
const entriesAtOnce = 5_000
const newBeaconsAtOnce = 300
/** How long a report waits after each piece while others write, as a multiple of the time that the piece took. */
const rest = 1

const lastId = Number.MAX_SAFE_INTEGER

type Read = Connection['read']

export function billingTable({ read }: Pick<Connection, 'read'>, projects: ProjectTable): BillingStore {
  let last: Promise<unknown> = Promise.resolve()
  return billingReports({
    listProjects: projects.methods.listProjects,
    listSessions({ project_id, session_id, ...page }) {
      const filter = createFilter()
      filter.add('project_id = ?', project_id)
      filter.add('session_id = ?', session_id)
      const select = 'SELECT id, session_id FROM session'
      return listPart({ read }, { table: 'session', select, filter, isIndexed: session_id !== undefined }, page)
    },
    async generation() {
      const [row] = await read<{ generation: number }>('SELECT generation FROM state')
      return row!.generation
    },
    goOn(report) {
      const result = last.then(() => continueReport(read, report))
      last = result.catch(() => {})
      return result
    },
  })
}

async function continueReport(read: Read, report: BillingReport): Promise<BillingProgress> {
  const { scope, progress } = report
  const target = await findLastEntry(read)
  if (!isOfAllTime(scope)) progress.evidence_id = lastId
  else if (progress.slot_id === 0) progress.evidence_id = target
  for (let known = target; progress.slot_id < lastId || progress.evidence_id < target; ) {
    const started = performance.now()
    const now = await findLastEntry(read)
    const isCaughtUp = !isOfAllTime(scope) || (await countAgainAfter(read, report, now))
    if (isCaughtUp && progress.slot_id < lastId) await countNext(read, report)
    if (now !== known) await sleep(rest * (performance.now() - started))
    known = now
  }
  if (scope.sessions === undefined) await countUnacceptedInScope(read, report)
  return progress
}

async function findLastEntry(read: Read): Promise<number> {
  const [row] = await read<{ id: number }>('SELECT coalesce(max(id), 0) AS id FROM evidence')
  return row!.id
}

/** Counts slots again whose beacons are newer than the progress, up to an entry. Resolves to whether that was all. */
async function countAgainAfter(read: Read, report: BillingReport, now: number): Promise<boolean> {
  const { scope, progress } = report
  const end = Math.min(now, progress.evidence_id + entriesAtOnce)
  const found = await read<{ id: number; slot_id: number }>(
    "SELECT id, slot_id FROM evidence WHERE id > $1 AND id <= $2 AND kind = 'beacon' ORDER BY id LIMIT $3",
    [progress.evidence_id, end, newBeaconsAtOnce],
  )
  const evidence_id = found.length < newBeaconsAtOnce ? end : found.at(-1)!.id
  const ids = [...new Set(found.map(({ slot_id }) => slot_id))].filter((id) => id <= progress.slot_id)
  if (ids.length > 0) {
    const { text, values } = selectFilledSlots(scope, 2)
    const slots = await read<BilledSlot>(`${text} AND slot.id = ANY ($1::bigint[])`, [ids, ...values])
    const beacons = await loadBeacons(read, laterOfSlots, slots, progress.evidence_id)
    for (const slot of slots) countAgain(report, slot, beacons.get(slot.id) ?? [], evidence_id)
  }
  progress.evidence_id = evidence_id
  return evidence_id === now
}

/** Counts the next slots, without beacons that are newer than the progress. */
async function countNext(read: Read, report: BillingReport): Promise<void> {
  const { scope, progress } = report
  const { text, values } = selectFilledSlots(scope, 3)
  const slots = await read<BilledSlot>(`${text} AND slot.id > $1 ORDER BY slot.id LIMIT $2`, [
    progress.slot_id,
    slotsAtOnce,
    ...values,
  ])
  const beacons = await loadBeacons(read, laterOfAll, slots, progress.evidence_id)
  for (const slot of slots) {
    const old = (beacons.get(slot.id) ?? []).filter(({ evidence_id }) => evidence_id === null)
    countSlot(report, slot, old)
  }
  progress.slot_id = slots.length < slotsAtOnce ? lastId : slots.at(-1)!.id
}

async function loadBeacons(read: Read, later: string, slots: readonly BilledSlot[], evidence_id: number) {
  const rows = await read<NumberedBeacon & { slot_id: number }>(
    `WITH wanted AS (SELECT unnest($1::bigint[]) AS slot_id), later AS MATERIALIZED (${later})
     SELECT wanted.slot_id, judged.*, later.id AS evidence_id FROM wanted CROSS JOIN LATERAL
     (SELECT ${judgedColumns} FROM beacon WHERE beacon.slot_id = wanted.slot_id AND event <> 'heartbeat'
      ${byId} LIMIT $3 + (SELECT count(*) FROM later WHERE later.slot_id = wanted.slot_id)) judged
     LEFT JOIN later ON later.ref = judged.id ORDER BY judged.id`,
    [slots.map(({ id }) => id), evidence_id, maxJudged],
  )
  const bySlot = new Map<number, NumberedBeacon[]>()
  for (const { slot_id, ...beacon } of rows) {
    const known = bySlot.get(slot_id)
    if (known === undefined) bySlot.set(slot_id, [beacon])
    else known.push(beacon)
  }
  return bySlot
}

/**
 * Counts rejected and duplicate beacons again when there are new ones: nodes do not commit them in the order of their
 * identifiers, and only their events are numbered in the order of commits, but old events are removed.
 */
async function countUnacceptedInScope(read: Read, { scope, progress }: BillingReport): Promise<void> {
  const { counts, unaccepted_at } = progress
  const [head] = await read<{ last_seq: number; is_changed: boolean }>(
    `SELECT last_seq, last_dropped_seq > $1 OR EXISTS (SELECT 1 FROM event
       WHERE seq > $1 AND type IN ('beacon.rejected', 'beacon.duplicate')) AS is_changed FROM head`,
    [unaccepted_at],
  )
  if (unaccepted_at > 0 && !head!.is_changed) return
  const filter = createFilter()
  filter.add('aside_beacon.project_id = ?', scope.project_id)
  filter.add(`job.session IN (${sessionsNamed})`, scope.session_id)
  filter.add('aside_beacon.received_at_ms >= ?', scope.since_ms)
  filter.add('aside_beacon.received_at_ms < ?', scope.until_ms)
  const joins =
    scope.session_id === undefined ? '' : 'JOIN slot ON slot.id = aside_beacon.slot_id JOIN job ON job.id = slot.job_id'
  const text = `SELECT aside_beacon.reason_code, count(*) AS count FROM aside_beacon ${joins}
    WHERE aside_beacon.id > $1 AND aside_beacon.id <= $2 AND ${filter.where(3)}
    GROUP BY aside_beacon.reason_code ORDER BY aside_beacon.reason_code COLLATE "C"`
  const before = JSON.stringify([...counts.unaccepted].sort())
  const { changes } = counts
  counts.unaccepted = new Map()
  for (let after = 0; after < lastId; ) {
    const [nth] = await read<{ id: number }>(
      `SELECT id FROM aside_beacon WHERE id > $1 ORDER BY id LIMIT 1 OFFSET ${unacceptedAtOnce - 1}`,
      [after],
    )
    const end = nth?.id ?? lastId
    const rows = await read<{ reason_code: Missed; count: number }>(text, [after, end, ...filter.values])
    for (const { reason_code, count } of rows) countUnaccepted(counts, reason_code, count)
    after = end
  }
  const isSame = before === JSON.stringify([...counts.unaccepted].sort())
  counts.changes = isSame ? changes : changes + 1
  progress.unaccepted_at = head!.last_seq
}

/** The beacons of the slots whose evidence is newer than an entry, by slot or by number: there are few after the last. */
const laterOfSlots = `SELECT evidence.slot_id, evidence.ref, evidence.id FROM wanted
  JOIN evidence ON evidence.slot_id = wanted.slot_id WHERE evidence.kind = 'beacon' AND evidence.id > $2`
const laterOfAll = "SELECT slot_id, ref, id FROM evidence WHERE kind = 'beacon' AND id > $2"

/** Returns a query of the filled slots that may have beacons in scope; its first parameter has this number. */
function selectFilledSlots(scope: BillingScope, first: number) {
  const { project_id, session_id, sessions, since_ms, until_ms } = scope
  const filter = createFilter()
  const orNone = sessions?.includes(null) ? ' OR job.session IS NULL' : ''
  const listed = sessions?.filter((id) => id !== null).join(',')
  filter.add(`(job.session = ANY(string_to_array(?, ',')::bigint[])${orNone})`, listed)
  filter.add('job.project_id = ?', project_id)
  filter.add(`job.session IN (${sessionsNamed})`, session_id)
  if (since_ms !== undefined) {
    filter.add(
      'EXISTS (SELECT 1 FROM beacon WHERE beacon.slot_id = slot.id AND received_at_ms >= ? AND received_at_ms < ?)',
      since_ms,
      until_ms ?? lastId,
    )
  }
  const text = `SELECT slot.id, job.project_id, slot.format, slot.width, slot.height, slot.duration_ms, slot.gross_cpm, slot.currency,
      ${groupColumn(scope)} FROM slot JOIN job ON job.id = slot.job_id WHERE slot.format IS NOT NULL AND ${filter.where(first)}`
  return { text, values: filter.values }
}

type Missed = BillingCounts['missed'][number]['reason_code']
