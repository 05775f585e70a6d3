/** Beacons: accepted ones with their evidence, and those that were rejected or duplicates. */
import type Database from 'better-sqlite3'
import type { AcceptedBeacon } from '#contract/beacon-verdict.ts'
import { maxJudged } from '#contract/beacon-verdict.ts'
import { addBeaconConditions, findIndexedColumn, leavesOut } from '../list-conditions.ts'
import {
  cacheRow,
  beaconColumns as columns,
  mergeBeacons,
  type StoredBeacon,
  unacceptedColumns,
  withMeasurements,
} from '../rows.ts'
import type { BeaconListRow, BeaconRow, BeaconStore, Page, UnacceptedBeaconRow } from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import type { Transaction } from '../writes/transaction.ts'
import type { ConsentTable } from './consent.ts'
import type { Connection } from './group-commit.ts'
import type { PlacementTable } from './placements.ts'
import { createFilter, indexedBy, type ListSource, listPart, orderedBy, sessionsNamed } from './rows.ts'
import { type SessionBeacons, sessionBeacons } from './session-beacons.ts'

type BeaconQuery = Parameters<BeaconStore['listBeacons']>[0]

/** Slots whose beacons are cached. */
const cacheSize = 1_024

interface SlotTables {
  placements: PlacementTable
  consent: ConsentTable
}

export function beaconTable({ db, read }: Connection, tables: SlotTables) {
  const statements = prepareBeacons(db)
  const sessions = sessionBeacons(db)
  const { transaction, clearJudged } = beaconWrites(statements, sessions, tables)
  const lists = beaconLists(db, tables.placements, sessions)

  const methods: Omit<BeaconStore, keyof WriteMethods> = {
    listSlotBeacons: async (slot_id) => read(() => statements.listBySlot.all(slot_id).map(withMeasurements)),
    listBeaconsOfSlots: async (slot_ids) => read(() => listOfSlots(statements, slot_ids)),
    findBeacon: async (slot_id, beacon_id) => read(() => toBeacon(statements.find.get(slot_id, beacon_id))),
    findBeaconById: async (id) => read(() => toBeacon(statements.findById.get(id))),
    listUnacceptedBeacons: async (slot_id) => read(() => statements.listUnacceptedBySlot.all(slot_id)),
    findUnacceptedBeacon: async (id) => read(() => statements.findUnaccepted.get(id) ?? null),
    async listBeacons(query) {
      const parts = read(() => [lists.listAccepted(query), lists.listUnaccepted(query)])
      return mergeBeacons(parts, query.limit)
    },
  }

  return { clear, transaction, methods }

  function clear(): void {
    clearJudged()
    sessions.clear()
  }
}

/** The writes of beacons, and the newest beacons of slots that judge the next one. */
function beaconWrites(statements: Statements, sessions: SessionBeacons, { placements, consent }: SlotTables) {
  const recent = new Map<number, AcceptedBeacon[]>()

  const transaction = {
    insertBeacon(beacon) {
      const { id, slot_id, event, received_at_ms, measurements } = beacon
      if (placements.find(slot_id) === null) return false
      const { changes } = statements.insert.run(
        id,
        slot_id,
        beacon.beacon_id,
        event,
        beacon.occurred_at_ms,
        received_at_ms,
        beacon.body_sha256,
        measurements === null ? null : JSON.stringify(measurements),
        beacon.extras,
      )
      if (changes === 0) return false
      if (event !== 'heartbeat') recent.get(slot_id)?.push(beacon)
      addToSession(slot_id, true, id, received_at_ms)
      return true
    },
    judgedBeacons(slot_id): readonly AcceptedBeacon[] {
      const cached = recent.get(slot_id)
      if (cached !== undefined) return cached
      const set = statements.judged.all(slot_id).map(withMeasurements)
      cacheRow(recent, cacheSize, slot_id, set)
      return set
    },
    insertUnaccepted(beacon) {
      const { id, slot_id, received_at_ms } = beacon
      statements.insertUnaccepted.run(
        id,
        beacon.verdict,
        beacon.project_id,
        slot_id,
        beacon.beacon_id,
        beacon.event,
        beacon.occurred_at_ms,
        received_at_ms,
        beacon.reason_code,
      )
      addToSession(slot_id, false, id, received_at_ms)
    },
  } satisfies Partial<Transaction>

  return { transaction, clearJudged: () => recent.clear() }

  /** Adds a beacon to its session, when it has a slot and the slot has a session. */
  function addToSession(slot_id: number | null, isAccepted: boolean, id: number, received_at_ms: number): void {
    const slot = slot_id === null ? null : placements.find(slot_id)
    if (slot === null || slot.job.session_id === null) return
    const session = consent.findSession(slot.job.project_id, slot.job.session_id)
    if (session !== null) sessions.add(session, Number(isAccepted), id, received_at_ms)
  }
}

function listOfSlots({ judgedOfSlots, unacceptedOfSlots, listBySlot }: Statements, slot_ids: readonly number[]) {
  const ids = JSON.stringify(slot_ids)
  const judged = judgedOfSlots.all(ids)
  const unaccepted = unacceptedOfSlots.all(ids)
  const known = new Set([...judged, ...unaccepted].map(({ slot_id }) => slot_id))
  const silent = slot_ids.filter((id) => !known.has(id)).flatMap((id) => listBySlot.all(id).slice(0, 1))
  return { accepted: [...judged, ...silent].map(withMeasurements), unaccepted }
}

type Statements = ReturnType<typeof prepareBeacons>

function prepareBeacons(db: Database.Database) {
  return {
    insert: db.prepare(
      `INSERT INTO beacon (${columns}) VALUES (${columns.replaceAll(/\w+/g, '?')}) ON CONFLICT (slot_id, beacon_id) DO NOTHING`,
    ),
    listBySlot: db.prepare<[number], StoredBeacon>(
      `SELECT ${columns} FROM beacon WHERE slot_id = ? ORDER BY id LIMIT ${maxJudged}`,
    ),
    judged: db.prepare<[number], Omit<AcceptedBeacon, 'measurements'> & Pick<StoredBeacon, 'measurements'>>(
      `SELECT id, event, occurred_at_ms, received_at_ms, measurements FROM beacon
       WHERE slot_id = ? AND event <> 'heartbeat' ORDER BY id LIMIT ${maxJudged}`,
    ),
    judgedOfSlots: db.prepare<[string], StoredBeacon>(
      `SELECT ${columns} FROM beacon WHERE slot_id IN (SELECT value FROM json_each(?)) AND event <> 'heartbeat' ORDER BY +id`,
    ),
    unacceptedOfSlots: db.prepare<[string], UnacceptedBeaconRow>(
      `SELECT ${unacceptedColumns} FROM aside_beacon
       WHERE slot_id IN (SELECT value FROM json_each(?)) AND event IS NOT 'heartbeat' ORDER BY +id`,
    ),
    find: db.prepare<[number, string], StoredBeacon>(
      `SELECT ${columns} FROM beacon WHERE slot_id = ? AND beacon_id = ?`,
    ),
    findById: db.prepare<[number], StoredBeacon>(`SELECT ${columns} FROM beacon WHERE id = ?`),
    findUnaccepted: db.prepare<[number], UnacceptedBeaconRow>(
      `SELECT ${unacceptedColumns} FROM aside_beacon WHERE id = ?`,
    ),
    insertUnaccepted: db.prepare(`INSERT INTO aside_beacon (${unacceptedColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    listUnacceptedBySlot: db.prepare<[number], UnacceptedBeaconRow>(
      `SELECT ${unacceptedColumns} FROM aside_beacon WHERE slot_id = ? ORDER BY id`,
    ),
  }
}

function toBeacon(stored: StoredBeacon | undefined): BeaconRow | null {
  return stored === undefined ? null : withMeasurements(stored)
}

/** The lists of accepted beacons and of the others, each of one table. */
function beaconLists(db: Database.Database, placements: PlacementTable, sessions: SessionBeacons) {
  return { listAccepted, listUnaccepted }

  function listSource(table: 'beacon' | 'aside_beacon', query: BeaconQuery): ListSource {
    const { session_id } = query
    const column = findIndexedColumn(table, query)
    const ordered =
      session_id === undefined
        ? column && orderedBy(db, column)
        : (end: number) => sessions.find(table, session_id, query, end)
    return { ...createListSource(table, query), ordered: ordered ?? undefined }
  }

  function listAccepted(query: BeaconQuery): Page<BeaconListRow> {
    if (leavesOut('beacon', query)) return nothing
    const { rows, next } = listPart<StoredBeacon>(db, listSource('beacon', query), query)
    return {
      rows: rows.map((stored) => {
        return { kind: 'accepted', beacon: withMeasurements(stored), slot: placements.slot(stored.slot_id) }
      }),
      next,
    }
  }

  function listUnaccepted(query: BeaconQuery): Page<BeaconListRow> {
    if (leavesOut('aside_beacon', query)) return nothing
    const { rows, next } = listPart<UnacceptedBeaconRow>(db, listSource('aside_beacon', query), query)
    return {
      rows: rows.map((beacon) => {
        return { kind: 'unaccepted', beacon, slot: beacon.slot_id === null ? null : placements.find(beacon.slot_id) }
      }),
      next,
    }
  }
}

const nothing = { rows: [], next: null }

/** Returns the list of one of the two tables. Other tables are joined where a filter needs them. */
function createListSource(table: 'beacon' | 'aside_beacon', query: BeaconQuery): ListSource {
  const { session_id } = query
  const filter = createFilter()
  filter.add(`+${table}.slot_id = ?`, query.slot_id)
  filter.add(`+job.session IN (${sessionsNamed})`, session_id)
  filter.add(`${table === 'beacon' ? 'job' : table}.project_id = ?`, query.project_id)
  filter.add(`+${table}.received_at_ms >= ?`, query.since_ms)
  filter.add(`+${table}.received_at_ms < ?`, query.until_ms)
  addBeaconConditions(filter, table, query)
  const text = filter.where()
  const needsJob = text.includes('job.')
  const joins = [
    needsJob || text.includes(' slot.') || text.startsWith('slot.')
      ? `CROSS JOIN slot ON slot.id = ${table}.slot_id`
      : '',
    needsJob ? 'CROSS JOIN job ON job.id = slot.job_id' : '',
  ]
  return {
    table,
    select: `SELECT ${table}.* FROM ${table} ${joins.join(' ')}`,
    filter,
    indexed: [
      ...indexedBy(`SELECT id FROM ${table} WHERE slot_id = ?`, query.slot_id),
      ...indexedBy(`SELECT id FROM ${table} WHERE received_at_ms >= ?`, query.since_ms),
    ],
  }
}
