/** Beacons: accepted ones with their evidence, and those that were rejected or duplicates. */
import type Database from 'better-sqlite3'
import type { AcceptedBeacon } from '#contract/beacon-verdict.ts'
import { maxJudged } from '#contract/beacon-verdict.ts'
import { addBeaconConditions, leavesOut } from '../list-conditions.ts'
import {
  cacheRow,
  beaconColumns as columns,
  mergeBeacons,
  type StoredBeacon,
  unacceptedColumns,
  withMeasurements,
} from '../rows.ts'
import type { BeaconListRow, BeaconStore, Page, UnacceptedBeaconRow } from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import type { Transaction } from '../writes/transaction.ts'
import type { ConsentTable } from './consent.ts'
import type { Connection } from './group-commit.ts'
import type { PlacementTable } from './placements.ts'
import { createFilter, indexedBy, type ListSource, listPart, maxFoundRows, sessionsNamed } from './rows.ts'

type BeaconQuery = Parameters<BeaconStore['listBeacons']>[0]

/** Slots whose beacons are cached. */
const cacheSize = 1_024
/** Sessions whose newest beacon is cached. */
const maxCachedSessions = 20_000

export function beaconTable(
  { db, read }: Connection,
  { placements, consent }: { placements: PlacementTable; consent: ConsentTable },
) {
  const insert = db.prepare(
    `INSERT INTO beacon (${columns}) VALUES (${columns.replaceAll(/\w+/g, '?')}) ON CONFLICT (slot_id, beacon_id) DO NOTHING`,
  )
  const bySlot = db.prepare<[number], StoredBeacon>(
    `SELECT ${columns} FROM beacon WHERE slot_id = ? ORDER BY id LIMIT ${maxJudged}`,
  )
  const judged = db.prepare<[number], Omit<AcceptedBeacon, 'measurements'> & Pick<StoredBeacon, 'measurements'>>(
    `SELECT id, event, occurred_at_ms, received_at_ms, measurements FROM beacon
     WHERE slot_id = ? AND event <> 'heartbeat' ORDER BY id LIMIT ${maxJudged}`,
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
  const sessions = sessionBeacons(db)

  /** Adds a beacon to its session, when it has a slot and the slot has a session. */
  const addToSession = (slot_id: number | null, isAccepted: boolean, id: number, received_at_ms: number): void => {
    const slot = slot_id === null ? null : placements.find(slot_id)
    if (slot === null || slot.job.session_id === null) return
    const session = consent.sessionOf(slot.job.project_id, slot.job.session_id)
    if (session === null) return
    sessions.add(session, Number(isAccepted), id, received_at_ms)
  }

  /** The beacons that billing judges: heartbeats do not matter. Those of recent slots are cached. */
  const judgedBeacons = (slot_id: number): readonly AcceptedBeacon[] => {
    const cached = recent.get(slot_id)
    if (cached !== undefined) return cached
    const set = judged.all(slot_id).map(withMeasurements)
    cacheRow(recent, cacheSize, slot_id, set)
    return set
  }

  const list = (query: BeaconQuery): Page<BeaconListRow & { kind: 'accepted' }> => {
    if (leavesOut('beacon', query)) return nothing
    const { rows, next } = listPart<StoredBeacon>(db, createListSource('beacon', query, sessions), query)
    return {
      rows: rows.map((stored) => ({
        kind: 'accepted',
        beacon: withMeasurements(stored),
        slot: placements.slot(stored.slot_id),
      })),
      next,
    }
  }

  const listUnaccepted = (query: BeaconQuery): Page<BeaconListRow & { kind: 'unaccepted' }> => {
    if (leavesOut('aside_beacon', query)) return nothing
    const { rows, next } = listPart<UnacceptedBeaconRow>(db, createListSource('aside_beacon', query, sessions), query)
    return {
      rows: rows.map((beacon) => {
        return { kind: 'unaccepted', beacon, slot: beacon.slot_id === null ? null : placements.find(beacon.slot_id) }
      }),
      next,
    }
  }

  const found = (stored: StoredBeacon | undefined) => (stored === undefined ? null : withMeasurements(stored))

  const transaction = {
    insertBeacon(beacon) {
      const { id, slot_id, event, received_at_ms, measurements } = beacon
      if (placements.find(slot_id) === null) return false
      const { changes } = insert.run(
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
    judgedBeacons,
    insertUnaccepted(beacon) {
      const { id, slot_id, received_at_ms } = beacon
      insertUnaccepted.run(
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

  const methods: Omit<BeaconStore, keyof WriteMethods> = {
    beaconsOf: async (slot_id) => read(() => bySlot.all(slot_id).map(withMeasurements)),
    findBeacon: async (slot_id, beacon_id) => read(() => found(find.get(slot_id, beacon_id))),
    beaconById: async (id) => read(() => found(byId.get(id))),
    unacceptedBeaconsOf: async (slot_id) => read(() => unacceptedBySlot.all(slot_id)),
    unacceptedBeaconById: async (id) => read(() => unacceptedById.get(id) ?? null),
    listBeacons: async (query) =>
      mergeBeacons(
        read(() => [list(query), listUnaccepted(query)]),
        query.limit,
      ),
  }

  return {
    clear() {
      recent.clear()
      sessions.clear()
    },
    transaction,
    methods,
  }
}

const nothing = { rows: [], next: null }

/** Returns the list of one of the two tables. Other tables are joined where a filter needs them. */
function createListSource(
  table: 'beacon' | 'aside_beacon',
  query: BeaconQuery,
  sessions: ReturnType<typeof sessionBeacons>,
): ListSource {
  const filter = createFilter()
  filter.add(`+${table}.slot_id = ?`, query.slot_id)
  filter.add(`+job.session IN (${sessionsNamed})`, query.session_id)
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
    ordered: query.session_id === undefined ? undefined : (end) => sessions.find(table, query, end),
  }
}

/** Entries of `session_beacon` whose times one part compares: a few milliseconds. */
const entriesAtOnce = 50_000

/** A beacon of a session, and the latest time at which it or an earlier one was received. */
interface Entry {
  id: number
  latest_at_ms: number
}

/**
 * Adds and finds the beacons of sessions. Each entry has the latest time up to and including it, which grows with the
 * identifiers whatever the clock does: so bisection finds the first entry that can be at or after a time.
 */
function sessionBeacons(db: Database.Database) {
  const insert = db.prepare(
    'INSERT INTO session_beacon (session, is_accepted, id, received_at_ms, latest_at_ms) VALUES (?, ?, ?, ?, ?)',
  )
  const findLast = db.prepare<[number, number, number], Entry>(
    'SELECT id, latest_at_ms FROM session_beacon WHERE session = ? AND is_accepted = ? AND id < ? ORDER BY id DESC LIMIT 1',
  )
  const raiseNewer = db.prepare(
    'UPDATE session_beacon SET latest_at_ms = max(latest_at_ms, ?) WHERE session = ? AND is_accepted = ? AND id > ?',
  )
  const findNext = db.prepare<[number, number, number], Entry>(
    'SELECT id, latest_at_ms FROM session_beacon WHERE session = ? AND is_accepted = ? AND id >= ? ORDER BY id LIMIT 1',
  )
  const findSessions = db.prepare<[string], number>(sessionsNamed).pluck()
  const findLastSession = db.prepare<[], number | null>('SELECT max(session) FROM session_beacon').pluck()
  const newest = new Map<number, Entry>()
  /** No session after this one has a beacon; null until it is read. */
  let lastSession: number | null = null

  /** Returns the newest entry of a session, which is updated in place. */
  const findNewest = (session: number, is_accepted: number): Entry => {
    const key = 2 * session + is_accepted
    const cached = newest.get(key)
    if (cached !== undefined) return cached
    lastSession ??= findLastSession.get() ?? 0
    const stored = session > lastSession ? undefined : findLast.get(session, is_accepted, Number.MAX_SAFE_INTEGER)
    lastSession = Math.max(lastSession, session)
    const last = stored ?? { id: 0, latest_at_ms: 0 }
    cacheRow(newest, maxCachedSessions, key, last)
    return last
  }

  /** Returns the identifier below which no beacon of a session was received at `since_ms` or later; `end` at most. */
  const firstSince = (session: number, is_accepted: number, since_ms: number, end: number): number => {
    const last = findLast.get(session, is_accepted, end)
    if (last === undefined || last.latest_at_ms < since_ms) return end
    let from = 0
    let to = last.id
    while (from < to) {
      const middle = from + Math.floor((to - from) / 2)
      const next = findNext.get(session, is_accepted, middle)!
      if (next.latest_at_ms >= since_ms) to = middle
      else from = next.id + 1
    }
    return from
  }

  return {
    clear() {
      newest.clear()
      lastSession = null
    },
    /** Adds a beacon to its session. If a newer one has overtaken it, it raises the time of the newer one. */
    add(session: number, is_accepted: number, id: number, received_at_ms: number): void {
      const last = findNewest(session, is_accepted)
      const latest_at_ms = Math.max(received_at_ms, last.latest_at_ms)
      insert.run(session, is_accepted, id, received_at_ms, latest_at_ms)
      if (last.id > id) raiseNewer.run(latest_at_ms, session, is_accepted, id)
      last.id = Math.max(id, last.id)
      last.latest_at_ms = latest_at_ms
    },
    /** Returns the next beacons of a session below `end` that were received in time, newest first. */
    find(
      table: 'beacon' | 'aside_beacon',
      { session_id, since_ms = 0, until_ms = Number.MAX_SAFE_INTEGER }: BeaconQuery,
      end: number,
    ) {
      const is_accepted = Number(table === 'beacon')
      const isTimed = since_ms > 0 || until_ms < Number.MAX_SAFE_INTEGER
      const findFirst = (session: number) => firstSince(session, is_accepted, since_ms, end)
      const first = since_ms === 0 ? 0 : Math.min(end, ...findSessions.all(session_id!).map(findFirst))
      const start =
        db
          .prepare<[number, number, number, string], number | null>(
            `SELECT max((SELECT id FROM session_beacon WHERE session = named.id AND is_accepted = ? AND id >= ? AND id < ?
               ORDER BY id DESC LIMIT 1 OFFSET ${(isTimed ? entriesAtOnce : maxFoundRows) - 1})) FROM (${sessionsNamed}) named`,
          )
          .pluck()
          .get(is_accepted, first, end, session_id!) ?? first
      const ids = db
        .prepare<(string | number)[], number>(
          `SELECT id FROM session_beacon WHERE session IN (${sessionsNamed}) AND is_accepted = ? AND id >= ? AND id < ?
             AND received_at_ms >= ? AND received_at_ms < ? ORDER BY id DESC LIMIT ${maxFoundRows}`,
        )
        .pluck()
        .all(session_id!, is_accepted, start, end, since_ms, until_ms)
      if (ids.length === maxFoundRows) return { ids, next: ids.at(-1)! }
      return { ids, next: start === first ? null : start }
    },
  }
}
