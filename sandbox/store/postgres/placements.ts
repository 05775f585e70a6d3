/** Placements: jobs and their slots, each with its decision. */

import { type StoredSlot, toSlot } from '#store/slot-rows.ts'
import { addSlotConditions } from '../list-conditions.ts'
import { parseRow } from '../rows.ts'
import type { JobRow, Page, PlacementStore, SlotRow, StoredJobFields } from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import { capQueries, countCampaignFills, type NearJob, nearJobsValues } from './batch/load.ts'
import type { Connection } from './group-commit.ts'
import type { ProjectTable } from './projects.ts'
import { createFilter, listPart, sessionsNamed, shareReads } from './rows.ts'

const selectSlots = `
  SELECT slot.*, job.project_id, session.session_id, job.job_type, job.mode, job.key_id, job.created_at_ms, job.facts
  FROM slot JOIN job ON job.id = slot.job_id LEFT JOIN session ON session.id = job.session`

export type PlacementTable = ReturnType<typeof placementTable>

export function placementTable(connection: Connection, projects: ProjectTable) {
  const { read } = connection

  const toSlots = async (rows: readonly StoredSlot[]): Promise<SlotRow[]> => {
    const known = await projects.findProjects(rows.map(({ project_id }) => project_id))
    return rows.map((stored) => toSlot(stored, known.get(stored.project_id)!))
  }

  const findAll = async (ids: readonly number[]): Promise<Map<number, SlotRow>> => {
    if (ids.length === 0) return new Map()
    const rows = await read<StoredSlot>(`${selectSlots} WHERE slot.id = ANY($1::bigint[])`, [[...new Set(ids)]])
    return new Map((await toSlots(rows)).map((slot) => [slot.id, slot]))
  }

  const find = shareReads(findAll)

  const methods: Omit<PlacementStore, keyof WriteMethods> = {
    async findJob(id) {
      const [row] = await read<Omit<JobRow, 'facts'> & { facts: string }>(
        `SELECT job.id, job.project_id, session.session_id, job_type, mode, key_id, job.created_at_ms, facts
         FROM job LEFT JOIN session ON session.id = job.session WHERE job.id = $1`,
        [id],
      )
      return row === undefined ? null : { ...row, facts: parseRow<StoredJobFields>(row.facts) }
    },
    findSlot: find,
    findDecision: async (slot_id) => (await find(slot_id))?.decision ?? null,
    async listSlots(query) {
      const { rows, next } = await listSlots(connection, query)
      return { rows: await toSlots(rows), next }
    },
    listPendingSlots: (due_at_ms) =>
      due_at_ms === undefined
        ? read('SELECT id, due_at_ms FROM slot WHERE decided_at_ms IS NULL ORDER BY due_at_ms')
        : read(
            'SELECT id, due_at_ms FROM slot WHERE decided_at_ms IS NULL AND due_at_ms <= $1 ORDER BY due_at_ms LIMIT 2000',
            [due_at_ms],
          ),
    async countFills({ project_id, session_id, campaign_id }, since_ms, most) {
      if (campaign_id !== undefined) return countCampaignFills(read, { project_id, session_id, campaign_id }, since_ms)
      const [row] = await (session_id === null
        ? read<{ fills: number }>(capQueries.projectFills, [project_id, since_ms, most])
        : read<{ fills: number }>(capQueries.sessionFills, [project_id, session_id, since_ms, most]))
      return row?.fills ?? 0
    },
    async hasFillWithin(interval) {
      const rows = await read<NearJob>(capQueries.nearJobs, nearJobsValues(interval))
      return rows.some(({ is_filled }) => is_filled)
    },
    async catalogue(id) {
      const [row] = await read<{ demand: string }>('SELECT demand FROM catalogue WHERE id = $1', [id])
      return row?.demand ?? null
    },
    async findCatalogueWith(text) {
      const sql = 'SELECT id FROM catalogue WHERE position($1 in demand) > 0 ORDER BY id DESC LIMIT 1'
      const [row] = await read<{ id: number }>(sql, [text])
      return row?.id ?? null
    },
  }

  return { find, findAll, methods }
}

function listSlots(
  connection: Connection,
  query: Parameters<PlacementStore['listSlots']>[0],
): Promise<Page<StoredSlot>> {
  const filter = createFilter()
  filter.add('job.project_id = ?', query.project_id)
  filter.add(`job.session IN (${sessionsNamed})`, query.session_id)
  filter.add('slot.job_id = ?', query.job_id)
  filter.add("slot.id = ANY(string_to_array(?, ',')::bigint[])", query.slot_ids?.join(','))
  addSlotConditions(filter, query)
  const isIndexed = [query.session_id, query.job_id, query.slot_ids].some((value) => value !== undefined)
  const source = { table: 'slot', select: selectSlots, filter, isIndexed, from_id: query.from_id }
  return listPart<StoredSlot>(connection, source, query)
}
