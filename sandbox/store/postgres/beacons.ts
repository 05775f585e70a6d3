/** Beacons: accepted ones with their evidence, and those that were rejected or duplicates. */

import { maxJudged } from '#contract/beacon-verdict.ts'
import { addBeaconConditions, findIndexedColumn, leavesOut } from '../list-conditions.ts'
import {
  beaconColumns as columns,
  mergeBeacons,
  required,
  type StoredBeacon,
  unacceptedColumns,
  withMeasurements,
} from '../rows.ts'
import type { BeaconListRow, BeaconStore, Page, UnacceptedBeaconRow } from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import type { Connection } from './group-commit.ts'
import type { PlacementTable } from './placements.ts'
import { createFilter, type ListSource, listPart, shareReads, slotsOfSession } from './rows.ts'
import type { Value } from './servers/link.ts'
import { byId } from './servers/open.ts'

type BeaconQuery = Parameters<BeaconStore['listBeacons']>[0]

export function beaconTable(connection: Connection, placements: PlacementTable): Omit<BeaconStore, keyof WriteMethods> {
  const { read } = connection
  const lists = beaconLists(connection, placements)

  const found = (row: StoredBeacon | undefined) => (row === undefined ? null : withMeasurements(row))

  const beaconById = shareReads(async (ids: readonly number[]) => {
    const rows = await read<StoredBeacon>(`SELECT ${columns} FROM beacon WHERE id = ANY($1::bigint[])`, [ids])
    return new Map(rows.map((row) => [row.id, withMeasurements(row)]))
  })

  const listOfSlot = shareReads(async (slot_ids: readonly number[]) => {
    const rows = await read<StoredBeacon>(
      `SELECT first.* FROM unnest($1::bigint[]) wanted (slot_id) CROSS JOIN LATERAL
       (SELECT ${columns} FROM beacon WHERE beacon.slot_id = wanted.slot_id ${byId} LIMIT $2) first ORDER BY first.id`,
      [slot_ids, maxJudged],
    )
    return Map.groupBy(rows.map(withMeasurements), ({ slot_id }) => slot_id)
  })

  return {
    listSlotBeacons: async (slot_id) => (await listOfSlot(slot_id)) ?? [],
    async listBeaconsOfSlots(slot_ids) {
      const judged = await read<StoredBeacon>(
        `SELECT ${columns} FROM beacon WHERE slot_id = ANY($1::bigint[]) AND event <> 'heartbeat' ${byId}`,
        [slot_ids],
      )
      const unaccepted = await read<UnacceptedBeaconRow>(
        `SELECT ${unacceptedColumns} FROM aside_beacon
         WHERE slot_id = ANY($1::bigint[]) AND event IS DISTINCT FROM 'heartbeat' ${byId}`,
        [slot_ids],
      )
      const known = new Set([...judged, ...unaccepted].map(({ slot_id }) => slot_id))
      const silent = slot_ids.filter((id) => !known.has(id))
      const heartbeats = await Promise.all(silent.map(listOfSlot))
      return {
        accepted: [...judged.map(withMeasurements), ...heartbeats.flatMap((list) => list?.slice(0, 1) ?? [])],
        unaccepted,
      }
    },
    async findBeacon(slot_id, beacon_id) {
      const [row] = await read<StoredBeacon>(`SELECT ${columns} FROM beacon WHERE slot_id = $1 AND beacon_id = $2`, [
        slot_id,
        beacon_id,
      ])
      return found(row)
    },
    findBeaconById: beaconById,
    listUnacceptedBeacons: (slot_id) =>
      read(`SELECT ${unacceptedColumns} FROM aside_beacon WHERE slot_id = $1 ORDER BY id`, [slot_id]),
    async findUnacceptedBeacon(id) {
      const [row] = await read<UnacceptedBeaconRow>(`SELECT ${unacceptedColumns} FROM aside_beacon WHERE id = $1`, [id])
      return row ?? null
    },
    async listBeacons(query) {
      const parts = await Promise.all([lists.listAccepted(query), lists.listUnaccepted(query)])
      return mergeBeacons(parts, query.limit)
    },
  }
}

/** The lists of accepted beacons and of the others, each of one table. */
function beaconLists(connection: Connection, placements: PlacementTable) {
  return { listAccepted, listUnaccepted }

  async function listAccepted(query: BeaconQuery): Promise<Page<BeaconListRow>> {
    if (leavesOut('beacon', query)) return nothing
    const { rows, next } = await listPart<StoredBeacon>(connection, createListSource('beacon', query), query)
    const slots = await placements.findAll(rows.map(({ slot_id }) => slot_id))
    const findSlot = (id: number) => required(slots.get(id), 'a slot, or its job,')
    return {
      rows: rows.map((row) => ({ kind: 'accepted', beacon: withMeasurements(row), slot: findSlot(row.slot_id) })),
      next,
    }
  }

  async function listUnaccepted(query: BeaconQuery): Promise<Page<BeaconListRow>> {
    if (leavesOut('aside_beacon', query)) return nothing
    const { rows, next } = await listPart<UnacceptedBeaconRow>(
      connection,
      createListSource('aside_beacon', query),
      query,
    )
    const slots = await placements.findAll(rows.flatMap(({ slot_id }) => slot_id ?? []))
    return {
      rows: rows.map((beacon) => ({ kind: 'unaccepted', beacon, slot: slots.get(beacon.slot_id ?? -1) ?? null })),
      next,
    }
  }
}

const nothing = { rows: [], next: null }

/** Returns the list of one of the two tables. Other tables are joined where a filter needs them. */
function createListSource(table: 'beacon' | 'aside_beacon', query: BeaconQuery): ListSource {
  const filter = createFilter()
  filter.add(`${table}.slot_id = ?`, query.slot_id)
  // IS TRUE: the slots of a busy session are a set that each row is looked up in, not hundreds of thousands of joins.
  filter.add(`(${table}.slot_id IN (${slotsOfSession})) IS TRUE`, query.session_id)
  filter.add(`${table === 'beacon' ? 'job' : table}.project_id = ?`, query.project_id)
  filter.add(`${table}.received_at_ms >= ?`, query.since_ms)
  filter.add(`${table}.received_at_ms < ?`, query.until_ms)
  addBeaconConditions(filter, table, query)
  const needsSlot = [query.format, query.gross_cpm, query.currency].some((value) => value !== undefined)
  const needsJob = table === 'beacon' && query.project_id !== undefined
  const joins = [
    needsJob || needsSlot ? `JOIN slot ON slot.id = ${table}.slot_id` : '',
    needsJob ? 'JOIN job ON job.id = slot.job_id' : '',
  ]
  return {
    table,
    select: `SELECT ${table}.* FROM ${table} ${joins.join(' ')}`,
    filter,
    isIndexed: query.slot_id !== undefined,
    ordered: query.session_id === undefined ? findIndexedColumn(table, query) : null,
    narrowed: [
      ...narrowedBy(`${table}.slot_id`, slotsOfSession.replace('?', '$1'), query.session_id),
      ...narrowedBy(`${table}.id`, `SELECT id FROM ${table} WHERE received_at_ms >= $1`, query.since_ms),
    ],
    // Each part finds the slots of the session again.
    ...(query.session_id === undefined ? {} : { rowsAtOnce: 500_000 }),
  }
}

function narrowedBy(column: string, by: string, value: Value | undefined) {
  return value === undefined ? [] : [{ column, by, value }]
}
