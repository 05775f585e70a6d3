/** The audit list of the control plane (A97). */
import type { Contract } from '#contract/index.ts'
import { encodeCursor, type Operation, parsePage } from '../context.ts'

export const listAudit: Operation<Contract['audit.list']> = async ({ store }, _context, { query }) => {
  const page = parsePage(query)
  const rows = await store.access.listAudit({ ...page, token: query.token })
  const items = rows.slice(0, page.limit).map(({ id, ...entry }) => ({ audit_id: id, ...entry }))
  return { items, next_cursor: encodeCursor(rows.length > page.limit ? items.at(-1)!.audit_id : null) }
}
