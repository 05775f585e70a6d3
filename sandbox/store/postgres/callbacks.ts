/** Callbacks: the outcome of each delivery. */
import { callbackColumns as columns } from '../rows.ts'
import type { CallbackRow, CallbackStore, JobRow } from '../store.ts'
import type { Batch } from './batch.ts'
import type { Connection } from './group-commit.ts'
import { createFilter, listPart } from './rows.ts'

export function callbackTable(connection: Connection): CallbackStore {
  const { read, change } = connection
  return {
    async findCallback(slot_id) {
      const [row] = await read<CallbackRow>(`SELECT ${columns} FROM callback WHERE id = $1`, [slot_id])
      return row ?? null
    },
    listCallbacks(query) {
      const filter = createFilter()
      filter.add('id = ?', query.slot_id)
      filter.add('project_id = ?', query.project_id)
      filter.add('status = ?', query.status)
      const select = `SELECT id, ${columns} FROM callback`
      return listPart<CallbackRow & { id: number }>(
        connection,
        { table: 'callback', select, filter, isIndexed: query.slot_id !== undefined },
        query,
      )
    },
    unfinishedCallbacks: () =>
      read(
        `SELECT callback.id AS slot_id, key_id, decided_at_ms IS NOT NULL AS is_decided
         FROM callback JOIN slot ON slot.id = callback.id
         WHERE status IN ('waiting', 'retrying') ORDER BY callback.id`,
      ),
    updateCallback: ({ slot_id, status, attempts, http_status, problem, attempted_at_ms }, type, at_ms) =>
      change([], async (batch, link) => {
        const [row] = await link.query<{ project_id: number }>(
          `UPDATE callback SET status = $1, attempts = $2, http_status = $3, problem = $4, attempted_at_ms = $5
           WHERE id = $6 RETURNING project_id`,
          [status, attempts, http_status, problem, attempted_at_ms, slot_id],
        )
        if (row !== undefined) batch.appendEvent({ type, at_ms, project_id: row.project_id, slot_id, ref: slot_id })
      }),
  }
}

/** Adds the delivery of one slot to the batch that creates its job. */
export function addCallback(
  batch: Batch,
  { project_id, key_id, created_at_ms }: JobRow,
  id: number,
  url: string,
): void {
  batch.add('callback', { id, project_id, key_id, url, status: 'waiting', attempts: 0, created_at_ms })
}
