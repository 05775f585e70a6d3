/** The audit list of the control plane (A97). */
import type { Contract } from '#contract/index.ts'
import { cursorOf, type Operation, pageOf } from '../context.ts'

export const listAudit: Operation<Contract['audit.list']> = async ({ store }, _context, { query }) => {
  const page = pageOf(query)
  const rows = await store.access.listAudit({ ...page, token: query.token })
  const items = rows.slice(0, page.limit).map(({ id, ...entry }) => ({ audit_id: id, ...entry }))
  return { items, next_cursor: cursorOf(rows.length > page.limit ? items.at(-1)!.audit_id : null) }
}
