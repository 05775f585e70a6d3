/**
 * Counts what production would bill, slot by slot. A generator, so that it can run as a whole on a thread
 * (file-worker.ts) or in pieces between other requests. A piece sees the rows as of one moment. No transaction spans
 * the whole report: it would keep the log from starting over.
 */
import type Database from 'better-sqlite3'
import { maxJudged } from '#contract/beacon-verdict.ts'
import {
  type BilledSlot,
  type BillingReport,
  countAgain,
  countSlot,
  countUnaccepted,
  isOfAllTime,
  judgedColumns,
  type NumberedBeacon,
  type StoredAcceptedBeacon,
} from '../billing.ts'
import { groupColumn } from '../billing-groups.ts'
import type { BillingCounts, BillingScope, BillingStore } from '../store.ts'
import type { Connection } from './group-commit.ts'
import { createFilter, indexedBy, listPart, sessionsNamed, slotsOfSession } from './rows.ts'

/** Slots that are counted in one piece. */
const slotsAtOnce = 50
/** Rejected and duplicate beacons that are counted in one piece. */
const unacceptedAtOnce = 5_000
/** Evidence entries that are examined in one piece, and how many of them may be about beacons. */
const entriesAtOnce = 1_000
const newBeaconsAtOnce = 50

const lastId = Number.MAX_SAFE_INTEGER

export function listSessions({ db, read }: Connection): BillingStore['listSessions'] {
  return async ({ project_id, session_id, ...page }) => {
    const filter = createFilter()
    filter.add('+session.project_id = ?', project_id)
    filter.add('+session.session_id = ?', session_id)
    const select = 'SELECT id, session_id FROM session'
    const indexed = indexedBy(sessionsNamed, session_id)
    return read(() =>
      listPart<{ id: number; session_id: string }>(db, { table: 'session', select, filter, indexed }, page),
    )
  }
}

/**
 * Continues a report; each piece must see one state of the rows.
 * @param mostSelected rows that an index may find in one go; with more, slots are read in the order of ids
 */
export function* countBilling(
  db: Database.Database,
  report: BillingReport,
  mostSelected: number,
): Generator<void, void> {
  const { scope } = report
  if (isOfAllTime(scope)) yield* countNew(db, report)
  else {
    const findBeacons = judgedBeacons(db)
    for (const slots of slotsInScope(db, scope, mostSelected)) {
      for (const slot of slots) countSlot(report, slot, findBeacons.all(slot.id))
      yield
    }
  }
  if (scope.sessions === undefined) yield* countUnacceptedInScope(db, report)
}

function judgedBeacons(db: Database.Database) {
  return db.prepare<[number], StoredAcceptedBeacon>(
    `SELECT ${judgedColumns} FROM beacon WHERE slot_id = ? AND event <> 'heartbeat' ORDER BY id LIMIT ${maxJudged}`,
  )
}

/** Counts slots that were not reached yet, and recounts slots with new beacons, as of when it begins or later. */
function* countNew(db: Database.Database, report: BillingReport): Generator<void, void> {
  const { scope, progress } = report
  const lastEntry = db.prepare<[], number>('SELECT coalesce(max(id), 0) FROM evidence').pluck()
  const newBeacons = db.prepare<[number, number], { id: number; slot_id: number }>(
    `SELECT id, slot_id FROM evidence WHERE id > ? AND id <= ? AND kind = 'beacon' ORDER BY id LIMIT ${newBeaconsAtOnce}`,
  )
  const nextSlots = slotsAfter(db, scope)
  const find = slotById(db, scope)
  const findBeacons = judgedBeacons(db)
  const numbered = numberedBeacons(db)
  const target = lastEntry.get()!
  if (progress.slot_id === 0) progress.evidence_id = target
  for (;;) {
    const last = Math.min(lastEntry.get()!, progress.evidence_id + entriesAtOnce)
    const found = newBeacons.all(progress.evidence_id, last)
    const evidence_id = found.length < newBeaconsAtOnce ? last : found.at(-1)!.id
    const slots = new Set(found.map(({ slot_id }) => slot_id))
    for (const id of slots) {
      const slot = id > progress.slot_id ? undefined : find(id)
      if (slot !== undefined) countAgain(report, slot, numbered(id, progress.evidence_id), evidence_id)
    }
    progress.evidence_id = evidence_id
    if (evidence_id === lastEntry.get()! && progress.slot_id < lastId) {
      const { slots: next, end } = nextSlots(progress.slot_id)
      for (const slot of next) countSlot(report, slot, findBeacons.all(slot.id))
      progress.slot_id = end
    }
    if (progress.slot_id === lastId && progress.evidence_id >= target) return
    yield
  }
}

/** Returns a function that reads the beacons of a slot, each with the number of its evidence if that is later than one. */
function numberedBeacons(db: Database.Database) {
  const later = db.prepare<[number, number], { id: number; ref: number }>(
    "SELECT id, ref FROM evidence WHERE slot_id = ? AND id > ? AND kind = 'beacon'",
  )
  const first = db.prepare<[number, number], StoredAcceptedBeacon>(
    `SELECT ${judgedColumns} FROM beacon WHERE slot_id = ? AND event <> 'heartbeat' ORDER BY id LIMIT ?`,
  )
  return (slot_id: number, evidence_id: number): NumberedBeacon[] => {
    const numbers = new Map(later.all(slot_id, evidence_id).map(({ id, ref }) => [ref, id]))
    return first
      .all(slot_id, maxJudged + numbers.size)
      .map((beacon) => ({ ...beacon, evidence_id: numbers.get(beacon.id) ?? null }))
  }
}

const slotColumns = (scope: BillingScope) =>
  `slot.id, job.project_id, slot.format, slot.width, slot.height, slot.duration_ms, slot.gross_cpm, slot.currency, ${groupColumn(scope)}`

/** Yields the filled slots that may have beacons in scope, oldest first. */
function* slotsInScope(db: Database.Database, scope: BillingScope, mostSelected: number): Generator<BilledSlot[]> {
  const selected = selectedSlots(db, scope, mostSelected)
  if (selected !== null) {
    const find = slotById(db, scope)
    for (let first = 0; first < selected.length; first += slotsAtOnce) {
      yield selected.slice(first, first + slotsAtOnce).flatMap((id) => find(id) ?? [])
    }
    return
  }
  const next = slotsAfter(db, scope)
  for (let after = 0; after < lastId; ) {
    const { slots, end } = next(after)
    yield slots
    after = end
  }
}

function slotFilter({ project_id, session_id, sessions }: BillingScope) {
  const filter = createFilter()
  const orNone = sessions?.includes(null) ? ' OR job.session IS NULL' : ''
  filter.add(`(+job.session IN (SELECT value FROM json_each(?))${orNone})`, sessions && JSON.stringify(sessions))
  filter.add('job.project_id = ?', project_id)
  filter.add(`+job.session IN (${sessionsNamed})`, session_id)
  return { conditions: `slot.format IS NOT NULL AND ${filter.where()}`, values: filter.values }
}

function slotById(db: Database.Database, scope: BillingScope) {
  const { conditions, values } = slotFilter(scope)
  const find = db.prepare<(string | number)[], BilledSlot>(
    `SELECT ${slotColumns(scope)} FROM slot CROSS JOIN job ON job.id = slot.job_id WHERE slot.id = ? AND ${conditions}`,
  )
  return (id: number) => find.get(id, ...values)
}

/**
 * Returns a function that reads the next slots in the order of ids, whatever the filters match: a piece is a number of
 * slots read, not found. `end` is the last of them, or beyond all when there are no more.
 */
function slotsAfter(db: Database.Database, scope: BillingScope) {
  const { conditions, values } = slotFilter(scope)
  const nth = db
    .prepare<[number, number], number>('SELECT id FROM slot WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?')
    .pluck()
  const between = db.prepare<(string | number)[], BilledSlot>(
    `SELECT ${slotColumns(scope)} FROM slot CROSS JOIN job ON job.id = slot.job_id
     WHERE slot.id > ? AND slot.id <= ? AND ${conditions} ORDER BY slot.id`,
  )
  return (after: number) => {
    const end = nth.get(after, slotsAtOnce - 1) ?? lastId
    return { slots: between.all(after, end, ...values), end }
  }
}

/** Returns the slots that an index finds for the scope; null when it finds too many, or has none. */
function selectedSlots(
  db: Database.Database,
  { session_id, sessions, since_ms, until_ms }: BillingScope,
  mostSelected: number,
): number[] | null {
  const slots = (sql: string, ...values: (string | number)[]) => {
    const ids = db.prepare<(string | number)[], number>(`${sql} LIMIT ${mostSelected + 1}`).pluck()
    const found: number[] = []
    for (const id of ids.iterate(...values)) {
      found.push(id)
      if (found.length > mostSelected) return null
    }
    return [...new Set(found)].sort((a, b) => a - b)
  }
  // No index leads to those of none.
  if (sessions?.includes(null)) return null
  if (sessions !== undefined) {
    const listed = 'SELECT value FROM json_each(?)'
    const ofJobs = `SELECT slot.id FROM job CROSS JOIN slot ON slot.job_id = job.id WHERE job.session IN (${listed})`
    return slots(ofJobs, JSON.stringify(sessions))
  }
  if (session_id !== undefined) return slots(slotsOfSession, session_id)
  if (since_ms === undefined) return null
  const end = until_ms ?? Number.MAX_SAFE_INTEGER
  return slots('SELECT slot_id FROM beacon WHERE received_at_ms >= ? AND received_at_ms < ?', since_ms, end)
}

/**
 * Counts the beacons in scope that were rejected or duplicates, from where an earlier report ended. The process that owns
 * the rows numbers each of them as it queues its write, so they are committed in the order of ids.
 */
function* countUnacceptedInScope(db: Database.Database, { scope, progress }: BillingReport): Generator<void, void> {
  const filter = createFilter()
  filter.add('aside_beacon.project_id = ?', scope.project_id)
  filter.add(`+job.session IN (${sessionsNamed})`, scope.session_id)
  filter.add('+aside_beacon.received_at_ms >= ?', scope.since_ms)
  filter.add('+aside_beacon.received_at_ms < ?', scope.until_ms)
  const joins =
    scope.session_id === undefined
      ? ''
      : 'CROSS JOIN slot ON slot.id = aside_beacon.slot_id CROSS JOIN job ON job.id = slot.job_id'
  const nth = db
    .prepare<[number, number], number>('SELECT id FROM aside_beacon WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?')
    .pluck()
  const last = db.prepare<[], number>('SELECT coalesce(max(id), 0) FROM aside_beacon').pluck()
  const between = db.prepare<(string | number)[], UnacceptedCount>(
    `SELECT aside_beacon.reason_code, count(*) AS count FROM aside_beacon ${joins}
     WHERE aside_beacon.id > ? AND aside_beacon.id <= ? AND ${filter.where()} GROUP BY aside_beacon.reason_code`,
  )
  for (const target = last.get()!; progress.unaccepted_at < target; ) {
    const end = nth.get(progress.unaccepted_at, unacceptedAtOnce - 1) ?? last.get()!
    for (const { reason_code, count } of between.all(progress.unaccepted_at, end, ...filter.values)) {
      countUnaccepted(progress.counts, reason_code, count)
    }
    progress.unaccepted_at = end
    yield
  }
}

interface UnacceptedCount {
  reason_code: BillingCounts['missed'][number]['reason_code']
  count: number
}
