/** Callbacks: the outcome of each delivery. */
import { callbackColumns as columns } from '../rows.ts'
import type { CallbackRow, CallbackStore } from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import type { Connection } from './group-commit.ts'
import { createFilter, listPart } from './rows.ts'

export function callbackTable(connection: Connection): Omit<CallbackStore, keyof WriteMethods> {
  const { read } = connection
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
    listUnfinishedCallbacks: () =>
      read(
        `SELECT callback.id AS slot_id, key_id, decided_at_ms IS NOT NULL AS is_decided
         FROM callback JOIN slot ON slot.id = callback.id
         WHERE status IN ('waiting', 'retrying') ORDER BY callback.id`,
      ),
  }
}
