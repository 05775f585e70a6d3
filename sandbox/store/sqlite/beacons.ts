/** Beacons: accepted ones with their evidence, and those that were rejected or duplicates. */
import type { AcceptedBeacon } from '../../../src/contract/beacon-verdict.ts'
import type { Measurements } from '../../../src/contract/v1/beacons.ts'
import type { BeaconListRow, BeaconRow, BeaconScope, BeaconStore, UnacceptedBeaconRow } from '../store.ts'
import type { EventTable } from './events.ts'
import type { EvidenceTable } from './evidence.ts'
import type { Connection } from './group-commit.ts'
import type { PlacementTable } from './placements.ts'
import { cacheRow, createFilter, parseRow } from './rows.ts'

type Stored<Row> = Omit<Row, 'measurements'> & { measurements: string | null }
type StoredBeacon = Stored<BeaconRow>
type BeaconQuery = Parameters<BeaconStore['listBeacons']>[0]

/** Slots whose beacons are cached. */
const cacheSize = 1_024

const columns = 'id, slot_id, beacon_id, event, occurred_at_ms, received_at_ms, body_sha256, measurements, extras'
const unacceptedColumns =
  'id, verdict, project_id, slot_id, beacon_id, event, occurred_at_ms, received_at_ms, reason_code'

/** The most beacons of one slot that are judged together; an honest client sends a few dozen. */
const maxJudged = 500

export function beaconTable(
  { db, read, write }: Connection,
  { placements, evidence, events }: { placements: PlacementTable; evidence: EvidenceTable; events: EventTable },
) {
  const insert = db.prepare(
    `INSERT INTO beacon (${columns}) SELECT ?, id, ?, ?, ?, ?, ?, ?, ? FROM slot WHERE id = ?
     ON CONFLICT (slot_id, beacon_id) DO NOTHING`,
  )
  const bySlot = db.prepare<[number, number], StoredBeacon>(
    `SELECT ${columns} FROM beacon WHERE slot_id = ? ORDER BY id LIMIT ?`,
  )
  const judged = db.prepare<[number, number], Stored<AcceptedBeacon>>(
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

  /** False when the slot has a beacon of that beacon_id, or is gone. */
  const insertBeacon = (beacon: BeaconRow): boolean => {
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
  }

  /** The beacons that billing judges: heartbeats count for nothing. Those of recent slots are cached. */
  const judgedOf = (slot_id: number): readonly AcceptedBeacon[] => {
    const cached = recent.get(slot_id)
    if (cached !== undefined) return cached
    const set = judged.all(slot_id, maxJudged).map(withMeasurements)
    cacheRow(recent, cacheSize, slot_id, set)
    return set
  }

  const list = (query: BeaconQuery): BeaconListRow[] => {
    if (query.verdict !== undefined && query.verdict !== 'accepted') return []
    const { where, values } = conditions('beacon', 'job.project_id', query)
    return db
      .prepare<(string | number)[], StoredBeacon>(
        `SELECT beacon.* FROM beacon JOIN slot ON slot.id = beacon.slot_id JOIN job ON job.id = slot.job_id
         LEFT JOIN session ON session.id = job.session
         WHERE ${where} ORDER BY beacon.id DESC LIMIT ?`,
      )
      .all(...values, query.limit + 1)
      .map(withMeasurements)
      .map((beacon) => ({ kind: 'accepted', beacon, slot: placements.find(beacon.slot_id)! }))
  }

  const listUnaccepted = (query: BeaconQuery): BeaconListRow[] => {
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
      .map((beacon) => {
        return { kind: 'unaccepted', beacon, slot: beacon.slot_id === null ? null : placements.find(beacon.slot_id) }
      })
  }

  const slotIds = ({ after, limit, ...scope }: BeaconScope & { after: number; limit: number }): number[] => {
    const { where, values } = conditions('beacon', 'job.project_id', scope)
    return db
      .prepare<(string | number)[], number>(
        `SELECT DISTINCT beacon.slot_id FROM beacon CROSS JOIN slot ON slot.id = beacon.slot_id
         CROSS JOIN job ON job.id = slot.job_id LEFT JOIN session ON session.id = job.session
         WHERE beacon.slot_id > ? AND ${where} ORDER BY beacon.slot_id LIMIT ?`,
      )
      .pluck()
      .all(after, ...values, limit)
  }

  const found = (stored: StoredBeacon | undefined) => (stored === undefined ? null : withMeasurements(stored))

  const methods: BeaconStore = {
    recordBeacon: (beacon, project_id, draft) =>
      write(() => {
        if (!insertBeacon(beacon)) return null
        const { id: ref, slot_id, received_at_ms: at_ms } = beacon
        evidence.append(project_id, slot_id, draft)
        events.append({ type: 'beacon.accepted', at_ms, project_id, slot_id, ref })
        return judgedOf(slot_id)
      }),
    recordUnaccepted: (beacon) =>
      write(() => {
        const { id: ref, verdict, project_id, slot_id, received_at_ms: at_ms } = beacon
        insertUnaccepted.run(
          ref,
          verdict,
          project_id,
          slot_id,
          beacon.beacon_id,
          beacon.event,
          beacon.occurred_at_ms,
          at_ms,
          beacon.reason_code,
        )
        const type = verdict === 'duplicate' ? 'beacon.duplicate' : 'beacon.rejected'
        events.append({ type, at_ms, project_id, slot_id, ref })
      }),
    beaconsOf: async (slot_id) => read(() => bySlot.all(slot_id, maxJudged).map(withMeasurements)),
    findBeacon: async (slot_id, beacon_id) => read(() => found(find.get(slot_id, beacon_id))),
    beaconById: async (id) => read(() => found(byId.get(id))),
    unacceptedBeaconsOf: async (slot_id) => read(() => unacceptedBySlot.all(slot_id)),
    unacceptedBeaconById: async (id) => read(() => unacceptedById.get(id) ?? null),
    async listBeacons(query) {
      const rows = read(() => [...list(query), ...listUnaccepted(query)]).sort((a, b) => b.beacon.id - a.beacon.id)
      const page = rows.slice(0, query.limit)
      return { rows: page, next: rows.length > query.limit ? page.at(-1)!.beacon.id : null }
    },
    slotsWithBeacons: async (query) =>
      read(() =>
        slotIds(query).map((id) => ({
          slot: placements.find(id)!,
          beacons: countable.all(id, maxJudged).map(withMeasurements),
        })),
      ),
    async countUnaccepted(scope) {
      const { where, values } = conditions('aside_beacon', 'aside_beacon.project_id', scope)
      const count = db.prepare<(string | number)[], { reason_code: UnacceptedBeaconRow['reason_code']; count: number }>(
        `SELECT reason_code, count(*) AS count FROM aside_beacon LEFT JOIN slot ON slot.id = aside_beacon.slot_id
         LEFT JOIN job ON job.id = slot.job_id LEFT JOIN session ON session.id = job.session
         WHERE ${where} GROUP BY reason_code`,
      )
      return read(() => count.all(...values))
    },
  }

  return {
    clear: () => recent.clear(),
    methods,
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

function withMeasurements<Row extends { measurements: string | null }>(stored: Row) {
  const { measurements } = stored
  return { ...stored, measurements: measurements === null ? null : parseRow<Measurements>(measurements) }
}
