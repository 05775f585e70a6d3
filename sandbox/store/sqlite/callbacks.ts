/**
 * Callbacks: the outcome of each delivery. Their statements are prepared with the first job that has a callback URL,
 * since most sandboxes have none and every start would pay for them.
 */
import { callbackColumns as columns } from '../rows.ts'
import type { CallbackRow, CallbackStore } from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import type { Transaction } from '../writes/transaction.ts'
import type { Connection } from './group-commit.ts'
import { createFilter, indexedBy, listPart } from './rows.ts'

const select = `SELECT id, ${columns} FROM callback`

export function callbackTable({ db, read }: Connection) {
  let prepared: ReturnType<typeof prepare> | undefined
  const statements = () => (prepared ??= prepare())

  function prepare() {
    return {
      insert: db.prepare(
        'INSERT INTO callback (id, project_id, key_id, url, status, attempts, created_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?)',
      ),
      find: db.prepare<[number], CallbackRow>(`SELECT ${columns} FROM callback WHERE id = ?`),
      update: db.prepare(
        'UPDATE callback SET status = ?, attempts = ?, http_status = ?, problem = ?, attempted_at_ms = ? WHERE id = ?',
      ),
    }
  }

  const methods: Omit<CallbackStore, keyof WriteMethods> = {
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
    listUnfinishedCallbacks: async () =>
      read(() =>
        db
          .prepare<[], { slot_id: number; key_id: number; decided_at_ms: number | null }>(
            `SELECT callback.id AS slot_id, key_id, decided_at_ms FROM callback JOIN slot ON slot.id = callback.id
             WHERE status IN ('waiting', 'retrying') ORDER BY callback.id`,
          )
          .all()
          .map(({ slot_id, key_id, decided_at_ms }) => ({ slot_id, key_id, is_decided: decided_at_ms !== null })),
      ),
  }

  const transaction = {
    insertCallback({ slot_id, project_id, key_id, url, status, attempts, created_at_ms }) {
      statements().insert.run(slot_id, project_id, key_id, url, status, attempts, created_at_ms)
    },
    updateCallback({ slot_id, status, attempts, http_status, problem, attempted_at_ms }) {
      const { find, update } = statements()
      const row = find.get(slot_id)
      if (row === undefined) return null
      update.run(status, attempts, http_status, problem, attempted_at_ms, slot_id)
      return row.project_id
    },
  } satisfies Partial<Transaction>

  return { transaction, methods }
}
