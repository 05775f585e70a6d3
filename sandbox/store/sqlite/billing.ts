/**
 * Counts what production would bill, slot by slot. A generator, so that it can run as a whole on a thread (file-worker.ts)
 * or in pieces between other requests. Each slot is read with its beacons as they are at that moment: no transaction spans
 * the whole report, which would keep the log from being started over.
 */
import type Database from 'better-sqlite3'
import type { AcceptedBeacon } from '../../../src/contract/beacon-verdict.ts'
import { maxJudged } from '../../../src/contract/beacon-verdict.ts'
import { type BilledSlot, type BillingRules, countBeacons } from '../billing-counts.ts'
import { parseRow } from '../rows.ts'
import type { BeaconScope, BillingCounts } from '../store.ts'
import { createFilter, sessionsNamed, slotsOfSession } from './rows.ts'

type StoredBeacon = Omit<AcceptedBeacon, 'measurements'> & { measurements: string | null }

/** Slots that are counted in one piece. */
const slotsAtOnce = 50
/** Rejected and duplicate beacons that are counted in one piece. */
const unacceptedAtOnce = 5_000
/** @param mostSelected rows that an index may find in one go; with more, slots are read in the order of ids */
export function* countBilling(
  db: Database.Database,
  scope: BeaconScope,
  rules: BillingRules,
  newest: number,
  mostSelected: number,
): Generator<void, BillingCounts> {
  const counts = countBeacons(scope, rules, newest)
  const beaconsOf = db.prepare<[number], StoredBeacon>(
    `SELECT id, event, occurred_at_ms, received_at_ms, measurements FROM beacon
     WHERE slot_id = ? AND event <> 'heartbeat' ORDER BY id LIMIT ${maxJudged}`,
  )
  for (const slots of slotsInScope(db, scope, mostSelected)) {
    for (const slot of slots) {
      if (rules[slot.project_id] === undefined) continue
      const beacons = beaconsOf.all(slot.id).map(({ measurements, ...beacon }) => ({
        ...beacon,
        measurements: measurements === null ? null : parseRow<AcceptedBeacon['measurements']>(measurements),
      }))
      counts.judge(slot, beacons)
    }
    yield
  }
  for (const { reason_code, count } of unacceptedInScope(db, scope)) {
    if (count === 0) yield
    else counts.miss(reason_code, count)
  }
  return counts.result()
}

const slotColumns =
  'slot.id, job.project_id, slot.format, slot.width, slot.height, slot.duration_ms, slot.gross_cpm, slot.currency'

/** Yields the filled slots that may have beacons in scope, oldest first. */
function* slotsInScope(db: Database.Database, scope: BeaconScope, mostSelected: number): Generator<BilledSlot[]> {
  const filter = createFilter()
  filter.add('job.project_id = ?', scope.project_id)
  filter.add(`+job.session IN (${sessionsNamed})`, scope.session_id)
  const conditions = `slot.format IS NOT NULL AND ${filter.where()}`
  const selected = selectedSlots(db, scope, mostSelected)
  if (selected !== null) {
    const find = db.prepare<(string | number)[], BilledSlot>(
      `SELECT ${slotColumns} FROM slot CROSS JOIN job ON job.id = slot.job_id WHERE slot.id = ? AND ${conditions}`,
    )
    for (let first = 0; first < selected.length; first += slotsAtOnce) {
      yield selected.slice(first, first + slotsAtOnce).flatMap((id) => find.get(id, ...filter.values) ?? [])
    }
    return
  }
  // Read in the order of ids, whatever the filters match: a piece is a number of slots that are read, not found.
  const nth = db
    .prepare<[number, number], number>('SELECT id FROM slot WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?')
    .pluck()
  const between = db.prepare<(string | number)[], BilledSlot>(
    `SELECT ${slotColumns} FROM slot CROSS JOIN job ON job.id = slot.job_id
     WHERE slot.id > ? AND slot.id <= ? AND ${conditions} ORDER BY slot.id`,
  )
  for (let after = 0; after < Number.MAX_SAFE_INTEGER; ) {
    const end = nth.get(after, slotsAtOnce - 1) ?? Number.MAX_SAFE_INTEGER
    yield between.all(after, end, ...filter.values)
    after = end
  }
}

/** Returns the slots that an index finds for the scope; null when it finds too many, or has none. */
function selectedSlots(
  db: Database.Database,
  { session_id, since_ms, until_ms }: BeaconScope,
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
  if (session_id !== undefined) return slots(slotsOfSession, session_id)
  if (since_ms === undefined) return null
  const end = until_ms ?? Number.MAX_SAFE_INTEGER
  return slots('SELECT slot_id FROM beacon WHERE received_at_ms >= ? AND received_at_ms < ?', since_ms, end)
}

/** Yields how many beacons in scope were rejected or duplicates, by reason; a count of 0 ends a piece. */
function* unacceptedInScope(
  db: Database.Database,
  scope: BeaconScope,
): Generator<{ reason_code: BillingCounts['missed'][number]['reason_code']; count: number }> {
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
  const between = db.prepare<
    (string | number)[],
    { reason_code: BillingCounts['missed'][number]['reason_code']; count: number }
  >(
    `SELECT aside_beacon.reason_code, count(*) AS count FROM aside_beacon ${joins}
     WHERE aside_beacon.id > ? AND aside_beacon.id <= ? AND ${filter.where()} GROUP BY aside_beacon.reason_code`,
  )
  for (let after = 0; after < Number.MAX_SAFE_INTEGER; ) {
    const end = nth.get(after, unacceptedAtOnce - 1) ?? Number.MAX_SAFE_INTEGER
    yield* between.all(after, end, ...filter.values)
    yield { reason_code: 'DUPLICATE', count: 0 }
    after = end
  }
}
