/**
 * Callbacks: the outcome of each delivery. Their statements are prepared with the first job that has a callback URL,
 * since most sandboxes have none and every start would pay for them.
 */
import { callbackColumns as columns } from '../rows.ts'
import type { CallbackRow, CallbackStore, JobRow } from '../store.ts'
import type { EventTable } from './events.ts'
import type { Connection } from './group-commit.ts'
import { createFilter, indexedBy, listPart } from './rows.ts'

export type CallbackTable = ReturnType<typeof callbackTable>

const select = `SELECT id, ${columns} FROM callback`

export function callbackTable({ db, read, write }: Connection, events: EventTable) {
  let prepared: ReturnType<typeof prepare> | undefined
  const statements = () => (prepared ??= prepare())

  function prepare() {
    return {
      insert: db.prepare(
        "INSERT INTO callback (id, project_id, key_id, url, status, attempts, created_at_ms) VALUES (?, ?, ?, ?, 'waiting', 0, ?)",
      ),
      find: db.prepare<[number], CallbackRow>(`SELECT ${columns} FROM callback WHERE id = ?`),
      update: db.prepare(
        'UPDATE callback SET status = ?, attempts = ?, http_status = ?, problem = ?, attempted_at_ms = ? WHERE id = ?',
      ),
    }
  }

  const methods: CallbackStore = {
    findCallback: async (slot_id) => read(() => statements().find.get(slot_id) ?? null),
    async listCallbacks(query) {
      const filter = createFilter()
      filter.add('id = ?', query.slot_id)
      filter.add('project_id = ?', query.project_id)
      filter.add('status = ?', query.status)
      const indexed = indexedBy('SELECT id FROM callback WHERE id = ?', query.slot_id)
      return read(() =>
        listPart<CallbackRow & { id: number }>(db, { table: 'callback', select, filter, indexed }, query),
      )
    },
    unfinishedCallbacks: async () =>
      read(() =>
        db
          .prepare<[], { slot_id: number; key_id: number; decided_at_ms: number | null }>(
            `SELECT callback.id AS slot_id, key_id, decided_at_ms FROM callback JOIN slot ON slot.id = callback.id
             WHERE status IN ('waiting', 'retrying') ORDER BY callback.id`,
          )
          .all()
          .map(({ slot_id, key_id, decided_at_ms }) => ({ slot_id, key_id, is_decided: decided_at_ms !== null })),
      ),
    updateCallback: ({ slot_id, status, attempts, http_status, problem, attempted_at_ms }, type, at_ms) =>
      write(() => {
        const { find, update } = statements()
        const row = find.get(slot_id)
        if (row === undefined) return
        update.run(status, attempts, http_status, problem, attempted_at_ms, slot_id)
        events.append({ type, at_ms, project_id: row.project_id, slot_id, ref: slot_id })
      }),
  }

  return {
    /** Adds the delivery of one slot, inside the transaction that creates its job. */
    insert({ project_id, key_id, created_at_ms }: JobRow, slot_id: number, url: string): void {
      statements().insert.run(slot_id, project_id, key_id, url, created_at_ms)
    },
    methods,
  }
}
