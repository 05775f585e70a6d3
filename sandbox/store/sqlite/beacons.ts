/** Accepted beacons, and those that are kept apart. */
import type Database from 'better-sqlite3'
import type { AcceptedBeacon } from '../../../src/contract/beacon-verdict.ts'
import type { Measurements } from '../../../src/contract/v1/beacons.ts'
import type { BeaconRow, BeaconScope, Store, UnacceptedBeaconRow } from '../store.ts'
import { createFilter } from './filter.ts'
import { remember } from './recent.ts'

interface StoredBeacon extends Omit<BeaconRow, 'measurements'> {
  measurements: string | null
}

/** Slots whose beacons are kept at hand. */
const recentSets = 1_024

type BeaconQuery = Parameters<Store['listBeacons']>[0]

const columns = 'id, slot_id, beacon_id, event, occurred_at_ms, received_at_ms, body_sha256, measurements, extras'
const unacceptedColumns =
  'id, verdict, project_id, slot_id, beacon_id, event, occurred_at_ms, received_at_ms, reason_code'

/** The most beacons of one slot that are judged together; an honest client sends a few dozen. */
const judgedAtMost = 500

export function beaconStatements(db: Database.Database) {
  const insert = db.prepare(
    `INSERT INTO beacon (${columns}) SELECT ?, id, ?, ?, ?, ?, ?, ?, ? FROM slot WHERE id = ?
     ON CONFLICT (slot_id, beacon_id) DO NOTHING`,
  )
  const bySlot = db.prepare<[number, number], StoredBeacon>(
    `SELECT ${columns} FROM beacon WHERE slot_id = ? ORDER BY id LIMIT ?`,
  )
  const judged = db.prepare<[number, number], Omit<AcceptedBeacon, 'measurements'> & { measurements: string | null }>(
    `SELECT id, event, occurred_at_ms, received_at_ms, measurements FROM beacon
     WHERE slot_id = ? AND event <> 'heartbeat' ORDER BY id LIMIT ?`,
  )
  const countable = db.prepare<[number, number], StoredBeacon>(
    `SELECT ${columns} FROM beacon WHERE slot_id = ? AND event <> 'heartbeat' ORDER BY id LIMIT ?`,
  )
  const find = db.prepare<[number, string], StoredBeacon>(
    `SELECT ${columns} FROM beacon WHERE slot_id = ? AND beacon_id = ?`,
  )
  const byId = db.prepare<[number], StoredBeacon>(`SELECT ${columns} FROM beacon WHERE id = ?`)
  const unacceptedById = db.prepare<[number], UnacceptedBeaconRow>(
    `SELECT ${unacceptedColumns} FROM aside_beacon WHERE id = ?`,
  )
  const insertUnaccepted = db.prepare(
    `INSERT INTO aside_beacon (${unacceptedColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const unacceptedBySlot = db.prepare<[number], UnacceptedBeaconRow>(
    `SELECT ${unacceptedColumns} FROM aside_beacon WHERE slot_id = ? ORDER BY id`,
  )

  const recent = new Map<number, AcceptedBeacon[]>()

  return {
    /** Forgets what is kept at hand, after a rollback or a reset. */
    forget: () => recent.clear(),
    /** Within the running transaction; false when the slot has one of that beacon_id, or is gone. */
    insert(beacon: BeaconRow): boolean {
      const result = insert.run(
        beacon.id,
        beacon.beacon_id,
        beacon.event,
        beacon.occurred_at_ms,
        beacon.received_at_ms,
        beacon.body_sha256,
        beacon.measurements === null ? null : JSON.stringify(beacon.measurements),
        beacon.extras,
        beacon.slot_id,
      )
      if (result.changes === 0) return false
      if (beacon.event !== 'heartbeat') recent.get(beacon.slot_id)?.push(beacon)
      return true
    },
    /** What billing judges: heartbeats count for nothing. Sets of recent slots are kept at hand. */
    judged(slot_id: number): readonly AcceptedBeacon[] {
      const known = recent.get(slot_id)
      if (known !== undefined) return known
      const set = judged
        .all(slot_id, judgedAtMost)
        .map((stored) => ({ ...stored, measurements: readMeasurements(stored) }))
      remember(recent, recentSets, slot_id, set)
      return set
    },
    bySlot: (slot_id: number) => bySlot.all(slot_id, judgedAtMost).map(toBeacon),
    find(slot_id: number, beacon_id: string): BeaconRow | null {
      const stored = find.get(slot_id, beacon_id)
      return stored === undefined ? null : toBeacon(stored)
    },
    byId(id: number): BeaconRow | null {
      const stored = byId.get(id)
      return stored === undefined ? null : toBeacon(stored)
    },
    unacceptedById: (id: number) => unacceptedById.get(id) ?? null,
    /** Within the running transaction. */
    insertUnaccepted(beacon: UnacceptedBeaconRow): void {
      insertUnaccepted.run(
        beacon.id,
        beacon.verdict,
        beacon.project_id,
        beacon.slot_id,
        beacon.beacon_id,
        beacon.event,
        beacon.occurred_at_ms,
        beacon.received_at_ms,
        beacon.reason_code,
      )
    },
    /** What billing judges of a slot, whole rows. */
    countable: (slot_id: number) => countable.all(slot_id, judgedAtMost).map(toBeacon),
    slotIds({ after, limit, ...scope }: BeaconScope & { after: number; limit: number }): number[] {
      const { where, values } = conditions('beacon', 'job.project_id', scope)
      return db
        .prepare<(string | number)[], number>(
          `SELECT DISTINCT beacon.slot_id FROM beacon CROSS JOIN slot ON slot.id = beacon.slot_id
           CROSS JOIN job ON job.id = slot.job_id LEFT JOIN session ON session.id = job.session
           WHERE beacon.slot_id > ? AND ${where} ORDER BY beacon.slot_id LIMIT ?`,
        )
        .pluck()
        .all(after, ...values, limit)
    },
    countUnaccepted(scope: BeaconScope) {
      const { where, values } = conditions('aside_beacon', 'aside_beacon.project_id', scope)
      return db
        .prepare<(string | number)[], { reason_code: UnacceptedBeaconRow['reason_code']; count: number }>(
          `SELECT reason_code, count(*) AS count FROM aside_beacon LEFT JOIN slot ON slot.id = aside_beacon.slot_id
           LEFT JOIN job ON job.id = slot.job_id LEFT JOIN session ON session.id = job.session
           WHERE ${where} GROUP BY reason_code`,
        )
        .all(...values)
    },
    unacceptedBySlot: (slot_id: number) => unacceptedBySlot.all(slot_id),
    list(query: BeaconQuery): BeaconRow[] {
      if (query.verdict !== undefined && query.verdict !== 'accepted') return []
      const { where, values } = conditions('beacon', 'job.project_id', query)
      return db
        .prepare<(string | number)[], StoredBeacon>(
          `SELECT beacon.* FROM beacon JOIN slot ON slot.id = beacon.slot_id JOIN job ON job.id = slot.job_id
           LEFT JOIN session ON session.id = job.session
           WHERE ${where} ORDER BY beacon.id DESC LIMIT ?`,
        )
        .all(...values, query.limit + 1)
        .map(toBeacon)
    },
    listUnaccepted(query: BeaconQuery): UnacceptedBeaconRow[] {
      if (query.verdict === 'accepted') return []
      const { where, values } = conditions('aside_beacon', 'aside_beacon.project_id', query)
      const verdict = query.verdict === undefined ? '1' : 'aside_beacon.verdict = ?'
      return db
        .prepare<(string | number)[], UnacceptedBeaconRow>(
          `SELECT aside_beacon.* FROM aside_beacon LEFT JOIN slot ON slot.id = aside_beacon.slot_id
           LEFT JOIN job ON job.id = slot.job_id LEFT JOIN session ON session.id = job.session
           WHERE ${where} AND ${verdict} ORDER BY aside_beacon.id DESC LIMIT ?`,
        )
        .all(...values, ...(query.verdict === undefined ? [] : [query.verdict]), query.limit + 1)
    },
  }
}

function conditions(table: string, projectColumn: string, query: Partial<BeaconQuery>) {
  const filter = createFilter()
  filter.add(`${table}.id < ?`, query.before)
  filter.add(`${table}.slot_id = ?`, query.slot_id)
  filter.add(`${table}.event = ?`, query.event)
  filter.add('slot.format = ?', query.format)
  filter.add('session.session_id = ?', query.session_id)
  filter.add(`${projectColumn} = ?`, query.project_id)
  filter.add(`${table}.received_at_ms >= ?`, query.since_ms)
  filter.add(`${table}.received_at_ms < ?`, query.until_ms)
  return { where: filter.where(), values: filter.values }
}

function toBeacon(stored: StoredBeacon): BeaconRow {
  return { ...stored, measurements: readMeasurements(stored) }
}

function readMeasurements({ measurements }: { measurements: string | null }): Measurements | null {
  return measurements === null ? null : (JSON.parse(measurements) as Measurements)
}
